package golden

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestMatrix checks that a strategy that does not work with a pattern is rejected in
// its case in matrix/ by the rule in the layout. The model test in package gen runs the
// others.
func TestMatrix(t *testing.T) {
	for _, s := range layout.Strategies() {
		for _, p := range codec.Patterns() {
			verdict := layout.Fits(p, s)
			if verdict.Rule == "" {
				continue
			}
			name := strings.NewReplacer(", ", "_", ": ", "_").Replace(string(s))
			refused := false
			for line := range strings.Lines(reviewed(t, "matrix/"+name+".txtar")) {
				refused = refused || strings.HasPrefix(line, "schemas/"+p.String()+".yaml:") &&
					strings.Contains(line, verdict.Reason) && strings.Contains(line, "["+verdict.Rule+"]")
			}
			if !refused {
				t.Errorf("%s with %s: no finding of rule %s in %s.txtar", p, s, verdict.Rule, name)
			}
		}
	}
}

// matrix returns the table of strategies and patterns for the manual.
func matrix() string {
	var b strings.Builder
	b.WriteString("| `ttl` |")
	for _, p := range codec.Patterns() {
		fmt.Fprintf(&b, " `%s` |", p)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(codec.Patterns())) + "\n")
	var notes []string
	noted := map[string]bool{}
	for _, s := range layout.Strategies() {
		fmt.Fprintf(&b, "| `%s` |", s)
		for _, p := range codec.Patterns() {
			v := layout.Fits(p, s)
			switch {
			case v.Rule == "":
				b.WriteString(" yes |")
			case v.Always:
				fmt.Fprintf(&b, " no, %s |", v.Rule)
			default:
				fmt.Fprintf(&b, " yes, unless %s |", v.Rule)
			}
			if v.Rule != "" && !noted[v.Rule] {
				noted[v.Rule] = true
				text := fmt.Sprintf("**: %s. Instead, %s.\n", v.Reason, v.Instead)
				if i := slices.IndexFunc(notes, func(n string) bool { return strings.HasSuffix(n, text) }); i >= 0 {
					notes[i] = strings.Replace(notes[i], "**: ", ", "+v.Rule+"**: ", 1)
				} else {
					notes = append(notes, "- **"+v.Rule+text)
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String() + "\n" + strings.Join(notes, "")
}

// TestManualMatrix compares the table in the manual.
func TestManualMatrix(t *testing.T) {
	checkGenerated(t, "docs/patterns.md", "<!-- matrix -->\n", "<!-- end of matrix -->", matrix())
}
