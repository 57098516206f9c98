package store

import (
	"context"
	"slices"
	"time"
)

const (
	// maxRounds is the number of times that a worker repairs events that keep changing.
	maxRounds = 5
	// skew is how much longer than the clock says an event must live in the source so that it
	// counts as deleted if it is missing.
	skew = time.Minute
	// maxSuspects is the number of events that the source lacks and that are remembered.
	maxSuspects = 100_000
)

// difference is what the tables have at a place.
type difference struct {
	source, target side
	undecodable    bool
}

// side is what a table has at a place.
type side struct {
	events  []event
	digests []Digest // of each event
	sum     Digest
}

// settle makes the target equal to the source at the places of c.events: it reads the target, then
// the source, and changes the target, until they are equal. within is the range of the source that
// contains the places, or nil if they are read one by one, and the events are only places.
func (c *copier) settle(ctx context.Context, within *KeyRange) error {
	open, whole := c.events, within != nil
	written := 0 // how many of them the last change has written
	if whole && !c.backfill.Repair {
		written = len(open)
	}
	for round := 0; len(open) > 0; round++ {
		found, err := c.differences(ctx, open, within, written, whole)
		if err != nil || found.count() == 0 {
			return err
		}
		within = nil
		if round == maxRounds {
			c.counts.Unsettled += int64(found.count())
			return nil
		}
		if open, err = c.repair(ctx, found); err != nil {
			return err
		}
		written = len(open) - len(found.deleted)
	}
	return nil
}

// unequal are events that differ in the tables: those of the source that the target lacks, those of the source that differ there, and
// those that the source has lost.
type unequal struct{ missing, differing, deleted []event }

func (u *unequal) count() int { return len(u.missing) + len(u.differing) + len(u.deleted) }

// differences reads the target, then the source, and returns what differs at places, as compare does.
func (c *copier) differences(ctx context.Context, open []event, within *KeyRange, written int, whole bool) (found unequal, err error) {
	of := c.backfill.source
	wanted := of.placesOf(open)
	target, err := c.ofTarget.find(ctx, open, wanted)
	if err != nil {
		return found, err
	}
	source, err := c.readSource(ctx, open, wanted, within)
	if err != nil {
		return found, err
	}
	if err := c.merge(source, target); err != nil {
		return found, err
	}
	c.sums.move(c.backfill.Now())
	all := make(map[eventPlace]*difference, len(wanted))
	for at := range wanted {
		all[at] = &difference{undecodable: c.ofSource.undecodable[at] || c.ofTarget.undecodable[at]}
	}
	err = c.group(target, func(at eventPlace) *side { return &all[at].target })
	if err == nil {
		err = c.group(source, func(at eventPlace) *side { return &all[at].source })
	}
	if err != nil {
		return found, err
	}
	return c.compare(open, all, written, whole), nil
}

// readSource returns what the source has at places.
func (c *copier) readSource(ctx context.Context, open []event, wanted placeSet, within *KeyRange) ([]event, error) {
	b := c.backfill
	var merged int64
	if within == nil {
		found, err := c.ofSource.find(ctx, open, wanted)
		return distinct(b.source, b.target, found, &merged), err
	}
	clear(c.ofSource.undecodable)
	var found []event
	for row, err := range c.scanner.each(ctx, *within, b.From, b.To) {
		if err != nil {
			if err := c.ofSource.failed(err, row.Key, open); err != nil {
				return nil, err
			}
			continue
		}
		found = b.source.among(found, distinct(b.source, b.target, row.Events, &merged), wanted)
	}
	return found, nil
}

// group adds events to what a table has at their places, without those that the target does not store because they have expired.
func (c *copier) group(events []event, at func(eventPlace) *side) error {
	for _, e := range events {
		sum, err := c.sums.of(e)
		if isExpired(err) {
			continue
		}
		if err != nil {
			return err
		}
		place, _ := c.backfill.source.placeOf(e)
		has := at(place)
		has.events, has.digests = append(has.events, e), append(has.digests, sum)
		has.sum.Add(sum)
	}
	return nil
}

