package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// A table of codec.Latest is not filled with copies of events: each of its rows gets what a search of
// the events finds, as after a deletion. So programs may write and delete meanwhile, a call can be
// repeated at any time, and one that was killed leaves rows that are right or marked.
//
// The source shows which series lack a row, in any number of its ranges. Rows that exist are compared
// or repaired in order of the target, where each series has one.

// states fills or compares the rows of a table of states.
type states struct {
	*backfill
	writer  *Writer
	reader  *Reader         // of the table of states
	claimed map[string]bool // the last series that workers have begun to fill or compare; guarded by Mu
}

// maxClaimed is the maximum number of claimed series.
const maxClaimed = 100_000

// stateWorker fills or compares the rows of the series in a range. Its marks are its own: several ranges
// may have the same series.
type stateWorker struct {
	*states
	settler *settler
	eraser  *eraser
	seen    map[string]time.Time // series to visit, by the keys of their rows, with the time of the newest event that was seen
}

// worker returns a worker for a range.
func (s *states) worker(ctx context.Context) *stateWorker {
	d := s.writer.nothing()
	w := &stateWorker{s, s.writer.newSettler(0), s.writer.eraser(0, "Backfill", DeleteOptions{}, &d), map[string]time.Time{}}
	w.eraser.ctx, w.eraser.settler = ctx, w.settler
	return w
}

// claims reports whether no other worker has begun with a series.
func (s *states) claims(key string) bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.claimed[key] {
		return false
	}
	if s.claimed == nil || len(s.claimed) == maxClaimed {
		s.claimed = map[string]bool{}
	}
	s.claimed[key] = true
	return true
}

// refusesStates returns an error for options that a backfill of a table of states does not have.
func (b *backfill) refusesStates() error {
	var reasons []string
	if b.Checkpoint != "" {
		reasons = append(reasons, "a table with pattern latest needs no checkpoint (Checkpoint, --checkpoint): a call that is repeated skips the series that are filled")
	}
	if !b.From.IsZero() || b.To.Before(scan.MaxTime) {
		reasons = append(reasons, "a table with pattern latest has the newest event of each series, whatever its time: leave out the range of time (From, To; --from, --to)")
	}
	if reasons == nil {
		return nil
	}
	return &BackfillError{b.source.Table.ID, b.target.Table.ID, reasons}
}

// newStates returns the work on a table of states.
func (b *backfill) newStates(all []*mapping) *states {
	o := writerOptions([]WriterOptions{{
		TablePrefix: b.TablePrefix, Tables: []string{b.target.Table.ID}, Now: b.Now, Timeout: b.requestTime(), Parallelism: -1, Hooks: b.Hooks,
	}})
	s := &states{backfill: b, writer: newWriter(b.client, all, o)}
	s.writer.events = b.source
	s.reader = newReader(b.client, b.target, ReaderOptions{TablePrefix: b.TablePrefix, Now: b.Now, Timeout: b.Timeout})
	return s
}

// fillAll fills or compares the rows of the series of the source, and repairs or compares those that exist.
func (s *states) fillAll(ctx context.Context) error {
	if err := s.Each(ctx, len(s.progress.Ranges), s.ofRange); err != nil {
		return err
	}
	if s.Verify || s.Repair {
		if err := s.rest(ctx); err != nil {
			return err
		}
	}
	slices.SortFunc(s.report.Differences, func(a, b Difference) int { return a.From.Compare(b.From) })
	return nil
}

