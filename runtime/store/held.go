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

// EventWriter writes events of type E, whose series are of type S, to all tables of a
// schema, and deletes them. It is safe for concurrent use.
type EventWriter[S, E any] interface {
	// Write stores one event. Each row of the event is written atomically. It returns
	// nil or a *[WriteError]. After any error it is safe to repeat the call. With
	// [WriteOptions].IfAbsent it stores the event only if no event of the same series,
	// time and sequence is stored; otherwise the outcome of the [Failure] is [Exists].
	Write(ctx context.Context, event E, opts ...WriteOptions) error

	// WriteAll stores events in any order, with one mutation per row. It returns nil if
	// all are stored, else a *[WriteError] that names each event that is not; all
	// others are durable. Unless [WriteOptions].LastWins is set, it refuses an event
	// that would replace an earlier one of the call that has different values, with a
	// *[DuplicateError].
	WriteAll(ctx context.Context, events []E, opts ...WriteOptions) error

	// Delete deletes events from all tables by their series, time and sequence; other
	// parts of the events are not used. Its errors are those of DeleteRange.
	Delete(ctx context.Context, events []E, opts ...DeleteOptions) (Deletion, error)

	// DeleteRange deletes the events of a series with from <= time < to from all
	// tables, including those that are past their time to live but not yet collected. A
	// zero from precedes all events. If from is after to, or to is zero, the error is a
	// *[RangeError]. Events at or after to stay, which may be in the future if a clock is
	// fast. Deleting again is safe, and completes a call that failed. Events that are written during the call may or may not be deleted. With an error, the
	// Deletion counts at most what is deleted. A row that Bigtable rejects is a
	// *[DeleteError]; rows and columns that cannot be decoded stay, and the first is
	// reported by a *[DecodeError] after everything else is deleted.
	DeleteRange(ctx context.Context, series S, from, to time.Time, opts ...DeleteOptions) (Deletion, error)

	// DeleteSeries deletes all events of a series from all tables, whatever their times, like
	// DeleteRange.
	DeleteSeries(ctx context.Context, series S, opts ...DeleteOptions) (Deletion, error)

	// Replace stores an event in place of another: it writes updated and then, if that
	// has another series, time or sequence, deletes old. Until it returns, readers may
	// find both. See [Writer.Replace] for reads in progress and for bucket_new_columns. After
	// an error, repeat the call.
	Replace(ctx context.Context, old, updated E, opts ...WriteOptions) error

	untyped() *writer
}

// TableWriter writes events of type E. *[Writer] implements it, and so does every
// [EventWriter]. Batchers and deletions need more than its methods, so no other type can: to
// replace what writes, wrap the [Client].
type TableWriter[E any] interface {
	Write(ctx context.Context, event E, opts ...WriteOptions) error
	WriteAll(ctx context.Context, events []E, opts ...WriteOptions) error

	untyped() *writer
}

// NewEventWriter returns a writer of a schema. S must be the type of the series in its
// [SeriesPart].
func NewEventWriter[S, E any](w *Writer[E]) EventWriter[S, E] {
	return &eventWriter[S, E]{w, w.writer.tables[0].mapping.seriesOf.(func(e *E) *S)}
}

// eventWriter implements EventWriter.
type eventWriter[S, E any] struct {
	*Writer[E]
	place func(e *E) *S // the series of an event
}

// of returns an event with the given series and no other fields.
func (w *eventWriter[S, E]) of(series S) (e E) {
	*w.place(&e) = series
	return e
}

func (w *eventWriter[S, E]) DeleteRange(ctx context.Context, series S, from, to time.Time, opts ...DeleteOptions) (Deletion, error) {
	return w.Writer.DeleteRange(ctx, SeriesOf(w.of(series)), from, to, opts...)
}

func (w *eventWriter[S, E]) DeleteSeries(ctx context.Context, series S, opts ...DeleteOptions) (Deletion, error) {
	return w.Writer.DeleteAll(ctx, SeriesOf(w.of(series)), opts...)
}

// untyped returns the writer without its type parameter.
func (w *Writer[E]) untyped() *writer { return w.writer }

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

	// ReadMany yields the events of several series with from <= time < to, as Read does for one:
	// by series, in the order of row keys. If segments follow the time in row keys, the order is
	// by bucket or time, then by series. Each series is read once. One request reads all of them,
	// if their ranges do not exceed 480 KiB, a row contains all data of its events, and bucket
	// labels sort; otherwise, one series is read after the other.
	ReadMany(ctx context.Context, series []S, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error]

	// Latest returns the newest event of a series, or [ErrNotFound].
	Latest(ctx context.Context, series S) (E, error)

	// LatestMany yields the newest event of each of several series, in their order. It yields
	// each series once, and none without events. For an event that cannot be decoded, it yields
	// a *[DecodeError], and the loop may continue; any other error is the last value yielded.
	LatestMany(ctx context.Context, series []S) iter.Seq2[E, error]
}

// TableReader reads the events of one table. Only *[Reader] implements it: to replace what reads, wrap
// the [Client].
type TableReader[E any] interface {
	Read(ctx context.Context, of Selection[E], from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error]
	Latest(ctx context.Context, base E) (E, error)

	untyped() *reader
}

// untyped returns the reader without its type parameter.
func (r *Reader[E]) untyped() *reader { return r.reader }

// NewEventReader returns a reader of a schema that reads from the given table. S must be
// the type of the series in its [SeriesPart].
func NewEventReader[S, E, C any](table *Reader[E], columns *Columns[E, C]) EventReader[S, E, C] {
	return &eventReader[S, E, C]{table, columns, table.reader.mapping.seriesOf.(func(e *E) *S)}
}

// eventReader implements EventReader.
type eventReader[S, E, C any] struct {
	table   *Reader[E]
	columns *Columns[E, C]
	place   func(e *E) *S // the series of an event
}

// of returns an event with the given series and no other fields.
func (r *eventReader[S, E, C]) of(series S) (e E) {
	*r.place(&e) = series
	return e
}

func (r *eventReader[S, E, C]) Read(ctx context.Context, series S, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error] {
	return r.table.Read(ctx, SeriesOf(r.of(series)), from, to, opts...)
}

func (r *eventReader[S, E, C]) ReadColumns(ctx context.Context, series S, from, to time.Time, columns *C, opts ...ReadOptions) error {
	return ReadColumns(ctx, r.table, r.columns, columns, SeriesOf(r.of(series)), from, to, opts...)
}

// all returns an event for each series.
func (r *eventReader[S, E, C]) all(series []S) []E { return Each(series, r.of) }

// Each returns an event for each value, for queries of several values.
func Each[V, E any](values []V, of func(value V) E) []E {
	out := make([]E, len(values))
	for i, v := range values {
		out[i] = of(v)
	}
	return out
}

func (r *eventReader[S, E, C]) ReadMany(ctx context.Context, series []S, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error] {
	return r.table.Read(ctx, ManySeriesOf(r.all(series)), from, to, opts...)
}

func (r *eventReader[S, E, C]) LatestMany(ctx context.Context, series []S) iter.Seq2[E, error] {
	return r.table.LatestMany(ctx, r.all(series))
}

func (r *eventReader[S, E, C]) Latest(ctx context.Context, series S) (E, error) {
	return r.table.Latest(ctx, r.of(series))
}
