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
func (f *Family) tells() bool {
	return f.Life.EventTimed() && !slices.ContainsFunc(f.Life.Retention, func(t codec.Term) bool { return t.Versions > 0 })
}

// expired reports whether the time of an event tells that its cells have expired in a family.
func (f *Family) expired(of, at time.Time) bool {
	return f.Life.EventTimed() && codec.Micros(of) < f.Life.Horizon(at)
}

// partsOf returns the mapping that stores an event if it may lose fields of it; nil if it loses all at once.
func (l *mapping) partsOf(e event) *mapping {
	if p, _ := l.homeOf(e); p != nil && p.layout != nil && !p.Table.hasClasses() {
		return p
	}
	return nil
}

// dropLost removes from an event what the source has lost at a time.
func (b *backfill[E]) dropLost(e event, at time.Time) {
	p := b.source.partsOf(e)
	if p == nil || !b.partial {
		return
	}
	for i := range p.layout.stored {
		if c := &p.Columns[i]; !c.WrittenAt && p.Table.Families[c.Family].expired(*p.Time(e), at) {
			_ = p.Missing(e, i) // a field that is required is in the family that lives longest
		}
	}
}

// inCommon reports whether an event has a field that neither table has lost at a time, as far as its time tells.
func (b *backfill[E]) inCommon(e event, at time.Time) bool {
	p, q := b.source.partsOf(e), b.target.partsOf(e)
	if p == nil || q == nil || !b.partial {
		return true
	}
	for i := range p.layout.stored {
		c := &p.Columns[i]
		if has := p.layout.has[i]; c.WrittenAt || has != nil && !has(e) || p.Table.Families[c.Family].expired(*p.Time(e), at) {
			continue
		}
		of := slices.IndexFunc(q.Columns, func(o Column) bool { return o.Whole || o.Name == c.Name })
		if of < 0 || !q.Table.Families[q.Columns[of].Family].expired(*q.Time(e), at) {
			return true
		}
	}
	return false
}

// eachLost calls f for the columns whose fields an event of the table lacks because they may have expired at a time. Cells that are written
// together in a family whose ages count from the write expire together.
func (l *mapping) eachLost(e event, at time.Time, f func(p *mapping, column int)) {
	p := l.partsOf(e)
	if p == nil {
		return
	}
	alive := make([]bool, len(p.Table.Families))
	for i := range p.layout.stored {
		c := &p.Columns[i]
		if family := &p.Table.Families[c.Family]; !c.WrittenAt && !family.Life.EventTimed() && !p.lacksPart(e, i) {
			alive[c.Family] = true
		}
	}
	for i := range p.layout.stored {
		c := &p.Columns[i]
		family := &p.Table.Families[c.Family]
		if !c.WrittenAt && !alive[c.Family] && (!family.tells() || family.expired(*p.Time(e), at)) && p.lacksPart(e, i) {
			f(p, i)
		}
	}
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
	part := &l.layout.stored[column]
	if part.has != nil && part.has(e) != part.has(lost) {
		return false
	}
	return part.has != nil && !part.has(e) || bytes.Equal(part.encode(nil, e), part.encode(nil, lost))
}

// fill adds to the events to copy what only the source may have lost, and the target still has.
func (c *copier[E]) fill(ctx context.Context) error {
	if !c.backfill.partial || c.appends {
		return nil
	}
	c.ofTarget.undecodable = nil
	target, err := c.ofTarget.find(ctx, c.events, c.ofSource.placesOf(c.events))
	if err != nil {
		return err
	}
	return c.merge(c.events, target)
}

// merge adds to events of the source what only the source may have lost, and the target still has.
func (c *copier[E]) merge(source, target []E) (failed error) {
	if !c.backfill.partial || c.appends {
		return nil
	}
	at := make(map[eventPlace]event, len(target))
	for i := range target {
		if place, ok := c.ofSource.places.of(event{&target[i]}); ok {
			at[place] = event{&target[i]}
		}
	}
	now := c.backfill.Now().Add(skew)
	for i := range source {
		e := event{&source[i]}
		place, _ := c.ofSource.places.of(e)
		from, ok := at[place]
		if !ok {
			continue
		}
		c.backfill.source.eachLost(e, now, func(p *mapping, column int) {
			if part := &p.layout.stored[column]; failed == nil && (part.has == nil || part.has(from)) {
				failed = p.take(e, column, part.encode(nil, from))
			}
		})
	}
	return failed
}
