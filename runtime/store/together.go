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

// maxGathered is the maximum size of the rows of several spans that one request holds
// in memory, in bytes. The remaining rows are read span by span and held only until
// they are in order.
const maxGathered = 4 << 20

// together merges the rows of several spans: those of the metrics of a bucket, or of
// all salts in key order. It first reads all spans with one request; if there are too
// many rows, it then reads the spans concurrently.
func (r *reading[E]) together(p part, yield yielder[E]) bool {
	a := &r.assembler
	gathered, err := r.gather(&p)
	if err != nil {
		yield(&a.base, err)
		return false
	}
	return r.merged(p, gathered, func(rows []wire.Row, err error) bool {
		if err != nil {
			return yield(&a.base, err)
		}
		return a.rows(rows, yield)
	})
}

// merged reads the spans concurrently, after the rows that were gathered of them unless it is
// nil, and calls f with the rows at each position, or with an error. It reports whether f wants more.
func (r *reading[E]) merged(p part, gathered []*stream, f func(rows []wire.Row, err error) bool) bool {
	a, spans := &r.assembler, r.asked.Spans
	ctx, cancel := context.WithCancel(r.ctx)
	streams := gathered
	if !p.complete {
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
		found, err := nextRows(rows, streams, func(i int, row wire.Row) (position, error) { return a.position(r.q, spans[i], row) })
		switch {
		case err == errForeign:
		case err != nil:
			if !f(nil, err) || !isDecodeError(err) {
				return false
			}
		case !found:
			return true
		case !f(rows, nil):
			return false
		}
	}
}

// startStreams starts reading the spans concurrently.
func (r *reading[E]) startStreams(ctx context.Context, p part) []*stream {
	if len(r.asked.Spans) > scan.MaxStreams {
		p.turns = make(chan struct{}, scan.MaxStreams)
	}
	var streams []*stream
	for i := range r.asked.Spans {
		if !p.Reads(i) {
			continue
		}
		own := p
		if p.begin != "" {
			own.begin = r.asked.Spans[i].Prefix + p.begin
		}
		streams = append(streams, startStream(ctx, i, func(op *Operation, wanted func() bool) iter.Seq2[wire.Row, error] {
			return r.reader.spanRows(ctx, op, own, i, wanted)
		}))
	}
	return streams
}

// gather requests the rows of all spans at once. It returns the rows of each span in
// order; p records what is left.
func (r *reading[E]) gather(p *part) (streams []*stream, err error) {
	q, ok := p.Gathered()
	if !ok {
		return nil, nil
	}
	a, spans := &r.assembler, r.asked.Spans
	streams, p.complete = make([]*stream, len(spans)), true
	for i := range streams {
		streams[i] = &stream{span: i}
	}
	size, at := 0, 0
	for row, err := range r.reader.rows(r.ctx, &r.op, q.Rows, r.reader.filters.of(q.Filter), q.Limit) {
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(row.Key(), spans[at].Prefix) {
			at = spanOf(spans, row.Key())
		}
		streams[at].queue = append(streams[at].queue, streamed{row: row})
		if row.Last() {
			size += row.Size()
		}
		if size > r.reader.gathered && row.Last() {
			p.read, p.complete = row.Key(), false
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
	return streams, nil
}

// spanOf returns the index of the span whose prefix the key has.
func spanOf(spans []codec.Span, key string) int {
	return max(0, slices.IndexFunc(spans, func(s codec.Span) bool { return strings.HasPrefix(key, s.Prefix) }))
}
