package lint

import "github.com/btgen-dev/btgen/gen/diag"

// Cases returns the sentences of the rule's findings, by their names.
func (r Rule) Cases() map[string]diag.Sentence { return r.cases }
