package evolve

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// match is a layout of a table that it had before, and has: the first of those by time.
type match struct {
	old, new []lock.Layout // newest first
	table    *layout.Table
}

// matches returns the layouts that a table had before, and has, newest first, and the number of
// layouts that are newer than those of the lock.
func (p *pair) matches() (out []match, added int) {
	out, tables := matchesOf(p.old, p.facts), p.table.Periods()
	added = len(p.facts.Periods())
	if len(out) > 0 {
		added -= len(out[0].new)
	}
	for i := range out {
		out[i].table = tables[i+added]
	}
	return out, added
}

// matchesOf returns the layouts that a table had before, and has, newest first.
func matchesOf(was, is *lock.Table) (out []match) {
	old, new := was.Periods(), is.Periods()
	added := max(0, slices.IndexFunc(new, func(l lock.Layout) bool { return l.Since.Equal(old[0].Since) }))
	for i := range min(len(old), len(new)-added) {
		out = append(out, match{old: old[i:], new: new[i+added:]})
	}
	return out
}

// period returns one layout of a table.
func (p *pair) period(m match) *pair {
	return &pair{
		old:   &lock.Table{Name: p.old.Name, Family: p.old.Family, Layouts: m.old},
		facts: &lock.Table{Name: p.facts.Name, Family: p.facts.Family, Layouts: m.new}, layout: p.layout, table: m.table,
	}
}

// comparePeriods adds the findings of a table, layout by layout. Each layout stores the
// events of a time range.
func (c *Comparison) comparePeriods(p *pair) {
	old, new := p.old.Periods(), p.facts.Periods()
	seen := map[string]bool{} // field changes, which all layouts share
	matches, added := p.matches()
	for i := range new[:added] {
		if !slices.ContainsFunc(p.planned, func(l lock.Layout) bool { return sameLayout(p.facts, &l, p.facts, &new[i]) }) {
			c.begins(p, &new[i])
		}
	}
	for i, m := range matches {
		if last := len(m.new) == 1; !m.new[0].Since.Equal(old[i].Since) && !last {
			c.moved(p, m.table, &old[i], &m.new[0])
		}
		c.comparePeriod(p, m, seen)
	}
	for i := len(matches); i < len(old); i++ {
		c.removed(p, old, i)
	}
}

// withdraw takes the layouts out of the comparison that have not begun, where the schemas change them: no event is stored in
// them.
func (c *Comparison) withdraw() {
	for i := range c.pairs {
		p := &c.pairs[i]
		if c.in.Now.IsZero() || p.old == nil || p.facts == nil {
			continue
		}
		all, n := p.old.Periods(), 0
		for n < len(all)-1 && all[n].Since.After(c.in.Now) {
			n++
		}
		planned := func(l *lock.Layout) bool {
			return slices.ContainsFunc(p.facts.Layouts, func(o lock.Layout) bool { return sameLayout(p.old, l, p.facts, &o) })
		}
		if n == 0 || !slices.ContainsFunc(all[:n], func(l lock.Layout) bool { return !planned(&l) }) {
			continue
		}
		for k := range all[:n] {
			if at := schema.FormatInstant(all[k].Since); !planned(&all[k]) {
				c.add(p, Change{Item: at}, "withdrawn", at)
			}
		}
		rest := *p.old
		rest.Layouts = slices.Clone(p.old.Layouts[n:])
		rest.Name = placeOf(p.old, &rest.Layouts[0])
		rest.Layouts[0].Table = ""
		p.locked, p.old, p.planned = p.old, &rest, all[:n]
	}
}

// sameLayout reports whether a layout of one table is one of another table.
func sameLayout(a *lock.Table, l *lock.Layout, b *lock.Table, o *lock.Layout) bool {
	x, y := used([]lock.Layout{*l})[0], used([]lock.Layout{*o})[0]
	x.Table, y.Table = "", ""
	return placeOf(a, l) == placeOf(b, o) && x.Equal(&y)
}

// removed adds the finding for a layout that the table no longer has.
func (c *Comparison) removed(p *pair, old []lock.Layout, i int) {
	if c.expired(&old[i], old[i-1].Since) {
		c.add(p, Change{Item: until(old, i)}, "layout-expired", until(old, i))
		return
	}
	c.add(p, Change{Item: until(old, i), way: way{text: removeWay(&old[i], old[i-1].Since) + c.unlessBegun(p, old, i)}}, "layout-removed", until(old, i))
}

// unlessBegun returns how the layout after layout i can be withdrawn, if the edit does so; empty if
// the present time is known.
func (c *Comparison) unlessBegun(p *pair, old []lock.Layout, i int) string {
	newest := p.facts.Newest()
	if !c.in.Now.IsZero() || !newest.Since.Equal(old[i].Since) || len((&comparer{old: &old[i], new: newest}).compare()) > 0 {
		return ""
	}
	return "; if the layout from " + until(old, i) + " on has not begun, add --now and the present time"
}

