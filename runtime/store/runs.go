package store

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Reads of windows take each bucket from one of two sources: from its run, if that has all changes and the windows
// consist of whole windows of the run, and from its events otherwise. Both are folded by the cells of the rollup, so that they
// give the same windows, bit by bit. The filter leaves the events of buckets with a complete run on the server. If a
// bucket needs its events nevertheless, they are read by themselves.

// eventsOfRun is how many events take as long to fold as a run, roughly.
const eventsOfRun = 64

// runsReading is the state of a read of windows of a table with a rollup.
type runsReading struct {
	of    *mapping // of times and usable
	times rollup.Times
	found rollup.Row // of the current row
	run   window.Run
	gaps  []gap
}

// cells returns the width of the cells of a mapping; 0 if it has none.
func (k *windowsKind) cells(l *mapping) time.Duration {
	if l.Rollup == nil || !k.spec.Stores() {
		return 0
	}
	return l.Rollup.Every
}

// enter continues with the columns and the cells of another mapping. The events so far belong to cells of the one before.
func (r *windowsReading) enter(l *mapping) {
	r.flush()
	r.columnsReading.enter(l)
	if r.fold != nil {
		r.fold.SetCells(r.cells(l))
	}
}

// uses implements rowSource.
func (r *windowsReading) uses(l *mapping) bool {
	return l.Rollup != nil && !l.Rollup.Idle && r.reading.assembler.conditions == nil && r.spec.Stores()
}

// gap is a range of starts of windows, parts of which have expired.
type gap struct{ from, to time.Time }

// gapsOf returns the gaps of a read of a table with runs: where neither events nor runs of a layout are there any more.
func (r *windowsReading) gapsOf(newest *Reader) (gaps []gap) {
	all := append([]*Reader{newest}, newest.older...)
	if !slices.ContainsFunc(all, func(of *Reader) bool { return r.uses(of.mapping) }) {
		return nil
	}
	for _, of := range all {
		from, to := of.shape.Lost(of.options.Now(), r.uses(of.mapping))
		if !from.Before(to) || !r.from.Before(to) || !from.Before(r.to) {
			continue
		}
		if from.After(r.from) {
			from = r.width.Back(from.Add(1), r.from, 1)
		}
		if !from.After(r.from) {
			from = time.Time{} // the first window may begin before the range
		}
		gaps = append(gaps, gap{from, to})
	}
	return gaps
}

// expiredIn reports whether a part of a window that begins at a time has expired. One without a beginning has what is there.
func (r *windowsReading) expiredIn(start time.Time) bool {
	return !start.IsZero() && slices.ContainsFunc(r.rows.gaps, func(g gap) bool { return !start.Before(g.from) && start.Before(g.to) })
}

// ask implements rowSource. A read of a field that the rollup does not have, or of windows that are not made of whole
// windows of the rollup, needs the events, as long as they are there; later, its windows are inexact. So do those of the
// first and of the last bucket, if the range cuts a window of it.
func (r *windowsReading) ask(l *mapping, of *scan.Read) {
	has, every := l.Rollup.Fields, l.Rollup.Every
	lacks := has != nil && (r.Fields == nil || slices.ContainsFunc(r.Fields, func(f Field) bool { return !slices.Contains(has, string(f)) }))
	if lacks || r.fold.Cuts(every, r.around()) {
		of.Runs = scan.BesideRuns
		return
	}
	of.Runs = scan.InsteadOfEvents
	if !window.OnGrid(every, of.From) {
		of.Cut = append(of.Cut, l.Key.Bucket.End(of.From))
	}
	if !window.OnGrid(every, of.To) {
		of.Cut = append(of.Cut, l.Key.Bucket.End(of.To.Add(-1)))
	}
}

// around returns the time in the range that is closest to now: the windows there are like most that have events.
func (r *windowsReading) around() time.Time {
	at := codec.Earlier(r.reading.reader.options.Now(), r.to.Add(-1))
	if at.Before(r.from) {
		return r.from
	}
	return at
}

// rollupOf sets what the cells of the rollup in a row say.
func rollupOf(to *rollup.Row, row wire.Row, family string) {
	to.Reset()
	columns := row.Columns()
	for i := range columns {
		c := &columns[i]
		if string(row.Bytes(c.Family)) != family {
			to.Others = true
			continue
		}
		for _, cell := range row.Cells(c)[:1] {
			to.Add(string(row.Bytes(c.Qualifier)), row.Bytes(cell.Value))
		}
	}
}

// bucketRow is a row of a table with a rollup that is being read.
type bucketRow struct {
	*windowsReading
	a           *assembler
	row         wire.Row
	start, stop time.Time // of the bucket
	whole       bool      // all events are there
	events      bool      // the row has the events, as far as they are there
	yield       yielder
}

// row implements rowSource.
func (r *windowsReading) row(a *assembler, start time.Time, row wire.Row, yield yielder) bool {
	s := &r.rows
	if s.of != a.mapping {
		s.of, s.times = a.mapping, a.mapping.times()
	}
	if !r.flush() || !r.begins(a.base) {
		return false
	}
	rollupOf(&s.found, row, a.mapping.Rollup.Family)
	if len(s.gaps) > 0 && r.expiredIn(r.width.Back(start.Add(1), r.from, 1)) {
		r.reading.op.Inexact++
	}
	_, has := s.found.Best()
	b := &bucketRow{
		windowsReading: r, a: a, row: row, start: start, stop: s.times.Bucket.End(start), yield: yield,
		whole: s.times.Whole(start, a.now()), events: s.found.Others || !has && !s.found.Changed(),
	}
	switch s.found.Source(&s.times, start, b.whole) {
	case rollup.FromEvents:
		return b.fromEvents()
	case rollup.FromRun:
		return b.fromRun(false)
	case rollup.DoubtedRun:
		return b.fromRun(true)
	case rollup.Nowhere:
		r.reading.op.Runs++
		return true
	}
	return b.doubted()
}

