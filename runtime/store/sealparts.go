package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/job"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/window"
)

// RollupParts are the steps of [Rollup]. Find notes the rows that have changed. When no mark that was noted can be
// set any more, and the client sees all that was written before, Settle summarizes these rows.
type RollupParts struct{ sealers []*sealer }

const (
	maxSealed = 100 // rows of a note
	maxSends  = 16  // of these, that Settle seals at a time
)

// rowsNote names rows that have changed.
type rowsNote struct {
	Layout int      `json:"layout"` // index in RollupParts.First
	Keys   [][]byte `json:"keys"`   // row keys
	Marks  []uint64 `json:"marks"`  // identify the marks of each row
}

// NewRollupParts returns the steps of a call of Rollup, or ErrNoRollup. Options about checkpoints, workers, rates,
// waits and progress are ignored. A client is needed only for the steps.
func NewRollupParts(client Client, mappings []*Mapping, columns *Columns, spec *window.Spec, o RollupOptions) (*RollupParts, error) {
	p := &RollupParts{sealersOf(client, mappings, columns, spec, &o)}
	if len(p.sealers) == 0 {
		return nil, ErrNoRollup
	}
	return p, nil
}

// First returns the table of each layout with a rollup.
func (p *RollupParts) First() (all []JobTable) {
	for i, s := range p.sealers {
		all = append(all, JobTable{Table: s.mapping.Table.ID, Layout: i})
	}
	return all
}

// Left returns nothing: what a stopped pipeline has left is changed.
func (p *RollupParts) Left(time.Time) []JobTable { return nil }

// Wait returns the longest time for which a mark may still be set after it was noted.
func (p *RollupParts) Wait() (longest time.Duration) {
	for _, s := range p.sealers {
		longest = max(longest, s.times.Grace)
	}
	return longest
}

// Pause returns 0: attempts to settle may overlap.
func (p *RollupParts) Pause() time.Duration { return 0 }

// Do does nothing: the rows may be changing.
func (p *RollupParts) Do(context.Context, JobNote) (oldest time.Time, counts JobCounts, err error) {
	_, err = p.sealer(0)
	return oldest, counts, err
}

// Differs returns true: Settle reads the rows.
func (p *RollupParts) Differs(context.Context, JobNote) (bool, error) {
	_, err := p.sealer(0)
	return true, err
}

// sealer returns the sealer of a layout; a *[NoClientError] without one, or without a client.
func (p *RollupParts) sealer(layout int) (*sealer, error) {
	if layout < 0 || layout >= len(p.sealers) {
		return nil, &NoClientError{}
	}
	s := p.sealers[layout]
	return s, missingClient(s.reader.table.API)
}

// Splits is that of JobParts.
func (p *RollupParts) Splits(ctx context.Context, t JobTable) ([]KeyRange, error) {
	s, err := p.sealer(t.Layout)
	if err != nil {
		return nil, err
	}
	return splits(ctx, s.reader.table.API, s.id, s.reader.table.Timeout)
}

// Find notes the claimed rows of a layout that have changed.
func (p *RollupParts) Find(ctx context.Context, t JobTable, within KeyRange, claims RowClaims, emit func(JobNote)) (counts JobCounts, err error) {
	s, err := p.sealer(t.Layout)
	if err != nil {
		return counts, err
	}
	rows := rowsNote{Layout: t.Layout}
	end := func() {
		if len(rows.Keys) > 0 {
			emit(note(rows))
			rows.Keys, rows.Marks = rows.Keys[:0], rows.Marks[:0]
		}
	}
	var op request.Operation
	err = s.note(ctx, &op, within, claims.Claim, nil, func(n changedRow, _ bool) bool {
		rows.Keys, rows.Marks = append(rows.Keys, []byte(n.key)), append(rows.Marks, n.marks)
		if counts.Rollup.Noted++; len(rows.Keys) == maxSealed {
			end()
		}
		return true
	})
	if err == nil {
		end()
	}
	return counts, err
}

// Settle summarizes rows. Once all others are summarized, an error about a row that cannot be decoded is a
// *DecodeError, and one about rows of which a request failed a *LeftError.
func (p *RollupParts) Settle(ctx context.Context, n JobNote) (counts JobCounts, err error) {
	var of rowsNote
	damaged := json.Unmarshal(n, &of)
	s, err := p.sealer(of.Layout)
	if err = cmp.Or(err, damaged); err != nil {
		return counts, err
	}
	var all sealed
	l := job.Local{Parallel: maxSends, Cancels: true}
	rows := make([]changedRow, min(len(of.Keys), len(of.Marks)))
	for i := range rows {
		rows[i] = changedRow{string(of.Keys[i]), of.Marks[i]}
	}
	each := max(1, len(rows)/maxSends)
	err = l.Each(ctx, (len(rows)+each-1)/each, func(ctx context.Context, i int) error {
		return s.seal(ctx, new(request.Operation), rows[i*each:min(len(rows), (i+1)*each)], func(_ int, done sealed) error {
			l.Mu.Lock()
			defer l.Mu.Unlock()
			all.add(&done)
			return nil
		})
	})
	if err == nil && all.failed != nil {
		err = &LeftError{all.Failed, all.failed}
	}
	if err == nil {
		err = all.undecodable
	}
	counts.Rollup = all.RollupCounts
	return counts, err
}

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
		return fmt.Sprint(e.Err)
	}
	return fmt.Sprintf("%v, first that from %s", e.Err, e.Window.UTC().Format(time.RFC3339))
}