// compare returns what differs at places. The first written of open are those at which the last change was a write; whole is whether
// these have their values.
func (c *copier) compare(open []event, all map[eventPlace]*difference, written int, whole bool) (out unequal) {
	c.ends.move(c.backfill.Now().Add(skew))
	for i, e := range open {
		at, _ := c.backfill.source.placeOf(e)
		d := all[at]
		if d == nil || d.undecodable || c.settled(d) {
			continue
		}
		delete(all, at) // a place may be in the list several times
		switch n := len(d.source.events); {
		case n == 0:
			if whole && c.wouldHold(e) || !whole && c.wouldHoldCopy(d.target.events[0]) {
				out.deleted = append(out.deleted, e)
			}
		case len(d.target.events) == 0 && c.ranked && i < written:
			c.replaced(n)
		case len(d.target.events) == 0:
			out.missing = append(out.missing, d.source.events...)
			if whole && i >= written && !c.backfill.Repair {
				c.counts.Events++ // it was deleted, and written again
			}
		default:
			out.differing = append(out.differing, d.source.events...)
		}
	}
	return out
}

// replaced counts events that were written and that newer ones replace in the target.
func (c *copier) replaced(events int) {
	n := int64(events)
	c.counts.Events, c.counts.Expired = c.counts.Events-n, c.counts.Expired+n
	if c.backfill.Repair {
		c.counts.Changed -= n
	}
}

// settled reports whether nothing is to be done at a place. A target that keeps all values of an
// event may have more of them than a source that keeps the last.
func (c *copier) settled(d *difference) bool {
	if d.source.sum == d.target.sum {
		return true
	}
	if !c.appends || c.alike || len(d.source.events) == 0 {
		return false
	}
	return !slices.ContainsFunc(d.source.digests, func(sum Digest) bool { return !slices.Contains(d.target.digests, sum) })
}

// wouldHold reports whether the source would have an event if it had not been deleted: no
// layout of the source excludes it, it has not expired there and no newer events replace older
// ones.
func (c *copier) wouldHold(e event) bool {
	if c.backfill.source.ranked() {
		return false
	}
	text, err := c.ends.contents(e)
	return err == nil && len(text) > 0
}

// wouldHoldCopy is wouldHold for an event of the target, which may not tell when the source loses it.
func (c *copier) wouldHoldCopy(e event) bool { return !c.backfill.untold.source && c.wouldHold(e) }

// repair changes the target. It returns the events at whose places it did.
func (c *copier) repair(ctx context.Context, found unequal) ([]event, error) {
	changed, gone := slices.Concat(found.missing, found.differing), found.deleted
	c.counts.Changed += int64(len(changed))
	c.counts.Deleted += int64(len(gone))
	c.counts.Events -= int64(len(gone))
	if c.appends && c.alike {
		gone = slices.Concat(gone, found.differing) // a write only adds values
	}
	if len(gone) > 0 {
		if err := c.remove(ctx, gone); err != nil {
			return nil, err
		}
	}
	if err := c.put(ctx, changed); err != nil {
		return nil, err
	}
	return slices.Concat(changed, found.deleted), nil
}

// settleStopped settles what a run wrote that stopped, when none of its requests can arrive any more.
func (b *backfill) settleStopped(ctx context.Context) error {
	wait := b.progress.stopped
	if wait == 0 {
		return nil
	}
	b.progress.waiting = wait
	b.Tell(true)
	b.progress.waiting = 0
	if err := b.clock.Sleep(ctx, wait); err != nil {
		return err
	}
	return b.Each(ctx, len(b.progress.Ranges), func(ctx context.Context, i int) error {
		r := &b.progress.Ranges[i]
		events, err := b.source.eventsAt(r.Flight)
		if len(events) == 0 {
			return err
		}
		return b.settlePlaces(ctx, events, func() { r.Flight = nil })
	})
}

// settlePlaces settles places in parts. done is called when all of them are settled.
func (b *backfill) settlePlaces(ctx context.Context, events []event, done func()) error {
	c := b.newCopier(b.source.Table.ID, -1)
	for part := range slices.Chunk(events, maxCopied) {
		c.events = append(c.events[:0], part...)
		if err := c.settle(ctx, nil); err != nil {
			return err
		}
	}
	b.Mu.Lock()
	defer b.Mu.Unlock()
	counts := c.counts
	counts.Changed, counts.Events = 0, 0 // they are counted when their range is copied
	b.progress.Counts.add(counts)
	done()
	return b.Save(true)
}

// sweeps reports whether a run looks for events of the target that the source lacks.
func (b *backfill) sweeps() bool {
	return b.Repair || b.target.Table.WriteOnly && !b.report.TargetFirst
}

