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

// differences are what differs between the tables: events of the source that the target lacks, and those that
// differ there; and events that the source has lost.
type differences struct{ missing, differing, deleted []event }

func (d *differences) len() int { return len(d.missing) + len(d.differing) + len(d.deleted) }

// settle makes the target equal to the source at the places of c.events: it reads the target, then
// the source, and changes the target, until they are equal. within is the range of the source that
// contains the places, or nil if they are read one by one. A copy may have written these events, so that they are
// deleted where the source has lost them.
func (c *copier) settle(ctx context.Context, within *checkpointRange) error {
	open := c.events
	complete := within != nil // the events have their values, and are not only places
	written := 0              // how many of them the last change has written
	if complete && !c.backfill.Repair {
		written = len(open)
	}
	for round := 0; len(open) > 0; round++ {
		d, err := c.differences(ctx, open, within, written, complete)
		if err != nil || d.len() == 0 {
			return err
		}
		within = nil
		if round == maxRounds {
			c.counts.Unsettled += int64(d.len())
			return nil
		}
		if open, err = c.repair(ctx, d); err != nil {
			return err
		}
		written = len(open) - len(d.deleted)
	}
	return nil
}

// differences reads the target, then the source, and returns what differs at the places of events. The first written
// events are those at whose places the last change was a write.
func (c *copier) differences(ctx context.Context, open []event, within *checkpointRange, written int, complete bool) (d differences, err error) {
	b, at := c.backfill, c.places(open)
	if err := b.find(ctx, b.target, at, inTarget); err != nil {
		return d, err
	}
	if within == nil {
		err = b.find(ctx, b.source, at, inSource)
	} else if s, failed := b.scanner(b.source, within.Table); failed != nil {
		err = failed
	} else {
		err = b.collect(at, inSource, b.source, s.each(ctx, within.Range.rows(), b.From, b.To))
	}
	if err != nil {
		return d, err
	}
	c.sums.move(b.Now())
	c.ends.move(b.Now().Add(skew))
	for i := range at.all {
		p := &at.all[i]
		if err := c.merge(p); err != nil {
			return d, err
		}
		equal, err := c.equal(p)
		if err != nil {
			return d, err
		}
		if !equal && !p.undecodable {
			c.compare(p, &d, p.n < written, complete)
		}
	}
	return d, nil
}

// compare adds how the tables differ at a place.
func (c *copier) compare(p *atPlace, d *differences, written, complete bool) {
	source, target := p.has[inSource], p.has[inTarget]
	switch {
	case len(source) == 0:
		if complete && c.wouldHold(p.of) || !complete && c.wouldHoldCopy(target[0]) {
			d.deleted = append(d.deleted, p.of)
		}
	case len(target) == 0 && c.ranked && written:
		c.replaced(len(source))
	case len(target) == 0:
		d.missing = append(d.missing, source...)
		if complete && !written && !c.backfill.Repair {
			c.counts.Events++ // it was deleted, and written again
		}
	default:
		d.differing = append(d.differing, source...)
	}
}

// equal reports whether nothing is to be done at a place. It leaves out events that have expired in the target. A
// target that keeps all values of an event may have more of them than a source that keeps the last.
func (c *copier) equal(p *atPlace) (bool, error) {
	var total [2]Digest
	for side := range p.has {
		kept := p.has[side][:0]
		c.digests[side] = c.digests[side][:0]
		for _, e := range p.has[side] {
			sum, err := c.sums.of(e)
			if isExpired(err) {
				continue
			}
			if err != nil {
				return false, err
			}
			total[side].Add(sum)
			kept, c.digests[side] = append(kept, e), append(c.digests[side], sum)
		}
		p.has[side] = kept
	}
	if total[inSource] == total[inTarget] || !c.appends || c.alike || len(p.has[inSource]) == 0 {
		return total[inSource] == total[inTarget], nil
	}
	lacks := func(sum Digest) bool { return !slices.Contains(c.digests[inTarget], sum) }
	return !slices.ContainsFunc(c.digests[inSource], lacks), nil
}

