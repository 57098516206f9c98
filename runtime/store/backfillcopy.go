package store

import (
	"context"
	"crypto/sha256"
	"time"
)

// maxCopied is the number of events at which a worker writes what it has read. The last
// row may exceed it.
const maxCopied = 5000

// maxRounds is the number of times that a worker reads rows again whose events keep
// changing.
const maxRounds = 5

// copy copies all ranges.
func (b *backfill[E]) copy(ctx context.Context) error {
	err := b.each(ctx, len(b.progress.ranges), b.copyRange)
	b.mu.Lock()
	defer b.mu.Unlock()
	if saved := b.save(); err == nil {
		err = saved
	}
	b.report.BackfillCounts = b.progress.counts()
	b.tell(true)
	return err
}

// copyRange copies the rest of the i-th range.
func (b *backfill[E]) copyRange(ctx context.Context, i int) error {
	r := b.progress.ranges[i]
	if r.Done {
		return nil
	}
	rest := r.Range
	if r.Last != nil {
		var some bool
		if rest, some = rest.After(string(r.Last)); !some {
			return b.copied(i, "", true, BackfillCounts{})
		}
	}
	c, err := b.newCopier(r.Table)
	if err != nil {
		return err
	}
	last := ""
	for row, err := range c.scanner.Rows(ctx, rest, b.From, b.To) {
		if err != nil {
			if err := b.undecodable(err, &c.counts); err != nil {
				return err
			}
			continue
		}
		last = row.Key
		c.counts.Rows++
		c.events = append(c.events, row.Events...)
		if len(c.events) < maxCopied && c.counts.Rows < maxCopied {
			continue
		}
		within := KeyRange{rest.Start, last + "\x00"}
		if err := c.write(ctx, within); err != nil {
			return err
		}
		if err := b.copied(i, last, false, c.take()); err != nil {
			return err
		}
		rest.Start = within.End
	}
	if err := c.write(ctx, rest); err != nil {
		return err
	}
	return b.copied(i, last, true, c.take())
}

// copier copies the rows of one range.
type copier[E any] struct {
	backfill *backfill[E]
	scanner  *Scanner[E]
	writer   *Writer[E]
	sums     *Digester[E]
	events   []E // that are read and not yet written
	counts   BackfillCounts
}

// newCopier returns a copier of rows of a table.
func (b *backfill[E]) newCopier(table string) (*copier[E], error) {
	c := &copier[E]{backfill: b}
	var err error
	if c.scanner, err = b.scanner(b.source, table); err != nil {
		return nil, err
	}
	if c.sums, err = newDigester[E]([]*mapping{b.target}, b.target.Table.ID, b.began); err != nil {
		return nil, err
	}
	c.writer = &Writer[E]{newWriter(b.client, []*mapping{b.target}, writerOptions([]WriterOptions{{
		TablePrefix: b.TablePrefix, Now: b.Now, Timeout: b.Timeout, Parallelism: -1, SkipExpired: true, KeepWrittenAt: true, Hooks: b.Hooks,
	}}))}
	return c, nil
}

// take returns the counts since the last call.
func (c *copier[E]) take() BackfillCounts {
	counts := c.counts
	c.counts, c.events = BackfillCounts{}, c.events[:0]
	return counts
}

// write writes the events of a range of row keys until those that are stored in the
// source do not change.
func (c *copier[E]) write(ctx context.Context, within KeyRange) error {
	if err := c.dropExpired(); err != nil || len(c.events) == 0 {
		return err
	}
	c.counts.Events += int64(len(c.events))
	if c.backfill.DryRun {
		return nil
	}
	if err := c.backfill.limit.wait(ctx, len(c.events)); err != nil {
		return err
	}
	if err := c.writer.WriteAll(ctx, c.events); err != nil {
		return err
	}
	for round := 0; ; round++ {
		changed, deleted, err := c.differences(ctx, within)
		if err != nil || len(changed)+len(deleted) == 0 {
			return err
		}
		if round == maxRounds {
			c.counts.Unsettled += int64(len(changed) + len(deleted))
			return nil
		}
		if err := c.settle(ctx, changed, deleted); err != nil {
			return err
		}
	}
}

// dropExpired removes the events that have expired in the target.
func (c *copier[E]) dropExpired() error {
	now := c.backfill.Now()
	c.sums.at = now
	c.sums.stage.at(now)
	kept := c.events[:0]
	for i := range c.events {
		switch err := c.sums.check(&c.events[i]); {
		case err == nil:
			kept = append(kept, c.events[i])
		case isExpired(err):
			c.counts.Expired++
		default:
			kept = append(kept, c.events[i]) // the writer reports it
		}
	}
	c.events = kept
	return nil
}

// check returns why the table does not store an event.
func (d *Digester[E]) check(e *E) error {
	_, err := d.contents(e)
	return err
}

