package beamstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/btgen-dev/btgen/runtime/store"
)

// BackfillOptions specify which events to copy, from where and to where.
type BackfillOptions struct {
	// From and To are the time range: From <= time < To. A zero From precedes all events, and
	// a zero To is the time at which the pipeline is built.
	From, To time.Time
	// Source is the ID of the table to read, without a prefix; empty for the one that the
	// reader of the schema uses.
	Source string
	// Targets are the IDs of the tables to fill; nil for all tables but the source.
	Targets []string
	// SkipUndecodable is that of ReadOptions.
	SkipUndecodable bool
	// Batches is that of WriteOptions.
	Batches store.BatcherOptions
}

// Backfill copies events of one table to other tables of the schema, for example to one with
// another row key. The source does not change, and a pipeline that failed is started again.
// Events that have expired, by the rules of a target, are left out and counted in the metric
// events_expired.
//
// An application that writes while the pipeline runs must write to all tables. If it replaces
// an event between the moments when the pipeline reads and writes it, the targets keep the
// old one: fill them in ranges of time that no longer change.
//
// The error is that of Read, or a *BackfillError.
func (s *Schema[E]) Backfill(scope beam.Scope, conn Connection, o BackfillOptions) error {
	scope = scope.Scope("btgen.Backfill")
	source := cmp.Or(o.Source, s.Table)
	targets := o.Targets
	if targets == nil {
		for _, m := range s.Mappings {
			if m.Table.ID != source {
				targets = append(targets, m.Table.ID)
			}
		}
	}
	if len(targets) == 0 || slices.Contains(targets, source) {
		return &BackfillError{Source: source, Targets: targets}
	}
	events, err := s.Read(scope, conn, ReadOptions{From: o.From, To: o.To, Table: source, SkipUndecodable: o.SkipUndecodable})
	if err != nil {
		return err
	}
	return s.Write(scope, conn, events, WriteOptions{Tables: targets, SkipExpired: true, KeepWrittenAt: true, Batches: o.Batches})
}

// BackfillError reports a back-fill without a table to fill, or of a table from itself.
type BackfillError struct {
	Source  string
	Targets []string
}

// Error names the tables.
func (e *BackfillError) Error() string {
	if len(e.Targets) == 0 {
		return fmt.Sprintf("there is no table to fill from table %s, because the schema has no other table", e.Source)
	}
	return fmt.Sprintf("table %s cannot be filled from itself: remove it from Targets", e.Source)
}

// DeleteOptions specify which events to delete.
type DeleteOptions struct {
	// From and To are the time range: From <= time < To. A zero From precedes all events. To
	// must not be zero.
	From, To time.Time
	// Query limits the deletion to some series.
	Query Query
	// SkipUndecodable counts rows and events that cannot be decoded, in the metric
	// undecodable, and keeps them. Otherwise, they fail the pipeline.
	SkipUndecodable bool
}

// Delete deletes the events of the selected series and times from all tables of the schema,
// including those that have expired but are not yet garbage-collected. It reads all tables to
// find the series, and then deletes exactly the range of time of each of them. A pipeline that
// failed is started again. Events that are written meanwhile may or may not be deleted.
//
// The error is that of Read.
func (s *Schema[E]) Delete(scope beam.Scope, conn Connection, o DeleteOptions) error {
	scope = scope.Scope("btgen.Delete")
	if o.To.IsZero() {
		return &RangeError{From: o.From}
	}
	var sources []Source
	for _, m := range s.Mappings {
		ofTable, err := s.sources(ReadOptions{From: o.From, To: o.To, Table: m.Table.ID, Query: o.Query})
		if err != nil {
			return err
		}
		for _, source := range ofTable {
			source.Now = beforeExpiry(o.From)
			sources = append(sources, source)
		}
	}
	events := s.read(scope, conn, sources, o.SkipUndecodable)
	series := beam.ParDo(scope, &seriesFn[E]{}, events)
	beam.ParDo0(scope, &deleteFn[E]{Conn: conn.resolved(), Options: o}, beam.GroupByKey(scope, series))
	return nil
}

// beforeExpiry returns a clock at which no event since from has expired.
func beforeExpiry(from time.Time) time.Time {
	if epoch := time.Unix(0, 0).UTC(); from.Before(epoch) {
		return epoch
	}
	return from
}

// seriesFn returns the series of events, with few duplicates.
type seriesFn[E any] struct {
	seen map[string]bool
}

// maxSeen is the number of series that seriesFn remembers.
const maxSeen = 10_000

// StartBundle forgets all series.
func (fn *seriesFn[E]) StartBundle(func([]byte, bool)) { fn.seen = map[string]bool{} }

// ProcessElement emits the series of an event.
func (fn *seriesFn[E]) ProcessElement(event E, emit func([]byte, bool)) {
	s := schemaOf[E]()
	series := s.Encode(s.Series(&event))
	if fn.seen[string(series)] {
		return
	}
	if len(fn.seen) >= maxSeen {
		clear(fn.seen)
	}
	fn.seen[string(series)] = true
	emit(series, true)
}

// deleteFn deletes the events of a series.
type deleteFn[E any] struct {
	Conn    Connection
	Options DeleteOptions

	client *sharedClient
	writer *store.Writer[E]
}

// Setup opens the client.
func (fn *deleteFn[E]) Setup() (err error) {
	if fn.client, err = fn.Conn.acquire(); err != nil {
		return err
	}
	fn.writer = store.NewWriter(fn.client.Client, schemaOf[E]().Mappings, store.WriterOptions{TablePrefix: fn.Conn.TablePrefix})
	return nil
}

// Teardown closes the client.
func (fn *deleteFn[E]) Teardown() error { return fn.client.release() }

// ProcessElement deletes the events of a series.
func (fn *deleteFn[E]) ProcessElement(ctx context.Context, encoded []byte, _ func(*bool) bool) error {
	series, err := schemaOf[E]().Decode(encoded)
	if err != nil {
		return err
	}
	deleted, err := fn.writer.DeleteRange(ctx, series, fn.Options.From, fn.Options.To)
	var broken *store.DecodeError
	switch {
	case fn.Options.SkipUndecodable && errors.As(err, &broken): // everything else is deleted
		undecodable.Inc(ctx, 1)
	case err != nil:
		return err
	}
	seriesDeleted.Inc(ctx, 1)
	eventsDeleted.Inc(ctx, int64(deleted.Events()))
	return nil
}