func (e *RunError) Unwrap() error { return e.Err }

// ErrWrongRun is the error for a run that differs from the events of its bucket.
var ErrWrongRun = errors.New("a window of the rollup differs from the events")

// Compare compares the runs of a layout with the events of their buckets, as long as reads use them and all these events are
// there: it folds the events once more. It calls found for each run that differs, or is damaged, until that returns false, and
// returns how many it has compared. Buckets with a mark, with a run of earlier fields or of another width, and those with
// events that cannot be decoded, are left out: reads take their windows from the events.
func (p *RollupParts) Compare(ctx context.Context, layout int, within KeyRange, found func(*RunError) bool) (compared int, err error) {
	s, err := p.sealer(layout)
	if err != nil {
		return 0, err
	}
	table := s.reader.table
	var op request.Operation
	for row, err := range table.Rows(ctx, &op, []codec.Rows{{Start: within.Start, End: within.End}}, table.Filters.Of(s.reader.shape.Everything()), 0) {
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

// likeness says how the run of a row compares with its events.
type likeness int

const (
	runEqual   likeness = iota
	runWrong            // it differs, or is damaged; a *RunError says how
	runUnused           // reads do not use it: it has earlier fields or another width, or there are events that cannot be decoded
	runInexact          // it has windows that may differ: events had expired, which may have been kept for a shorter time
)

// compare compares the best run of a row with its events, all of which must be there. If it returns runEqual, or a window that
// differs, it has folded them.
func (s *sealer) compare(b *bucketRow, d *decision) (likeness, *RunError, error) {
	wrong := &RunError{Table: s.id, Row: b.row.Key(), Column: s.mapping.Rollup.Family + ":" + b.rows.found.BestName()}
	value, _ := b.rows.found.Best()
	run := b.run()
	if wrong.Err = parseRun(s.kind.spec, run, value, b.start, b.stop); wrong.Err != nil {
		return runWrong, wrong, nil
	}
	inexact := func(w *window.Summary) bool { return w.Common().Inexact }
	switch {
	case run.Lacks || run.LacksSketches || run.Every != s.mapping.Rollup.Every:
		return runUnused, nil, nil
	case slices.ContainsFunc(run.Windows, inexact):
		return runInexact, nil, nil
	}
	d.verdict = rollup.Compute
	if err := s.fold(b, d); err != nil || d.undecodable != nil {
		return runUnused, nil, err
	}
	var err error
	if wrong.Window, err = s.differ(run, d.windows); err != nil || wrong.Window.IsZero() {
		return runEqual, nil, err
	}
	wrong.Err = ErrWrongRun
	return runWrong, wrong, nil
}

// outdated reports whether a row without marks needs a new run: if it has none or, as long as all its events are there, if reads
// do not use its run, or that differs from them. If the verdict of d is rollup.Compute then, the events have been folded.
func (s *sealer) outdated(b *bucketRow, now time.Time, d *decision) (bool, error) {
	_, has := b.rows.found.Best()
	if !has || s.times.Final(b.start, now) {
		return !has, nil
	}
	found, _, err := s.compare(b, d)
	return found == runWrong || found == runUnused, err
}

// check compares the run of a row with its events. done is false if reads do not use it, or not all events are there.
func (s *sealer) check(ctx context.Context, row wire.Row) (wrong *RunError, done bool, err error) {
	b, failed := s.bucket(ctx, row)
	if failed != nil {
		return nil, false, nil // a row of another mapping, or of nobody
	}
	cells := &b.rows.found
	if _, has := cells.Best(); !has || cells.Changed() || !s.times.Whole(b.start, s.now()) {
		return nil, false, nil
	}
	found, wrong, err := s.compare(b, new(decision))
	return wrong, err == nil && (found == runEqual || found == runWrong), err
}

// differ returns the start of the first window in which a run differs from those of its events; zero if there is none.
func (s *sealer) differ(run *window.Run, events []*window.Summary) (time.Time, error) {
	start := func(w *window.Summary) time.Time { return w.Common().Start }
	stored := run.Windows
	for i := 0; i < len(stored) || i < len(events); i++ {
		switch {
		case i == len(stored):
			return start(events[i]), nil
		case i == len(events):
			return start(stored[i]), nil
		}
		var encoded [2][]byte
		for side, w := range []*window.Summary{stored[i], events[i]} {
			var err error
			if encoded[side], err = s.kind.spec.AppendRun(nil, &window.Run{Start: run.Start, Every: run.Every, Windows: []*window.Summary{w}}); err != nil {
				return time.Time{}, err
			}
		}
		if !bytes.Equal(encoded[0], encoded[1]) {
			return codec.Earlier(start(stored[i]), start(events[i])), nil
		}
	}
	return time.Time{}, nil
}
