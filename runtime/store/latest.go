package store

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// Latest returns the newest event of the series of base, or ErrNotFound.
func (r *Reader[E]) Latest(ctx context.Context, base E) (event E, err error) {
	op := Operation{Name: "Latest", Table: r.id}
	ctx = r.options.Hooks.start(ctx, &op)
	defer func() { r.options.Hooks.end(ctx, &op, err) }()
	spans, err := r.layout.Spans(&base)
	if err != nil {
		return event, err
	}
	event, err = r.latest(ctx, &op, base, spans)
	if err == nil {
		op.Events = 1
	}
	return event, err
}

// skip yields the newest events of each series, a row at a time: once a series has
// one, its other rows are skipped.
func (r *Reader[E]) skip(ctx context.Context, op *Operation, a *assembler[E], spans []codec.Span, filter bigtable.Filter, yield yielder[E]) bool {
	for _, span := range spans {
		all := codec.PrefixRows(span.Prefix)
		all.Reverse = !r.layout.descending()
		for rest := []codec.Rows{all}; len(rest) > 0; {
			row, err := r.newest(ctx, op, rest, filter)
			if err != nil {
				yield(&a.base, err)
				return false
			}
			if !row.Exists() {
				break
			}
			found, key := false, row.Key()
			more := a.row(row, func(e *E, err error) bool {
				found = found || err == nil
				return yield(e, err)
			})
			if !more {
				return false
			}
			rest = r.without(rest, key, a, found)
		}
	}
	return true
}

// without cuts a row off ranges and, if it had an event, all of its series.
func (r *Reader[E]) without(rest []codec.Rows, key string, a *assembler[E], found bool) []codec.Rows {
	spans, err := r.layout.Spans(&a.base)
	if found && err == nil && strings.HasPrefix(key, spans[0].Prefix) { // and not of another salt
		return r.past(rest, codec.PrefixRows(spans[0].Prefix))
	}
	return r.before(rest, key)
}

// firstOfEach yields the first event of each series.
func (r *Reader[E]) firstOfEach(events func(yielder[E])) func(yielder[E]) {
	return func(yield yielder[E]) {
		seen := map[string]bool{}
		events(func(event *E, err error) bool {
			if err == nil {
				spans, failed := r.layout.Spans(event)
				if failed != nil {
					yield(event, failed)
					return false
				}
				series := spans[0].Prefix + "\x00" + spans[0].Suffix
				if seen[series] {
					return true
				}
				seen[series] = true
			}
			return yield(event, err)
		})
	}
}

// latest finds the newest event: where it takes several requests to do so, it looks
// first whether the bucket of now has it, or one after it.
func (r *Reader[E]) latest(ctx context.Context, op *Operation, base E, spans []codec.Span) (E, error) {
	m := r.borrow()
	defer r.release(m)
	now := r.options.Now()
	a := &assembler[E]{layout: r.layout, table: r.id, base: base, to: farFuture, now: r.options.Now, ranksEnd: farFuture, memory: m}
	rows, err := r.recentRows(ctx, op, a, now, spans)
	if err != nil {
		return base, err
	}
	if rows != nil {
		if event, err := a.last(rows); !errors.Is(err, ErrNotFound) {
			return event, err
		}
	}
	return r.search(ctx, op, base, spans, m)
}

// recentRows returns the rows of the newest of the bucket of now and of those after it,
// of each span; nil if there are none, or they cannot be asked for at once.
func (r *Reader[E]) recentRows(ctx context.Context, op *Operation, a *assembler[E], now time.Time, spans []codec.Span) ([]wire.Row, error) {
	if r.layout.sorted() && len(spans) == 1 || !codec.Apart(spans) {
		return nil, nil // or one request finds it in any case
	}
	filter, alive := r.newestFilter(now)
	asked := make([][]codec.Rows, len(spans))
	for i, span := range spans {
		rows, form, ok := span.Recent(r.layout.Bucket, now)
		if !ok {
			return nil, nil
		}
		asked[i] = []codec.Rows{rows}
		if i == 0 && form != nil { // the same for all
			filter = bigtable.ChainFilters(rowKeyFilter(form), filter)
		}
	}
	all, ok := codec.Gather(asked)
	if !ok || !alive {
		return nil, nil
	}
	rows, starts, found := make([]wire.Row, len(spans)), make([]time.Time, len(spans)), false
	for row, err := range r.rows(ctx, op, all, filter, 0) {
		if err != nil {
			return nil, err
		}
		i := spanOf(spans, row.Key())
		if start, err := a.timeOf(row); err == nil && r.layout.Bucket.End(start).After(now) && (!rows[i].Exists() || start.After(starts[i])) {
			rows[i], starts[i], found = row, start, true
		}
	}
	if !found {
		return nil, nil
	}
	return rows, keepNewest(rows, a.timeOf)
}

// newestFilter is the filter for the newest cells of each column, or all that are alive
// where cells do not tell; false if none can be.
func (r *Reader[E]) newestFilter(now time.Time) (bigtable.Filter, bool) {
	if r.layout.Kind == BucketCells || r.layout.Kind == BucketColumns {
		return r.filter(now, time.Time{}, farFuture, 1)
	}
	return r.filter(now, time.Time{}, codec.Endless, 0)
}

