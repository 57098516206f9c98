package wire

import (
	"context"
	"errors"
	"sync"

	"cloud.google.com/go/bigtable"
)

// placeholderFamily is the family of the cell that stands for decoded rows. It is not a
// valid family name, because it contains a space.
const placeholderFamily = "wire placeholder"

// ErrLost is the error of a read in which the client did not yield the placeholder of
// every row exactly once and in order, or not asked for all messages, because an interceptor
// drops, repeats or reorders messages, or ends a stream early.
var ErrLost = errors.New("rows were lost between the connection and the client: an interceptor drops, repeats or reorders messages, or ends streams early")

// Sink contains the decoded rows whose placeholders the client has not yielded yet. It is the context of the call;
// see [WithSink]. The client may write to it concurrently with the reader.
type Sink struct {
	context.Context
	mu    sync.Mutex
	rows  []Some // one element per placeholder
	first int64  // number of rows[0]
	next  int    // index in rows of the next to take
	few   [4]Some

	// Arrived is called whenever a message arrives, with or without rows, before the client passes on what it has; nil for no
	// calls. It must not block.
	Arrived func()

	scanned     []byte // the row key up to which rows were scanned, all of which are processed; empty before the first
	scanning    []byte // that of the last message
	busy        bool   // rows that were taken are not all passed on
	intercepted bool   // the interceptor saw the call
	bypassed    bool   // another codec decoded some of its messages
	refused     error
	open        int // number of streams that have neither ended nor failed
}

type sinkKey struct{}

// WithSink returns the context for one ReadRows call whose decoded rows go to sink. The
// caller must pass all rows that the call yields to [Sink.Rows].
func WithSink(ctx context.Context, sink *Sink) context.Context {
	sink.Context, sink.rows = ctx, sink.few[:0]
	return sink
}

// Value implements [context.Context].
func (s *Sink) Value(key any) any {
	if key == (sinkKey{}) {
		return s
	}
	return s.Context.Value(key)
}

// Rows returns the rows for which arrived is the placeholder or, if it is an ordinary
// row, that row. Errors are [ErrLost] or report that a row is too large.
func (s *Sink) Rows(arrived bigtable.Row) (Some, error) {
	if placeholder := arrived[placeholderFamily]; len(placeholder) > 0 {
		if rows, ok := s.take(int64(placeholder[0].Timestamp)); ok {
			return rows, nil
		}
		return Some{}, ErrLost
	}
	if rows := ordinary(arrived); rows != nil {
		return Some{rows, 0, 1}, nil
	}
	return Some{}, errTooLarge
}

// Close returns [ErrLost] if the client has not yielded the placeholders of all rows, or has not
// received the end of a stream. Call it after the call has succeeded, unless the reader stopped it early.
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next < len(s.rows) || s.open > 0 {
		return ErrLost
	}
	return nil
}

// Wired reports whether all rows of the call were decoded by this package.
func (s *Sink) Wired() bool { return s.intercepted && !s.bypassed }

// refuse records why a response was not decoded: the client does not keep the type of the error.
func (s *Sink) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = err
}

// Refused returns the [TooLargeError] of the response that was not decoded, if any.
func (s *Sink) Refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// opened adds a number of open streams.
func (s *Sink) opened(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += n
}

// arrived notes the last scanned row key of a message; empty if it has none.
func (s *Sink) arrived(scanned []byte) {
	s.mu.Lock()
	if len(scanned) > 0 {
		s.scanning = append(s.scanning[:0], scanned...)
	}
	s.mu.Unlock()
	if s.Arrived != nil {
		s.Arrived()
	}
}

// Passed says that the caller has processed the rows that [Sink.Rows] has returned. If it stops, it does not call Passed.
func (s *Sink) Passed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
}

// settle notes that the client asks for the next message: the rows of earlier ones are processed, unless the caller has stopped, or an
// interceptor asks.
func (s *Sink) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == len(s.rows) && !s.busy {
		s.scanned = append(s.scanned[:0], s.scanning...)
	}
}

// Scanned returns the row key up to which the server has scanned the rows of the request, all of which the caller
// has processed; empty if it has not said.
func (s *Sink) Scanned() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scanned
}

// put adds the rows of a placeholder and returns their number.
func (s *Sink) put(rows Some) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, rows)
	return s.first + int64(len(s.rows)) - 1
}

// take returns the rows with the given number; false unless they are next.
func (s *Sink) take(number int64) (rows Some, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := int(number - s.first)
	if i != s.next || i >= len(s.rows) {
		return Some{}, false
	}
	rows, s.busy = s.rows[i], true
	if s.next = i + 1; s.next == len(s.rows) {
		s.first += int64(s.next)
		s.rows, s.next = s.rows[:0], 0
	}
	return rows, true
}
