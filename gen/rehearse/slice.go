package rehearse

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Fields do not meet, but in whether an event is there at all. So an epoch is rehearsed field by field, each beside
// one field of every kind that never changed: the time is the sum over fields, not their product.

// slicesOf returns the IDs of fields that are rehearsed together: each that ever changed, beside one of every kind
// that never did, which are still, and with those that were stored in a column of it. Every slice has a field that
// all events have or, if there is none, one that all programs know, so that an event is not taken for one of a single value.
func slicesOf(next *Epoch) (still []string, out [][]string) {
	kinds := map[string][]string{} // of each field, where it is and how, in all epochs
	required := map[string]bool{}  // of each field, whether all events have it: one with a default is always written
	lasting := map[string]bool{}   // of each field, whether all programs know it
	changed := map[string]bool{}
	walk(next, map[*Epoch]bool{}, func(e *Epoch) {
		for i := range e.Program.Schemas {
			p := &e.Program.Schemas[i]
			for k := range p.Fields {
				id := p.Name + sep + p.Fields[k].ID
				if _, known := kinds[id]; !known {
					required[id], lasting[id] = true, true
				}
				kinds[id] = append(kinds[id], p.describe(&p.Fields[k]))
				required[id] = required[id] && (!p.Fields[k].Optional || p.Fields[k].Default != "")
			}
		}
	})
	ids := slices.Sorted(maps.Keys(kinds))
	walk(next, map[*Epoch]bool{}, func(e *Epoch) {
		for _, id := range ids {
			name, field, _ := strings.Cut(id, sep)
			if s := e.Program.schema(name); s != nil && s.field(field) == nil {
				required[id], lasting[id] = false, false
			}
			changed[id] = changed[id] || slices.ContainsFunc(e.After, func(prev *Epoch) bool { return changes(&prev.Program, &e.Program, id) })
		}
	})
	known := map[string]bool{}
	anchored := map[string]bool{} // schemas with a field that all events have
	for _, id := range ids {
		if kind := strings.Join(kinds[id], "\n"); !changed[id] && !known[kind] {
			known[kind] = true
			still = append(still, id)
			anchored[schemaOf(id)] = anchored[schemaOf(id)] || required[id]
		}
	}
	for _, anchors := range []map[string]bool{required, lasting} {
		for _, id := range ids {
			if anchors[id] && !anchored[schemaOf(id)] {
				anchored[schemaOf(id)] = true
				if !slices.Contains(still, id) {
					still = append(still, id)
				}
			}
		}
	}
	together := meetings(next)
	for _, id := range ids {
		if changed[id] {
			out = append(out, together[id])
		}
	}
	if out == nil {
		out = [][]string{nil}
	}
	return still, out
}

// meetings returns, for each field, those that are stored in any epoch in a column that it has in one, itself included.
func meetings(next *Epoch) map[string][]string {
	type spot struct{ schema, place, form, family, key string }
	in := map[spot][]string{}
	walk(next, map[*Epoch]bool{}, func(e *Epoch) {
		for i := range e.Program.Schemas {
			s := &e.Program.Schemas[i]
			for l := range s.layouts() {
				for _, c := range l.Columns {
					at, id := spot{s.Name, l.Place, l.Form, c.Family, c.Key}, s.Name+sep+c.Field
					if !slices.Contains(in[at], id) {
						in[at] = append(in[at], id)
					}
				}
			}
		}
	})
	out := map[string][]string{}
	for _, ids := range in {
		for _, id := range ids {
			out[id] = append(out[id], ids...)
		}
	}
	for id, all := range out {
		slices.Sort(all)
		out[id] = slices.Compact(all)
	}
	return out
}

// schemaOf returns the name of the schema of a field, given the name and the ID.
func schemaOf(id string) string {
	name, _, _ := strings.Cut(id, sep)
	return name
}

// walk visits an epoch and all before it, each once.
func walk(e *Epoch, done map[*Epoch]bool, visit func(*Epoch)) {
	if done[e] {
		return
	}
	done[e] = true
	visit(e)
	for _, p := range e.After {
		walk(p, done, visit)
	}
}