// eventPlace identifies the series, time and sequence number of an event.
type eventPlace [16]byte

// placeOf returns the place of an event in the target.
func (c *copier[E]) placeOf(e *E) eventPlace {
	l, ref := c.backfill.target, event{e}
	key := l.seriesKey(ref) + "\x00" + l.Time(ref).UTC().Format(time.RFC3339Nano) + "\x00"
	for n := l.sequenceOf(ref); n > 0; n >>= 8 {
		key += string([]byte{byte(n)})
	}
	sum := sha256.Sum256([]byte(key))
	return eventPlace(sum[:])
}

// differences reads a range of the source again. It returns the events that have changed
// since they were written, and those that were deleted. It replaces the former in c.events
// and removes the latter.
func (c *copier[E]) differences(ctx context.Context, within KeyRange) (changed, deleted []E, err error) {
	before, err := c.sum(c.events)
	if err != nil {
		return nil, nil, err
	}
	var again []E
	for row, err := range c.scanner.Rows(ctx, within, c.backfill.From, c.backfill.To) {
		if err != nil {
			var counted BackfillCounts
			if err := c.backfill.undecodable(err, &counted); err != nil {
				return nil, nil, err
			}
			continue
		}
		again = append(again, row.Events...)
	}
	after, err := c.sum(again)
	if err != nil || before == after {
		return nil, nil, err
	}
	return c.compare(again)
}

// sum returns the digest of events.
func (c *copier[E]) sum(events []E) (total Digest, err error) {
	for i := range events {
		sum, err := c.sums.Of(&events[i])
		if err != nil && !isExpired(err) {
			return total, err
		}
		total.Add(sum)
	}
	return total, nil
}

// compare compares c.events with what the source has now. Events at new places are those of
// applications, which write them to the target as well.
func (c *copier[E]) compare(again []E) (changed, deleted []E, err error) {
	now, err := c.byPlace(again)
	if err != nil {
		return nil, nil, err
	}
	before, err := c.byPlace(c.events)
	if err != nil {
		return nil, nil, err
	}
	var kept []E
	for i := range c.events {
		at := c.placeOf(&c.events[i])
		switch _, exists := now[at]; {
		case !exists:
			deleted = append(deleted, c.events[i])
		case now[at] == before[at]:
			kept = append(kept, c.events[i])
		}
	}
	for i := range again {
		at := c.placeOf(&again[i])
		if sum, known := before[at]; known && sum != now[at] {
			changed = append(changed, again[i])
		}
	}
	c.events = append(kept, changed...)
	return changed, c.certain(deleted), nil
}

// byPlace returns the digests of events by their places.
func (c *copier[E]) byPlace(events []E) (map[eventPlace]Digest, error) {
	out := make(map[eventPlace]Digest, len(events))
	for i := range events {
		sum, err := c.sums.Of(&events[i])
		if err != nil {
			if isExpired(err) {
				continue
			}
			return nil, err
		}
		at := c.placeOf(&events[i])
		total := out[at]
		total.Add(sum)
		out[at] = total
	}
	return out, nil
}

// certain returns the events that were deleted from the source, rather than collected because
// they have expired or newer ones have replaced them.
func (c *copier[E]) certain(deleted []E) []E {
	if len(deleted) == 0 {
		return nil
	}
	if c.backfill.source.ranked() {
		return nil
	}
	source, err := newDigester[E]([]*mapping{c.backfill.source}, c.backfill.source.Table.ID, c.backfill.Now())
	if err != nil {
		return nil // impossible: the table is that of the mapping
	}
	var out []E
	for i := range deleted {
		if err := source.check(&deleted[i]); err == nil {
			out = append(out, deleted[i])
		}
	}
	return out
}

// settle makes the target follow the source.
func (c *copier[E]) settle(ctx context.Context, changed, deleted []E) error {
	c.counts.Changed += int64(len(changed))
	if len(changed) > 0 {
		if err := c.writer.WriteAll(ctx, changed); err != nil {
			return err
		}
	}
	if len(deleted) == 0 {
		return nil
	}
	if c.writer.writer.appends() {
		c.counts.Unsettled += int64(len(deleted)) // other values of the same time may have been added
		return nil
	}
	c.counts.Deleted += int64(len(deleted))
	c.counts.Events -= int64(len(deleted))
	_, err := c.writer.Delete(ctx, deleted)
	return err
}

// copied records that a range is copied up to and including a row.
func (b *backfill[E]) copied(i int, last string, done bool, counts BackfillCounts) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &b.progress.ranges[i]
	if last != "" {
		r.Last = []byte(last)
	}
	r.Done = r.Done || done
	r.Counts.add(counts)
	b.progress.new += counts.Events
	b.tell(false)
	return b.saveNow(done)
}
