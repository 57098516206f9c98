package rehearse

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Tables meet only in reads that one serves before, and another one after, and fields only in whether an event is there
// at all. So an epoch is rehearsed in parts, and each of these field by field, beside one that all events have: the time
// is the sum over fields, not their product.

// part is some reads of a schema, with the tables that serve them before and after, and with those of other schemas in
// the same tables of Bigtable.
type part struct {
	schema string
	reads  map[string]bool
	tables map[string]bool // by schemas and names
	places map[string]bool // tables of Bigtable
}

// parts returns the parts of an epoch.
func parts(next *Epoch) (out []part) {
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
	return out
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

// only returns the part of a schema.
func (n *part) only(s *Schema) Schema {
	out := Schema{Name: s.Name, Fields: s.Fields}
	index := map[int]int{}
	for i := range s.Tables {
		if n.keeps(s.Name, &s.Tables[i]) {
			index[i] = len(out.Tables)
			out.Tables = append(out.Tables, s.Tables[i])
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

// cut returns a part of an epoch, and of those before it. Epochs that are then alike are one.
func (e *Epoch) cut(only func(s *Schema) Schema, done map[*Epoch]*Epoch) *Epoch {
	if out := done[e]; out != nil {
		return out
	}
	out := &Epoch{Name: e.Name, Program: Program{Reads: e.Program.Reads}, Now: e.Now, Filled: e.Filled}
	for i := range e.Program.Schemas {
		if s := only(&e.Program.Schemas[i]); len(s.Tables) > 0 {
			out.Program.Schemas = append(out.Program.Schemas, s)
		}
	}
	for _, p := range e.After {
		prev := p.cut(only, done)
		for len(prev.After) == 1 && prev.Now.IsZero() && len(prev.Filled) == 0 && reflect.DeepEqual(prev.Program.Schemas, prev.After[0].Program.Schemas) {
			prev = prev.After[0]
		}
		out.After = append(out.After, prev)
	}
	done[e] = out
	return out
}

// fields are rehearsed together, each as its schema, sep, and its ID.
type fields struct {
	own    []string // one, and those that were stored in a column of it, also of other schemas
	beside []string // one of each schema: without it, an event is taken for one of a single value
}

// fieldsOf returns the fields of a schema, each beside one that all events have or, if there is none, that all programs know.
func (n *part) fieldsOf(next *Epoch) (out []fields) {
	type spot struct{ place, form, family, key string }
	in := map[spot][]string{}                                                      // the fields that are there in any epoch
	programs, knows, needs := map[string]int{}, map[string]int{}, map[string]int{} // numbers of programs
	walk(next, map[*Epoch]bool{}, func(e *Epoch) {
		for i := range e.Program.Schemas {
			s := &e.Program.Schemas[i]
			programs[s.Name]++
			for _, f := range s.Fields {
				knows[s.Name+sep+f.ID]++
				if !f.Optional || f.Default != "" { // one with a default is always written
					needs[s.Name+sep+f.ID]++
				}
			}
			for l := range s.layouts() {
				for i := range l.Columns {
					c := &l.Columns[i]
					for _, family := range c.in(l) {
						at, id := spot{l.Place, l.Form, family, c.Key}, s.Name+sep+c.Field
						if !slices.Contains(in[at], id) {
							in[at] = append(in[at], id)
						}
					}
				}
			}
		}
	})
	ids, lasting := slices.Sorted(maps.Keys(knows)), map[string][]string{} // by schema
	for _, has := range []map[string]int{needs, knows} {
		for _, id := range ids {
			if name, _, _ := strings.Cut(id, sep); has[id] == programs[name] {
				lasting[name] = append(lasting[name], id)
			}
		}
	}
	together := map[string][]string{}
	for _, all := range in {
		for _, id := range all {
			together[id] = append(together[id], all...)
		}
	}
	known := map[string]bool{}
	for _, id := range ids {
		if !strings.HasPrefix(id, n.schema+sep) {
			continue
		}
		own := slices.Compact(slices.Sorted(slices.Values(append(together[id], id))))
		key := strings.Join(own, sep)
		if known[key] {
			continue
		}
		f := fields{own: own}
		for _, all := range lasting {
			if i := slices.IndexFunc(all, func(id string) bool { return !slices.Contains(own, id) }); i >= 0 {
				f.beside = append(f.beside, all[i])
			}
		}
		known[key], out = true, append(out, f)
	}
	if out == nil {
		return []fields{{}}
	}
	return out
}

// has reports whether a field, given its schema and its ID, is rehearsed with these.
func (f *fields) has(schema, field string) bool {
	id := schema + sep + field
	return slices.Contains(f.own, id) || slices.Contains(f.beside, id)
}

// only returns a schema with these fields.
func (f *fields) only(s *Schema) Schema {
	out := *s
	out.Fields = slices.DeleteFunc(slices.Clone(s.Fields), func(o Field) bool { return !f.has(s.Name, o.ID) })
	out.Tables = slices.Clone(s.Tables)
	for i := range out.Tables {
		t := &out.Tables[i]
		t.Layouts = slices.Clone(t.Layouts)
		for k := range t.Layouts {
			l := &t.Layouts[k]
			l.Columns = slices.DeleteFunc(slices.Clone(l.Columns), func(c Column) bool { return !f.has(s.Name, c.Field) })
			if l.Rollup != nil {
				r := *l.Rollup
				r.Fields = slices.DeleteFunc(slices.Clone(r.Fields), func(o Summary) bool { return !f.has(s.Name, o.Field) })
				l.Rollup = &r
			}
		}
	}
	return out
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