// garbageCollection is how long Bigtable may take to delete expired data.
const garbageCollection = 7 * 24 * time.Hour

// expired reports whether all events of a layout that ended at a time have been deleted.
func (c *Comparison) expired(l *lock.Layout, end time.Time) bool {
	last, expire := expiry(l, end)
	return expire && last.Before(c.in.Now)
}

// expiry returns when all events of a layout that ended at a time will have been deleted. It
// reports whether the time of events alone decides that.
func expiry(l *lock.Layout, end time.Time) (time.Time, bool) {
	age := time.Duration(0)
	for _, f := range l.Families {
		if f.GC.Kind != codec.GCMaxAge || f.Timestamp != codec.TimestampEvent {
			return time.Time{}, false
		}
		age = max(age, f.GC.MaxAge)
	}
	return end.Add(age + garbageCollection), true
}

// removeWay returns when a layout that ended at a time may be removed.
func removeWay(l *lock.Layout, end time.Time) string {
	last, expire := expiry(l, end)
	if !expire {
		return "keep the entry in `before`: its events do not expire with their time, so that no time allows to remove it"
	}
	const day = 24 * time.Hour
	when := last.Truncate(day).Add(day).Format(time.RFC3339)
	return "keep the entry in `before` until its events have expired; once that is so, run " + diag.Code("btgen generate --now "+when)
}

// until returns the end of layout i as a date or a time.
func until(layouts []lock.Layout, i int) string { return schema.FormatInstant(layouts[i-1].Since) }

// begins adds the finding for a new layout.
func (c *Comparison) begins(p *pair, new *lock.Layout) {
	since := schema.FormatInstant(new.Since)
	if !c.in.Now.IsZero() && !new.Since.After(c.in.Now) {
		c.add(p, Change{Item: since, place: atSince, way: way{text: "choose a time by which all programs run the new code"}}, "layout-past", since)
		return
	}
	c.add(p, Change{Item: since, place: atSince}, "layout-begins", since)
}

// MovesLayout reports whether the change is a layout that begins at another time than the stored
// one, or in the past.
func (f *Finding) MovesLayout() bool { return f.Rule == layoutMoved }

// moved adds the finding for a layout that begins at a different time.
func (c *Comparison) moved(p *pair, t *layout.Table, old, new *lock.Layout) {
	was := "has no since"
	if !old.Since.IsZero() {
		was = "begins at " + schema.FormatInstant(old.Since)
	}
	restore := "remove since and the layouts below it"
	if !old.Since.IsZero() {
		restore = "write `since: " + schema.FormatInstant(old.Since) + "`"
	}
	if c.in.Now.IsZero() && !old.Since.IsZero() && !new.Since.IsZero() {
		restore += "; if neither time has come, add --now and the present time"
	}
	sub, since := &pair{old: p.old, facts: p.facts, layout: p.layout, table: t}, schema.FormatInstant(new.Since)
	c.addTo(p, sub, Change{Item: since, place: atSince, way: way{text: restore}}.as("layout-moved", since, was))
}

// comparePeriod adds the findings of one layout, except for field changes in seen.
func (c *Comparison) comparePeriod(p *pair, m match, seen map[string]bool) {
	sub, t := p.period(m), m.table
	if was, is := placeOf(p.old, &m.old[0]), t.ID; was != is && t.Until.IsZero() {
		keep := way{text: "keep the name `" + was + "`, or let a new layout begin in the other table, with since and before"}
		c.addTo(p, sub, Change{Old: "table " + was, New: "table " + is, way: keep}.as("table-renamed", was, is))
	} else if was != is {
		until := schema.FormatInstant(t.Until)
		c.addTo(p, sub, Change{Item: "until-" + until, way: way{text: "write `table: " + quoted(was) + "`"}}.as("table-moved", until, is, was))
	}
	for _, change := range (&comparer{old: &m.old[0], new: &m.new[0], heirs: c.heirs(p)}).compare() {
		if change.Rule == lifeLonger && p.layout.Expect.Clusters > 1 {
			change.Rule = lifeLongerClusters
			change.Message += "; several clusters allow steps of 90 days"
		}
		if change.place == atColumn || change.place == atEnum || change.place == atSummary {
			if seen[change.Rule.ID+change.Item] {
				continue
			}
			seen[change.Rule.ID+change.Item] = true
		}
		c.addPeriod(p, sub, change)
	}
	c.takenFamilies(p, sub, m)
}

// addPeriod adds a change of a layout of a table.
func (c *Comparison) addPeriod(p, sub *pair, change Change) {
	until := sub.table.Until
	if until.IsZero() {
		c.addTo(p, sub, change)
		return
	}
	change.field = cmp.Or(change.field, change.Item)
	suffix := "until-" + schema.FormatInstant(until)
	if change.Item == "" {
		change.Item = suffix
	} else {
		change.Item += "/" + suffix
	}
	change.Message = fmt.Sprintf("in the layout before %s, %s", schema.FormatInstant(until), change.Message)
	change.way.beside = false
	c.addTo(p, sub, change)
}
