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

// eachLost calls f for the columns of an event that the table may have lost at a time; certain is whether it has.
func (l *mapping) eachLost(e event, at time.Time, f func(p *mapping, column int, certain bool)) {
	p, _ := l.homeOf(e)
	if p == nil || p.Table.hasClasses() || p.layout == nil {
		return
	}
	for i := range p.layout.stored {
		family := &p.Table.Families[p.Columns[i].Family]
		certain := family.Life.EventTimed() && codec.Micros(*p.Time(e)) < family.Life.Horizon(at)
		if !p.Columns[i].WrittenAt && (certain || !family.tells()) {
			f(p, i, certain)
		}
	}
}

// dropLost removes from an event what the source has lost at a time, and reports whether it removed something.
func (b *backfill[E]) dropLost(e *E, at time.Time) (dropped bool) {
	if b.partial {
		b.source.eachLost(event{e}, at, func(p *mapping, column int, certain bool) {
			if certain && !p.lacksPart(event{e}, column) {
				dropped = p.Missing(event{e}, column) == nil || dropped
			}
		})
	}
	return dropped
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
		c.backfill.source.eachLost(e, now, func(p *mapping, column int, _ bool) {
			part := &p.layout.stored[column]
			if failed == nil && p.lacksPart(e, column) && (part.has == nil || part.has(from)) {
				failed = p.take(e, column, part.encode(nil, from))
			}
		})
	}
	return failed
}