// ofRange fills or compares the rows of the series in a range of the source.
func (s *states) ofRange(ctx context.Context, i int) error {
	var counts BackfillCounts
	w := s.worker(ctx)
	err := s.rows(ctx, s.source, s.progress.Ranges[i], allClaims{}, &counts, func(row untypedRow) error {
		for _, e := range row.Events {
			key, err := s.target.rowKey(e, "")
			if err != nil { // LatestOnly would miss the series
				return fmt.Errorf("table %s cannot have a series of table %s: %w", s.target.Table.ID, s.source.Table.ID, err)
			}
			w.sees(string(key), *s.source.Time(e))
		}
		return w.visit(ctx, latestTogether, w.ofSource)
	})
	if err == nil {
		err = w.visit(ctx, 0, w.ofSource)
	}
	if err != nil {
		return err
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.progress.Ranges[i].Done = true
	s.progress.Counts.add(counts)
	s.Tell(false)
	return nil
}

// seriesState is a series of which events were seen.
type seriesState struct {
	key  string    // of its row
	seen time.Time // of the newest of the events
}

// sees notes an event of a series.
func (w *stateWorker) sees(key string, at time.Time) {
	if seen, known := w.seen[key]; !known || at.After(seen) {
		w.seen[key] = at
	}
}

// visit calls f for the series that were seen, with what their rows tell, if there are as many or more.
func (w *stateWorker) visit(ctx context.Context, many int, f func(ctx context.Context, of *seriesState, l *latestSeries) error) error {
	if len(w.seen) < many {
		return nil
	}
	var some []seriesState
	for _, key := range slices.Sorted(maps.Keys(w.seen)) {
		some = append(some, seriesState{key, w.seen[key]})
	}
	clear(w.seen)
	found, err := w.told(ctx, some...)
	for i := 0; i < len(some) && err == nil; i++ {
		err = f(ctx, &some[i], &found[i])
	}
	return err
}

// told returns what the rows of some series tell.
func (s *states) told(ctx context.Context, some ...seriesState) ([]latestSeries, error) {
	found := make([]latestSeries, len(some))
	for i := range some {
		var err error
		if found[i].base, err = s.target.ofKey(some[i].key); err != nil {
			return nil, err
		}
	}
	return found, s.reader.states(ctx, new(request.Operation), found)
}

// ofSource fills the row of a series of the source, or compares it if it does not exist.
func (w *stateWorker) ofSource(ctx context.Context, of *seriesState, l *latestSeries) error {
	switch {
	case w.Verify && (l.done || l.mute), l.done && !w.source.Time(l.event).Before(of.seen), !w.claims(of.key):
		return nil
	case w.Verify:
		return w.compare(ctx, of, l)
	}
	w.count(&w.progress.Counts.Events)
	if w.Repair {
		w.count(&w.progress.Counts.Changed)
	}
	return w.fill(ctx, of.key, l, 0)
}

// fill makes a row, given what it told, have what a search finds, at least up to a time in microseconds.
func (w *stateWorker) fill(ctx context.Context, key string, l *latestSeries, up int64) error {
	if w.DryRun {
		return nil
	}
	if err := w.Limit.Wait(ctx, 1); err != nil {
		return err
	}
	if l.mute { // what cannot be decoded may be newer than all events
		found, err := w.settler.show(w.eraser, key)
		if err != nil {
			return err
		}
		up = found.newest
	}
	return w.settler.raise(w.eraser, key, up)
}

// rowState is what a row has, and what a search finds.
type rowState struct {
	row, want Digest
	at        time.Time // of the event that is wanted, or else of the row
	searched  bool      // the row is marked, or had other versions of its event, so that readers search
	found     bool      // the search found an event
	strange   bool      // it has marks of calls that were killed, or of none
}

// state returns what a row has that told something.
func (w *stateWorker) state(key string, l *latestSeries) (s rowState, err error) {
	if l.done {
		s.at = *w.source.Time(l.event)
		if cells, err := w.settler.cellsOf(l.event); err == nil { // else, it has expired since it was read
			s.row = digestOf(cells.mutations)
		}
	}
	shown := noState()
	if l.mute || w.Repair {
		if shown, err = w.settler.show(w.eraser, key); err != nil {
			return s, err
		}
		s.strange = shown.strange > 0
	}
	if l.mute {
		if s.at = codec.FromMicros(max(0, shown.newest)); shown.marked >= shown.newest || shown.mixed {
			s.searched = true
			return s, nil
		}
		s.row = Digest{Events: 1} // with an event that cannot be decoded
	}
	newest, cells, err := w.settler.newest(w.eraser, key)
	if s.found = newest.exists(); err == nil && s.found && cells != nil {
		s.want, s.at = digestOf(cells.mutations), *w.source.Time(newest)
	}
	return s, err
}

// compare compares a row with what a search finds. Programs may be writing, so that it repeats what
// differs.
func (w *stateWorker) compare(ctx context.Context, of *seriesState, l *latestSeries) error {
	for round := range compareRounds {
		if round > 0 {
			again, err := w.told(ctx, *of)
			if err != nil {
				return err
			}
			l = &again[0]
		}
		s, err := w.state(of.key, l)
		if err != nil {
			return err
		}
		if s.searched || s.want == s.row {
			break
		}
		if round == compareRounds-1 {
			w.differs(Difference{From: s.at, To: s.at.Add(w.target.Precision), Source: s.want, Target: s.row})
		}
	}
	w.count(&w.progress.Counts.Events)
	return nil
}

// differs adds a difference.
func (s *states) differs(d Difference) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if len(s.report.Differences) < maxDifferences {
		s.report.Differences = append(s.report.Differences, d)
	}
}

// rest repairs or compares the rows that exist, unless they were filled or compared as those of series in the source.
func (s *states) rest(ctx context.Context) error {
	ranges, err := s.rangesOf(ctx, s.target)
	if err != nil {
		return err
	}
	return s.Each(ctx, len(ranges), func(ctx context.Context, i int) error {
		w := s.worker(ctx)
		visit := w.repair
		if s.Verify {
			visit = w.compare
		}
		for row, err := range s.scanner(s.target, ranges[i].Table).each(ctx, ranges[i].Range, s.From, scan.MaxTime) {
			if _, series := s.target.ofKey(row.Key); err != nil && (series != nil || !isDecodeError(err)) {
				var counts BackfillCounts
				if err := s.undecodable(err, &counts); err != nil {
					return err
				}
				continue
			}
			if (err != nil || len(row.Events) > 0 || row.Marked) && !s.begun(row.Key) {
				w.sees(row.Key, time.Time{})
			}
			if err := w.visit(ctx, latestTogether, visit); err != nil {
				return err
			}
		}
		return w.visit(ctx, 0, visit)
	})
}

// begun reports whether a worker has begun with a series.
func (s *states) begun(key string) bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.claimed[key]
}

// repair repairs a row if it differs from what a search finds, or has marks that no running call needs.
func (w *stateWorker) repair(ctx context.Context, of *seriesState, l *latestSeries) error {
	s, err := w.state(of.key, l)
	switch {
	case err != nil:
		return err
	case !s.searched && !s.strange && s.want == s.row:
		w.count(&w.progress.Counts.Events)
		return nil
	case !s.searched && !s.found && s.want != s.row:
		w.count(&w.progress.Counts.Deleted)
	default:
		w.count(&w.progress.Counts.Events)
		w.count(&w.progress.Counts.Changed)
	}
	up := int64(0)
	if l.done {
		up = w.source.Time(l.event).UnixMicro()
	}
	return w.fill(ctx, of.key, l, up)
}

// count counts a series.
func (s *states) count(n *int64) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	*n++
}
