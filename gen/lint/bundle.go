package lint

import (
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
)

// sameBundles reports schema bundles that differ from that of an earlier schema.
func sameBundles(tables []*layout.Table, found *diag.List) {
	var first *layout.Table
	for _, t := range tables {
		switch {
		case t.Bundle.ID == "":
		case first != nil && !first.Bundle.Same(t.Bundle):
			found.Errorf(t.Bundle.Pos, "the schema bundle of table %q differs from that at %s", t.ID, first.Bundle.Pos).Hint = "use the same value in both, or remove one: a bundle has the messages of all schemas of the table"
		default:
			first = t
		}
	}
}
