package evolve

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/googlesql"
	"github.com/btgen-dev/btgen/gen/layout"
)

// The rules that this file applies. A materialized view is not data: Bigtable derives it from the
// table, and btgen.lock does not have it.
var (
	viewGone  = rollout(Rule{ID: "E43"})
	viewAdded = safe(Rule{ID: "E76"})
)

// views adds the changes of materialized views between two versions of some schemas. It returns the
// files with these changes.
func (c *Comparison) views(old, new []*layout.Layout) map[string]bool {
	was, _ := googlesql.Materialized(layout.StoredTables(old))
	is, _ := googlesql.Materialized(layout.StoredTables(new)) // errors are findings of gen.Resolve
	files := map[string]bool{}
	add := func(rule *Rule, pos diag.Pos, v *googlesql.View, format string) {
		files[pos.File] = true
		c.plain(rule, pos, v.Of.ID, format, v.Of.ID, v.ID)
	}
	for i := range is {
		v := &is[i]
		id, query := findView(was, v)
		switch {
		case !id:
			add(viewAdded, v.Declared.Pos, v, "table %q has a new materialized view, %q: create it, with the command in its file")
		case !query:
			add(viewGone, v.Declared.Pos, v, "the query of materialized view %[2]q of table %[1]q changes: Bigtable cannot change it, so give it another ID")
		}
	}
	for i := range was {
		v := &was[i]
		if id, _ := findView(is, v); !id {
			add(viewGone, c.lastPlace(new, v.Of.ID), v, "table %q no longer has materialized view %q: change the queries that name it, then delete it")
		}
	}
	return files
}

// findView reports whether views have the ID of one, and its query.
func findView(views []googlesql.View, v *googlesql.View) (id, query bool) {
	for i := range views {
		if views[i].ID == v.ID {
			id, query = true, query || views[i].Text == v.Text
		}
	}
	return id, query
}

// lastPlace returns where to report what a table no longer has: at the table, or where its removal is
// reported.
func (c *Comparison) lastPlace(new []*layout.Layout, id string) diag.Pos {
	for _, l := range new {
		if t := tableOf(l, id); t != nil {
			return t.Pos
		}
	}
	if i := slices.IndexFunc(c.pairs, func(p pair) bool { return p.old != nil && p.old.Name == id }); i >= 0 {
		return c.in.Gone(c.pairs[i].old)
	}
	for _, l := range new {
		return l.NamePos
	}
	return diag.Pos{}
}
