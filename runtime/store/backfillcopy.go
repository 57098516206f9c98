package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/job"
)

// maxCopied is the number of events at which a worker writes what it has read. The last
// row may exceed it.
const maxCopied = 5000

// copy copies all ranges.
//
// The protocol keeps the tables equal in the end, wherever the process is killed, and whatever
// programs write and delete meanwhile, if they change the source before the target:
//
//   - A chunk of the source is read, and its places are recorded in the checkpoint. Then its
//     events are written, and its places are settled: read from the target, then from the source,
//     and changed in the target in either direction until both are equal. Only then is the
//     chunk recorded as copied.
//   - A run that finds recorded places waits until no request of the run before it can arrive any
//     more, and settles these places first.
//   - Nothing else is deleted, unless the target serves no reads or it is a repair: then events of
//     the target that the source lacks are what a run without a checkpoint has left.
//
// # Why places are settled
//
// Between the read of an event and the write of its copy, a program may delete it from both
// tables, or replace it. The copy then arrives last, and would remain. Bigtable has no write that
// depends on another table, so every change of the target is checked after it was made.
//
// # Why the target is read first
//
// Programs change the source first. What the target has when it is read, the source had before,
// and if the source lacks it afterwards, it was deleted there. In the other order, an event that a
// program writes between the two reads would look the same, and be deleted. A change of a program
// that the read of the source does not see yet reaches the target after that, and so after what
// was settled: it needs no repair. A round that finds both equal is therefore the last one. What
// keeps changing for maxRounds is left to Verify, and counted as Unsettled.
//
// # Why places are recorded first
//
// A process that is killed cannot settle what it wrote. The next run has to know where that was,
// since an event that is deleted in the meantime is in no range of the source anymore. Requests of
// a killed process may still be on their way; each has a time limit, and the checkpoint says how long
// the longest may take (Wait). The next run waits for as long: then nothing arrives, so that settling is final.
//
// # What is not deleted
//
// The absence of an event in the source proves its deletion only if the source would still have it.
// A source that loses it earlier, by its time to live or because of max_versions, tells nothing;
// the target then keeps it (wouldHold). The clocks of Bigtable and of this process may differ, so
// an event within a minute of its expiry counts as lost, too (skew).
func (b *backfill) copy(ctx context.Context) error {
	if b.DryRun {
		return b.Each(ctx, len(b.progress.Ranges), b.copyRange)
	}
	if err := b.settleStopped(ctx); err != nil {
		return err
	}
	if err := b.sweep(ctx); err != nil {
		return err
	}
	if err := b.Each(ctx, len(b.progress.Ranges), b.copyRange); err != nil {
		return err
	}
	return b.settleSuspects(ctx)
}

// copyRange copies the rest of the i-th range.
func (b *backfill) copyRange(ctx context.Context, i int) error {
	r := b.progress.Ranges[i]
	if r.Done {
		return nil
	}
	c := b.newCopier(r.Table, i)
	return b.chunks(ctx, b.source, jobRange{Table: r.Table, Range: r.rest()}, b.Limit.Chunk(maxCopied), allClaims{}, &c.counts, func(chunk *rowChunk) error {
		c.events = chunk.events
		if err := c.write(ctx, chunk.within); err != nil {
			return err
		}
		if err := b.copied(i, chunk.last, chunk.end, c); err != nil || chunk.end || !b.Stopping() {
			return err
		}
		return job.ErrStopping
	})
}

// copier copies the rows of one range, or settles places.
type copier struct {
	backfill           *backfill
	index              int // of the range; -1 if there is none
	scanner            *scanner
	ofSource, ofTarget *finder
	writer             *Writer
	sums, ends         *digester // as the target and the source would store events
	events             []event   // that are read and not yet settled
	counts             BackfillCounts
	oldest             time.Time // time of the oldest event in the source; zero if there is none

	appends, alike bool // the target keeps several values of an event; the source, too
	ranked         bool // newer events may replace older ones in the target
	merges         bool // events get from those of the target what only the source may have lost
}

// newCopier returns a copier of rows of a table.
func (b *backfill) newCopier(table string, index int) *copier {
	appends := b.target.appends()
	return &copier{
		backfill: b, index: index, scanner: b.scanner(b.source, table), ofSource: b.newFinder(b.source), ofTarget: b.newFinder(b.target),
		sums: newDigester(b.target, b.began), ends: newDigester(b.source, b.began),
		appends: appends, alike: b.source.appends(), ranked: b.target.ranked(), merges: b.partial && !appends,
		writer: newWriter(b.client, []*mapping{b.target}, writerOptions([]WriterOptions{{
			TablePrefix: b.TablePrefix, Now: b.Now, Timeout: b.requestTime(), Parallelism: -1, SkipExpired: true, KeepWrittenAt: true, Hooks: b.Hooks,
		}})),
	}
}

