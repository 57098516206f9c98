package evolve

import (
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// rollups compares the rollups of a layout.
func (c *comparer) rollups() {
	new, known := c.new.Rollup(), false
	active := slices.DeleteFunc(slices.Clone(c.old.Rollups), func(r lock.Rollup) bool { return r.Retired })
	for i := range active { // several if two branches were merged
		if old := &active[i]; new != nil && old.Family == new.Family {
			known = len(active) == 1 // programs of the other branch do not mark what they change in it
			c.sameRollup(old, new)
		} else {
			c.rollupGone(old)
		}
	}
	if new != nil && !known {
		c.rollupArrives(new)
	}
}

// rollupText returns a rollup of a layout in the schema language, as far as it is a fact.
func rollupText(l *lock.Layout, r lock.Rollup) string {
	out := "rollup: {every: " + schema.FormatDuration(r.Every) + ", family: " + quoted(r.Family) + ", ttl: " + schema.TTLOf(r.GC, false).String()
	var fields []string
	for _, s := range l.Summaries {
		if of, known := column(l, s.Name); known && !s.Retired {
			fields = append(fields, quoted(item(of)))
		}
	}
	if written := slices.DeleteFunc(l.Live(), func(c lock.Column) bool { return c.Written }); len(fields) < len(written) {
		out += ", fields: [" + strings.Join(fields, ", ") + "]"
	}
	if r.Idle {
		out += ", serves: false"
	}
	return out + "}"
}

// atRollup returns a change of a rollup, and how to restore the old one, if there is one.
func (c *comparer) atRollup(family string) Change {
	out := Change{Item: family, place: atRollup}
	if old := c.old.Rollup(); old != nil {
		out.way.text = "restore " + diag.Code(rollupText(c.old, *old)) + ", or let a new layout begin with the change and another family of events, with since and before"
	}
	return out
}

// rollupGone adds the change of a layout that no longer has a rollup.
func (c *comparer) rollupGone(old *lock.Rollup) {
	if at := c.atRollup(old.Family); old.Idle {
		c.add(at, "unused-rollup-removed", old.Family)
	} else {
		c.add(at, "used-rollup-removed", old.Family)
	}
}

// rollupArrives adds the change of a layout that gets a rollup.
func (c *comparer) rollupArrives(new *lock.Rollup) {
	at := c.atRollup(new.Family)
	if new.Idle {
		c.add(at, "rollup-added", new.Family)
		return
	}
	at.Old, at.New = "no marks", "windows that may lack changes"
	idle := *new
	idle.Idle = true
	at.way.text = "write " + diag.Code(rollupText(c.new, idle)) + " until all programs that write have its code"
	c.add(at, "rollup-used-at-once", new.Family)
}

// sameRollup compares a rollup that stays in its family.
func (c *comparer) sameRollup(old, new *lock.Rollup) {
	n := len(c.changes)
	c.age(lock.Family{Name: old.Family, GC: old.GC}, lock.Family{Name: new.Family, GC: new.GC})
	for i := range c.changes[n:] {
		at := &c.changes[n+i]
		if at.way = (way{restore: rollupText(c.old, *old)}); at.Rule == lifeLonger {
			*at = at.as("windows-longer", new.Family, at.Old, at.New)
		}
	}
	at := c.atRollup(new.Family)
	switch {
	case old.Idle && !new.Idle:
		served := at
		served.Old, served.New, served.way.text = "serves: false", "serves", "keep "+diag.Code(rollupText(c.old, *old))+" until all programs that write have the rollup, and btgen-live rollup has run with --all"
		c.add(served, "rollup-used", new.Family)
	case !old.Idle && new.Idle:
		c.add(at, "rollup-unused", new.Family)
	}
	at.Item += "/every"
	at.Old, at.New = schema.FormatDuration(old.Every), schema.FormatDuration(new.Every)
	expire := slices.ContainsFunc(c.old.Families, func(f lock.Family) bool { return f.GC.Kind != codec.GCNone })
	switch {
	case old.Every == new.Every:
	case expire && !old.Idle && new.Every < old.Every && old.Every%new.Every == 0:
		c.add(at, "windows-narrower", new.Family, at.New, at.Old)
	default:
		c.add(at, "windows-of-events", new.Family, at.New)
	}
	c.summaries(new.Family)
}

// summaries adds the changes of the fields that a rollup gets, and of what the others mean: windows of events that are still there are
// read, whose counts and values differ then from those of the events.
func (c *comparer) summaries(family string) {
	for _, new := range c.new.Summaries {
		i := slices.IndexFunc(c.old.Summaries, func(s lock.Summary) bool { return s.Name == new.Name })
		old, had := column(c.old, new.Name)
		of, has := column(c.new, new.Name)
		at := c.atSummary(family, new.Name, of)
		at.New, at.way.text = new.Type.String(), "give the field a name that no other had"
		for k, kept := range new.Sketches {
			switch key := schema.AllSketches[k].Key; {
			case i < 0 || c.old.Summaries[i].Retired || new.Retired || kept == c.old.Summaries[i].Sketches[k]:
			case kept:
				c.add(at, "rollup-sketch", key, new.Name)
			default:
				without := at
				without.Old, without.New, without.way.text = "with "+key, "without", "keep `"+key+": true` at the field"
				c.add(without, "rollup-without-sketch", key, new.Name)
			}
		}
		switch {
		case i >= 0 && !c.old.Summaries[i].Retired && had && has:
			if change, differs := c.meaning(at, old, of); differs {
				c.changes = append(c.changes, change)
			}
		case i >= 0 && !c.old.Summaries[i].Retired:
		case i >= 0 && !had:
			at.Old = c.old.Summaries[i].Type.String() + " of the removed field"
			c.add(at, "rollup-field-taken", new.Name)
		default:
			c.add(at, "rollup-field", new.Name)
		}
	}
}

// atSummary returns a change of the windows of a field, which a rollup has under a name.
func (c *comparer) atSummary(family, name string, of lock.Column) Change {
	out := c.atRollup(family)
	out.place, out.Item, out.field = atSummary, family+"/"+name, item(of)
	return out
}

// holds reports whether a family has events of which a rollup has windows, before and after the change.
func (c *comparer) holds(family string) bool {
	old, new := c.old.Rollup(), c.new.Rollup()
	return old != nil && new != nil && old.Family == new.Family && family != new.Family
}

// column returns the column of new events of which a rollup has statistics under a name.
func column(l *lock.Layout, name string) (lock.Column, bool) {
	for i := range l.Columns {
		if c := &l.Columns[i]; !c.Retired && c.Was == "" && (c.Key == name || item(*c) == name) {
			return *c, true
		}
	}
	return lock.Column{}, false
}

// reads reports whether statistics of values of a type are also those of another one.
func reads(old, new schema.Type) bool {
	switch old {
	case new:
		return true
	case schema.Int32:
		return new == schema.Int64
	case schema.Uint32:
		return new == schema.Uint64
	case schema.String:
		return new == schema.Bytes
	}
	return false
}

// takenFamilies adds the findings for families of a layout whose rows may have other cells there: of a rollup, or
// of events in that of a rollup.
func (c *Comparison) takenFamilies(p, sub *pair, m match) {
	old, new := &m.old[0], &m.new[0]
	place := placeOf(p.facts, new)
	if r := new.Rollup(); r != nil {
		if was := old.Rollup(); was == nil || was.Family != r.Family {
			if what := c.usedFor(p, old, place, r.Family); what != "" {
				c.taken(p, sub, r.Family, what, "windows and marks of the rollup", "rollup-family-taken")
			}
		}
	}
	for _, f := range new.Families {
		known := slices.ContainsFunc(old.Families, func(o lock.Family) bool { return o.Name == f.Name })
		if what := c.usedFor(p, old, place, f.Name); !known && what == aRollup {
			c.taken(p, sub, f.Name, what, "events", "family-taken")
		}
	}
}

// taken adds the finding for a family that has other cells: what it was used for, and what it has.
func (c *Comparison) taken(p, sub *pair, family, was, has, name string) {
	c.addPeriod(p, sub, Change{
		Item: family, place: atRollup, Old: "family " + family + ", which " + was, New: has + " in family " + family,
		way: way{text: "choose a family that the table never had"},
	}.as(name, family, was))
}

// aRollup is what a family of a rollup was used for.
const aRollup = "had a rollup before"

// usedFor returns what a family was used for in rows of a layout: now, or by layouts that an accepted change
// replaced or removed; empty if it was for nothing.
func (c *Comparison) usedFor(p *pair, now *lock.Layout, place, family string) string {
	all := []*lock.Layout{now}
	add := func(t *lock.Table, from int) {
		for i := range t.Layouts[from:] {
			if l := &t.Layouts[from+i]; placeOf(t, l) == place {
				all = append(all, l)
			}
		}
	}
	add(p.old, len(p.old.Periods()))
	for i := range c.pairs {
		if o := &c.pairs[i]; o.old != nil && o.old != p.old && o.facts == nil {
			add(o.old, 0)
		}
	}
	events := false
	for _, l := range all {
		if slices.ContainsFunc(l.Rollups, func(r lock.Rollup) bool { return r.Family == family }) {
			return aRollup
		}
		events = events || slices.ContainsFunc(l.Families, func(f lock.Family) bool { return f.Name == family })
	}
	if events {
		return "had events before"
	}
	return ""
}
