package evolve

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
)

// LockOf returns the facts of all tables of layouts, except for drafts.
func LockOf(layouts []*layout.Layout) *lock.Lock {
	out := &lock.Lock{}
	for _, l := range layouts {
		for _, t := range l.Tables {
			if !t.Draft {
				out.Tables = append(out.Tables, lock.Of(l, t))
			}
		}
	}
	out.Sort()
	return out
}

// Version is a layout with the text of its schema.
type Version struct {
	Layout *layout.Layout
	Text   []byte
}

// AddNames adds the changes between old and new schemas that a lock does not record: names in
// generated code, queries, and a finding of class Safe for other differences.
func (c *Comparison) AddNames(old, new []Version) {
	has := func(all []Version, name string) bool {
		return slices.ContainsFunc(all, func(v Version) bool { return lock.SchemaOf(v.Layout) == name })
	}
	var pairs [][2]Version
	for _, n := range new {
		known := has(old, lock.SchemaOf(n.Layout))
		i := slices.IndexFunc(old, func(o Version) bool {
			if name := lock.SchemaOf(o.Layout); known || has(new, name) {
				return name == lock.SchemaOf(n.Layout)
			}
			return shareTable(o.Layout, n.Layout)
		})
		if i >= 0 {
			pairs = append(pairs, [2]Version{old[i], n})
		}
	}
	if !c.in.Whole { // the other schemas are not at hand
		old = old[:0:0]
		for _, p := range pairs {
			old = append(old, p[0])
		}
	}
	views := c.views(layoutsOf(old), layoutsOf(new))
	for _, p := range pairs {
		c.names(p[0], p[1], views)
	}
	c.sort()
}

// layoutsOf returns the layouts of versions.
func layoutsOf(versions []Version) []*layout.Layout {
	var out []*layout.Layout
	for _, v := range versions {
		out = append(out, v.Layout)
	}
	return out
}

// shareTable reports whether two layouts have a table in common: they are versions of one schema
// if each has a name that the other version of the project lacks.
func shareTable(a, b *layout.Layout) bool {
	return slices.ContainsFunc(a.Tables, func(t *layout.Table) bool {
		return slices.ContainsFunc(b.Tables, func(o *layout.Table) bool {
			return t.ID == o.ID && len(t.Families) > 0 && len(o.Families) > 0 && t.Families[0].Name == o.Families[0].Name
		})
	})
}

// names adds the name changes between two versions of a schema. views are the files of schemas whose
// materialized views change.
func (c *Comparison) names(old, new Version, views map[string]bool) {
	a, b := old.Layout, new.Layout
	before := len(c.Findings)
	if a.Package != b.Package || a.Name != b.Name {
		c.plain(b.NamePos, "", "schema-renamed", a.Package, a.Name, b.Package, b.Name)
	}
	for i := range b.Fields {
		f := &b.Fields[i]
		if fieldIndex(a, f.Name) >= 0 {
			continue
		}
		if was := renamedField(a, b, i); was != "" {
			c.plain(f.Pos, f.Name, "field-renamed", was, f.Name)
		}
	}
	for _, q := range a.Queries {
		i := slices.IndexFunc(b.Queries, func(o layout.Query) bool { return o.Name == q.Name })
		switch {
		case i < 0:
			c.plain(b.NamePos, q.Name, "query-removed", q.Name)
		case !slices.EqualFunc(q.Inputs, b.Queries[i].Inputs, func(x, y layout.Input) bool { return x.Same(a, &y, b) }):
			c.plain(b.NamePos, q.Name, "query-inputs", q.Name, takes(b, &b.Queries[i]), takes(a, &q))
		case q.Series && !b.Queries[i].Series:
			c.plain(b.NamePos, q.Name, "query-series", q.Name)
		case q.Deletes != nil && b.Queries[i].Deletes == nil:
			c.plain(b.NamePos, q.Name, "query-deletes", q.Name)
		}
	}
	for _, t := range b.Tables {
		if was := tableOf(a, t.ID); was != nil && !was.Draft {
			c.tier(was, t)
			c.bundle(was, t)
		}
	}
	if len(c.Findings) == before && !views[b.File] && !c.hasFindings(a, b) && !sameText(old.Text, new.Text) {
		c.plain(b.NamePos, "", "no-effect")
	}
}

// sameText reports whether two schemas differ in nothing but line ends and formatting.
func sameText(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	formatted := func(text []byte) []byte {
		out, found := schema.Format("", text)
		if found.HasErrors() {
			return text
		}
		return out
	}
	return bytes.Equal(formatted(a), formatted(b))
}

// takes describes what callers give a query.
func takes(l *layout.Layout, q *layout.Query) string {
	var out []string
	for _, in := range q.Inputs {
		out = append(out, in.Words(l))
	}
	return cmp.Or(strings.Join(out, " and "), "nothing")
}

// hasFindings reports whether any finding is about a table of the new layout, or about one
// that only the old layout has.
func (c *Comparison) hasFindings(old, new *layout.Layout) bool {
	return slices.ContainsFunc(c.Findings, func(f Finding) bool {
		if f.pair == nil || f.pair.layout != nil {
			return f.pair != nil && f.pair.layout == new
		}
		return slices.ContainsFunc(old.Tables, func(t *layout.Table) bool { return t.ID == f.pair.old.Name })
	})
}

// plain adds a finding without an example.
func (c *Comparison) plain(pos diag.Pos, item, name string, args ...any) {
	f := finding(item, pos, Change{}.as(name, args...))
	f.Name = strings.TrimSuffix(f.Name, ":")
	c.Findings = append(c.Findings, f)
}

// tableOf returns the table of a layout with an ID; nil if there is none.
func tableOf(l *layout.Layout, id string) *layout.Table {
	if i := slices.IndexFunc(l.Tables, func(t *layout.Table) bool { return t.ID == id }); i >= 0 {
		return l.Tables[i]
	}
	return nil
}

func fieldIndex(l *layout.Layout, name string) int {
	return slices.IndexFunc(l.Fields, func(f layout.Field) bool { return f.Name == name })
}

// renamedField returns the old name of a field that is read from where it was stored; empty if
// there is none.
func renamedField(a, b *layout.Layout, field int) string {
	for _, t := range b.Tables {
		was := tableOf(a, t.ID)
		if was == nil {
			continue
		}
		for _, col := range t.AllColumns() {
			j := slices.IndexFunc(was.Columns, func(o layout.Column) bool {
				return col.Field == field && o.Field >= 0 && o.Qualifier == col.Qualifier
			})
			if j < 0 {
				continue
			}
			if name := a.Fields[was.Columns[j].Field].Name; fieldIndex(b, name) < 0 {
				return name
			}
		}
	}
	return ""
}
