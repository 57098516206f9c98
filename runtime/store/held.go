package store

import (
	"context"
	"iter"
	"time"
)

// Generated types embed the interfaces of this file, and functions of generated code
// that call generic ones are not inlined. Otherwise the compiler would compile all
// methods of a generic type again in each package that sees it, for example as a field
// of an exported type: one second per schema in every package that uses generated code,
// and in its tests.

// EventWriter writes events of type E to all tables of a schema. It is safe for
// concurrent use.
type EventWriter[E any] interface {
	// Write stores one event. Each row of the event is written atomically. It returns
	// nil or a *[WriteError]. After any error it is safe to repeat the call. With
	// [WriteOptions].IfAbsent it stores the event only if no event of the same series,
	// time and sequence is stored; otherwise the outcome of the [Failure] is [Exists].
	Write(ctx context.Context, event E, opts ...WriteOptions) error

	// WriteAll stores events in any order, with one mutation per row. It returns nil if
	// all are stored, else a *[WriteError] that names each event that is not; all
	// others are durable. Unless [WriteOptions].LastWins is set, it refuses an event
	// that would replace an earlier one of the call that has other values, with a
	// *[DuplicateError].
	WriteAll(ctx context.Context, events []E, opts ...WriteOptions) error
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
}

// EventReader reads events of type E by their series S, one by one or into the slices
// of C. It never returns events that are past their time to live. It is safe for
// concurrent use.
type EventReader[S, E, C any] interface {
	// Read yields the events of a series with from <= time < to in order of time. A
	// zero from precedes all events. If from is after to, or to is zero, the error is a
	// *[RangeError]. For an event that cannot be decoded, Read yields the parts that
	// could be, with a *[DecodeError], and the loop may continue; any other error is
	// the last value yielded. If ctx ends before the last event is yielded,
	// no further event is, and that error wraps the cause of ctx.
	Read(ctx context.Context, series S, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error]

	// ReadColumns appends the events that Read would yield to columns, which may be
	// reused. It leaves out events that cannot be decoded and returns the first
	// *[DecodeError] after it has read all others; any other error ends the read.
	ReadColumns(ctx context.Context, series S, from, to time.Time, columns *C, opts ...ReadOptions) error

	// Latest returns the newest event of a series, or [ErrNotFound].
	Latest(ctx context.Context, series S) (E, error)
}

// TableReader reads the events of one table. *[Reader] implements it.
type TableReader[E any] interface {
	Read(ctx context.Context, base E, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error]
	Query(ctx context.Context, q *Query[E], base E, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error]
	Latest(ctx context.Context, base E) (E, error)
}

// NewEventReader returns a reader of a schema that reads from the given table. place
// returns a pointer to the series of an event.
func NewEventReader[S, E, C any](table TableReader[E], columns *Columns[E, C], place func(e *E) *S) EventReader[S, E, C] {
	return &eventReader[S, E, C]{table, columns, place}
}

// eventReader implements EventReader.
type eventReader[S, E, C any] struct {
	table   TableReader[E]
	columns *Columns[E, C]
	place   func(e *E) *S
}

// of returns an event with the given series and no other fields.
func (r *eventReader[S, E, C]) of(series S) (e E) {
	*r.place(&e) = series
	return e
}

func (r *eventReader[S, E, C]) Read(ctx context.Context, series S, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error] {
	return r.table.Read(ctx, r.of(series), from, to, opts...)
}

func (r *eventReader[S, E, C]) ReadColumns(ctx context.Context, series S, from, to time.Time, columns *C, opts ...ReadOptions) error {
	return ReadColumns(ctx, r.table, r.columns, columns, nil, r.of(series), from, to, opts...)
}

func (r *eventReader[S, E, C]) Latest(ctx context.Context, series S) (E, error) {
	return r.table.Latest(ctx, r.of(series))
}
