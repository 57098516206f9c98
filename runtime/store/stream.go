package store

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// stream yields the rows of a span in order, from a queue or from a goroutine that
// reads one row ahead.
type stream struct {
	span   int
	queue  []streamed
	rows   chan streamed // nil if there is only the queue
	wanted chan struct{} // receives when the reader wants more rows than expected
	op     operation     // statistics of the goroutine; valid after it has ended
	failed error         // why the goroutine ended early; valid after it has ended
	head   streamed      // the next row, if any
	peeked bool          // peek was called for head
}

// streamed is a row, or the error that ended the stream.
type streamed struct {
	row    wire.Row
	err    error
	at     position // position of the row
	placed bool     // the position is set
}

// startStream starts reading the rows that read yields, until ctx ends. Before read
// requests more rows than are expected to suffice, it calls wanted, which blocks until
// the consumer looks for the row after those, and returns false if it never does.
func startStream(ctx context.Context, span int, read func(op *operation, wanted func() bool) iter.Seq2[wire.Row, error]) *stream {
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
			case s.rows <- streamed{row: row, err: err}:
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
	case s.rows == nil && len(s.queue) == 0:
		return next, false
	case s.rows == nil:
		next, s.queue = s.queue[0], s.queue[1:]
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
func (s *stream) wait(op *operation) {
	if s.rows == nil {
		return
	}
	for range s.rows {
	}
	op.add(&s.op)
}

// position orders the rows of several streams: by bucket if all have the same series,
// else by the part of the key after the prefix.
type position struct {
	start time.Time
	rest  string
	// falling says that positions are read in descending order.
	falling bool
}

// compare orders positions in reading order.
func (p position) compare(o position) int {
	order := cmp.Or(p.start.Compare(o.start), strings.Compare(p.rest, o.rest))
	if p.falling {
		return -order
	}
	return order
}

// place sets the position of a row in the given span.
func (s *streamed) place(span int, positionOf func(span int, row wire.Row) (position, error)) error {
	if s.err == nil && !s.placed {
		s.at, s.err = positionOf(span, s.row)
		s.placed = true
	}
	return s.err
}

// nextRows takes the rows at the first position of any stream: one per span, or none
// for spans without a row there. It returns false at the end of all streams.
func nextRows(rows []wire.Row, streams []*stream, positionOf func(span int, row wire.Row) (position, error)) (found bool, err error) {
	var first position
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
			rows[s.span] = s.head.row
			s.take()
		}
	}
	return found, nil
}

// keepNewest drops all rows that are not in the newest bucket, given the starts of theirs.
func keepNewest(rows []wire.Row, starts []time.Time) {
	newest := slices.MaxFunc(starts, time.Time.Compare)
	for i, start := range starts {
		if start.Before(newest) {
			rows[i] = wire.Row{}
		}
	}
}
