package store

import (
	"context"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/scan"
)

// A table of codec.Latest is not filled with copies of events: each of its rows gets what a search of
// the events finds, as after a deletion. So programs may write and delete meanwhile, a call can be
// repeated at any time, and one that was killed leaves rows that are right or marked.

// states fills or compares the rows of a table of states.
type states[E any] struct {
	*backfill[E]
	settler *settler
	eraser  *eraser
	reader  *reader // of the table of states
}

// refusesStates returns an error for options that a backfill of a table of states does not have.
func (b *backfill[E]) refusesStates() error {
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

// fillStates is run for a table of states.
func (b *backfill[E]) fillStates(ctx context.Context, all []*mapping) error {
	if err := b.refusesStates(); err != nil {
		return err
	}
	o := writerOptions([]WriterOptions{{
		TablePrefix: b.TablePrefix, Tables: []string{b.target.Table.ID}, Now: b.Now, Timeout: b.requestTime(), Parallelism: -1, Hooks: b.Hooks,
	}})
	w := newWriter(b.client, all, o)
	w.events = b.source
	d := w.nothing()
	s := &states[E]{backfill: b, settler: w.newSettler(0), eraser: w.eraser(0, "Backfill", DeleteOptions{}, &d)}
	s.eraser.ctx, s.eraser.settler = ctx, s.settler
	s.reader = newReader(b.client, b.target, ReaderOptions{TablePrefix: b.TablePrefix, Now: b.Now, Timeout: b.Timeout})
	if err := b.split(ctx); err != nil {
		return err
	}
	if err := b.untilFailure(ctx, len(b.progress.ranges), s.ofRange); err != nil {
		return err
	}
	if b.Verify || b.Repair {
		if err := s.rest(ctx); err != nil {
			return err
		}
	}
	slices.SortFunc(b.report.Differences, func(a, b Difference) int { return a.From.Compare(b.From) })
	b.tellStates(1)
	return nil
}

// tellStates tells the progress.
func (b *backfill[E]) tellStates(share float64) {
	if b.Progress != nil {
		b.Progress(BackfillProgress{BackfillCounts: b.report.BackfillCounts, Share: share})
	}
}

// ofRange fills or compares the rows of the series in a range of the source.
func (s *states[E]) ofRange(ctx context.Context, i int) error {
	r := s.progress.ranges[i]
	scanner, err := s.scanner(s.source, r.Table)
	if err != nil {
		return err
	}
	var some []seriesState
	of := map[string]int{}
	flush := func() error {
		err := s.series(ctx, some)
		some, of = nil, map[string]int{}
		return err
	}
	var counts BackfillCounts
	for row, err := range scanner.Rows(ctx, r.Range, s.From, s.To) {
		if err != nil {
			if err := s.undecodable(err, &counts); err != nil {
				return err
			}
			continue
		}
		counts.Rows++
		for i := range row.Events {
			e := event{&row.Events[i]}
			key, err := s.target.rowKey(e, "")
			if err != nil {
				if err := s.eraser.skipSeries(err); err != nil {
					return err
				}
				continue
			}
			n, known := of[string(key)]
			if !known {
				n = len(some)
				of[string(key)] = n
				some = append(some, seriesState{key: string(key)})
			}
			if at := *s.source.Time(e); at.After(some[n].seen) {
				some[n].seen = at
			}
		}
		if len(some) >= latestTogether {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.add(counts)
	s.progress.ranges[i].Done = true
	s.tellStates(s.progress.share())
	return nil
}

// seriesState is a series of which events were seen.
type seriesState struct {
	key  string    // of its row
	seen time.Time // of the newest of the events
}

// told returns what the rows of some series tell.
func (s *states[E]) told(ctx context.Context, some ...seriesState) ([]latestSeries, error) {
	found := make([]latestSeries, len(some))
	for i := range some {
		var err error
		if found[i].base, err = s.target.ofKey(some[i].key); err != nil {
			return nil, err
		}
	}
	return found, s.reader.states(ctx, new(Operation), found)
}

// series fills or compares the rows of some series.
func (s *states[E]) series(ctx context.Context, some []seriesState) error {
	found, err := s.told(ctx, some...)
	if err != nil {
		return err
	}
	for i := range some {
		l := &found[i]
		if l.done && !s.Repair && !s.Verify && !s.source.Time(l.event).Before(some[i].seen) {
			continue
		}
		if err := s.one(ctx, &some[i], l); err != nil {
			return err
		}
	}
	return nil
}

// one fills or compares the row of a series, given what it told.
func (s *states[E]) one(ctx context.Context, of *seriesState, l *latestSeries) error {
	if s.Verify {
		return s.compare(ctx, of, l)
	}
	s.mu.Lock()
	s.report.Events++
	s.mu.Unlock()
	if s.DryRun {
		return nil
	}
	if err := s.limit.wait(ctx, 1); err != nil {
		return err
	}
	up := int64(0)
	if l.done && s.Repair {
		up = s.source.Time(l.event).UnixMicro()
	}
	return s.settler.raise(s.eraser, of.key, up)
}

// compare compares a row with what a search finds. Programs may be writing, so that it repeats what
// differs.
func (s *states[E]) compare(ctx context.Context, of *seriesState, l *latestSeries) error {
	for round := range compareRounds {
		if round > 0 {
			again, err := s.told(ctx, *of)
			if err != nil {
				return err
			}
			l = &again[0]
		}
		if l.mute {
			break // readers search
		}
		row := Digest{}
		if l.done {
			cells, err := s.settler.cellsOf(l.event)
			if err != nil {
				continue
			}
			row = digestOf(cells.mutations)
		}
		newest, cells, err := s.settler.newest(s.eraser, of.key)
		if err != nil {
			return err
		}
		want, at := Digest{}, time.Time{}
		if newest.exists() && cells != nil {
			want, at = digestOf(cells.mutations), *s.source.Time(newest)
		} else if l.done {
			at = *s.source.Time(l.event)
		}
		if want == row {
			break
		}
		if round == compareRounds-1 {
			s.differs(Difference{From: at, To: at.Add(s.target.Precision), Source: want, Target: row})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Events++
	return nil
}

// differs adds a difference.
func (s *states[E]) differs(d Difference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.report.Differences) < maxDifferences {
		s.report.Differences = append(s.report.Differences, d)
	}
}

// rest repairs or compares the rows of series without events in the source.
func (s *states[E]) rest(ctx context.Context) error {
	ranges, err := s.rangesOf(ctx, s.target)
	if err != nil {
		return err
	}
	return s.untilFailure(ctx, len(ranges), func(ctx context.Context, i int) error {
		scanner, err := s.scanner(s.target, ranges[i].Table)
		if err != nil {
			return err
		}
		for row, err := range scanner.Rows(ctx, ranges[i].Range, s.From, scan.MaxTime) {
			if err != nil {
				var counts BackfillCounts
				if err := s.undecodable(err, &counts); err != nil {
					return err
				}
				continue
			}
			for i := range row.Events {
				if err := s.without(row.Key, event{&row.Events[i]}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// without repairs or compares a row that has an event if a search finds none, or if it finds an older one
// since the range of the series was repaired.
func (s *states[E]) without(key string, e event) error {
	newest, _, err := s.settler.newest(s.eraser, key)
	if err != nil || newest.exists() && (s.Verify || !s.source.Time(newest).Before(*s.source.Time(e))) {
		return err
	}
	if s.Verify {
		cells, err := s.settler.cellsOf(e)
		if err != nil {
			return nil
		}
		at := *s.source.Time(e)
		s.differs(Difference{From: at, To: at.Add(s.target.Precision), Target: digestOf(cells.mutations)})
		return nil
	}
	if s.DryRun {
		return nil
	}
	s.mu.Lock()
	s.report.Deleted++
	s.mu.Unlock()
	if err := s.settler.mark(s.eraser, key, s.source.Time(e).UnixMicro()); err != nil {
		return err
	}
	if err := s.eraser.flush(); err != nil {
		return err
	}
	return s.settler.settle(s.eraser, key)
}
