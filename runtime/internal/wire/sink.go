package wire

import (
	"context"
	"errors"
	"sync"

	"cloud.google.com/go/bigtable"
)

// placeholderFamily is the family of the cell that stands for decoded rows. No
// family can have a space in its name.
const placeholderFamily = "wire placeholder"

// ErrLost says that the client did not yield the placeholders of all rows, each once and
// in their order: something between it and the wire drops, repeats or reorders messages.
var ErrLost = errors.New("rows were lost between the connection and the client: an interceptor drops, repeats or reorders messages")

// Sink holds the decoded rows whose placeholders the client has not yielded yet. It
// is in the context of the call, see [WithSink].
type Sink struct {
	context.Context
	mu    sync.Mutex
	rows  []Some // of each placeholder
	first int64  // the number of rows[0]
	next  int    // of rows: those before are taken
	few   [4]Some

	intercepted bool // the call
	bypassed    bool // some of its messages were decoded otherwise
}

type sinkKey struct{}

// WithSink returns a context for one call of ReadRows, whose rows a new sink holds. All
// that the call yields must be given to [Sink.Rows].
func WithSink(ctx context.Context, sink *Sink) context.Context {
	sink.Context, sink.rows = ctx, sink.few[:0]
	return sink
}

// Value returns the sink itself for its key.
func (s *Sink) Value(key any) any {
	if key == (sinkKey{}) {
		return s
	}
	return s.Context.Value(key)
}

// Rows returns the rows that the client's row stands for, or one with its cells.
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

// Close returns ErrLost if there are rows whose placeholder the client has not yielded:
// to be asked when the call has succeeded, unless it was stopped before its end.
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next < len(s.rows) {
		return ErrLost
	}
	return nil
}

// Wired reports whether all rows of the call were decoded from the wire.
func (s *Sink) Wired() bool { return s.intercepted && !s.bypassed }

// put adds the rows of a placeholder, and returns their number.
func (s *Sink) put(rows Some) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, rows)
	return s.first + int64(len(s.rows)) - 1
}

// take takes the rows with a number; it returns false unless they are the next.
func (s *Sink) take(number int64) (rows Some, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := int(number - s.first)
	if i != s.next || i >= len(s.rows) {
		return Some{}, false
	}
	rows = s.rows[i]
	if s.next = i + 1; s.next == len(s.rows) {
		s.first += int64(s.next)
		s.rows, s.next = s.rows[:0], 0
	}
	return rows, true
}
