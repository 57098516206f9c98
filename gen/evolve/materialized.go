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
		i := slices.IndexFunc(a.Tables, func(o *layout.Table) bool { return o.ID == t.ID })
		if i < 0 { // its views are those of the layout before
			i = slices.IndexFunc(a.Tables, func(o *layout.Table) bool {
				return slices.ContainsFunc(t.Older, func(before *layout.Table) bool { return before.ID == o.ID })
			})
		}
		if i < 0 || a.Tables[i].Draft {
			continue
		}
		old := a.Tables[i].Views
		at := func(views []layout.MaterializedView, id string) int {
			return slices.IndexFunc(views, func(v layout.MaterializedView) bool { return v.ID == id })
		}
		for k := range t.Views {
			v := &t.Views[k]
			switch was := at(old, v.ID); {
			case was < 0:
				c.plain(viewAdded, v.Pos, t.ID, "table %q has a new materialized view, %q: create it, with the command in its file", t.ID, v.ID)
			case !old[was].Same(a, a.Tables[i], v, b, t):
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
