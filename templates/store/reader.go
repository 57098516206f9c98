package store

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/templates/codec"
)

// Reader reads the events of one table. It is safe for use by several goroutines.
type Reader[E any] struct {
	options Options
	layout  *Layout[E]
	id      string
	api     bigtable.TableAPI
}

// NewReader returns a Reader for a layout.
func NewReader[E any](client Client, layout *Layout[E], opts ...Options) *Reader[E] {
	o := merge(opts)
	id := o.TablePrefix + layout.Table.ID
	return &Reader[E]{options: o, layout: layout, id: id, api: client.OpenTable(id)}
}

// Query says which rows a read asks for.
type Query[E any] struct {
	Name string // for hooks
	// Spans returns where the rows are of the event's series, as far as they are
	// given: for BucketColumns one span for each of Columns; else one, or one for
	// each salt.
	Spans func(e *E) ([]codec.Span, error)
	// Untimed says that series values which are not given follow the prefix of a
	// span, and not the time: the rows of all times are asked for.
	Untimed bool
	// Several says that the rows are those of several series.
	Several bool
	// Keys returns a pattern for the keys of rows that have the values which are
	// given, where those of the spans may have others; else nil.
	Keys func(given *E) (string, error)
	// Match reports whether a row's series, in e, has the values that are given, as
	// Keys says it for most rows; nil if all rows of the spans have.
	Match func(e, given *E) bool
}

// ReadOptions say how events are read. Where several are given, the fields that are
// not zero in a later one win.
type ReadOptions struct {
	// NewestFirst turns the order round: the last event comes first.
	NewestFirst bool
	// Limit is how many events are yielded at most; 0 for no limit.
	Limit int
	// TimeOrder makes a query of several series yield events in the order of time
	// alone, where it would come by bucket and series: it then holds a bucket of
	// all of them in memory. Where the time does not follow what the query gives
	// it is ErrOrder.
	TimeOrder bool
	// LatestOnly yields the newest event of each series alone, in no particular
	// order. Where the time comes last in the keys, it asks for one row of each
	// series; else it looks through the rows of the range, and holds the series
	// that it has seen in memory.
	LatestOnly bool
	// Fields are the fields to fetch; nil for all. The others stay zero, and an
	// event that has none of them is left out. Where an event is stored as one
	// value, all fields are fetched.
	Fields []Field
}

// mergeReads returns the options of one read.
func mergeReads(opts []ReadOptions) ReadOptions {
	var out ReadOptions
	for _, o := range opts {
		out.NewestFirst = out.NewestFirst || o.NewestFirst
		out.TimeOrder = out.TimeOrder || o.TimeOrder
		out.LatestOnly = out.LatestOnly || o.LatestOnly
		if o.Limit > 0 {
			out.Limit = o.Limit
		}
		if o.Fields != nil {
			out.Fields = o.Fields
		}
	}
	return out
}

// Read yields the events of the series of base with from <= time < to, in the
// order of time, and holds no more than one bucket in memory. An event that
// cannot be decoded is yielded as far as it was understood, with a
// *DecodeError; the caller may go on. Any other error is the last thing yielded.
func (r *Reader[E]) Read(ctx context.Context, base E, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error] {
	return r.Query(ctx, &Query[E]{Name: "Read", Spans: r.layout.Spans}, base, from, to, opts...)
}

// Query yields the events that a query finds with from <= time < to, as Read does:
// in the order of the row keys, and within a row in the order of time. What the
// query gives is set in base.
func (r *Reader[E]) Query(ctx context.Context, q *Query[E], base E, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error] {
	o := mergeReads(opts)
	return func(yield func(E, error) bool) {
		op := Operation{Name: q.Name, Table: r.id}
		ctx := r.options.Hooks.start(ctx, &op)
		var failed error
		defer func() { r.options.Hooks.end(ctx, &op, failed) }()
		o.NewestFirst = o.NewestFirst || o.LatestOnly
		events := r.scan(ctx, &op, q, base, from, to, o)
		switch {
		case o.LatestOnly:
			events = r.firstOfEach(events)
		case o.TimeOrder && q.Several:
			events = r.byTime(q, events, o.NewestFirst)
		}
		for event, err := range events {
			if err != nil {
				failed = err
			} else {
				op.Events++
			}
			if !yield(event, err) || o.Limit > 0 && op.Events == o.Limit {
				return
			}
		}
	}
}

// ErrOrder says that a query cannot yield its events in the order of time.
var ErrOrder = errors.New("the rows of the query are not in the order of time")

// byTime sorts events that come by bucket, a bucket at a time.
func (r *Reader[E]) byTime(q *Query[E], events iter.Seq2[E, error], newestFirst bool) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		if q.Untimed || !r.layout.sorted() {
			var none E
			yield(none, ErrOrder)
			return
		}
		if r.layout.Kind == SingleRows {
			events(yield)
			return
		}
		var bucket []E
		var start time.Time
		flush := func() bool {
			slices.SortStableFunc(bucket, func(a, b E) int {
				order := r.layout.Time(&a).Compare(*r.layout.Time(&b))
				if newestFirst {
					return -order
				}
				return order
			})
			for _, e := range bucket {
				if !yield(e, nil) {
					return false
				}
			}
			bucket = bucket[:0]
			return true
		}
		for event, err := range events {
			if err != nil {
				if !yield(event, err) {
					return
				}
				continue
			}
			if s := r.layout.Bucket.Start(*r.layout.Time(&event)); !s.Equal(start) {
				if !flush() {
					return
				}
				start = s
			}
			bucket = append(bucket, event)
		}
		flush()
	}
}

