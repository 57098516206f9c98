package store

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/window"
)

// mostDescending is the largest number of windows of a series that are in memory if windows descend.
const mostDescending = 64

// descending adds windows from the newest to the oldest one. It reports whether they were read to their end.
func (r *windowsReading) descending() (complete bool) {
	r.reading.runOf(func() { complete = r.approach() && r.descend() }, r.one)
	return complete
}

// descend is descending without the hooks of the read: it reads parts of the time range, beginning with the
// last window. After a part without windows, it continues with the newest row that is left or, of several series whose
// rows are not in order of time or have one field each, with a longer part.
func (r *windowsReading) descend() (complete bool) {
	low, several := r.reading.assembler.from, r.several()
	gap := false
	for to, n := r.to, int64(1); to.After(low) && (to.After(r.from) || r.fold.Waits()); {
		from := low // all that precedes the range
		if to.After(r.from) {
			from = r.width.Back(to, r.from, n)
		}
		if gap && to.After(r.from) && !(several && r.reading.reader.rowPerField()) {
			switch behind, err := r.behindGap(from, to); {
			case err == nil:
				from = behind
			case !errors.Is(err, ErrOrder): // else, of several series in layouts by time
				return r.failWith(err)
			}
		}
		most := mostDescending
		if several && n == 1 {
			most = math.MaxInt
		} else if several {
			most = partWindows
		}
		items, from, whole := r.span(from, to, most)
		if !whole {
			n, gap = max(1, n/8), false
			continue
		}
		for _, item := range slices.Backward(items) {
			if !r.consume(item) {
				return false
			}
		}
		if !r.fold.Passed(from) {
			return false
		}
		switch gap = len(items) == 0; {
		case !gap:
			n = min(2*n, mostDescending)
			if r.Limit > 0 {
				n = max(1, min(n, int64(r.Limit-r.fold.Yielded())))
			}
		case several:
			n *= 2
		default:
			n = 1
		}
		to = from
	}
	return true
}

// span returns the windows and errors of a part of the time range. If there are more than most windows of one
// series, it returns those at the end of the part, and where they begin. If there are more of several series,
// it returns false, and only some of them.
func (r *windowsReading) span(from, to time.Time, most int) (items []windowItem, begin time.Time, whole bool) {
	part := r.newReading(r.reading.ctx, r.reading.reader, r.of, r.reading.q)
	part.reading.assembler.from, part.reading.assembler.to = from, to
	windows, several := 0, r.several()
	o := part.options()
	o.Scattered = r.scattered
	part.items(o, func(item windowItem) bool {
		item.series = nil // the windows of a part are not entered again
		if items = append(items, item); item.window == nil {
			return true
		}
		if windows++; windows > most && !several {
			items = items[slices.IndexFunc(items, windowItem.isWindow)+1:]
			from = items[slices.IndexFunc(items, windowItem.isWindow)].window.Common().Start
		}
		return windows <= most || !several
	})
	r.reading.op.Add(&part.reading.op)
	return items, from, !part.stopped
}

func (i windowItem) isWindow() bool { return i.window != nil }

// approach finds where a read of one series begins that needs the values before its range. It reports whether
// the read goes on.
func (r *windowsReading) approach() bool {
	if r.since.IsZero() || r.several() {
		return true
	}
	k := *r.windowsKind
	k.from, k.to, k.since, k.WindowOptions = r.since, r.from, time.Time{}, WindowOptions{Fields: r.Fields}
	before := k.newReading(r.reading.ctx, r.reading.reader, r.of, r.reading.q)
	before.fail = func(err error) bool { return isDecodeError(err) || r.failWith(err) } // the read yields it again
	begin, known := r.from, []bool(nil)
	o := before.options()
	o.Descending = true
	var err error
	before.fold, err = k.start(o, func(w *window.Summary) bool {
		all := false
		if c := w.Common(); c.Events > 0 {
			begin = codec.Later(c.Start, r.since)
			known, all = k.spec.Counted(w, known)
		}
		return before.give(!all)
	})
	if err != nil {
		return r.failWith(err)
	}
	before.descend()
	r.reading.op.Add(&before.reading.op)
	r.reading.assembler.from = begin
	return r.failed == nil
}

// rowPerField reports whether the fields of an event have rows of their own in any layout.
func (r *Reader) rowPerField() bool {
	return slices.ContainsFunc(r.mapping.Periods(), func(l *mapping) bool { return l.Pattern.RowPerField() })
}

// behindGap returns where the next part of a read begins, after one without windows: with the window in which
// the newest row before a time begins or, if that cannot be decoded or there is none, with what is left. Of several series,
// it is the window of the newest event in rows of that bucket, which are in order of time.
func (r *windowsReading) behindGap(least, to time.Time) (from time.Time, err error) {
	newest := newestRow{windowsReading: r, at: r.from}
	read := r.reading.reader.beginSelected(r.reading.ctx, r.of, r.reading.q, r.from, to, []ReadOptions{{Fields: []Field{}, NewestFirst: true, Limit: 1, TimeOrder: r.several()}})
	read.assembler.runs = &newest
	read.yield = func(e event, failed error) bool {
		switch {
		case failed == nil:
			newest.at = read.reader.mapping.start(e)
		case !isDecodeError(failed):
			err = failed
		}
		return false
	}
	read.ordered()(read.count)
	read.op.Events = 0 // the part counts it
	r.reading.op.Add(&read.op)
	if !newest.at.After(r.from) {
		return r.from, err
	}
	return codec.Earlier(least, r.width.Back(newest.at.Add(1), r.from, 1)), err
}

// newestRow takes the first row of a reversed read that windows may come from or, of several series, the rows of its bucket.
type newestRow struct {
	*windowsReading
	at     time.Time // start of its bucket or, of several series, of its newest event
	bucket time.Time // its start; zero before the first row
}

// uses implements rowSource.
func (n *newestRow) uses(l *mapping) bool { return n.several() || n.windowsReading.uses(l) }

// ask implements rowSource.
func (n *newestRow) ask(l *mapping, of *scan.Read) {
	if n.windowsReading.uses(l) {
		of.Runs = scan.BesideRuns
	}
}

// row implements rowSource.
func (n *newestRow) row(a *assembler, start time.Time, row wire.Row, _ yielder) bool {
	if n.windowsReading.uses(a.mapping) {
		return n.ofRun(a, start, row)
	}
	if !n.bucket.IsZero() && !start.Equal(n.bucket) {
		return false
	}
	return a.eventsOf(start, row, func(e event, err error) bool {
		n.bucket = start
		at := start
		if err == nil { // else, the part yields the error
			at = *a.mapping.Time(e)
		}
		n.at = codec.Later(n.at, at)
		return true
	})
}

// ofRun is row for a row whose windows may come from its run.
func (n *newestRow) ofRun(a *assembler, start time.Time, row wire.Row) bool {
	var found rollup.Row
	rollupOf(&found, row, a.mapping.Rollup.Family)
	times := a.mapping.times()
	if found.Source(&times, start, times.Whole(start, a.now())) == rollup.Nowhere {
		return true
	}
	n.at = codec.Later(n.at, start)
	return false
}
