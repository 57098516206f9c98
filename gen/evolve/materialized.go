package evolve

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/layout"
)

// The rules that this file applies. A materialized view is not data: Bigtable derives it from the
// table, and btgen.lock does not have it.
var (
	viewGone = rollout(Rule{
		ID: "E43", Title: "a materialized view is removed, or has another query",
		Reason: "Stored events are read as before. Bigtable cannot change the query of a view, so that queries read the old view until it is deleted, and fail afterward if they name it.",
		Fix:    "Change the queries that name the view before you delete it. Create one with another query under another ID.",
	})
	viewAdded = safe(Rule{
		ID: "E76", Title: "a materialized view is added",
		Reason: "Stored events are read as before. Bigtable fills the view with the events that the table has.",
		Fix:    "Create the view, with the command in its file.",
	})
)

// views adds the changes of materialized views between two versions of a schema.
func (c *Comparison) views(a, b *layout.Layout) {
	for _, t := range b.Tables {
		before := tableOf(a, t.ID)
		for k := 0; before == nil && k < len(t.Older); k++ { // its views are those of the newest layout then
			before = tableOf(a, t.Older[k].ID)
		}
		if before == nil || before.Draft {
			continue
		}
		old := before.Views
		at := func(views []layout.MaterializedView, id string) int {
			return slices.IndexFunc(views, func(v layout.MaterializedView) bool { return v.ID == id })
		}
		for k := range t.Views {
			v := &t.Views[k]
			switch was := at(old, v.ID); {
			case was < 0:
				c.plain(viewAdded, v.Pos, t.ID, "table %q has a new materialized view, %q: create it, with the command in its file", t.ID, v.ID)
			case !old[was].Same(a, before, v, b, t):
				c.plain(viewGone, v.Pos, t.ID, "the query of materialized view %q of table %q changes: Bigtable cannot change it, so give it another ID", v.ID, t.ID)
			}
		}
		for k := range old {
			if at(t.Views, old[k].ID) < 0 {
				c.plain(viewGone, t.Pos, t.ID, "table %q no longer has materialized view %q: change the queries that name it, then delete it", t.ID, old[k].ID)
			}
		}
	}
}
