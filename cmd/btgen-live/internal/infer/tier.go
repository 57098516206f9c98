package infer

import (
	"fmt"

	"github.com/btgen-dev/btgen/gen/schema"
)

// writeTier writes the tier of the table. Rules reject one that stays empty: a comment is left.
func (d *draft) writeTier(w *writer) {
	after, moves := d.key.table.Tier.After()
	if !moves {
		return
	}
	age := schema.FormatDuration(after)
	for _, f := range d.families() {
		alive := d.key.table.Families[f].Retention(0)
		if alive == nil || alive[len(alive)-1].MaxAge == 0 || alive[len(alive)-1].MaxAge > after {
			w.line("    tier: {infrequent_access: {after: %s}}", age)
			return
		}
	}
	w.note("    ", fmt.Sprintf("The table has an infrequent access tier from %s on, which stays empty: everything expires before.", age))
}
