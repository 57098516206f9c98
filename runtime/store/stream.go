package store

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// stream is rows of a span in their order: those in a queue, or those that it reads
// ahead in a goroutine of its own, one row at a time.
type stream struct {
	span   int
	queue  []streamed
	rows   chan streamed // nil if there is but the queue
	wanted chan struct{} // taken from where more rows are wanted than were asked for
	op     Operation     // what the goroutine did; to be read after it has ended
	failed error         // why it ended before the last row; likewise
	head   streamed      // the next row, if there is one
	peeked bool          // and peek was called
}

// streamed is a row, or the error that ended the stream.
type streamed struct {
	row    wire.Row
	err    error
	at     position // of the row
	placed bool     // it was asked for
}

// startStream starts to read the rows that read yields. The context ends it. Before
// read asks for more than is likely to be needed it calls wanted, which waits until
// the row after those is looked for; it returns false if it never is.
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
			case s.rows <- streamed{row: row, err: err}:
			case <-ctx.Done():
				s.failed = context.Cause(ctx)
				return
			}
		}
	}()
	return s
}

// peek returns the next row without taking it; nil at the end. A stream that
// the context has ended is not at its end.
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

// take takes the row that peek returned.
func (s *stream) take() { s.peeked = false }

// wait waits for the goroutine to end and adds what it did to op. Its context
// must have been ended.
func (s *stream) wait(op *Operation) {
	if s.rows == nil {
		return
	}
	for range s.rows {
	}
	op.Rows += s.op.Rows
	op.Requests += s.op.Requests
	op.OrdinaryRequests += s.op.OrdinaryRequests
}

// position is where a row stands among those of several streams: by the bucket, if
// all are of one series, and else by what follows the prefix in its key.
type position struct {
	start time.Time
	rest  string
	// falling says that positions are read from the last to the first.
	falling bool
}

// compare orders positions as they are read.
func (p position) compare(o position) int {
	order := cmp.Or(p.start.Compare(o.start), strings.Compare(p.rest, o.rest))
	if p.falling {
		return -order
	}
	return order
}

// place sets the position of the row, which is of a span.
func (s *streamed) place(span int, positionOf func(span int, row wire.Row) (position, error)) error {
	if s.err == nil && !s.placed {
		s.at, s.err = positionOf(span, s.row)
		s.placed = true
	}
	return s.err
}

// nextRows takes the rows of the first position that any stream is at: one for each
// span, none for those that have no row there. It returns false at the end of all
// streams.
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

// keepNewest drops the rows that are of an earlier bucket than another one.
func keepNewest(rows []wire.Row, bucketOf func(row wire.Row) (time.Time, error)) error {
	starts := make([]time.Time, len(rows))
	var newest time.Time
	for i, row := range rows {
		if !row.Exists() {
			continue
		}
		start, err := bucketOf(row)
		if err != nil {
			return err
		}
		starts[i] = start
		if start.After(newest) {
			newest = start
		}
	}
	for i, start := range starts {
		if start.Before(newest) {
			rows[i] = wire.Row{}
		}
	}
	return nil
}

// isDecodeError reports whether a read can go on after err.
func isDecodeError(err error) bool {
	var decode *DecodeError
	return errors.As(err, &decode)
}
