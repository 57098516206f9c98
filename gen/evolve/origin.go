package evolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
)

// origin is a column of the old facts from which a field of the new ones is read.
type origin struct {
	field string      // the one that had the column last
	old   lock.Column // in the old facts
	as    lock.Column // in the new ones
}

// live reports whether events were written with the field until now.
func (o *origin) live() bool { return !o.old.Retired }

// owner returns the name of the field that has a column, or had it last. An older column is that
// of the field in the column to which it moved.
func owner(l *lock.Layout, col lock.Column) string {
	for range l.Columns {
		if col.Was == "" {
			break
		}
		i := find(l.Columns, col.Was, false)
		if i < 0 {
			i = slices.IndexFunc(l.Columns, func(o lock.Column) bool { return o.Key == col.Was && o.Was != o.Key })
		}
		if i < 0 {
			break
		}
		col = l.Columns[i]
	}
	return item(col)
}

// origins returns the columns of the old facts from which a field is read: its own one, and those
// in was.
func (c *comparer) origins(new lock.Column) []origin {
	var out []origin
	for _, as := range c.new.Columns {
		own := as.Was == "" && as.Key == new.Key && as.Family == new.Family
		if as.Written || !own && as.Was != new.Key {
			continue
		}
		for _, old := range c.old.Columns {
			if old.Key == as.Key && old.Family == as.Family && !old.Written {
				out = append(out, origin{owner(c.old, old), old, as})
			}
		}
	}
	return out
}

// continued returns the field of the old facts that a field continues; empty if it continues
// none. It is the one that events were written with until now or, if there is none, one that was
// removed.
func continued(field string, all []origin) string {
	for _, fits := range []func(o origin) bool{
		func(o origin) bool { return o.live() && o.field == field },
		func(o origin) bool { return o.live() && o.old.Was == "" && o.as.Was == "" },
		func(o origin) bool { return o.live() && o.old.Was == "" },
		func(o origin) bool { return o.live() },
		func(origin) bool { return true },
	} {
		if i := slices.IndexFunc(all, fits); i >= 0 {
			return all[i].field
		}
	}
	return ""
}

// mixed adds the change for a field that is read from columns of several fields, which are all.
func (c *comparer) mixed(new lock.Column, all []origin) {
	main := continued(item(new), all)
	for _, o := range all {
		known := slices.ContainsFunc(c.changes, func(d Change) bool {
			same := d.way.column != nil && d.way.column.Key == o.old.Key && d.Rule.Class == Data
			return d.Item == item(new) && (same || d.Rule == placeReused)
		})
		if o.field == main || known {
			continue
		}
		at := Change{Item: item(new), place: atColumn, column: new.Key, Old: o.field + " in " + c.in(c.old, o.old), New: main + " in " + c.in(c.new, o.as)}
		if o.as.Was == "" {
			c.reuse(at, o.old)
			continue
		}
		which := fmt.Sprintf("field %q is stored", o.field)
		if !o.live() {
			which = fmt.Sprintf("the removed field %q was stored", o.field)
		}
		at.way.text = fmt.Sprintf("leave %s out of was", c.place(o.as))
		c.add(placeReused, at, "read-from-other", item(new), c.place(o.as), which)
	}
}

// restored compares a field that is read from a column of a removed one, among all its origins, with
// the other columns that this had: events may have it in any of them.
func (c *comparer) restored(new lock.Column, all []origin) {
	if len(all) == 0 || slices.ContainsFunc(all, func(o origin) bool { return o.live() }) ||
		slices.ContainsFunc(c.changes, func(d Change) bool { return d.Item == item(new) && d.Rule.Class == Data }) {
		return
	}
	main := continued(item(new), all)
	for _, old := range c.old.Columns {
		read := slices.ContainsFunc(all, func(o origin) bool { return o.old.Key == old.Key && o.old.Family == old.Family })
		if old.Retired && !old.Written && !read && owner(c.old, old) == main {
			c.add(placeForgotten, c.unread(old, new, "add %s", quotedCode(c.wasText(old, &new))), "not-read-from", item(new), main, c.place(old))
			return
		}
	}
}

// site is a layout of a table in which stored events and new ones are compared.
type site struct {
	*comparer
	of, sub *pair // the table, and the layout
	origins map[string][]origin
}

// name describes a site.
func (s *site) name() string {
	name := "table " + quoted(s.of.table.ID)
	if until := s.sub.table.Until; !until.IsZero() {
		name += " before " + schema.FormatInstant(until)
	}
	return name
}

// reads reports whether a field is read from a column of a field of the old facts.
func (s *site) reads(field, of string) bool {
	return slices.ContainsFunc(s.origins[field], func(o origin) bool { return o.field == of })
}