// search finds the newest event. What expires between the request and the look
// at the clock may hide an older one that lives on: then it asks again. So may a
// row without any column that the layout knows: then it asks for those before it.
func (r *Reader[E]) search(ctx context.Context, op *Operation, base E, spans []codec.Span, m *memory) (E, error) {
	ranges := make([][]codec.Rows, len(spans))
	for i, span := range spans {
		ranges[i] = []codec.Rows{r.living(span)}
	}
	var asked time.Time
	for {
		a := &assembler[E]{layout: r.layout, table: r.id, base: base, to: farFuture, now: r.options.Now, ranksEnd: farFuture, memory: m}
		now := r.options.Now()
		stands := now.Equal(asked)
		asked = now
		rows, err := r.newestRows(ctx, op, a, now, spans, ranges)
		if err != nil {
			return base, err
		}
		key := ""
		if len(rows) == 1 && rows[0].Exists() {
			key = rows[0].Key()
		}
		event, err := a.last(rows)
		switch {
		case !errors.Is(err, ErrNotFound) || rows == nil:
			return event, err
		case a.expired && !stands: // a clock that stands still would have it go on for ever
			continue
		case key == "":
			return event, err // no telling what is before them
		}
		if ranges[0] = r.before(ranges[0], key); len(ranges[0]) == 0 {
			return event, err
		}
	}
}

// living returns the range of the rows of a span that may have something alive, to
// be read from the newest.
func (r *Reader[E]) living(span codec.Span) codec.Rows {
	rows := codec.PrefixRows(span.Prefix)
	rows.Reverse = !r.layout.descending()
	if !r.layout.sorted() {
		return rows
	}
	since, _ := r.layout.Table.since(r.options.Now())
	span.Newest, span.Whole, span.Suffix = true, span.Whole && span.Suffix == "", ""
	if r.layout.Kind == SingleRows {
		if within, ok := span.Times(r.layout.TimeKey, since, farFuture); ok {
			return within
		}
		return rows
	}
	for within := range span.Buckets(r.layout.Bucket, since, farFuture) {
		rows = within // there is one
	}
	return rows
}

// newestRows returns the rows of the newest bucket, or of the newest event, of
// each span; nil if no cell can be alive.
func (r *Reader[E]) newestRows(ctx context.Context, op *Operation, a *assembler[E], now time.Time, spans []codec.Span, ranges [][]codec.Rows) ([]wire.Row, error) {
	filter, alive := r.newestFilter(now)
	if !alive {
		return nil, nil
	}
	rows := make([]wire.Row, len(spans))
	for i := range spans {
		row, err := r.newestRow(ctx, op, spans[i], ranges[i], filter)
		if err != nil {
			return nil, err
		}
		rows[i] = row
	}
	if r.layout.Kind != BucketColumns {
		return rows, nil
	}
	return rows, keepNewest(rows, a.timeOf)
}

// newestRow returns the row of the newest bucket or event of a span in a range
// that has a cell which passes the filter; nil if there is none.
func (r *Reader[E]) newestRow(ctx context.Context, op *Operation, span codec.Span, in []codec.Rows, filter bigtable.Filter) (wire.Row, error) {
	if r.layout.sorted() {
		return r.newest(ctx, op, in, r.layout.matching(span, filter))
	}
	// The labels do not sort as time does, so that the newest is not the last.
	stored, err := r.stored(ctx, op, span, filter)
	if err != nil {
		return wire.Row{}, err
	}
	if last := in[0].Keys; last != nil { // a row that was found to have no event
		var event E
		start, err := r.layout.Key(last[0], &event)
		if err != nil {
			return wire.Row{}, err
		}
		stored = slices.DeleteFunc(stored, func(s storedRow) bool { return !s.start.Before(start) })
	}
	if len(stored) == 0 {
		return wire.Row{}, nil
	}
	return r.one(ctx, op, codec.Rows{Keys: []string{stored[len(stored)-1].key}}, filter, 0)
}

// storedRow is a row that there is, of the bucket that begins at start.
type storedRow struct {
	start time.Time
	key   string
}

// stored looks which buckets there are of a span, one cell of each without its
// value, for tables whose labels do not sort.
func (r *Reader[E]) stored(ctx context.Context, op *Operation, span codec.Span, filter bigtable.Filter) ([]storedRow, error) {
	probe := bigtable.ChainFilters(r.layout.matching(span, filter), bigtable.CellsPerRowLimitFilter(1), bigtable.StripValueFilter())
	var out []storedRow
	var event E
	for row, err := range r.rows(ctx, op, []codec.Rows{codec.PrefixRows(span.Prefix)}, probe, 0) {
		if err != nil {
			return nil, err
		}
		if start, err := r.layout.Key(row.Key(), &event); err == nil { // else it is of somebody else
			out = append(out, storedRow{start, row.Key()})
		}
	}
	slices.SortFunc(out, func(a, b storedRow) int { return a.start.Compare(b.start) })
	return out, nil
}

// storedKeys yields lists of those rows whose buckets overlap [from, to), in the
// order of time or against it.
func (r *Reader[E]) storedKeys(rows []storedRow, from, to time.Time, newestFirst bool) iter.Seq[codec.Rows] {
	if newestFirst {
		slices.Reverse(rows)
	}
	return codec.KeyLists(func(yield func(string) bool) {
		for _, row := range rows {
			if row.start.Before(to) && r.layout.Bucket.End(row.start).After(from) && !yield(row.key) {
				return
			}
		}
	}, newestFirst != r.layout.descending(), codec.MaxRowSet)
}