// replaced counts events that were written and that newer ones replace in the target.
func (c *copier) replaced(events int) {
	n := int64(events)
	c.counts.Events, c.counts.Expired = c.counts.Events-n, c.counts.Expired+n
	if c.backfill.Repair {
		c.counts.Changed -= n
	}
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
func (c *copier) repair(ctx context.Context, d differences) ([]event, error) {
	c.counts.Changed += int64(len(d.missing) + len(d.differing))
	c.counts.Deleted += int64(len(d.deleted))
	c.counts.Events -= int64(len(d.deleted))
	gone := d.deleted
	if c.appends && c.alike {
		gone = slices.Concat(d.deleted, d.differing) // a write only adds values
	}
	changed := slices.Concat(d.missing, d.differing)
	if len(gone) > 0 {
		if err := c.remove(ctx, gone); err != nil {
			return nil, err
		}
	}
	if err := c.put(ctx, changed); err != nil {
		return nil, err
	}
	return slices.Concat(changed, d.deleted), nil
}

// settleStopped settles what a run wrote that stopped.
func (b *backfill) settleStopped(ctx context.Context) error {
	if !b.stopped() {
		return nil
	}
	if wait := b.stillArriving(); wait > 0 {
		b.progress.waiting = wait
		b.Tell(true)
		b.progress.waiting = 0
		if err := b.clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	return b.Each(ctx, len(b.progress.Ranges), func(ctx context.Context, i int) error {
		r := &b.progress.Ranges[i]
		if len(r.Flight) == 0 {
			return nil
		}
		events, err := b.decodePlaces(r.Flight)
		if err != nil {
			return b.Unusable(err)
		}
		return b.settlePlaces(ctx, events, func() { r.Flight = nil })
	})
}

// settlePlaces settles places in parts. done is called when all of them are settled.
func (b *backfill) settlePlaces(ctx context.Context, events []event, done func()) error {
	c := b.newCopier()
	for c.events = range slices.Chunk(events, maxCopied) {
		if err := c.settle(ctx, nil); err != nil {
			return err
		}
	}
	b.Mu.Lock()
	defer b.Mu.Unlock()
	counts := c.counts
	counts.Changed, counts.Events = 0, 0 // they are counted when their range is copied
	b.progress.Beside.add(counts)
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
		return b.newCopier().sweep(ctx, ranges[i], allClaims{}, func(lacking []event) error { return b.suspect(ctx, lacking) })
	}); err != nil {
		return err
	}
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.progress.Swept = true
	return b.Save(true)
}

// sweep calls f for events in a range of row keys of the target that the source lacks.
func (c *copier) sweep(ctx context.Context, r checkpointRange, claims RowClaims, f func(lacking []event) error) error {
	b := c.backfill
	return c.chunks(ctx, b.target, r, maxCopied, claims, func(chunk *rowChunk) error {
		lacking, err := c.lacking(ctx, b.source, chunk.events, c.wouldHoldCopy)
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
		b.progress.Beside.OnlyTarget += int64(len(lacking) - free)
		lacking = lacking[:free]
	}
	b.progress.suspects += len(lacking)
	b.progress.Suspects = append(b.progress.Suspects, b.encodePlaces(nil, lacking)...)
	return nil
}

// lacking returns the events that a table lacks and of which held is true, one at each place.
func (c *copier) lacking(ctx context.Context, l *mapping, events []event, held func(e event) bool) (out []event, err error) {
	at := c.places(events)
	if err := c.backfill.find(ctx, l, at, inSource); err != nil {
		return nil, err
	}
	c.ends.move(c.backfill.Now().Add(skew))
	for _, e := range events {
		if p := at.at(e); p != nil && len(p.has[inSource]) == 0 && !p.undecodable && held(e) {
			p.has[inSource] = append(p.has[inSource], e)
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
	events, err := b.decodePlaces(b.progress.Suspects)
	if err != nil {
		return b.Unusable(err)
	}
	kept, err := b.ofCopies(ctx, events, b.progress.oldest())
	if err != nil {
		return err
	}
	return b.settlePlaces(ctx, kept, func() {
		b.progress.Suspects, b.progress.suspects = nil, 0
		b.progress.Beside.OnlyTarget += int64(len(events) - len(kept))
	})
}

// ofCopies returns those events of the target which the source lacks and only a copy can have
// written: no older than all events of the source, which may be younger than the target, and in
// no other table that serves reads.
func (b *backfill) ofCopies(ctx context.Context, events []event, oldest time.Time) ([]event, error) {
	kept := slices.DeleteFunc(slices.Clone(events), func(e event) bool {
		return oldest.IsZero() || b.source.Time(e).Before(oldest)
	})
	c := b.newCopier()
	for _, other := range b.others {
		var lacking []event
		for part := range slices.Chunk(kept, maxCopied) {
			more, err := c.lacking(ctx, other, part, func(event) bool { return true })
			if err != nil {
				return nil, err
			}
			lacking = append(lacking, more...)
		}
		kept = lacking
	}
	return kept, nil
}
