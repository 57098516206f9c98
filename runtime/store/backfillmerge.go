package store

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Parts of events
//
// A table with several families may lose the fields of one of them before those of another one. What readers of the source then
// return is only a part of an event of which the target may still have all. So an event that is written to the target gets from the
// target's own event what only the source may have lost (merge), and digests leave out what the source has lost (dropLost).

// losesParts reports whether a table may lose some fields of an event before others. untold is whether the time of an event does not tell
// when.
func (l *mapping) losesParts() (loses, untold bool) {
	for _, p := range l.Periods() {
		first := p.Table.Families[0].Life
		for _, f := range p.Table.Families {
			if !p.Table.hasClasses() && (!first.Outlives(f.Life) || !f.Life.Outlives(first)) {
				loses = true
			}
		}
		untold = untold || slices.ContainsFunc(p.Table.Families, func(f Family) bool { return !f.tells() })
	}
	return loses, loses && untold
}

// tells reports whether the time of an event tells when its cells expire in a family.
func (f *Family) tells() bool { return f.Life.EventTimed() && !f.ranked() }

// expired reports whether the time of an event tells that its cells have expired in a family.
func (f *Family) expired(of, at time.Time) bool {
	return f.Life.EventTimed() && codec.Micros(of) < f.Life.Horizon(at)
}

// partsOf returns the mapping that stores an event if it may lose fields of it; nil if it loses all at once.
func (l *mapping) partsOf(e event) *mapping {
	if p := l.periodOf(e); p != nil && p.columns != nil && !p.Table.hasClasses() {
		return p
	}
	return nil
}

// dropLost removes from an event what the source has lost at a time, and reports whether it has a field that neither table has lost,
// as far as its time tells.
func (b *backfill) dropLost(e event, at time.Time) (common bool) {
	if !b.partial {
		return true
	}
	p, q := b.source.partsOf(e), b.target.partsOf(e)
	if p == nil {
		return true
	}
	common = q == nil
	for i := range p.columns.stored {
		c := &p.Columns[i]
		switch {
		case c.WrittenAt:
		case p.Table.Families[c.Family].expired(*p.Time(e), at):
			_ = p.Missing(e, i) // a field that is required is in the family that lives longest
		case !common && p.columns.holds(e, i):
			of := slices.IndexFunc(q.Columns, func(o Column) bool { return o.Whole || o.Name == c.Name })
			common = of < 0 || !q.Table.Families[q.Columns[of].Family].expired(*q.Time(e), at)
		}
	}
	return common
}

// lacks returns the columns whose fields an event of the table lacks because they may have expired at a time. Cells that are written
// together in a family whose ages count from the write expire together.
func (l *mapping) lacks(e event, at time.Time) (p *mapping, columns []int) {
	if p = l.partsOf(e); p == nil {
		return nil, nil
	}
	alive := make([]bool, len(p.Table.Families))
	for i := range p.columns.stored {
		c := &p.Columns[i]
		switch family := &p.Table.Families[c.Family]; {
		case c.WrittenAt || family.tells() && !family.expired(*p.Time(e), at):
		case p.lacksPart(e, i):
			columns = append(columns, i)
		case !family.Life.EventTimed():
			alive[c.Family] = true
		}
	}
	return p, slices.DeleteFunc(columns, func(i int) bool { return alive[p.Columns[i].Family] })
}

// lacksPart reports whether an event is as if the field of a column was lost.
func (l *mapping) lacksPart(e event, column int) bool {
	lost := l.clone(e)
	if l.Own != nil {
		l.Own(lost)
	}
	if l.Missing(lost, column) != nil {
		return false // readers require it
	}
	if holds := l.columns.holds(e, column); !holds || !l.columns.holds(lost, column) {
		return !holds
	}
	return bytes.Equal(l.columns.datum(e, column), l.columns.datum(lost, column))
}

// fill adds to the events to copy what only the source may have lost, and the target still has.
func (c *copier) fill(ctx context.Context) error {
	if !c.merges {
		return nil
	}
	target, err := c.ofTarget.find(ctx, c.events, c.backfill.source.placesOf(c.events))
	if err != nil {
		return err
	}
	return c.merge(c.events, target)
}

// merge adds to events of the source what only the source may have lost, and the target still has.
func (c *copier) merge(source, target []event) error {
	if !c.merges {
		return nil
	}
	of, now := c.backfill.source, c.backfill.Now().Add(skew)
	at := make(map[eventPlace]event, len(target))
	for _, e := range target {
		if place, ok := of.placeOf(e); ok {
			at[place] = e
		}
	}
	for _, e := range source {
		place, _ := of.placeOf(e)
		from, ok := at[place]
		if !ok {
			continue
		}
		p, columns := of.lacks(e, now)
		for _, column := range columns {
			if p.columns.holds(from, column) {
				if err := p.take(e, column, p.columns.datum(from, column)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
