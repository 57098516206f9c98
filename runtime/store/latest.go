package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/request"
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
