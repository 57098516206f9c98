package evolve

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/rehearse"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// This file turns facts into programs that are rehearsed.

// stageOf is the facts of a table at one time; nil if it was not there.
type stageOf []lock.Layout

// stages returns what a table was before it was locked, as far as its facts tell, from the last step back to the
// first one: a file may not have its history. nil is a step in which it was not there.
func stages(t *lock.Table) (out []stageOf) {
	rest := t.Layouts
	period := func() []lock.Layout {
		n := len((&lock.Table{Layouts: rest}).Periods())
		all := rest[:n:n]
		rest = rest[n:]
		return all
	}
	live := period()
	if t.Removed != "" || slices.ContainsFunc(live, func(l lock.Layout) bool { return retires(&l) }) {
		out = append(out, stage(live, true))
	}
	for len(rest) > 0 {
		out = append(out, stage(period(), true))
	}
	for n := range mostOlder(live) {
		out = append(out, moved(live, n))
	}
	if t.Lacks {
		out = append(out, nil)
	}
	for i := range out {
		if out[i] != nil {
			out[i] = placed(t, out[i])
		}
	}
	return out
}

// remembers reports whether a table was there before it was locked, in another file.
func remembers(t *lock.Table) bool {
	live := t.Periods()
	return len(t.Layouts) > len(live) || slices.ContainsFunc(live, func(l lock.Layout) bool { return retires(&l) })
}

// retires reports whether a layout has facts that are no longer in use.
func retires(l *lock.Layout) bool {
	value := func(v lock.EnumValue) bool { return v.Retired }
	return slices.ContainsFunc(l.Columns, func(c lock.Column) bool { return c.Retired || slices.ContainsFunc(c.Enum, value) }) ||
		slices.ContainsFunc(l.Rollups, func(r lock.Rollup) bool { return r.Retired })
}

// used returns layouts without what is no longer in use.
func used(all []lock.Layout) stageOf { return stage(all, false) }

// stage returns layouts as they are or, if before is set, as they were when what is no longer in use was: beside all
// else, but that a layout has one rollup.
func stage(all []lock.Layout, before bool) stageOf {
	out := slices.Clone(all)
	for i := range out {
		l := &out[i]
		l.Columns = kept(l.Columns, before, func(c *lock.Column) *bool { return &c.Retired })
		for k := range l.Columns {
			c := &l.Columns[k]
			if before && all[i].Columns[k].Retired && !c.Written {
				c.Optional = c.Default == nil
			}
			c.Enum = kept(c.Enum, before, func(v *lock.EnumValue) *bool { return &v.Retired })
		}
		if k := slices.IndexFunc(l.Rollups, func(r lock.Rollup) bool { return r.Retired }); before && k >= 0 {
			l.Rollups = l.Rollups[k : k+1]
		}
		l.Rollups = kept(l.Rollups, before, func(r *lock.Rollup) *bool { return &r.Retired })
		l.Summaries = kept(l.Summaries, before, func(s *lock.Summary) *bool { return &s.Retired })
	}
	return out
}

// kept returns facts without those that are no longer in use or, if before is set, with these as if they were.
func kept[T any](all []T, before bool, retired func(*T) *bool) []T {
	out := slices.DeleteFunc(slices.Clone(all), func(v T) bool { return *retired(&v) && !before })
	for i := range out {
		*retired(&out[i]) = false
	}
	return out
}

// mostOlder returns how many older columns a field has in layouts, at most.
func mostOlder(all []lock.Layout) (out int) {
	for i := range all {
		count := map[string]int{}
		for _, c := range all[i].Older() {
			count[c.Was]++
			out = max(out, count[c.Was])
		}
	}
	return out
}

// moved returns layouts as they were when fields were written to the older column with an index, if they have so
// many.
func moved(all []lock.Layout, n int) stageOf {
	out := used(all)
	for i := range out {
		l := &out[i]
		count := map[string]int{}
		for k, c := range slices.Clone(l.Columns) {
			if c.Was == "" {
				continue
			}
			if count[c.Was]++; count[c.Was] != n+1 {
				continue
			}
			own := find(l.Columns, c.Was, false)
			if own < 0 {
				continue
			}
			l.Columns[k].Field = item(l.Columns[own])
			l.Columns[k].Was, l.Columns[own].Was = "", c.Key
		}
	}
	return out
}

// actor makes programs of facts.
type actor struct {
	codings map[string]coding
	renamed map[[2]string]string // the identity of a field that has another name than before, by its schema and its name
	series  map[[2]string]string // likewise of a series value
}

// coding is how a value is stored.
type coding struct {
	blob       layout.Format
	column     lock.Column
	statistics bool // of values
}

// readable reports whether values of one coding are read by programs with another one.
func (a *actor) readable(stored, as string) bool {
	was, is := a.codings[stored], a.codings[as]
	if was.statistics || is.statistics {
		return was.statistics && is.statistics && reads(was.column.Type, is.column.Type)
	}
	c := comparer{old: &lock.Layout{Blob: was.blob}, new: &lock.Layout{Blob: is.blob}}
	return !c.misreads(was.column, is.column)
}

// coding returns the name of the coding of a column.
func (a *actor) coding(l *lock.Layout, c *lock.Column) string {
	name := strings.Join([]string{string(l.Blob), c.Type.String(), c.Values.String()}, " ")
	a.codings[name] = coding{blob: l.Blob, column: lock.Column{Key: "x", Type: c.Type, Values: c.Values, Optional: true}}
	return name
}

