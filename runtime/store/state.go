package store

import (
	"context"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// A table of codec.Latest has the state of now: for each series, a row with its newest event, timed by
// the event, so that a late one never replaces a newer one. What it says is what a search of the
// events would find:
//
//   - Writers write an event to the tables of events first, and to the row only what is stored there.
//     A row may thus lack an event that is being written, or whose write failed or was killed, until
//     that is written again. It never has one that the tables of events lack. A write with IfAbsent
//     that finds an event marks its row, unless that has the event, too.
//   - Deletions mark the row before they delete events, and remove the mark after they have repaired
//     the row; see settler. Readers of a marked row search the events. So a deletion that was killed
//     anywhere hides nothing, and leaves nothing that it has deleted.
//   - Each write adds its version of the event to a sum; see versionHash. Readers of a row that had other versions of its
//     event search, too, since any of them may have come last in the tables of events.
//   - A row lives no longer than the events. One that is empty may have expired earlier, so that a
//     reader of one series searches. A reader of many series uses the rows only for ranges of time in
//     which they have not expired.
//
// TestStateOrders explores the interleavings of these steps.

// state returns the event of a row, and whether it is the newest one of its series; else, only a search
// of the events can tell. It sets the series of the assembler, and releases the row. The error is that
// of the key.
func (a *assembler) state(row wire.Row) (newest event, told bool, err error) {
	defer row.Release()
	at, err := a.timeOf(row)
	if err != nil {
		return newest, false, err
	}
	failed := ErrNotFound
	a.inRow(at, row, func(e event, err error) bool {
		newest, failed = a.mapping.clone(e), err
		return true
	})
	return newest, failed == nil && a.oneVersion(row, a.mapping.Time(newest).UnixMicro()), nil
}

// states sets the newest events of those series whose rows tell them. The reader is that of the
// table of states.
func (r *Reader) states(ctx context.Context, op *request.Operation, some []latestSeries) error {
	var spans []codec.Span
	of := map[string]int{}
	for i := range some {
		found, err := r.whole.find(bound{low: some[i].base})
		if err != nil || len(found) != 1 {
			continue // the search says why
		}
		spans, of[found[0].Prefix] = append(spans, found[0]), i
	}
	m := r.borrow()
	defer r.release(m)
	now := r.options.Now()
	for _, q := range r.shape.States(spans, now) {
		for row, err := range r.table.Rows(ctx, op, q.Rows, r.table.Filters.Of(q.Filter), 0) {
			if err != nil {
				return err
			}
			i, known := of[row.Key()]
			if !known {
				row.Release()
				continue
			}
			l := &some[i]
			if e, told, err := r.newestOnly(l.base, m).state(row); err == nil && told {
				l.done, l.event, op.Table = true, e, r.table.ID
			} else {
				l.mute = true
			}
		}
	}
	return nil
}

// stateOf returns the newest event of a series, if its row tells.
func (r *Reader) stateOf(ctx context.Context, op *request.Operation, base event) (event, bool, error) {
	one := []latestSeries{{base: base}}
	err := r.states(ctx, op, one)
	return one[0].event, one[0].done, err
}

// stateQuery returns how the table of states answers a read of the newest event of each series; nil if
// it cannot: without such a table, with several values or conditions, or if its keys begin with other
// values than those of the query, or do not sort by them.
func (r *Reader) stateQuery(s *selection) *query {
	if r.state == nil || s.many || len(s.conditions) > 0 {
		return nil
	}
	q := r.state.mapping.queryOf(s)
	if q.Keys != nil || q.matcher != nil || q.refused != "" {
		return nil
	}
	return q
}

// stateSpans returns the spans in which the table of states has the rows of all series of the read with
// events in the time range. It does not tell if it cannot store the given values, or the bounds of a
// range: the other tables may.
func (r *reading) stateSpans() (spans []codec.Span, tell bool) {
	if !r.statesTell() {
		return nil, false
	}
	spans, err := r.stateQuery.spansOf(bound{low: r.given, high: r.high})
	return spans, err == nil
}

// lately is how long ago a time range may end that the table of states answers: callers take the time before they read.
const lately = time.Minute

// statesTell reports whether the table of states has the rows of all series with events in the time
// range: if the range ends at most a minute ago, and neither begins before the rows expire nor contains
// older events that are live.
func (r *reading) statesTell() bool {
	now := r.reader.options.Now()
	if r.stateQuery == nil || r.assembler.to.Before(now.Add(-lately)) {
		return false
	}
	since, bounded := r.reader.state.shape.Since(now)
	if !bounded || !r.assembler.from.Before(since) {
		return true
	}
	for _, l := range append([]*Reader{r.reader}, r.reader.older...) {
		oldest, bounded := codec.Oldest(now, l.shape.Families, func(f *scan.Family) codec.Lifetime { return f.Life })
		if !bounded || oldest.Before(since) {
			return false
		}
	}
	return true
}

// ofStates yields the newest event of each series in the time range, from the table of states as far as
// it tells. The events of series with a newer one than the range are searched: they are few, because the range ends at most
// lately.
func (r *reading) ofStates(spans []codec.Span, yield yielder) {
	s := r.reader.state
	m := s.borrow()
	defer s.release(m)
	a := s.newestOnly(r.given, m)
	var err error
	if a.fetched, err = s.project(r.options.Fields); err != nil {
		yield(r.reader.mapping.new(), err)
		return
	}
	for _, q := range s.shape.States(spans, s.options.Now()) {
		for row, err := range s.table.Rows(r.ctx, &r.op, q.Rows, s.table.Filters.Of(q.Filter), 0) {
			if err != nil {
				yield(r.given, err)
				return
			}
			if !r.ofState(a, row, yield) {
				return
			}
		}
	}
}

// ofState yields the newest event of the series of a row in the time range.
func (r *reading) ofState(a *assembler, row wire.Row, yield yielder) bool {
	e, told, err := a.state(row)
	switch {
	case err == request.ErrForeign:
		return true
	case err != nil:
		return yield(a.base, err)
	case !told:
		return r.searched(a.base, yield)
	}
	switch at := *a.mapping.Time(e); {
	case at.Before(r.assembler.from):
		return true
	case at.Before(r.assembler.to):
		r.op.Table = r.reader.state.table.ID
		return yield(e, nil)
	}
	return r.searched(a.base, yield)
}

// searched yields the newest event of a series in the time range, from the events.
func (r *reading) searched(base event, yield yielder) bool {
	read := r.reader.begin(r.ctx, &r.reader.whole, base, r.assembler.from, r.assembler.to, []ReadOptions{{LatestOnly: true, Fields: r.options.Fields}})
	more := true
	read.inPeriods(func(e event, err error) bool {
		more = yield(e, err) && (err == nil || isDecodeError(err))
		return more && err != nil
	})
	r.op.Add(&read.op)
	return more
}