// changes reports whether two programs differ in a field, given the name of its schema and its ID. Tables and
// layouts that only one of them has are no change of it.
func changes(p, q *Program, id string) bool {
	name, field, _ := strings.Cut(id, sep)
	s, o := p.schema(name), q.schema(name)
	if s == nil || o == nil {
		return false
	}
	a, b := s.field(field), o.field(field)
	if a == nil || b == nil {
		return a != b
	}
	if *a != *b {
		return true
	}
	for i := range s.Tables {
		t := &s.Tables[i]
		k := slices.IndexFunc(o.Tables, func(u Table) bool { return u.Name == t.Name })
		if k < 0 {
			continue
		}
		for m := range t.Layouts {
			l := &t.Layouts[m]
			n := slices.IndexFunc(o.Tables[k].Layouts, func(u Layout) bool { return u.Since.Equal(l.Since) })
			if n >= 0 && l.describe(field, true) != o.Tables[k].Layouts[n].describe(field, true) {
				return true
			}
		}
	}
	return false
}

// describe returns how a schema has a field, but for names. Tables that have it alike are one.
func (s *Schema) describe(f *Field) string {
	var all []string
	for l := range s.layouts() {
		all = append(all, l.describe(f.ID, false))
	}
	slices.Sort(all)
	return fmt.Sprint(f.Optional, f.Default, "|") + strings.Join(slices.Compact(all), "|")
}

// describe returns how a layout has a field.
func (l *Layout) describe(field string, names bool) string {
	out := ""
	for _, c := range l.columns(field) {
		if names {
			out += c.Key + " "
		}
		out += fmt.Sprint(c.Family, " ", c.Coding, " ", c.Values, c.Older, ";")
	}
	if l.Rollup != nil {
		out += fmt.Sprint(" summary ", l.Rollup.summary(field) != "")
	}
	return out
}

// part is what is rehearsed together: some reads of a schema, with the tables that serve them before and after, and
// with some fields. Tables meet only in reads that one serves before, and another one after.
type part struct {
	schema string
	reads  map[string]bool
	tables map[string]bool // by schemas and names
	fields []string
	own    []string        // of these, those that change
	places map[string]bool // tables of Bigtable
}

