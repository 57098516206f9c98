package lint

import "github.com/btgen-dev/btgen/gen/evolve"

// changeRules are the rules for changes of schemas with stored events. Package evolve declares and
// applies them.
func changeRules() []Rule {
	var out []Rule
	for _, r := range evolve.Rules() {
		rule := Rule{ID: r.ID, Severity: r.Class.Severity(), Title: r.Title, Reason: r.Reason, Fix: r.Fix, Source: judgment, By: ByLock}
		if r.Class == evolve.Data && !r.NoAccept {
			rule.HowToAllow = "run `btgen generate --accept NAME=REASON` with the name in the message"
		}
		out = append(out, rule)
	}
	return out
}
