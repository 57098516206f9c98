package dynamictest

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
)

// Earlier returns the layout of a schema before fields were renamed or converted. version
// says for each field with older columns which of them it has then: an index into Field.Was,
// or -1 for those that new events have. A field keeps these if not all tables have others.
func Earlier(l *layout.Layout, version func(f *layout.Field) int) *layout.Layout {
	out := *l
	out.Fields = slices.Clone(l.Fields)
	versions := make([]int, len(l.Fields))
	for i := range out.Fields {
		f := &out.Fields[i]
		if versions[i] = -1; len(f.Was) == 0 {
			continue
		}
		if n := version(f); n >= 0 && everywhere(l, i, n) {
			versions[i] = n
			before := f.Before(&f.Was[n])
			if before.Default = f.Default; f.Default != nil && f.Type != before.Type {
				before.Default = value.Zero(&before) // so that protobuf does not omit it
			}
			if before.Number == 0 {
				before.Number = f.Number
			}
			*f = before
		}
		f.Was = nil
	}
	tables := map[*layout.Table]*layout.Table{}
	earlier := func(t *layout.Table) *layout.Table {
		if tables[t] == nil {
			tables[t] = earlierTable(l, t, versions)
		}
		return tables[t]
	}
	out.Tables = nil
	for _, t := range l.Tables {
		newest := earlier(t)
		newest.Older = nil
		for _, older := range t.Older {
			newest.Older = append(newest.Older, earlier(older))
		}
		out.Tables = append(out.Tables, newest)
	}
	out.Read = earlier(l.Read)
	out.Queries = slices.Clone(l.Queries)
	for i := range out.Queries {
		q := &out.Queries[i]
		q.Table, q.Older = earlier(q.Table), slices.Clone(q.Older)
		for k := range q.Older {
			q.Older[k].Table = earlier(q.Older[k].Table)
		}
	}
	return &out
}

// everywhere reports whether older events have a field elsewhere, or in the same way, in all
// tables.
func everywhere(l *layout.Layout, field, version int) bool {
	f := &l.Fields[field]
	w := &f.Was[version]
	for _, t := range l.AllPeriods() {
		switch {
		case t.Blob == layout.Protobuf && w.Number == 0 && w.Type != f.Type, t.Blob == layout.JSONText && w.Column == "" && w.Type != f.Type:
			return false
		case !t.Serialized() && w.Column == "" && w.Type != f.Type:
			return false
		}
	}
	return true
}

// earlierTable returns a table with the columns of earlier versions of fields.
func earlierTable(l *layout.Layout, t *layout.Table, versions []int) *layout.Table {
	out := *t
	out.Columns = slices.Clone(t.Columns)
	for i := range out.Columns {
		c := &out.Columns[i]
		if c.Field >= 0 && versions[c.Field] >= 0 {
			w := &l.Fields[c.Field].Was[versions[c.Field]]
			if k := slices.IndexFunc(c.Older, func(o layout.Column) bool { return o.Pos == w.Pos }); k >= 0 {
				c.Qualifier, c.Family, c.Values = c.Older[k].Qualifier, c.Older[k].Family, c.Older[k].Values
			}
		}
		c.Older = nil
	}
	return &out
}