// fromRun folds the best run, whose windows may all be inexact.
func (b *bucketRow) fromRun(doubted bool) bool {
	err := b.parse()
	switch {
	case err == nil && !b.run().Lacks && !b.cuts() && !(b.whole && b.eventsTellMore()):
	case b.whole:
		return b.fromEvents()
	case err != nil:
		if !b.fail(err) {
			return b.end()
		}
		return b.doubted()
	}
	doubted = doubted || b.run().Lacks
	b.reading.op.Runs++
	inexact := doubted
	of := b.series()
	add := func() (more bool, err error) {
		more = true
		for _, w := range b.run().Windows {
			if !more || err != nil {
				break
			}
			c := w.Common()
			all, some := b.rows.found.Gone.Cover(rollup.Range{From: c.Start.Sub(b.start), To: c.End.Sub(b.start)})
			c.Inexact = c.Inexact || some
			if all || !b.overlaps(c) {
				continue
			}
			switch {
			case b.fold.Holds(c.Start, c.End):
				more, err = b.fold.AddCell(of, w)
				inexact, of = inexact || c.Inexact, nil
			case !doubted:
				from, to := b.clip()
				more, err = b.fold.Doubt(b.series(), codec.Later(c.Start, from), codec.Earlier(c.End, to), nil)
				inexact, of = true, nil
			}
		}
		return more, err
	}
	var more bool
	if doubted {
		more, err = b.doubt(add)
	} else {
		more, err = add()
	}
	if inexact {
		b.reading.op.Inexact++
	}
	return b.goesOn(b.a.base, more, err)
}

func (b *bucketRow) run() *window.Run { return &b.rows.run }

func (b *bucketRow) series() any { return b.seriesOf(b.a.base) }

// overlaps reports whether a window has times in the range that is being read.
func (b *bucketRow) overlaps(w *window.Window) bool {
	return w.End.After(b.a.from) && w.Start.Before(b.a.to)
}

// cuts reports whether a window of the run is only in part in the range of the read, or in several windows.
func (b *bucketRow) cuts() bool {
	return slices.ContainsFunc(b.run().Windows, func(w *window.Summary) bool {
		c := w.Common()
		return b.overlaps(c) && !b.fold.Holds(c.Start, c.End)
	})
}

// eventsTellMore reports whether the events give narrower or more exact windows than the run, as long as they are all there.
func (b *bucketRow) eventsTellMore() bool {
	return b.run().Every != b.a.mapping.Rollup.Every || b.run().LacksSketches ||
		slices.ContainsFunc(b.run().Windows, func(w *window.Summary) bool { return w.Common().Inexact })
}

// parse parses the best run.
func (b *bucketRow) parse() error {
	value, _ := b.rows.found.Best()
	err := parseRun(b.spec, b.run(), value, b.start, b.stop)
	if err != nil {
		return b.a.fail(b.row.Key(), b.a.mapping.Rollup.Family, time.Time{}, err)
	}
	return nil
}

// errOtherBucket is the error for a run of another bucket.
var errOtherBucket = errors.New("it is that of another bucket")

// parseRun parses the run of a bucket.
func parseRun(spec *window.Spec, to *window.Run, value []byte, start, end time.Time) error {
	if err := spec.ParseRun(to, value); err != nil {
		return err
	}
	n := len(to.Windows)
	if !to.Start.Equal(start) || n > 0 && to.Windows[n-1].Common().End.After(end) {
		return fmt.Errorf("%w: %w", window.ErrRun, errOtherBucket)
	}
	return nil
}

// doubted folds the events that are left. All windows of the bucket are inexact.
func (b *bucketRow) doubted() bool {
	b.reading.op.Inexact++
	going := true
	more, err := b.doubt(func() (bool, error) {
		going = b.fromEvents() && b.flush()
		return going, nil
	})
	return going && b.goesOn(b.a.base, more, err)
}

// doubt is [window.Fold.Doubt] for the part of the bucket that is being read.
func (b *bucketRow) doubt(add func() (more bool, err error)) (more bool, err error) {
	from, to := b.clip()
	return b.fold.Doubt(b.series(), from, to, add)
}

// clip returns the part of the bucket that is being read.
func (b *bucketRow) clip() (from, to time.Time) {
	return codec.Later(b.start, b.a.from), codec.Earlier(b.stop, b.a.to)
}

// fromEvents folds the events.
func (b *bucketRow) fromEvents() bool {
	b.reading.op.Folded++
	if b.events {
		return b.a.eventsOf(b.start, b.row, b.yield)
	}
	return b.again()
}

// again reads the events of the row by themselves.
func (b *bucketRow) again() bool {
	r, t := &b.reading, b.reading.reader
	asked := r.asked
	asked.Runs, asked.Keys, asked.AllTimes = scan.NoRuns, nil, false
	asked.From, asked.To = b.clip()
	plan := t.shape.Plan(&asked, t.options.Now())
	rows := []codec.Rows{{Keys: []string{b.row.Key()}}}
	for i := range plan.Parts {
		for row, err := range t.table.Rows(r.ctx, &r.op, rows, t.table.Filters.Of(plan.Parts[i].Filter), 0) {
			if err != nil {
				return b.failWith(err)
			}
			more := b.a.eventsOf(b.start, row, b.yield)
			row.Release()
			if !more {
				return false
			}
		}
	}
	return true
}
