package evolve

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/googlesql"
	"github.com/btgen-dev/btgen/gen/layout"
)

// views adds the changes of materialized views between two versions of some schemas. It returns the
// files with these changes. A view is not data: Bigtable derives it from the table, and btgen.lock does not have it.
func (c *Comparison) views(old, new []*layout.Layout) map[string]bool {
	was, _ := googlesql.Materialized(layout.StoredTables(old))
	is, _ := googlesql.Materialized(layout.StoredTables(new)) // errors are findings of gen.Resolve
	files := map[string]bool{}
	add := func(pos diag.Pos, v *googlesql.View, name string) {
		files[pos.File] = true
		c.plain(pos, v.Of.ID, name, v.Of.ID, v.ID)
	}
	for i := range is {
		v := &is[i]
		id, query := findView(was, v)
		switch {
		case !id:
			add(v.Declared.Pos, v, "view-added")
		case !query:
			add(v.Declared.Pos, v, "view-changed")
		}
	}
	for i := range was {
		v := &was[i]
		if id, _ := findView(is, v); !id {
			add(c.lastPlace(new, v.Of.ID), v, "view-removed")
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
