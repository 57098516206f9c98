package store

import (
	"context"
	"iter"
	"slices"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// severalSpans reads the rows of several spans of a part together.
type severalSpans struct {
	table    *rowReader
	ctx      context.Context
	op       *operation
	part     part
	spans    []codec.Span
	position func(span int, row wire.Row) (position, error)
	gathered []*stream // the rows of each span that gather read; nil without gather
}

// merged reads the spans concurrently, after the rows that were gathered, and calls f with
// the rows at each position, or with an error, after which f must end unless others may follow. It reports whether f wants more.
func (s *severalSpans) merged(f func(rows []wire.Row, err error) bool) bool {
	ctx, cancel := context.WithCancel(s.ctx)
	streams := s.gathered
	if !s.part.complete {
		streams = append(streams, s.start(ctx)...)
	}
	defer func() {
		cancel()
		for _, stream := range streams {
			stream.wait(s.op)
		}
	}()
	rows := make([]wire.Row, len(s.spans))
	for {
		found, err := nextRows(rows, streams, s.position)
		switch {
		case err == errForeign:
		case err != nil:
			if !f(nil, err) {
				return false
			}
		case !found:
			return true
		case !f(rows, nil):
			return false
		}
	}
}

// start starts reading the spans concurrently.
func (s *severalSpans) start(ctx context.Context) []*stream {
	if len(s.spans) > scan.MaxStreams {
		s.part.turns = make(chan struct{}, scan.MaxStreams)
	}
	var streams []*stream
	for i := range s.spans {
		if !s.part.Reads(i) {
			continue
		}
		own := s.part
		if own.begin != "" {
			own.begin = s.spans[i].Prefix + own.begin
		}
		own.within = s.part.within.of(s.spans[i])
		streams = append(streams, startStream(ctx, i, func(op *operation, wanted func() bool) iter.Seq2[wire.Row, error] {
			return s.table.spanRows(ctx, op, own, i, wanted)
		}))
	}
	return streams
}

// gather requests the rows of all spans at once. It holds the rows of each span in order, up
// to the given number of bytes; the part records what is left.
func (s *severalSpans) gather(most int) error {
	q, ok := s.part.Gathered()
	if !ok || s.part.within != (keyRange{}) {
		return nil
	}
	s.gathered, s.part.complete = make([]*stream, len(s.spans)), true
	for i := range s.gathered {
		s.gathered[i] = &stream{span: i}
	}
	size, at := 0, 0
	for row, err := range s.table.rows(s.ctx, s.op, q.Rows, s.table.filters.of(q.Filter), q.Limit) {
		if err != nil {
			return err
		}
		if !s.spans[at].Has(row.Key()) {
			at = spanOf(s.spans, row.Key())
		}
		s.gathered[at].queue = append(s.gathered[at].queue, streamed{row: row})
		if row.Last() {
			size += row.Size()
		}
		if size > most && row.Last() {
			s.part.read, s.part.complete = row.Key(), false
			break
		}
	}
	for _, stream := range s.gathered {
		for i := range stream.queue {
			_ = stream.queue[i].place(stream.span, s.position)
		}
		if order := func(a, b streamed) int { return a.at.compare(b.at) }; !slices.IsSortedFunc(stream.queue, order) {
			slices.SortStableFunc(stream.queue, order)
		}
	}
	return nil
}
