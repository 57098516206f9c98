package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// Limits of [Reader.LatestMany]: the number of series whose newest rows are in memory, and the
// number of concurrent requests.
const (
	latestTogether   = 256
	latestConcurrent = 16
)

// LatestMany yields the newest event of each of several series, in the order in which they are
// given. It yields each series once, and none without live events. If the schema has a table of
// codec.Latest, or cell timestamps are event times, one request for up to 256 series reads their rows
// or their current buckets; the others are searched
// concurrently, like [Reader.Latest]. For an event that cannot be decoded, it yields a
// *DecodeError, and the loop may continue; any other error is the last value.
func (r *Reader) LatestMany(ctx context.Context, bases []any) Results {
	if err := r.missingClient(); err != nil {
		return refused(err)
	}
	return Results{r.newestMany(ctx, eventsAt(bases))}
}

// newestMany is [Reader.LatestMany] of a reader with a client.
//
//go:noinline
func (r *Reader) newestMany(ctx context.Context, bases []event) func(yielder) {
	return func(yield yielder) {
		op := request.Operation{Name: "Latest", Table: r.table.ID}
		ctx := r.options.Hooks.start(ctx, &op)
		var failed error
		defer func() { r.options.Hooks.end(ctx, &op, failed) }()
		series, err := r.latestSeries(bases)
		if err != nil {
			failed = err
			yield(r.mapping.new(), err)
			return
		}
		for some := range slices.Chunk(series, latestTogether) {
			if failed = r.latestOf(ctx, &op, some); failed != nil {
				yield(r.mapping.new(), failed)
				return
			}
			for i := range some {
				l := &some[i]
				switch ended := ctx.Err(); {
				case errors.Is(l.err, ErrNotFound):
					continue
				case ended != nil && (l.err == nil || isDecodeError(l.err)):
					l.err = call.Explain(ctx, ended)
				case l.err == nil:
					op.Events++
				}
				if l.err != nil {
					failed = l.err
				}
				if !yield(l.event, l.err) || l.err != nil && !isDecodeError(l.err) {
					return
				}
			}
		}
	}
}

// latestSeries is a series whose newest event is wanted.
type latestSeries struct {
	base  event
	spans []codec.Span
	rows  request.SeriesRows // in the current bucket or later
	done  bool
	mute  bool // its row in a table of states exists, and does not tell
	event event
	err   error
}

// latestSeries returns the different series of some events, in their order.
func (r *Reader) latestSeries(bases []event) ([]latestSeries, error) {
	var out []latestSeries
	seen := map[string]bool{}
	for _, base := range bases {
		spans, err := r.whole.find(bound{low: base})
		if err != nil {
			return nil, err
		}
		id := r.mapping.seriesID(base)
		if !seen[id] {
			seen[id] = true
			out = append(out, latestSeries{base: base, spans: spans})
		}
	}
	return out, nil
}

// latestOf finds the newest events of some series. Its own error is that of a request for several of them.
func (r *Reader) latestOf(ctx context.Context, op *request.Operation, some []latestSeries) error {
	if r.state != nil {
		if err := r.state.states(ctx, op, some); err != nil {
			return err
		}
	}
	if len(some) > 1 && r.mapping.Pattern.EventTimed() {
		if err := r.recentOf(ctx, op, some); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	call.AtOnce(len(some), latestConcurrent, func(i int) {
		l, own := &some[i], request.Operation{}
		if l.done {
			return
		}
		l.event, l.err = r.latestOrOlder(ctx, &own, l.base, l.spans)
		mu.Lock()
		defer mu.Unlock()
		op.Add(&own)
	})
	return nil
}

// recentOf finds the newest events of those series that have events in the current bucket or
// later ones, if ranges describe the rows of these.
func (r *Reader) recentOf(ctx context.Context, op *request.Operation, some []latestSeries) error {
	m := r.borrow()
	defer r.release(m)
	var all []*request.SeriesRows
	for i := range some {
		if l := &some[i]; !l.done {
			l.rows = request.NewSeriesRows(l.spans)
			all = append(all, &l.rows)
		}
	}
	if len(all) == 0 {
		return nil
	}
	ok, err := r.table.RecentOf(ctx, op, all, r.options.Now(), r.startAmong(some, m))
	if !ok || err != nil {
		return err
	}
	for i := range some {
		l := &some[i]
		if l.done || !l.rows.Some() {
			continue
		}
		request.KeepNewest(l.rows.Rows, l.rows.Starts)
		a := r.newestOnly(l.base, m)
		l.event, l.err = a.last(l.rows.Rows)
		l.done = !errors.Is(l.err, ErrNotFound)
	}
	return nil
}

// startAmong returns the time in the key of a row, and ErrForeign for rows of other series than some: if segments are joined, these may
// begin with the key of one.
func (r *Reader) startAmong(some []latestSeries, m *memory) request.StartOf {
	a := r.newestOnly(r.mapping.new(), m)
	if !slices.ContainsFunc(r.mapping.Key.Segments, func(g codec.Segment) bool { return g.Joined }) {
		return a.timeOf
	}
	asked := map[string]bool{}
	for i := range some {
		asked[r.mapping.seriesID(some[i].base)] = true
	}
	return func(row wire.Row) (time.Time, error) {
		at, err := a.timeOf(row)
		if err == nil && !asked[r.mapping.seriesID(a.base)] {
			return at, request.ErrForeign
		}
		return at, err
	}
}

// latestOrOlder returns the newest event of a series with any mapping.
func (r *Reader) latestOrOlder(ctx context.Context, op *request.Operation, base event, spans []codec.Span) (event event, err error) {
	event, err = base, ErrNotFound
	if spans != nil {
		event, err = r.latest(ctx, op, base, spans)
	}
	for i := 0; i < len(r.older) && errors.Is(err, ErrNotFound); i++ {
		if event, err = r.older[i].lastOf(ctx, op, base); err == nil {
			op.Table = r.older[i].table.ID
		}
	}
	return event, err
}
