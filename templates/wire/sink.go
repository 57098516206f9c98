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

// errLost says that the client yields a placeholder twice, or out of order.
var errLost = errors.New("a row of the wire reader is lost")

// Sink holds the decoded rows whose placeholders the client has not yielded yet. It
// is in the context of the call, see [WithSink].
type Sink struct {
	context.Context
	mu    sync.Mutex
	rows  []*Row
	ends  []int  // where those of each placeholder end
	first int64  // the number of ends[0]
	next  int    // of ends: those before are taken
	taken []*Row // what Rows returned last

	// Memory for wide rows, of which there are few.
	fewRows, fewTaken [4]*Row
	fewEnds           [4]int
}

type sinkKey struct{}

// WithSink returns a context for one call of ReadRows, whose rows a new sink holds. All
// that the call yields must be given to [Sink.Rows].
func WithSink(ctx context.Context, sink *Sink) context.Context {
	sink.Context = ctx
	sink.rows, sink.ends, sink.taken = sink.fewRows[:0], sink.fewEnds[:0], sink.fewTaken[:0]
	return sink
}

// Value returns the sink itself for its key.
func (s *Sink) Value(key any) any {
	if key == (sinkKey{}) {
		return s
	}
	return s.Context.Value(key)
}

// Rows returns the rows that the client's row stands for, or one with its cells. The
// slice is good until the next call.
func (s *Sink) Rows(row bigtable.Row) ([]*Row, error) {
	if placeholder := row[placeholderFamily]; len(placeholder) > 0 {
		if s.take(int64(placeholder[0].Timestamp)) {
			return s.taken, nil
		}
		return nil, errLost
	}
	s.taken = append(s.taken[:0], ordinary(row))
	if s.taken[0] == nil {
		return nil, errTooLarge
	}
	return s.taken, nil
}

// put adds the rows of a placeholder, and returns their number.
func (s *Sink) put(rows []*Row) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, rows...)
	s.ends = append(s.ends, len(s.rows))
	return s.first + int64(len(s.ends)) - 1
}

// take takes the rows with a number, and drops all before them, which the client
// never came to; it is false if they are gone.
func (s *Sink) take(number int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := int(number - s.first)
	if i < s.next || i >= len(s.ends) {
		return false
	}
	begin, end := 0, s.ends[i]
	if i > 0 {
		begin = s.ends[i-1]
	}
	s.taken = append(s.taken[:0], s.rows[begin:end]...)
	if s.next = i + 1; s.next == len(s.ends) {
		s.first += int64(s.next)
		s.rows, s.ends, s.next = s.rows[:0], s.ends[:0], 0
	}
	return true
}
