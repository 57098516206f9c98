package lint

import (
	_ "embed"
	"strings"

	"github.com/btgen-dev/btgen/gen/evolve"
)

// changeRules are the rules for changes of schemas with stored events. Package evolve declares and
// applies them.
func changeRules() []Rule {
	var out []Rule
	for _, r := range evolve.Rules() {
		rule := Rule{
			ID: r.ID, Severity: r.Class.Severity(), class: r.Class.String(), Source: "our judgment", By: ByLock,
			Title: r.Title, Reason: r.Reason, Fix: r.Fix,
		}
		if r.Class == evolve.Data && !r.NoAccept {
			rule.HowToAllow = "run `btgen generate --accept NAME=REASON` with the name in the message"
		}
		out = append(out, rule)
	}
	return out
}

// edits are those that a rule finds, with the same consequence.
type edits struct {
	consequence string
	titles      []string
}

// editLines are lines with a rule, an edit that it finds, and what happens to stored events. They are sorted by
// rule and consequence. Tests in folder golden/breaking make the edits, and write the file.
//
//go:embed edits.tsv
var editLines string

// editsOf returns the edits that a rule finds, by their consequence.
func editsOf(id string) []edits {
	var out []edits
	for line := range strings.Lines(editLines) {
		rule, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		edit, consequence, _ := strings.Cut(rest, "\t")
		switch last := len(out) - 1; {
		case rule != id:
		case last >= 0 && out[last].consequence == consequence:
			out[last].titles = append(out[last].titles, edit)
		default:
			out = append(out, edits{consequence, []string{edit}})
		}
	}
	return out
}
