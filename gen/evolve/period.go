package evolve

import (
	"fmt"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// comparePeriods adds the findings of a table, layout by layout. Each layout stores the
// events of a time range.
func (c *Comparison) comparePeriods(p *pair) {
	old, new := p.old.Periods(), p.facts.Periods()
	tables := p.table.Periods()
	seen := map[string]bool{} // field changes, which all layouts share
	// added counts the layouts that are newer than those of the lock.
	added := max(0, slices.IndexFunc(new, func(l lock.Layout) bool { return l.Since.Equal(old[0].Since) }))
	for i := range new[:added] {
		c.begins(p, &new[i])
	}
	for i := range old {
		j := i + added
		if j >= len(new) {
			c.removed(p, old, i)
			continue
		}
		if last := j == len(new)-1; !new[j].Since.Equal(old[i].Since) && !last {
			c.moved(p, tables[j], &old[i], &new[j])
		}
		c.comparePeriod(p, tables[j], old[i:], new[j:], seen)
	}
	if extra := len(new) - added - len(old); extra > 0 {
		c.moved(p, tables[len(old)+added-1], &old[len(old)-1], &new[len(old)+added-1])
	}
}

// removed adds the finding for a layout that the table no longer has.
func (c *Comparison) removed(p *pair, old []lock.Layout, i int) {
	if c.expired(&old[i], old[i-1].Since) {
		c.add(p, Change{
			Rule: "E72", Item: until(old, i), place: atTable,
			Message: fmt.Sprintf("the layout before %s is removed: its events have expired", until(old, i)),
		}, false)
		return
	}
	c.add(p, Change{
		Rule: "E18", Item: until(old, i), place: atTable,
		Message: fmt.Sprintf("the layout before %s is removed: its events are no longer read", until(old, i)),
		way:     way{text: "keep the entry in `before` until its events have expired, a week after their time to live"},
	}, false)
}

// garbageCollection is how long Bigtable may take to delete expired data.
const garbageCollection = 7 * 24 * time.Hour

// expired reports whether all events of a layout that ended at a time have been deleted.
func (c *Comparison) expired(l *lock.Layout, end time.Time) bool {
	for _, f := range l.Families {
		if f.GC.Kind != codec.GCMaxAge || f.Timestamp != codec.TimestampEvent || !end.Add(f.GC.MaxAge+garbageCollection).Before(c.in.Now) {
			return false
		}
	}
	return true
}

// until returns the end of layout i as a date or a time.
func until(layouts []lock.Layout, i int) string { return schema.FormatInstant(layouts[i-1].Since) }

// begins adds the finding for a new layout.
func (c *Comparison) begins(p *pair, new *lock.Layout) {
	if !c.in.Now.IsZero() && !new.Since.After(c.in.Now) {
		c.add(p, Change{
			Rule: "E19", Item: schema.FormatInstant(new.Since), place: atSince,
			Message: fmt.Sprintf("a new layout begins at %s, in the past: events since then are stored in the earlier layout and are not read", schema.FormatInstant(new.Since)),
			way:     way{text: "choose a time by which all programs run the new code"},
		}, false)
		return
	}
	c.add(p, Change{
		Rule: "E38", Item: schema.FormatInstant(new.Since), place: atSince,
		Message: fmt.Sprintf("events from %s onward use a new layout: programs with the old code do not find them", schema.FormatInstant(new.Since)),
	}, false)
}

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
	sub := &pair{old: p.old, facts: p.facts, layout: p.layout, table: t}
	if now := c.in.Now; !now.IsZero() && now.Before(old.Since) && now.Before(new.Since) {
		c.addTo(p, sub, Change{
			Rule: "E38", Item: schema.FormatInstant(new.Since), place: atSince,
			Message: fmt.Sprintf("the layout begins at %s instead of %s, both in the future: deploy all programs before either", schema.FormatInstant(new.Since), schema.FormatInstant(old.Since)),
		}, false)
		return
	}
	c.addTo(p, sub, Change{
		Rule: "E19", Item: schema.FormatInstant(new.Since), place: atSince,
		Message: fmt.Sprintf("the layout begins at %s, but the stored one %s: events between the two times are not read", schema.FormatInstant(new.Since), was),
		way:     way{text: restore},
	}, false)
}

// comparePeriod adds the findings of one layout, except for field changes in seen.
func (c *Comparison) comparePeriod(p *pair, t *layout.Table, old, new []lock.Layout, seen map[string]bool) {
	sub := &pair{
		old:   &lock.Table{Name: p.old.Name, Family: p.old.Family, Layouts: old},
		facts: &lock.Table{Name: p.facts.Name, Family: p.facts.Family, Layouts: new}, layout: p.layout, table: t,
	}
	suffix := ""
	if !t.Until.IsZero() {
		suffix = "until-" + schema.FormatInstant(t.Until)
		if was, is := tableID(p, &old[0]), t.ID; was != is {
			c.addTo(p, sub, Change{
				Rule: "E01", Item: suffix, place: atTable, Message: fmt.Sprintf("the layout before %s is in table %q, but its events are in %q", schema.FormatInstant(t.Until), is, was),
				way: way{text: "write `table: " + quoted(was) + "`"},
			}, false)
		}
	}
	for _, change := range Compare(&old[0], &new[0]) {
		if change.Rule == "E71" && p.layout.Expect.Clusters > 1 {
			change.Rule = "E36"
			change.Message += "; several clusters allow steps of 90 days"
		}
		if change.place == atColumn || change.place == atEnum {
			if seen[change.Rule+change.Item] {
				continue
			}
			seen[change.Rule+change.Item] = true
		}
		switch {
		case suffix == "":
		case change.Item == "":
			change.Item = suffix
		default:
			change.Item += "/" + suffix
		}
		if suffix != "" {
			change.Message = fmt.Sprintf("in the layout before %s, %s", schema.FormatInstant(t.Until), change.Message)
			change.way.beside = false
		}
		c.addTo(p, sub, change, suffix == "")
	}
}

// tableID returns the table of a layout in the lock.
func tableID(p *pair, l *lock.Layout) string {
	if l.Table == "" {
		return p.old.Name
	}
	return l.Table
}
