package request

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Merger reads the rows of several spans of a part together.
type Merger struct {
	Table    *Table
	Ctx      context.Context
	Op       *Operation
	Part     Part
	Spans    []codec.Span
	Position func(span int, row wire.Row) (Position, error)
	Gathered []*stream // the rows of each span that gather read; nil without gather
}

// Merged reads the spans concurrently, after the rows that were gathered, and calls f with
// the rows at each position, or with an error, after which f must end unless others may follow. It reports whether f wants more.
func (s *Merger) Merged(f func(rows []wire.Row, err error) bool) bool {
	ctx, cancel := context.WithCancel(s.Ctx)
	streams := s.Gathered
	if !s.Part.Complete {
		streams = append(streams, s.start(ctx)...)
	}
	defer func() {
		cancel()
		for _, stream := range streams {
			stream.wait(s.Op)
		}
	}()
	rows := make([]wire.Row, len(s.Spans))
	for {
		found, err := nextRows(rows, streams, s.Position)
		switch {
		case err == ErrForeign:
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
func (s *Merger) start(ctx context.Context) []*stream {
	if len(s.Spans) > scan.MaxStreams {
		s.Part.Turns = make(chan struct{}, scan.MaxStreams)
	}
	var streams []*stream
	for i := range s.Spans {
		if !s.Part.Reads(i) {
			continue
		}
		own := s.Part
		if own.Begin != "" {
			own.Begin = s.Spans[i].Prefix + own.Begin
		}
		own.Within = s.Part.Within.Of(s.Spans[i])
		streams = append(streams, startStream(ctx, i, func(op *Operation, wanted func() bool) iter.Seq2[wire.Row, error] {
			return s.Table.SpanRows(ctx, op, own, i, wanted)
		}))
	}
	return streams
}

// Gather requests the rows of all spans at once. It holds the rows of each span in order, up
// to the given number of bytes; the part records what is left.
func (s *Merger) Gather(most int) error {
	q, ok := s.Part.Gathered()
	if !ok || s.Part.Within != (Range{}) {
		return nil
	}
	s.Gathered, s.Part.Complete = make([]*stream, len(s.Spans)), true
	for i := range s.Gathered {
		s.Gathered[i] = &stream{span: i}
	}
	size, at := 0, 0
	for row, err := range s.Table.Rows(s.Ctx, s.Op, q.Rows, s.Table.Filters.Of(q.Filter), q.Limit) {
		if err != nil {
			return err
		}
		if !s.Spans[at].Has(row.Key()) {
			at = SpanOf(s.Spans, row.Key())
		}
		s.Gathered[at].Queue = append(s.Gathered[at].Queue, streamed{Row: row})
		if row.Last() {
			size += row.Size()
		}
		if size > most && row.Last() {
			s.Part.Read, s.Part.Complete = row.Key(), false
			break
		}
	}
	for _, stream := range s.Gathered {
		for i := range stream.Queue {
			_ = stream.Queue[i].place(stream.span, s.Position)
		}
		if order := func(a, b streamed) int { return a.at.compare(b.at) }; !slices.IsSortedFunc(stream.Queue, order) {
			slices.SortStableFunc(stream.Queue, order)
		}
	}
	return nil
}

// stream yields the rows of a span in order, from a queue or from a goroutine that
// reads one row ahead.
type stream struct {
	span   int
	Queue  []streamed
	rows   chan streamed // nil if there is only the queue
	wanted chan struct{} // receives when the reader wants more rows than expected
	op     Operation     // statistics of the goroutine; valid after it has ended
	failed error         // why the goroutine ended early; valid after it has ended
	head   streamed      // the next row, if any
	peeked bool          // peek was called for head
}

// streamed is a row, or the error that ended the stream.
type streamed struct {
	Row    wire.Row
	err    error
	at     Position // position of the row
	placed bool     // the position is set
}

// startStream starts reading the rows that read yields, until ctx ends. Before read
// requests more rows than are expected to suffice, it calls wanted, which blocks until
// the consumer looks for the row after those, and returns false if it never does.
func startStream(ctx context.Context, span int, read func(op *Operation, wanted func() bool) iter.Seq2[wire.Row, error]) *stream {
	s := &stream{span: span, rows: make(chan streamed), wanted: make(chan struct{})}
	wanted := func() bool {
		select {
		case s.wanted <- struct{}{}:
			return true
		case <-ctx.Done():
			s.failed = context.Cause(ctx)
			return false
		}
	}
	go func() {
		defer close(s.rows)
		for row, err := range read(&s.op, wanted) {
			select {
			case s.rows <- streamed{Row: row, err: err}:
			case <-ctx.Done():
				s.failed = context.Cause(ctx)
				return
			}
		}
	}()
	return s
}

// peek returns the next row without consuming it; nil at the end. It does not return
// nil for a stream whose context has ended.
func (s *stream) peek() *streamed {
	if !s.peeked {
		if s.head, s.peeked = s.next(); !s.peeked {
			return nil
		}
	}
	return &s.head
}

// next waits for the next row; false at the end.
func (s *stream) next() (next streamed, open bool) {
	switch {
	case s.rows == nil && len(s.Queue) == 0:
		return next, false
	case s.rows == nil:
		next, s.Queue = s.Queue[0], s.Queue[1:]
		return next, true
	}
	select {
	case next, open = <-s.rows:
	case <-s.wanted:
		next, open = <-s.rows
	}
	if !open && s.failed != nil {
		return streamed{err: s.failed}, true
	}
	return next, open
}

// take consumes the row that peek returned.
func (s *stream) take() { s.peeked = false }

// wait waits for the goroutine to end and adds its statistics to op. The context must
// have ended.
func (s *stream) wait(op *Operation) {
	if s.rows == nil {
		return
	}
	for range s.rows {
	}
	op.Add(&s.op)
}

// Position orders the rows of several streams: by bucket if all have the same series,
// else by the part of the key after the prefix.
type Position struct {
	Start time.Time
	Rest  string
	// Falling says that positions are read in descending order.
	Falling bool
}

// compare orders positions in reading order.
func (p Position) compare(o Position) int {
	order := cmp.Or(p.Start.Compare(o.Start), strings.Compare(p.Rest, o.Rest))
	if p.Falling {
		return -order
	}
	return order
}

func (s *streamed) place(span int, positionOf func(span int, row wire.Row) (Position, error)) error {
	if s.err == nil && !s.placed {
		s.at, s.err = positionOf(span, s.Row)
		s.placed = true
	}
	return s.err
}

// nextRows takes the rows at the first position of any stream: one per span, or none
// for spans without a row there. It returns false at the end of all streams.
func nextRows(rows []wire.Row, streams []*stream, positionOf func(span int, row wire.Row) (Position, error)) (found bool, err error) {
	var first Position
	clear(rows)
	for _, s := range streams {
		head := s.peek()
		if head == nil {
			continue
		}
		if err := head.place(s.span, positionOf); err != nil {
			s.take()
			return true, err
		}
		if !found || head.at.compare(first) < 0 {
			first, found = head.at, true
		}
	}
	for _, s := range streams {
		if found && s.peeked && !rows[s.span].Exists() && s.head.at.compare(first) == 0 {
			rows[s.span] = s.head.Row
			s.take()
		}
	}
	return found, nil
}

// KeepNewest drops all rows that are not in the newest bucket, given the starts of theirs.
func KeepNewest(rows []wire.Row, starts []time.Time) {
	newest := slices.MaxFunc(starts, time.Time.Compare)
	for i, start := range starts {
		if start.Before(newest) {
			rows[i] = wire.Row{}
		}
	}
}
