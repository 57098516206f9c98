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
	catalog := diag.NewCatalog("wide\n\t%s is %d wide\n\tuse %s\nnarrow\n\tnarrow\n")
	for _, tt := range []struct{ name, says, way string }{{"wide", "it is 1000 wide", "use less"}, {"narrow", "narrow", ""}, {"none", "none", ""}} {
		var args []any
		if tt.name == "wide" {
			args = []any{"it", 1000, "less"}
		}
		if says, way := catalog.Fill(tt.name, args...); says != tt.says || way != tt.way {
			t.Errorf("%s: got %q, %q", tt.name, says, way)
		}
	}
}
