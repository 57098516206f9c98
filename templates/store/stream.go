package store

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/templates/wire"
)

// stream reads rows ahead in a goroutine of its own, one row at a time.
type stream struct {
	rows   chan streamed
	wanted chan struct{} // taken from where more rows are wanted than were asked for
	op     Operation     // what the goroutine did; to be read after it has ended
	failed error         // why it ended before the last row; likewise
	head   *streamed     // the next row, once peek was called
}

// streamed is a row, or the error that ended the stream.
type streamed struct {
	row wire.Row
	err error
	at  *position // of the row, once it was asked for
}

// startStream starts to read the rows that read yields. The context ends it. Before
// read asks for more than is likely to be needed it calls wanted, which waits until
// the row after those is looked for; it returns false if it never is.
func startStream(ctx context.Context, read func(op *Operation, wanted func() bool) iter.Seq2[wire.Row, error]) *stream {
	s := &stream{rows: make(chan streamed), wanted: make(chan struct{})}
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
	if s.head == nil {
		var next streamed
		open := true
		select {
		case next, open = <-s.rows:
		case <-s.wanted:
			next, open = <-s.rows
		}
		switch {
		case open:
			s.head = &next
		case s.failed != nil:
			s.head = &streamed{err: s.failed}
		}
	}
	return s.head
}

// take takes the row that peek returned.
func (s *stream) take() { s.head = nil }

// wait waits for the goroutine to end and adds what it did to op. Its context
// must have been ended.
func (s *stream) wait(op *Operation) {
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

// place sets the position of the row, which is that of stream i.
func (s *streamed) place(i int, positionOf func(i int, row wire.Row) (position, error)) error {
	if s.err != nil || s.at != nil {
		return s.err
	}
	at, err := positionOf(i, s.row)
	s.at = &at
	return err
}

// nextRows takes the rows of the first position that any stream is at: one for each
// stream, nil for those that have no row there. It returns nil at the end of all
// streams.
func nextRows(streams []*stream, positionOf func(i int, row wire.Row) (position, error)) ([]wire.Row, error) {
	var first position
	found := false
	for i, s := range streams {
		head := s.peek()
		if head == nil {
			continue
		}
		if err := head.place(i, positionOf); err != nil {
			s.take()
			return nil, err
		}
		if !found || head.at.compare(first) < 0 {
			first, found = *head.at, true
		}
	}
	if !found {
		return nil, nil
	}
	rows := make([]wire.Row, len(streams))
	for i, s := range streams {
		if s.head != nil && s.head.at.compare(first) == 0 {
			rows[i] = s.head.row
			s.take()
		}
	}
	return rows, nil
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
