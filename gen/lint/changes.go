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

// editLines are lines with a rule, an edit that it finds, and what happens to stored events. They are sorted by
// rule and consequence. Tests in folder golden/breaking make the edits, and write the file.
//
//go:embed edits.tsv
var editLines string

// editsOf returns sentences about the edits that a rule finds, one for each consequence.
func editsOf(id string) (out []string) {
	var consequences []string
	edits := map[string][]string{} // by consequence
	for line := range strings.Lines(editLines) {
		of := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if rule, edit, consequence := of[0], of[1], of[2]; rule == id {
			if edits[consequence] == nil {
				consequences = append(consequences, consequence)
			}
			edits[consequence] = append(edits[consequence], edit)
		}
	}
	for _, c := range consequences {
		out = append(out, "Edits: "+strings.Join(edits[c], "; ")+". Consequence: "+c+".")
	}
	return out
}
