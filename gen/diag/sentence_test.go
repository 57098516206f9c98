package diag_test

import (
	"regexp"
	"testing"

	"github.com/btgen-dev/btgen/gen/diag"
)

func TestSentence(t *testing.T) {
	s := diag.Sentence{Says: "%[1]s%%d of %q: %.1f%% of %[1]s events", Way: "write `bucket: %s`"}
	says, way := s.Fill(12345, "host", 2.25, "1d")
	if want := `12,345%d of "host": 2.2% of 12,345 events`; says != want || way != "write `bucket: 1d`" {
		t.Errorf("got %s / %s", says, way)
	}
	if !regexp.MustCompile(s.Pattern()).MatchString(says) {
		t.Errorf("%s does not match", s.Pattern())
	}
}
