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

// difference is what a table has at a place.
type difference struct {
	source, target     Digest
	inSource, inTarget []event
	ofSource, ofTarget []Digest // one for each event
	undecodable        bool
}

// settle makes the target equal to the source at the places of c.events: it reads the target, then
// the source, and changes the target, until they are equal. within is the range of the source that
// contains the places, or nil if they are read one by one. known is whether a copy may have
// written these events, so that they are deleted where the source has lost them.
func (c *copier) settle(ctx context.Context, within *KeyRange, known bool) error {
	open := c.events
	complete := within != nil // the events have their values, and are not only places
	written := 0              // how many of them the last change has written
	if complete && !c.backfill.Repair {
		written = len(open)
	}
	for round := 0; len(open) > 0; round++ {
		missing, differing, deleted, err := c.differences(ctx, open, within, written, known, complete)
		if err != nil || len(missing)+len(differing)+len(deleted) == 0 {
			return err
		}
		within = nil
		if round == maxRounds {
			c.counts.Unsettled += int64(len(missing) + len(differing) + len(deleted))
			return nil
		}
		if open, err = c.repair(ctx, missing, differing, deleted); err != nil {
			return err
		}
		written = len(open) - len(deleted)
	}
	return nil
}

// differences reads the target, then the source, and returns what differs at places, as compare does.
func (c *copier) differences(ctx context.Context, open []event, within *KeyRange, written int, known, complete bool) (missing, differing, deleted []event, err error) {
	wanted := c.ofSource.placesOf(open)
	clear(c.ofSource.undecodable)
	clear(c.ofTarget.undecodable)
	target, err := c.ofTarget.find(ctx, open, wanted)
	if err != nil {
		return nil, nil, nil, err
	}
	source, err := c.readSource(ctx, open, wanted, within)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := c.merge(source, target); err != nil {
		return nil, nil, nil, err
	}
	c.sums.move(c.backfill.Now())
	if equal, err := c.equal(target, source); err != nil || equal {
		return nil, nil, nil, err
	}
	return c.compare(open, target, source, written, known, complete)
}

func (f *finder) placesOf(events []event) map[eventPlace]int {
	wanted := make(map[eventPlace]int, len(events))
	for i := range events {
		if at, ok := f.places.of(events[i]); ok {
			wanted[at] = i
		}
	}
	return wanted
}

// readSource returns what the source has at places.
func (c *copier) readSource(ctx context.Context, open []event, wanted map[eventPlace]int, within *KeyRange) ([]event, error) {
	b := c.backfill
	var merged int64
	if within == nil {
		found, err := c.ofSource.find(ctx, open, wanted)
		return distinct(b.source, b.target, found, &merged), err
	}
	var found []event
	for row, err := range c.scanner.each(ctx, *within, b.From, b.To) {
		if err != nil {
			if err := c.ofSource.failed(err, row.Key, open); err != nil {
				return nil, err
			}
			continue
		}
		found = c.ofSource.wanted(found, distinct(b.source, b.target, row.Events, &merged), wanted)
	}
	return found, nil
}

// equal reports whether the tables have the same events.
func (c *copier) equal(target, source []event) (bool, error) {
	a, err := c.sum(target)
	if err != nil {
		return false, err
	}
	b, err := c.sum(source)
	return a == b, err
}

func (c *copier) sum(events []event) (total Digest, err error) {
	for i := range events {
		sum, err := c.sums.of(events[i])
		if err != nil && !isExpired(err) {
			return total, err
		}
		total.Add(sum)
	}
	return total, nil
}

// group adds events by place.
func (c *copier) group(into map[eventPlace]*difference, events []event, ofSource bool) error {
	for i := range events {
		sum, err := c.sums.of(events[i])
		if isExpired(err) {
			continue
		}
		if err != nil {
			return err
		}
		at, _ := c.ofSource.places.of(events[i])
		d := into[at]
		if d == nil {
			continue
		}
		if ofSource {
			d.source.Add(sum)
			d.inSource, d.ofSource = append(d.inSource, events[i]), append(d.ofSource, sum)
		} else {
			d.target.Add(sum)
			d.inTarget, d.ofTarget = append(d.inTarget, events[i]), append(d.ofTarget, sum)
		}
	}
	return nil
}

