package store

import (
	"context"
	"iter"
	"time"
)

// Generated types hold the interfaces of this file, and functions of generated code
// that call generic ones are not inlined. Otherwise the compiler would compile all
// methods of a generic type again in each package that sees it, for example as a field
// of an exported type.

// TableWriter has the methods of *[Writer], which alone implements it: to replace what writes, wrap
// the [Client].
type TableWriter[E any] interface {
	Write(ctx context.Context, event E, opts ...WriteOptions) error
	WriteAll(ctx context.Context, events []E, opts ...WriteOptions) error
	Delete(ctx context.Context, events []E, opts ...DeleteOptions) (Deletion, error)
	DeleteRange(ctx context.Context, of Selection[E], from, to time.Time, opts ...DeleteOptions) (Deletion, error)
	DeleteAll(ctx context.Context, of Selection[E], opts ...DeleteOptions) (Deletion, error)
	Replace(ctx context.Context, old, updated E, opts ...WriteOptions) error

	untyped() *writer
}

// untyped returns the writer without its type parameter; nil if a constructor did not make it.
func (w *Writer[E]) untyped() *writer {
	if w == nil {
		return nil
	}
	return w.writer
}

// EventBatcher gathers events of type E and writes them in batches. It is safe for
// concurrent use.
type EventBatcher[E any] interface {
	// Add queues a copy of an event. It blocks while the batcher is full, until ctx
	// ends. It returns a *[WriteError] for an invalid event, like Write, and
	// [ErrClosed] after Close. The batcher compares the events of one batch like those
	// of one WriteAll; events of different batches replace each other.
	Add(ctx context.Context, event E) error

	// Flush sends the events added so far and waits until all of them are written or
	// reported. It returns a *[BatchError] if events failed since the last Flush, or
	// the cause if ctx ends first; the batcher then continues to send the events.
	Flush(ctx context.Context) error

	// Close flushes, then rejects further events. It may be called again.
	Close(ctx context.Context) error

	// Stats returns the number and the age of the events that are not yet written. It
	// never blocks.
	Stats() BatcherStats
}

// TableReader has the methods of *[Reader], which alone implements it: to replace what reads, wrap the
// [Client].
type TableReader[E any] interface {
	Read(ctx context.Context, of Selection[E], from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error]
	Latest(ctx context.Context, base E) (E, error)
	LatestMany(ctx context.Context, bases []E) iter.Seq2[E, error]

	untyped() *reader
}

// untyped returns the reader without its type parameter; nil if a constructor did not make it.
func (r *Reader[E]) untyped() *reader {
	if r == nil {
		return nil
	}
	return r.reader
}

// Each returns an event for each value, for selections of several values.
func Each[V, E any](values []V, of func(value V) E) []E {
	out := make([]E, len(values))
	for i, v := range values {
		out[i] = of(v)
	}
	return out
}

// TableReaderOf returns the reader that a generated type holds. If that is a zero value, it is one without a
// client, whose calls fail with a *[NoClientError].
func TableReaderOf[E any](r TableReader[E], mapping *Mapping[E]) TableReader[E] {
	if r == nil {
		return NewReader(nil, mapping)
	}
	return r
}

// TableWriterOf is the same for writers; see [TableReaderOf].
func TableWriterOf[E any](w TableWriter[E], mappings []*Mapping[E]) TableWriter[E] {
	if w == nil {
		return NewWriter(nil, mappings)
	}
	return w
}

// EventBatcherOf is the same for batchers; see [TableReaderOf].
func EventBatcherOf[E any](b EventBatcher[E], mappings []*Mapping[E]) EventBatcher[E] {
	if b == nil {
		return NewBatcher(NewWriter(nil, mappings), nil)
	}
	return b
}
