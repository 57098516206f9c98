package beamstore

import (
	"context"
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/btgen-dev/btgen/runtime/store"
)

// WriteOptions specify how to write events.
type WriteOptions struct {
	// Tables are the IDs of the tables to write to, without a prefix; nil for all tables of
	// the schema.
	Tables []string
	// SkipExpired leaves out events that are past their time to live, and counts them in the
	// metric events_expired. Otherwise, they fail the pipeline, like other events that a table
	// cannot store.
	SkipExpired bool
	// KeepWrittenAt stores the write time of an event that has one, as copies need, instead of
	// setting it.
	KeepWrittenAt bool
	// LastWins is that of store.WriteOptions. Without it, two different events with the same
	// series, time and sequence number fail the pipeline if they are in the same batch. The
	// order of events in a PCollection is not defined.
	LastWins bool
	// Merge is that of store.WriteOptions.
	Merge bool
	// Batches are the limits of batches; the zero value is valid. LastWins and Merge are ignored.
	Batches store.BatcherOptions
}

// Write writes events, which are a PCollection of E. Each bundle writes them in batches and
// succeeds only if all of its events are stored. Writing a bundle again changes nothing.
//
// The error is a *store.UnknownTableError.
func (s *Schema[E]) Write(scope beam.Scope, conn Connection, events beam.PCollection, o WriteOptions) error {
	for _, id := range o.Tables {
		if _, err := s.tables(id); err != nil {
			return err
		}
	}
	end(scope.Scope("btgen.Write"), &writeFn[E]{opened: opened{Conn: conn.resolved()}, Options: o}, events)
	return nil
}

// writeFn writes events.
type writeFn[E any] struct {
	opened
	Options WriteOptions

	writer           *store.Writer
	batcher          *store.Batcher
	written, expired atomic.Int64 // of the bundle
}

// Setup opens the client.
func (fn *writeFn[E]) Setup() error {
	if err := fn.opened.Setup(); err != nil {
		return err
	}
	fn.writer = store.NewWriter(fn.client.Client, schemaOf[E]().Mappings, store.WriterOptions{
		TablePrefix: fn.Conn.TablePrefix, Tables: fn.Options.Tables,
		SkipExpired: fn.Options.SkipExpired, KeepWrittenAt: fn.Options.KeepWrittenAt,
		Hooks: store.Hooks{End: func(_ context.Context, op store.Operation, _ error) { fn.expired.Add(int64(op.Expired)) }},
	})
	return nil
}

// StartBundle begins to gather events. It forgets those of a bundle that failed.
func (fn *writeFn[E]) StartBundle(context.Context, func(bool)) error {
	o := fn.Options.Batches
	o.LastWins, o.Merge = fn.Options.LastWins, fn.Options.Merge
	fn.batcher = store.NewBatcher(fn.writer, nil, o)
	fn.written.Store(0)
	fn.expired.Store(0)
	return nil
}

// ProcessElement gathers an event, and waits if too many are unwritten.
func (fn *writeFn[E]) ProcessElement(ctx context.Context, event E, _ func(bool)) error {
	fn.written.Add(1)
	return fn.batcher.Add(ctx, &event)
}

// FinishBundle waits until all events of the bundle are stored. If any is not, it returns a
// *store.BatchError, and the runner executes the bundle again.
func (fn *writeFn[E]) FinishBundle(ctx context.Context, _ func(bool)) error {
	if fn.batcher == nil {
		return nil
	}
	err := fn.batcher.Close(ctx)
	fn.batcher = nil
	if err != nil {
		return err
	}
	eventsWritten.Inc(ctx, fn.written.Load())
	eventsExpired.Inc(ctx, fn.expired.Load())
	return nil
}