// appends reports whether the table keeps the values of events that were written before.
func (l *mapping) appends() bool {
	return slices.ContainsFunc(l.Periods(), func(p *mapping) bool { return p.Pattern.Appends() })
}

// take returns the counts since the last call.
func (c *copier) take() (counts BackfillCounts) {
	counts, c.counts, c.events = c.counts, counts, nil
	return counts
}

// distinct returns the events of a row of the source that the target can store: where the source has several values of one
// time and the target keeps one, the last that readers return. It counts the events that are left out.
func distinct(source, target *mapping, events []event, merged *int64) []event {
	if !source.appends() || target.appends() || len(events) < 2 {
		return events
	}
	kept := events[:1]
	for i := range events[1:] {
		e := events[i+1]
		if before := kept[len(kept)-1]; source.Time(before).Equal(*source.Time(e)) && source.samePlace(before, e) {
			kept[len(kept)-1] = events[i+1]
			*merged++
			continue
		}
		kept = append(kept, events[i+1])
	}
	return kept
}

// write copies the events of a range of row keys of the source, and settles them.
func (c *copier) write(ctx context.Context, within KeyRange) error {
	b := c.backfill
	for i := range c.events {
		if at := *b.source.Time(c.events[i]); c.oldest.IsZero() || at.Before(c.oldest) {
			c.oldest = at
		}
	}
	if err := c.dropExpired(); err != nil || len(c.events) == 0 {
		return err
	}
	c.counts.Events += int64(len(c.events))
	if b.DryRun {
		return nil
	}
	if err := b.begin(c.index, c.events); err != nil {
		return err
	}
	if !b.Repair {
		if err := c.fill(ctx); err != nil {
			return err
		}
		if err := c.put(ctx, c.events); err != nil {
			return err
		}
	}
	return c.settle(ctx, &within)
}

// put writes events at the rate.
func (c *copier) put(ctx context.Context, events []event) error {
	b := c.backfill
	if err := b.fits("", events, c.sums); err != nil {
		return err
	}
	for len(events) > 0 {
		n := b.Limit.Piece(len(events))
		if err := b.Limit.Wait(ctx, n); err != nil {
			return err
		}
		within, cancel := context.WithTimeout(ctx, b.requestTime())
		err := c.writer.WriteAll(within, eventList(events[:n]), WriteOptions{LastWins: true})
		if cancel(); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

// remove deletes events from the target.
func (c *copier) remove(ctx context.Context, events []event) error {
	b := c.backfill
	if err := b.Limit.Wait(ctx, len(events)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.requestTime())
	defer cancel()
	_, err := c.writer.deleteExactly(ctx, eventList(events))
	return err
}

// fits returns a *BackfillError if the target would store an event of a row at another time, where it could replace another event: the event was written when the precision
// was finer, or by another program. sums is a digester of the target.
func (b *backfill) fits(key string, events []event, sums *digester) error {
	for i := range events {
		e := events[i]
		if !slices.ContainsFunc(b.target.Periods(), func(p *mapping) bool { return !p.timeFits(e) }) || isExpired(sums.check(events[i])) {
			continue
		}
		at := *b.source.Time(e)
		if key == "" {
			home, _ := b.source.placeOf(e)
			key = home.row
		}
		return &BackfillError{b.source.Table.ID, b.target.Table.ID, []string{fmt.Sprintf(
			"the time %s in row %q is finer than the precision %v: copy with a finer time.precision, or leave the time out (From, To; --from, --to)",
			at.UTC().Format(time.RFC3339Nano), key, b.target.Precision)}}
	}
	return nil
}

// dropExpired removes the events that have expired in the target.
func (c *copier) dropExpired() error {
	c.sums.move(c.backfill.Now())
	kept := c.events[:0]
	for i := range c.events {
		switch err := c.sums.check(c.events[i]); {
		case isExpired(err):
			c.counts.Expired++
		default:
			kept = append(kept, c.events[i]) // the writer reports other errors
		}
	}
	c.events = kept
	return nil
}

// move sets the time of a digester.
func (d *digester) move(now time.Time) { d.stage.at(now) }

// check returns why the table does not store an event.
func (d *digester) check(e event) error {
	_, err := d.contents(e)
	return err
}

// copied records that a range is copied up to and including a row.
func (b *backfill) copied(i int, last string, done bool, c *copier) error {
	counts := c.take()
	b.Mu.Lock()
	defer b.Mu.Unlock()
	r := &b.progress.Ranges[i]
	if last != "" {
		r.finish(last)
	}
	r.Done, r.Flight = r.Done || done, nil
	b.progress.Counts.add(counts)
	if first := &b.progress.Oldest; !c.oldest.IsZero() && (first.IsZero() || c.oldest.Before(*first)) {
		*first = c.oldest
	}
	b.Tell(false)
	return b.Save(done)
}
