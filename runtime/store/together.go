package store

import (
	"context"
	"iter"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// together brings the rows of several spans together: those of the metrics of a
// bucket, or those of all salts in the order of their keys. As far as they are few it
// asks for all of them in one request, and reads the spans at once after that.
func (r *reading[E]) together(a *assembler[E], spans []codec.Span, p part, filter bigtable.Filter, yield yielder[E]) bool {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	streams, all, err := r.gather(a, spans, &p, filter)
	if err != nil {
		yield(&a.base, err)
		return false
	}
	if !all {
		streams = append(streams, r.startStreams(ctx, a, spans, p, filter)...)
	}
	defer func() {
		cancel()
		for _, s := range streams {
			s.wait(&r.op)
		}
	}()
	rows := make([]wire.Row, len(spans))
	for {
		if err := r.ctx.Err(); err != nil { // rows in memory would not know
			yield(&a.base, explain(r.ctx, err))
			return false
		}
		found, err := nextRows(rows, streams, func(i int, row wire.Row) (position, error) { return a.position(r.q, spans[i], row) })
		switch {
		case err != nil:
			if !yield(&a.base, err) || !isDecodeError(err) {
				return false
			}
		case !found:
			return true
		case !a.rows(rows, yield):
			return false
		}
	}
}

// startStreams starts to read the spans at once.
func (r *reading[E]) startStreams(ctx context.Context, a *assembler[E], spans []codec.Span, p part, filter bigtable.Filter) []*stream {
	if len(spans) > codec.MaxStreams {
		p.turns = make(chan struct{}, codec.MaxStreams)
	}
	var streams []*stream
	for i, span := range spans {
		if r.layout.Kind == BucketColumns && a.fetched.skips(i) {
			continue
		}
		streams = append(streams, startStream(ctx, i, func(op *Operation, wanted func() bool) iter.Seq2[wire.Row, error] {
			return r.spanRows(ctx, op, r.q, span, p, filter, wanted)
		}))
	}
	return streams
}

// gather asks for the rows of all spans in one request, and returns those of each in
// their order, and whether they are all: if not, the part says which are left.
func (r *reading[E]) gather(a *assembler[E], spans []codec.Span, p *part, filter bigtable.Filter) (streams []*stream, all bool, err error) {
	ranges, ok := r.gathers(a, spans, *p)
	if !ok {
		return nil, false, nil
	}
	streams, all = make([]*stream, len(spans)), true
	for i := range streams {
		streams[i] = &stream{span: i}
	}
	size, at := 0, 0
	for row, err := range r.rows(r.ctx, &r.op, ranges, filter, 0) {
		if err != nil {
			return nil, false, err
		}
		if !strings.HasPrefix(row.Key(), spans[at].Prefix) {
			at = spanOf(spans, row.Key())
		}
		streams[at].queue = append(streams[at].queue, streamed{row: row})
		if row.Last() {
			size += row.Size()
		}
		if size > r.Reader.gathered && row.Last() {
			p.read, all = row.Key(), false
			break
		}
	}
	for _, s := range streams {
		for i := range s.queue {
			_ = s.queue[i].place(s.span, func(i int, row wire.Row) (position, error) { return a.position(r.q, spans[i], row) })
		}
		if order := func(a, b streamed) int { return a.at.compare(b.at) }; !slices.IsSortedFunc(s.queue, order) {
			slices.SortStableFunc(s.queue, order)
		}
	}
	return streams, all, nil
}

// gathers returns the ranges of all spans; false where they cannot be asked for at once.
func (r *reading[E]) gathers(a *assembler[E], spans []codec.Span, p part) ([]codec.Rows, bool) {
	if p.rows > 0 || len(spans) == 1 || len(spans) > codec.MaxStreams || r.layout.Ties > 0 || r.q.Several && !r.layout.sorted() || !codec.Apart(spans) {
		return nil, false
	}
	asked := make([][]codec.Rows, len(spans))
	for i, span := range spans {
		switch {
		case r.layout.Kind == BucketColumns && a.fetched.skips(i):
		case r.q.Untimed:
			asked[i] = []codec.Rows{codec.PrefixRows(span.Prefix)}
		case r.layout.Kind == SingleRows:
			if rows, some := span.Times(r.layout.TimeKey, p.From, p.To); some {
				asked[i] = []codec.Rows{rows}
			}
		case span.Listing(r.layout.Bucket, p.From, p.To) != codec.ListBuckets:
			return nil, false
		default:
			asked[i] = slices.Collect(span.Buckets(r.layout.Bucket, p.From, p.To))
		}
	}
	return codec.Gather(asked)
}

// spanOf returns the index of the span that a key is of, by its beginning.
func spanOf(spans []codec.Span, key string) int {
	return max(0, slices.IndexFunc(spans, func(s codec.Span) bool { return strings.HasPrefix(key, s.Prefix) }))
}
