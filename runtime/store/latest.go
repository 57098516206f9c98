package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Latest returns the newest event of the series of base, or ErrNotFound. It reads one row if the schema
// has a table of codec.Latest.
func (r *Reader) Latest(ctx context.Context, base any) (any, error) {
	if err := r.missingClient(); err != nil {
		return nil, err
	}
	e, err := r.newest(ctx, event{base})
	return e.pointer, err
}

// newest is [Reader.Latest] of a reader with a client.
func (r *Reader) newest(ctx context.Context, base event) (event event, err error) {
	op := request.Operation{Name: "Latest", Table: r.table.ID}
	ctx = r.options.Hooks.start(ctx, &op)
	defer func() { r.options.Hooks.end(ctx, &op, err) }()
	spans, err := r.whole.find(bound{low: base})
	if err != nil {
		return r.mapping.new(), err
	}
	if r.state != nil {
		e, told, err := r.state.stateOf(ctx, &op, base)
		switch {
		case err != nil:
			return r.mapping.new(), err
		case told:
			op.Events = 1
			return e, nil
		}
	}
	event, err = r.latestOrOlder(ctx, &op, base, spans)
	switch {
	case err == nil:
		op.Events = 1
	case errors.Is(err, ErrNotFound) && len(spans) == 0:
		err = fmt.Errorf("%w: only earlier layouts of table %s can store the series, and have none", err, r.table.ID)
	case errors.Is(err, ErrNotFound):
		err = fmt.Errorf("%w: table %s has none with the keys %q", err, r.table.ID, spans[0].Prefix+"…"+spans[0].Suffix)
	}
	return event, err
}

// lastOf returns the newest event of a series with an earlier mapping.
func (r *Reader) lastOf(ctx context.Context, op *request.Operation, base event) (newest event, err error) {
	if after, moves := r.shape.Tier.After(); moves && r.shape.EventTimed() {
		if since := r.options.Now().Add(-after); since.After(r.mapping.Since) && since.Before(r.mapping.until) {
			if newest, err = r.lastSince(ctx, op, base, since); !errors.Is(err, ErrNotFound) {
				return newest, err
			}
		}
	}
	return r.lastSince(ctx, op, base, r.mapping.Since)
}

// lastSince is lastOf for events from a time on.
func (r *Reader) lastSince(ctx context.Context, op *request.Operation, base event, since time.Time) (newest event, err error) {
	read := r.begin(ctx, &r.whole, base, since, r.mapping.until, []ReadOptions{{LatestOnly: true}})
	read.op = *op
	newest, err = base, ErrNotFound
	read.events(func(e event, failed error) bool {
		newest, err = r.mapping.clone(e), failed
		return false
	})
	*op = read.op
	return newest, err
}

// skip yields the newest events of each series, reading one row at a time. Once a
// series has an event, skip skips its remaining rows.
func (r *reading) skip(p *scan.Part, yield yielder) bool {
	a := &r.assembler
	for i := range r.asked.Spans {
		q := p.First(i)
		filter := r.reader.table.Filters.Of(q.Filter)
		for rest := q.Rows; len(rest) > 0; {
			row, err := r.reader.table.Newest(r.ctx, &r.op, rest, filter, q.Limit)
			if err != nil {
				yield(a.base, err)
				return false
			}
			if !row.Exists() {
				break
			}
			found, key := false, row.Key()
			more := a.row(row, func(e event, err error) bool {
				found = found || err == nil
				return yield(e, err)
			})
			if !more {
				return false
			}
			rest = r.reader.without(rest, key, a, found)
		}
	}
	return true
}

// without removes a row from the ranges and, if it had an event, the rest of its
// series.
func (r *Reader) without(rest []codec.Rows, key string, a *assembler, found bool) []codec.Rows {
	spans, err := r.mapping.Spans(a.base)
	if found && err == nil && spans[0].Has(key) { // the same span, and so the same salt
		return r.table.Past(rest, spans[0].All())
	}
	return r.table.Before(rest, key)
}

// firstOfEach yields the first event of each series.
func (r *Reader) firstOfEach(events func(yielder)) func(yielder) {
	return func(yield yielder) {
		seen := map[string]bool{}
		events(func(event event, err error) bool {
			if err == nil {
				series := r.mapping.seriesID(event)
				if seen[series] {
					return true
				}
				seen[series] = true
			}
			return yield(event, err)
		})
	}
}

// latest finds the newest event: in a table with an infrequent access tier, first on SSD.
func (r *Reader) latest(ctx context.Context, op *request.Operation, base event, spans []codec.Span) (event, error) {
	m := r.borrow()
	defer r.release(m)
	now := r.options.Now()
	ssd, ok := r.shape.OnSSD(now)
	if !ok {
		return r.latestIn(ctx, op, base, spans, m, &r.shape, now)
	}
	event, err := r.latestIn(ctx, op, base, spans, m, &ssd, now)
	if errors.Is(err, ErrNotFound) {
		return r.search(ctx, op, base, spans, m, &r.shape)
	}
	return event, err
}

// latestIn finds the newest event in a table at time now. If that takes several requests, it first reads the
// current bucket and later ones.
func (r *Reader) latestIn(ctx context.Context, op *request.Operation, base event, spans []codec.Span, m *memory, in *scan.Table, now time.Time) (event, error) {
	if recent, ok := in.Recent(spans, now); ok {
		a := r.newestOnly(base, m)
		if len(spans) == 1 {
			a.expect(&spans[0], false) // so that the key of a row is parsed once
		}
		rows, err := r.table.RecentRows(ctx, op, now, spans, recent, a.timeOf)
		if err != nil {
			return base, err
		}
		if rows != nil {
			if event, err := a.last(rows); !errors.Is(err, ErrNotFound) {
				return event, err
			}
		}
	}
	return r.search(ctx, op, base, spans, m, in)
}

// newestOnly returns an assembler that makes the newest event of a series.
func (r *Reader) newestOnly(base event, m *memory) *assembler {
	a := r.newAssembler(base)
	a.to, a.ranksEnd, a.memory = scan.MaxTime, scan.MaxTime, m
	return &a
}

// search finds the newest event. Data that expires between the request and the next
// look at the clock may hide an older event that is still live; search then repeats the
// request. A row without any known column may hide one, too; search then reads the rows
// before it.
func (r *Reader) search(ctx context.Context, op *request.Operation, base event, spans []codec.Span, m *memory, in *scan.Table) (event, error) {
	var left []codec.Rows // the rows before one without an event
	var asked time.Time
	for {
		a, now := r.newestOnly(base, m), r.options.Now()
		stands := now.Equal(asked)
		asked = now
		s, alive := in.Search(spans, now)
		if !alive {
			return base, ErrNotFound
		}
		if left == nil {
			left = s.Requests[0].Rows
		}
		rows, err := r.table.NewestRows(ctx, op, &s, left, a.timeOf)
		if err != nil {
			return base, err
		}
		key := ""
		if len(rows) == 1 && rows[0].Exists() {
			key = rows[0].Key()
		}
		event, err := a.last(rows)
		switch {
		case !errors.Is(err, ErrNotFound):
			return event, err
		case a.expired && !stands: // repeating would not end if the clock stood still
			continue
		case key == "":
			return event, err // the rows before it are unknown
		}
		if left = r.table.Before(left, key); len(left) == 0 {
			return event, err
		}
	}
}

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