// has returns the column in which events have a field of the old facts: the newest one.
func (s *site) has(of string) (lock.Column, bool) {
	var out lock.Column
	found := false
	for _, col := range s.old.Columns {
		if !col.Written && owner(s.old, col) == of && (!found || !col.Retired && col.Was == "") {
			out, found = col, true
		}
	}
	return out, found
}

// agree adds the findings for fields of which tables, or the layouts of one table, disagree which
// earlier field they continue. Each of them alone looks like a rename: was names columns for one,
// and numbers for another.
func (c *Comparison) agree() {
	for _, l := range c.in.Layouts {
		var sites []site
		for i := range c.pairs {
			if p := &c.pairs[i]; p.layout == l && p.old != nil && p.facts != nil {
				sites = append(sites, c.sites(p)...)
			}
		}
		for i := range l.Fields {
			c.agreeOn(l.Fields[i].Name, sites)
		}
	}
}

// sites returns the layouts of a table that it had before, and has.
func (c *Comparison) sites(p *pair) []site {
	var out []site
	matches, _ := p.matches()
	for _, m := range matches {
		if s := siteOf(m); s.origins != nil {
			s.of, s.sub = p, p.period(m)
			out = append(out, s)
		}
	}
	return out
}

// siteOf returns a layout that a table had before, and has. It has no origins if the keys of columns have another meaning.
func siteOf(m match) site {
	s := site{comparer: &comparer{old: &m.old[0], new: &m.new[0]}}
	if (&comparer{old: s.old, new: s.new}).pattern() {
		return s
	}
	s.origins = map[string][]origin{}
	for _, col := range s.new.Live() {
		if !col.Written {
			s.origins[item(col)] = s.comparer.origins(col)
		}
	}
	return s
}

// agreeOn adds the findings for one field.
func (c *Comparison) agreeOn(field string, sites []site) {
	for _, live := range []bool{true, false} {
		for i := range sites {
			for _, o := range sites[i].origins[field] {
				if o.live() == live && c.disagree(field, &sites[i], o.field, sites) {
					return // the reverse is the same finding
				}
			}
		}
	}
}

// disagree adds the findings for the sites that have an earlier field, but do not read it as a
// field, as another site does. It reports whether there are any.
func (c *Comparison) disagree(field string, at *site, of string, sites []site) bool {
	found := false
	for i := range sites {
		s := &sites[i]
		stored, known := s.has(of)
		if !known || s.reads(field, of) {
			continue
		}
		live := s.new.Live()
		j := slices.IndexFunc(live, func(col lock.Column) bool { return !col.Written && item(col) == field })
		if j < 0 {
			continue
		}
		found = true
		change := s.instead(live[j], at.name(), of, stored)
		if !c.told(s, change) {
			c.addPeriod(s.of, s.sub, change)
		}
	}
	return found
}

// instead returns the change for a field that does not continue an earlier one, as it does
// elsewhere, but another, or none.
func (s *site) instead(new lock.Column, elsewhere, of string, stored lock.Column) Change {
	all := s.origins[item(new)]
	out := s.unread(stored, new, "add %s", quotedCode(s.wasText(stored, &new)))
	if len(all) == 0 {
		out.Rule = placeForgotten
		out.Message = fmt.Sprintf("field %q continues %q in %s, but is not read from %s: events that have it there lack it", item(new), of, elsewhere, s.place(stored))
		return out
	}
	main := continued(item(new), all)
	o := all[slices.IndexFunc(all, func(o origin) bool { return o.field == main })]
	leave := fmt.Sprintf(", and leave %s out", s.place(o.as))
	if o.as.Was == "" {
		leave = fmt.Sprintf(", and store it in a place other than %s", s.place(o.as))
	}
	out.Rule, out.Old, out.New = placeReused, main+" in "+s.in(s.old, o.old), item(new)+" in "+s.in(s.new, o.as)
	out.way.text += leave
	out.Message = fmt.Sprintf("field %q continues %q in %s, but %q in %s: values of two fields are read as one", item(new), of, elsewhere, main, s.place(o.as))
	return out
}

// told reports whether the findings of a table already say what a change does.
func (c *Comparison) told(s *site, change Change) bool {
	rules := []*Rule{placeReused}
	switch {
	case change.Rule == placeForgotten:
		rules = []*Rule{fieldElsewhere, placeForgotten}
	case s.new.Blob == "": // a number may move to a field that is only renamed
		rules = append(rules, fieldReplaced)
	}
	return slices.ContainsFunc(rules, func(rule *Rule) bool {
		change.Rule = rule
		name := change.name(c.tableName(s.of))
		return slices.ContainsFunc(c.Findings, func(f Finding) bool {
			return f.pair == s.of && (f.Name == name || strings.HasPrefix(f.Name, name+"/"))
		})
	})
}