// statistics returns the name of the coding of the statistics of a column.
func (a *actor) statistics(c *lock.Column) string {
	name := "statistics " + c.Type.String()
	a.codings[name] = coding{statistics: true, column: lock.Column{Type: c.Type}}
	return name
}

// tableNow is the facts of a table of a schema, with the reads that it serves.
type tableNow struct {
	name   string
	stage  stageOf
	serves []string
}

// idle begins the name of the read of all events of a table that serves none.
const idle = "table "

// schema returns a schema with the tables that it has at one time.
func (a *actor) schema(name string, tables []tableNow) rehearse.Schema {
	out := rehearse.Schema{Name: name}
	by := map[string]int{}
	first := -1
	for _, t := range tables {
		if t.stage == nil {
			continue
		}
		out.Tables = append(out.Tables, a.table(name, t, &out))
		for _, read := range t.serves {
			by[read] = len(out.Tables) - 1
		}
		i := len(out.Tables) - 1
		if len(t.serves) == 0 {
			by[idle+t.name] = i
		}
		if first < 0 && !out.Tables[i].Newest {
			first = i
		}
	}
	if _, served := by[lock.ReadName]; !served && first >= 0 {
		by[lock.ReadName] = first
	}
	if at, served := by[lock.ReadName]; served {
		out.Reads = append(out.Reads, rehearse.Read{Name: lock.ReadName, Table: at})
	}
	for _, read := range slices.Sorted(maps.Keys(by)) {
		if read != lock.ReadName {
			out.Reads = append(out.Reads, rehearse.Read{Name: read, Table: by[read], Idle: strings.HasPrefix(read, idle)})
		}
	}
	return out
}

// table returns a table, and adds its fields to those of its schema.
func (a *actor) table(schema string, t tableNow, of *rehearse.Schema) rehearse.Table {
	out := rehearse.Table{Name: t.name}
	for i := range t.stage {
		l := &t.stage[i]
		out.Newest = l.Pattern.NewestOnly()
		out.Layouts = append(out.Layouts, a.layout(schema, t.name, l, of))
	}
	return out
}

// layout returns a layout of a table.
func (a *actor) layout(schema, table string, l *lock.Layout, of *rehearse.Schema) rehearse.Layout {
	out := rehearse.Layout{Since: l.Since, Place: cmp.Or(l.Table, table), Rows: a.rows(schema, l)}
	if l.Blob != "" {
		out.Form = string(l.Blob) + " in " + quoted(l.BlobColumn)
	}
	for _, f := range l.Families {
		out.Families = append(out.Families, rehearse.Family{Name: f.Name, Class: class(f), Life: lifetime(l, f), Rule: rehearse.Rule{GC: f.GC, Cells: cellsOf(l)}})
	}
	for i := range l.Columns {
		c := &l.Columns[i]
		if c.Written {
			continue
		}
		id, omits := identity(a.renamed, schema, owner(l, *c)), omits(l, c)
		out.Columns = append(out.Columns, rehearse.Column{Field: id, Family: c.Family, Key: c.Key, Coding: a.coding(l, c), Statistics: a.statistics(c), Values: values(c), Named: storesNames(l, *c), Older: c.Was != "", Omits: omits})
		k := slices.IndexFunc(of.Fields, func(f rehearse.Field) bool { return f.ID == id })
		switch {
		case c.Was != "":
		case k < 0:
			f := field(id, c)
			f.Zero = omits
			of.Fields = append(of.Fields, f)
		case omits:
			of.Fields[k].Zero = true
		}
	}
	if r := l.Rollup(); r != nil {
		out.Rollup = &rehearse.Rollup{Family: r.Family, Every: r.Every, Rule: rehearse.Rule{GC: r.GC, Cells: 1}, Idle: r.Idle}
		for _, s := range l.Summaries {
			if of, known := column(l, s.Name); known && !s.Retired {
				out.Rollup.Fields = append(out.Rollup.Fields, rehearse.Summary{Name: s.Name, Field: identity(a.renamed, schema, item(of))})
			}
		}
	}
	return out
}

// rows returns the text of the rows of a layout, in which series values that have another name than before have that.
func (a *actor) rows(schema string, l *lock.Layout) string {
	same := *l
	same.Segments = slices.Clone(l.Segments)
	for i := range same.Segments {
		g := &same.Segments[i]
		if g.Kind == codec.SeriesSegment {
			g.Name = identity(a.series, schema, g.Name)
		}
		g.Salted = slices.Clone(g.Salted)
		for k := range g.Salted {
			g.Salted[k] = identity(a.series, schema, g.Salted[k])
		}
	}
	return same.Rows()
}

// field returns a field with an identity.
func field(id string, c *lock.Column) rehearse.Field {
	out := rehearse.Field{ID: id, Optional: c.Optional || c.Default != nil}
	if c.Default != nil {
		out.Default = quoted(*c.Default)
	}
	return out
}

// values returns the values of the enum of a column.
func values(c *lock.Column) (out []rehearse.Value) {
	for _, v := range c.Enum {
		out = append(out, rehearse.Value{Number: v.Number, Name: v.Name})
	}
	return out
}

// identity returns the identity of what has a name in a schema, given those that differ.
func identity(of map[[2]string]string, schema, name string) string {
	if id := of[[2]string{schema, name}]; id != "" {
		return id
	}
	return name
}