// parts returns the parts of an epoch.
func parts(next *Epoch) (out []part) {
	still, fields := slicesOf(next)
	byTables := map[string]int{}
	for _, prev := range next.After {
		names := map[string]bool{}
		for _, s := range slices.Concat(prev.Program.Schemas, next.Program.Schemas) {
			names[s.Name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			p, q := prev.Program.schema(name), next.Program.schema(name)
			of := q
			if of == nil {
				of = p
			}
			for _, r := range of.Reads {
				if r.Idle && (p == nil || q == nil || p.read(r.Name) == nil) {
					continue
				}
				n := part{schema: name, reads: map[string]bool{}, tables: map[string]bool{}, places: map[string]bool{}}
				n.take(p, r.Name)
				n.take(q, r.Name)
				key := name + sep + strings.Join(slices.Sorted(maps.Keys(n.tables)), sep)
				k, known := byTables[key]
				if !known {
					k = len(out)
					byTables[key], out = k, append(out, n)
				}
				out[k].reads[r.Name] = true
			}
		}
	}
	var all []part
	for _, n := range out {
		for _, ids := range fields {
			n.fields, n.own = slices.Concat(still, ids), ids
			all = append(all, n)
		}
	}
	return all
}

// take adds the table that serves a read in a schema, or else its first one, and where it is.
func (n *part) take(p *Schema, read string) {
	if p == nil {
		return
	}
	t := p.table(read)
	if t == nil || t.Newest {
		n.takeTable(p, p.table(p.instead("")))
	}
	n.takeTable(p, t)
}

func (n *part) takeTable(p *Schema, t *Table) {
	if t == nil {
		return
	}
	n.tables[p.Name+sep+t.Name] = true
	for i := range t.Layouts {
		n.places[t.Layouts[i].Place] = true
	}
}

// keeps reports whether a table is in a part: its own, and those of other schemas in the same tables of Bigtable.
func (n *part) keeps(schema string, t *Table) bool {
	if schema == n.schema {
		return n.tables[schema+sep+t.Name]
	}
	return slices.ContainsFunc(t.Layouts, func(l Layout) bool { return n.places[l.Place] })
}

// of returns the part of an epoch, and of those before it. Epochs that are then alike are one.
func (n *part) of(e *Epoch, done map[*Epoch]*Epoch) *Epoch {
	if out := done[e]; out != nil {
		return out
	}
	out := &Epoch{Name: e.Name, Program: Program{Reads: e.Program.Reads}, Now: e.Now, Filled: e.Filled}
	for i := range e.Program.Schemas {
		if s := n.schemaOf(&e.Program.Schemas[i]); len(s.Tables) > 0 {
			out.Program.Schemas = append(out.Program.Schemas, s)
		}
	}
	for _, p := range e.After {
		prev := n.of(p, done)
		for len(prev.After) == 1 && prev.Now.IsZero() && len(prev.Filled) == 0 && reflect.DeepEqual(prev.Program.Schemas, prev.After[0].Program.Schemas) {
			prev = prev.After[0]
		}
		out.After = append(out.After, prev)
	}
	done[e] = out
	return out
}

// schemaOf returns the part of a schema.
func (n *part) schemaOf(s *Schema) Schema {
	gone := func(field string) bool { return !slices.Contains(n.fields, s.Name+sep+field) }
	out := Schema{Name: s.Name}
	for _, f := range s.Fields {
		if !gone(f.ID) {
			out.Fields = append(out.Fields, f)
		}
	}
	index := map[int]int{}
	for i := range s.Tables {
		if n.keeps(s.Name, &s.Tables[i]) {
			index[i] = len(out.Tables)
			out.Tables = append(out.Tables, s.Tables[i].only(gone))
		}
	}
	for i, r := range s.Reads {
		table, kept := index[r.Table]
		mine := s.Name != n.schema || n.reads[r.Name]
		if kept && (mine || i == 0) {
			out.Reads = append(out.Reads, Read{r.Name, table, r.Idle, !mine})
		}
	}
	return out
}

// only returns a table without some fields.
func (t Table) only(gone func(field string) bool) Table {
	t.Layouts = slices.Clone(t.Layouts)
	for k := range t.Layouts {
		l := &t.Layouts[k]
		l.Columns = slices.DeleteFunc(slices.Clone(l.Columns), func(c Column) bool { return gone(c.Field) })
		if l.Rollup == nil {
			continue
		}
		r := *l.Rollup
		r.Fields = slices.DeleteFunc(slices.Clone(r.Fields), func(f Summary) bool { return gone(f.Field) })
		l.Rollup = &r
	}
	return t
}

// describe returns what is rehearsed in a part of an epoch and of those before it, but for the names of its own
// fields: parts with equal texts have equal losses.
func (n *part) describe(e *Epoch) string {
	var b strings.Builder
	names := map[string]string{}
	plain := func(name string) string {
		if names[name] == "" {
			names[name] = fmt.Sprint(len(names))
		}
		return names[name]
	}
	numbers := map[*Epoch]int{}
	walk(e, map[*Epoch]bool{}, func(e *Epoch) { numbers[e] = len(numbers) })
	walk(e, map[*Epoch]bool{}, func(e *Epoch) {
		fmt.Fprintln(&b, "epoch", e.Now, e.Filled)
		for _, o := range e.After {
			fmt.Fprintln(&b, "after", numbers[o])
		}
		for i := range e.Program.Schemas {
			s := &e.Program.Schemas[i]
			own := func(field string) string {
				if slices.Contains(n.own, s.Name+sep+field) {
					return plain("field " + field)
				}
				return field
			}
			s.describeTo(&b, own, plain)
		}
	})
	return b.String()
}

// describeTo writes the facts of a schema. own returns the name of a field, and plain a number in place of another name.
func (s *Schema) describeTo(b *strings.Builder, own, plain func(name string) string) {
	var lines []string
	flush := func() {
		slices.Sort(lines)
		fmt.Fprintln(b, strings.Join(lines, "\n"))
		lines = nil
	}
	for _, f := range s.Fields {
		lines = append(lines, fmt.Sprint("field ", own(f.ID), " ", f.Optional, f.Default))
	}
	flush()
	fmt.Fprintln(b, s.Name, s.Reads)
	for i := range s.Tables {
		t := &s.Tables[i]
		fmt.Fprintln(b, "table", t.Name, t.Newest)
		for k := range t.Layouts {
			l := &t.Layouts[k]
			fmt.Fprintln(b, l.Since, l.Place, l.Rows, l.Form, l.Families)
			for _, c := range l.Columns {
				key := c.Key
				if own(c.Field) != c.Field {
					key = plain("column " + key)
				}
				lines = append(lines, fmt.Sprint("column ", own(c.Field), " ", c.Family, " ", key, " ", c.Coding, c.Statistics, c.Values, c.Named, c.Older))
			}
			if r := l.Rollup; r != nil {
				fmt.Fprintln(b, r.Family, r.Every, r.Rule, r.Idle)
				for _, f := range r.Fields {
					lines = append(lines, fmt.Sprint("summary ", own(f.Field), f.Name == f.Field))
				}
			}
			flush()
		}
	}
}
