package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/window"
)

// RunError reports a bucket whose run differs from its events, or is damaged.
type RunError struct {
	Table  string // with its prefix
	Row    string // row key
	Column string // of the run: family:qualifier
	// Window is the start of the first window that differs; zero if the run is damaged.
	Window time.Time
	Err    error // ErrWrongRun, or an error that wraps window.ErrRun
}

// Error describes the run and the window.
func (e *RunError) Error() string {
	return fmt.Sprintf("table %s, row %q, column %q: %s", e.Table, e.Row, e.Column, e.Reason())
}

// Reason describes what is wrong.
func (e *RunError) Reason() string {
	if e.Window.IsZero() {
		return e.Err.Error()
	}
	return e.Err.Error() + ", first that from " + e.Window.UTC().Format(time.RFC3339)
}

func (e *RunError) Unwrap() error { return e.Err }

// ErrWrongRun is the error for a run that differs from the events of its bucket.
var ErrWrongRun = errors.New("a window of the rollup differs from the events")

// Check compares the runs of a layout with the events of their buckets, as long as reads use them and all these events are
// there: it folds the events once more. It calls found for each run that differs, or is damaged, until that returns false, and
// returns how many it has compared. Buckets with a mark, with a run of earlier fields or of another width, and those with
// events that cannot be decoded, are left out: reads take their windows from the events.
func (p *RollupParts) Check(ctx context.Context, layout int, within KeyRange, found func(*RunError) bool) (compared int, err error) {
	s := p.sealers[layout]
	table := s.reader.table
	var op Operation
	for row, err := range table.rows(ctx, &op, []codec.Rows{{Start: within.Start, End: within.End}}, table.filters.of(s.reader.shape.Everything()), 0) {
		if err != nil {
			return compared, err
		}
		wrong, done, err := s.check(ctx, row)
		row.Release()
		if err != nil {
			return compared, err
		}
		if done {
			compared++
		}
		if wrong != nil && !found(wrong) {
			break
		}
	}
	return compared, nil
}

// outdated reports whether a row without marks needs a new run: if it has none or, as long as all its events are there, if its
// run cannot be read, or differs from them. A run that says that events had expired is not compared: they may have been
// kept for a shorter time.
func (s *sealer) outdated(ctx context.Context, row wire.Row) (bool, error) {
	b, err := s.bucket(ctx, row)
	if err != nil {
		return false, err
	}
	value, has := b.rows.found.Best()
	run := b.run()
	switch {
	case !has:
		return true, nil
	case s.times.Final(b.start, s.now()):
		return false, nil
	case parseRun(s.kind.spec, run, value, b.start, b.stop) != nil || run.Lacks || run.Every != s.mapping.Rollup.Every:
		return true, nil
	case slices.ContainsFunc(run.Windows, s.inexact):
		return false, nil
	}
	d := decision{verdict: rollup.Compute}
	if err := s.fold(b, &d); err != nil {
		return false, err
	}
	at, err := s.differ(run, d.windows)
	return d.undecodable != nil || !at.IsZero(), err
}

// inexact reports whether a window of a run may differ from its events.
func (s *sealer) inexact(w any) bool { return s.kind.spec.CommonOf(w).Inexact }

// check compares the run of a row with its events. done is false if reads do not use it, or not all events are there.
func (s *sealer) check(ctx context.Context, row wire.Row) (wrong *RunError, done bool, err error) {
	b, failed := s.bucket(ctx, row)
	if failed != nil {
		return nil, false, nil // a row of another mapping, or of nobody
	}
	value, has := b.rows.found.Best()
	if !has || b.rows.found.Changed() || !s.times.Whole(b.start, s.now()) {
		return nil, false, nil
	}
	wrong = &RunError{Table: s.id, Row: row.Key(), Column: s.mapping.Rollup.Family + ":" + b.rows.found.BestName()}
	run := b.run()
	if wrong.Err = parseRun(s.kind.spec, run, value, b.start, b.stop); wrong.Err != nil {
		return wrong, true, nil
	}
	if run.Lacks || run.Every != s.mapping.Rollup.Every || slices.ContainsFunc(run.Windows, s.inexact) {
		return nil, false, nil
	}
	d := decision{verdict: rollup.Compute}
	if err := s.fold(b, &d); err != nil || d.undecodable != nil {
		return nil, false, err
	}
	if wrong.Window, err = s.differ(run, d.windows); err != nil || wrong.Window.IsZero() {
		return nil, true, err
	}
	wrong.Err = ErrWrongRun
	return wrong, true, nil
}

// differ returns the start of the first window in which a run differs from those of its events; zero if there is none.
func (s *sealer) differ(run *window.Run, events []any) (time.Time, error) {
	start := func(w any) time.Time { return s.kind.spec.CommonOf(w).Start }
	stored := run.Windows
	for i := 0; i < len(stored) || i < len(events); i++ {
		switch {
		case i == len(stored):
			return start(events[i]), nil
		case i == len(events):
			return start(stored[i]), nil
		}
		var encoded [2][]byte
		for side, w := range []any{stored[i], events[i]} {
			var err error
			if encoded[side], err = s.kind.spec.AppendRun(nil, &window.Run{Start: run.Start, Every: run.Every, Windows: []any{w}}); err != nil {
				return time.Time{}, err
			}
		}
		if !bytes.Equal(encoded[0], encoded[1]) {
			return earlier(start(stored[i]), start(events[i])), nil
		}
	}
	return time.Time{}, nil
}