// sweep looks for events of the target that the source lacks: a run without a checkpoint, or one
// whose checkpoint is lost, may have written them before they were deleted. It does so only where
// no reader can see them, or for a repair, which deletes them.
func (b *backfill) sweep(ctx context.Context) error {
	if b.progress.Swept || !b.sweeps() {
		return nil
	}
	ranges, err := b.rangesOf(ctx, b.target)
	if err != nil {
		return err
	}
	if err := b.Each(ctx, len(ranges), func(ctx context.Context, i int) error {
		return b.sweepRange(ctx, ranges[i], allClaims{}, func(lacking []event) error { return b.suspect(ctx, lacking) })
	}); err != nil {
		return err
	}
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.progress.Swept = true
	return b.Save(true)
}

// sweepRange calls f for events in a range of row keys of the target that the source lacks.
func (b *backfill) sweepRange(ctx context.Context, r jobRange, claims RowClaims, f func(lacking []event) error) error {
	c := b.newCopier(b.source.Table.ID, -1)
	var ofTarget BackfillCounts
	return b.chunks(ctx, b.target, r, maxCopied, claims, &ofTarget, func(chunk *rowChunk) error {
		lacking, err := c.lacking(ctx, c.ofSource, chunk.events, c.wouldHoldCopy)
		if err != nil || len(lacking) == 0 {
			return err
		}
		return f(lacking)
	})
}

// suspect remembers, or deletes, events that the source lacks.
func (b *backfill) suspect(ctx context.Context, lacking []event) error {
	if b.Repair {
		return b.settlePlaces(ctx, lacking, func() {})
	}
	b.Mu.Lock()
	defer b.Mu.Unlock()
	free := maxSuspects - b.progress.suspects
	if free < len(lacking) {
		b.progress.Counts.OnlyTarget += int64(len(lacking) - free)
		lacking = lacking[:free]
	}
	b.progress.suspects += len(lacking)
	b.progress.Suspects = b.source.noted(b.progress.Suspects, lacking)
	return nil
}

// lacking returns the events that a table lacks and of which held is true.
func (c *copier) lacking(ctx context.Context, f *finder, events []event, held func(e event) bool) ([]event, error) {
	if len(events) == 0 {
		return nil, nil
	}
	of := c.backfill.source
	lacking := of.placesOf(events)
	found, err := f.find(ctx, events, lacking)
	if err != nil {
		return nil, err
	}
	for at := range of.placesOf(found) {
		delete(lacking, at)
	}
	for at := range f.undecodable {
		delete(lacking, at)
	}
	c.ends.move(c.backfill.Now().Add(skew))
	var out []event
	for _, e := range events {
		if at, _ := of.placeOf(e); lacking[at] && held(e) {
			delete(lacking, at)
			out = append(out, e)
		}
	}
	return out, nil
}

// settleSuspects deletes those of the events that sweep has found which only an earlier copy can
// have written.
func (b *backfill) settleSuspects(ctx context.Context) error {
	if len(b.progress.Suspects) == 0 {
		return nil
	}
	events, err := b.source.eventsAt(b.progress.Suspects)
	if err != nil {
		return err
	}
	kept, err := b.ofCopies(ctx, events, b.progress.Oldest)
	if err != nil {
		return err
	}
	return b.settlePlaces(ctx, kept, func() {
		b.progress.Suspects, b.progress.suspects = nil, 0
		b.progress.Counts.OnlyTarget += int64(len(events) - len(kept))
	})
}

// ofCopies returns those events of the target which the source lacks and only a copy can have
// written: no older than all events of the source, which may be younger than the target, and in
// no other table that serves reads.
func (b *backfill) ofCopies(ctx context.Context, events []event, oldest time.Time) ([]event, error) {
	kept := slices.DeleteFunc(slices.Clone(events), func(e event) bool {
		return oldest.IsZero() || b.source.Time(e).Before(oldest)
	})
	if len(kept) == 0 || len(b.others) == 0 {
		return kept, nil
	}
	c := b.newCopier(b.source.Table.ID, -1)
	for _, other := range b.others {
		f := b.newFinder(other)
		var lacking []event
		for part := range slices.Chunk(kept, maxCopied) {
			more, err := c.lacking(ctx, f, part, func(event) bool { return true })
			if err != nil {
				return nil, err
			}
			lacking = append(lacking, more...)
		}
		kept = lacking
	}
	return kept, nil
}
