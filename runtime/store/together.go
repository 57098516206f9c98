package store

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// maxGathered is how many bytes of the rows of several spans are held in memory so as to
// read all of them by one request: what comes after is read span by span, and held no longer
// than it takes to bring it into its order.
const maxGathered = 4 << 20

// together brings the rows of several spans together: those of the metrics of a
// bucket, or those of all salts in the order of their keys. As far as they are few it
// asks for all of them in one request, and reads the spans at once after that.
func (r *reading[E]) together(of *scan.Part, yield yielder[E]) bool {
	a, spans, p := &r.assembler, r.asked.Spans, part{Part: of}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	streams, all, err := r.gather(&p)
	if err != nil {
		yield(&a.base, err)
		return false
	}
	if !all {
		streams = append(streams, r.startStreams(ctx, p)...)
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
func (r *reading[E]) startStreams(ctx context.Context, p part) []*stream {
	if len(r.asked.Spans) > scan.MaxStreams {
		p.turns = make(chan struct{}, scan.MaxStreams)
	}
	var streams []*stream
	for i := range r.asked.Spans {
		if !p.Reads(i) {
			continue
		}
		streams = append(streams, startStream(ctx, i, func(op *Operation, wanted func() bool) iter.Seq2[wire.Row, error] {
			return r.spanRows(ctx, op, p, i, wanted)
		}))
	}
	return streams
}

// gather asks for the rows of all spans in one request, and returns those of each in
// their order, and whether they are all: if not, the part says which are left.
func (r *reading[E]) gather(p *part) (streams []*stream, all bool, err error) {
	q, ok := p.Gathered()
	if !ok {
		return nil, false, nil
	}
	a, spans := &r.assembler, r.asked.Spans
	streams, all = make([]*stream, len(spans)), true
	for i := range streams {
		streams[i] = &stream{span: i}
	}
	size, at := 0, 0
	for row, err := range r.rows(r.ctx, &r.op, q.Rows, filterOf(q.Filter), q.Limit) {
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

// spanOf returns the index of the span that a key is of, by its beginning.
func spanOf(spans []codec.Span, key string) int {
	return max(0, slices.IndexFunc(spans, func(s codec.Span) bool { return strings.HasPrefix(key, s.Prefix) }))
}