// scan is Query without its hooks.
func (r *Reader[E]) scan(ctx context.Context, op *Operation, q *Query[E], base E, from, to time.Time, o ReadOptions) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		spans, err := q.Spans(&base)
		fetch, failed := r.layout.fetched(o.Fields)
		keys := ""
		if q.Keys != nil && err == nil {
			keys, err = q.Keys(&base)
		}
		if err = errors.Join(err, failed); err != nil {
			var none E
			yield(none, err)
			return
		}
		now := r.options.Now()
		if since, bounded := r.layout.Table.since(now); bounded {
			from = later(from, since)
		}
		if !from.Before(to) {
			return
		}
		a := &assembler[E]{
			layout: r.layout, table: r.id, base: base, from: from, to: to, newestFirst: o.NewestFirst, latestOnly: o.LatestOnly, fetch: fetch,
			now: r.options.Now, ranksEnd: r.ranksEnd(now, from, to),
		}
		if q.Match != nil {
			a.match = func(e *E) bool { return q.Match(e, &base) }
		}
		parts := r.parts(q, from, to)
		if o.NewestFirst {
			slices.Reverse(parts)
		}
		for _, part := range parts {
			filter, alive := r.partFilter(q, part, now, o)
			if !alive {
				return
			}
			if keys != "" {
				filter = bigtable.ChainFilters(bigtable.RowKeyFilter(keys), filter)
			}
			if fields := r.layout.columnsFilter(fetch); fields != nil {
				filter = bigtable.ChainFilters(fields, filter)
			}
			if !r.part(ctx, op, q, a, spans, part, filter, yield) {
				return
			}
		}
	}
}

// part reads a part of the range of time. It reports whether the caller wants more.
func (r *Reader[E]) part(ctx context.Context, op *Operation, q *Query[E], a *assembler[E], spans []codec.Span, p part, filter bigtable.Filter, yield func(E, error) bool) bool {
	for i := range spans {
		spans[i].Newest = a.newestFirst
	}
	if a.latestOnly && q.Untimed && r.layout.sorted() && r.layout.Kind != BucketColumns {
		return r.skip(ctx, op, a, spans, filter, yield)
	}
	if len(spans) > 1 || r.layout.Kind == BucketColumns {
		return r.together(ctx, op, q, a, spans, p, filter, yield)
	}
	for row, err := range r.spanRows(ctx, op, q, spans[0], p, filter) {
		if err != nil {
			yield(a.base, err)
			return false
		}
		if !a.row(row, yield) {
			return false
		}
	}
	return true
}

// part is a range of time within which the same columns are asked for: from begin
// up to but without end, empty for all of them.
type part struct {
	from, to   time.Time
	begin, end string
}

// parts cuts a range at the buckets that are not whole in it, where the times of
// events stand in qualifiers alone: the first and the last bucket are asked for by
// themselves, with the columns that are in the range.
func (r *Reader[E]) parts(q *Query[E], from, to time.Time) []part {
	if r.layout.Kind != BucketOffsets || q.Untimed || r.layout.Table.Families[0].Life.EventTimed() {
		return []part{{from: from, to: to}}
	}
	b := r.layout.Bucket
	from, to = later(from, b.Min()), earlier(to, b.Max())
	if !from.Before(to) {
		return nil
	}
	var parts []part
	first, last := b.Start(from), b.Start(to.Add(-1))
	for _, start := range []time.Time{first, last} {
		end := b.End(start)
		if begin, stop, all := r.layout.offset().Range(start, from, to); !all {
			parts = append(parts, part{later(start, from), earlier(end, to), begin, stop})
		}
		if start.Equal(last) {
			break
		}
	}
	return joinParts(parts, from, to)
}

// joinParts puts what lies between the parts, whole buckets, among them.
func joinParts(parts []part, from, to time.Time) []part {
	var out []part
	for _, p := range parts {
		if from.Before(p.from) {
			out = append(out, part{from: from, to: p.from})
		}
		out, from = append(out, p), p.to
	}
	if from.Before(to) {
		out = append(out, part{from: from, to: to})
	}
	return out
}

// together reads several spans at once and brings their rows together: those of
// the metrics of a bucket, or those of all salts in the order of their keys.
func (r *Reader[E]) together(ctx context.Context, op *Operation, q *Query[E], a *assembler[E], spans []codec.Span, p part, filter bigtable.Filter, yield func(E, error) bool) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	streams := make([]*stream, len(spans))
	for i, span := range spans {
		streams[i] = startStream(ctx, func(op *Operation) iter.Seq2[bigtable.Row, error] {
			if r.layout.Kind == BucketColumns && a.skips(i) {
				return func(func(bigtable.Row, error) bool) {}
			}
			return r.spanRows(ctx, op, q, span, p, filter)
		})
	}
	defer func() {
		cancel()
		for _, s := range streams {
			s.wait(op)
		}
	}()
	for {
		rows, err := nextRows(streams, func(i int, row bigtable.Row) (position, error) { return a.position(q, spans[i], row) })
		switch {
		case err != nil:
			if !yield(a.base, err) || !isDecodeError(err) {
				return false
			}
		case rows == nil:
			return true
		case !a.rows(rows, yield):
			return false
		}
	}
}

// farFuture is later than any event: the end of the year 9999.
var farFuture = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

// later and earlier return one of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Collect calls take with each event. An event that does not decode is left out,
// and the first *DecodeError returned when all others are taken; any other error
// ends it.
func Collect[E any](events iter.Seq2[E, error], take func(e *E)) error {
	var first error
	for event, err := range events {
		switch {
		case err == nil:
			take(&event)
		case !isDecodeError(err):
			return err
		case first == nil:
			first = err
		}
	}
	return first
}
