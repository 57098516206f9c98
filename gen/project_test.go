package gen_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/golden/assert"
)

// Class: a message as long as what another program writes. Errors of git repeat the beginning of a revision and of what git
// says, without control characters.
func TestGitErrors(t *testing.T) {
	for _, text := range []string{strings.Repeat("a", 1<<20), strings.Repeat("ä", 1<<20), strings.Repeat("\x1b[31m", 1<<18), strings.Repeat("\xff", 1<<20)} {
		for _, e := range []*project.GitError{{Ref: text, Reason: "why"}, {Ref: "main", Reason: text}} {
			got := e.Error()
			if n := utf8.RuneCountInString(got); n > 620 || n < 50 || !strings.Contains(got, "…") || strings.Contains(got, "\x1b") || !utf8.ValidString(got) {
				t.Errorf("%d characters: %.80q", n, got)
			}
		}
	}
	assert.Same(t, "git:main: fatal: ä", (&project.GitError{Ref: "main", Reason: "fatal: ä"}).Error())
	_, err := project.LoadRevisions(strings.Repeat("x", 100_000), true)
	if err == nil || len(err.Error()) > 4*700 {
		t.Errorf("%.200v", err)
	}
}