// compare returns what differs at places: events of the source that the target lacks, and those
// that differ there; and events that the source has lost. The first written places are those at
// which the last change was a write.
func (c *copier) compare(open, target, source []event, written int, known, complete bool) (missing, differing, deleted []event, err error) {
	all := make(map[eventPlace]*difference, len(open))
	places := make([]eventPlace, len(open))
	for i := range open {
		places[i], _ = c.ofSource.places.of(open[i])
		all[places[i]] = &difference{undecodable: c.ofSource.undecodable[places[i]] || c.ofTarget.undecodable[places[i]]}
	}
	if err = c.group(all, target, false); err == nil {
		err = c.group(all, source, true)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	c.ends.move(c.backfill.Now().Add(skew))
	for i := range open {
		d := all[places[i]]
		if d == nil || d.undecodable || c.settled(d) {
			continue
		}
		delete(all, places[i]) // a place may be in the list several times
		switch {
		case len(d.inSource) == 0:
			if known && (complete && c.wouldHold(open[i]) || !complete && c.wouldHoldCopy(d.inTarget[0])) {
				deleted = append(deleted, open[i])
			}
		case len(d.inTarget) == 0 && c.ranked && i < written:
			c.replaced(len(d.inSource))
		case len(d.inTarget) == 0:
			missing = append(missing, d.inSource...)
			if complete && i >= written && !c.backfill.Repair {
				c.counts.Events++ // it was deleted, and written again
			}
		default:
			differing = append(differing, d.inSource...)
		}
	}
	return missing, differing, deleted, nil
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
	if d.source == d.target {
		return true
	}
	if !c.appends || c.alike || len(d.ofSource) == 0 {
		return false
	}
	return !slices.ContainsFunc(d.ofSource, func(sum Digest) bool { return !slices.Contains(d.ofTarget, sum) })
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
func (c *copier) repair(ctx context.Context, missing, differing, deleted []event) ([]event, error) {
	c.counts.Changed += int64(len(missing) + len(differing))
	c.counts.Deleted += int64(len(deleted))
	c.counts.Events -= int64(len(deleted))
	gone := deleted
	if c.appends && c.alike {
		gone = slices.Concat(deleted, differing) // a write only adds values
	}
	changed := slices.Concat(missing, differing)
	if len(gone) > 0 {
		if err := c.remove(ctx, gone); err != nil {
			return nil, err
		}
	}
	if err := c.put(ctx, changed); err != nil {
		return nil, err
	}
	return slices.Concat(changed, deleted), nil
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
	c, err := b.newCopier(b.source.Table.ID, -1)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(events, maxCopied) {
		c.events = append(c.events[:0], part...)
		if err := c.settle(ctx, nil, true); err != nil {
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
func (b *backfill) sweepRange(ctx context.Context, r checkpointRange, claims RowClaims, f func(lacking []event) error) error {
	c, err := b.newCopier(b.source.Table.ID, -1)
	if err != nil {
		return err
	}
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
		b.progress.Beside.OnlyTarget += int64(len(lacking) - free)
		lacking = lacking[:free]
	}
	b.progress.suspects += len(lacking)
	b.progress.Suspects = append(b.progress.Suspects, b.encodePlaces(nil, lacking)...)
	return nil
}

// lacking returns the events that a table lacks and of which held is true.
func (c *copier) lacking(ctx context.Context, f *finder, events []event, held func(e event) bool) ([]event, error) {
	if len(events) == 0 {
		return nil, nil
	}
	lacking := c.ofSource.placesOf(events)
	clear(f.undecodable)
	found, err := f.find(ctx, events, lacking)
	if err != nil {
		return nil, err
	}
	for _, e := range found {
		at, _ := c.ofSource.places.of(e)
		delete(lacking, at)
	}
	for at := range f.undecodable {
		delete(lacking, at)
	}
	c.ends.move(c.backfill.Now().Add(skew))
	var out []event
	for _, e := range events {
		at, _ := c.ofSource.places.of(e)
		if _, is := lacking[at]; is && held(e) {
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
	if len(kept) == 0 || len(b.others) == 0 {
		return kept, nil
	}
	c, err := b.newCopier(b.source.Table.ID, -1)
	if err != nil {
		return nil, err
	}
	for _, other := range b.others {
		f, err := b.newFinder(other)
		if err != nil {
			return nil, err
		}
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
