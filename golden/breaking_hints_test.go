package golden

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// proposedField matches a field with older columns in a hint.
var proposedField = regexp.MustCompile("`(\\w+: \\{[^`]*was: \\[[^`]*\\})`")

// TestBreakingHints pastes fields with older columns from hints in place of those that the
// findings are about: the schema then has no errors, and stored events are read.
func TestBreakingHints(t *testing.T) {
	pasted := 0
	for _, e := range testlong.Sample(edits(t), 4) {
		_, c := e.compare(t)
		for _, f := range c.Findings {
			m := proposedField.FindStringSubmatch(f.Diagnostic.Hint)
			if m == nil || f.Rule.Class != evolve.Data {
				continue
			}
			pasted++
			last := e.versions[len(e.versions)-1]
			lines := bytes.Split(bytes.Clone(last.Text), []byte("\n"))
			lines[f.Diagnostic.Pos.Line-1] = []byte("  " + m[1])
			fixed := e
			fixed.versions = append(append([]gen.Input{}, e.versions[:len(e.versions)-1]...), gen.Input{Name: last.Name, Text: bytes.Join(lines, []byte("\n"))})
			_, after := fixed.compare(t)
			field, _, _ := strings.Cut(m[1], ":")
			for _, g := range after.Findings {
				if g.Rule.Class == evolve.Data && (g.Name == f.Name || strings.HasSuffix(g.Name, "/"+field)) {
					t.Errorf("%s: after pasting %s: %s", e.name, m[1], g.Diagnostic.Message)
				}
			}
		}
	}
	if pasted < testlong.Pick(2, 8) {
		t.Errorf("%d hints", pasted)
	}
}
