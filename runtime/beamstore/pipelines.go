package beamstore

import (
	"context"
	"errors"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/btgen-dev/btgen/runtime/store"
)

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
	end(scope, &deleteFn[E]{opened: opened{Conn: conn.resolved()}, Options: o}, beam.GroupByKey(scope, series))
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
	opened
	Options DeleteOptions

	writer *store.Writer
}

// Setup opens the client.
func (fn *deleteFn[E]) Setup() error {
	err := fn.opened.Setup()
	if err == nil {
		fn.writer = store.NewWriter(fn.client.Client, schemaOf[E]().Mappings, store.WriterOptions{TablePrefix: fn.Conn.TablePrefix})
	}
	return err
}

// ofSeries selects the events of a series that meet the conditions of a query, if it has any.
func (s *Schema[E]) ofSeries(encoded []byte, q Query) (store.Selection, error) {
	series, err := s.Decode(encoded)
	if err != nil || len(q.Bounds) == 0 {
		return store.SeriesOf(&series), err
	}
	of, err := s.selection(q)
	if err != nil {
		return of, err
	}
	query := &store.Query{Name: q.Name, Given: s.mapping(s.Queries[q.Name].Table).Key.Every(), Conditions: of.Query.Conditions, Table: s.Queries[q.Name].Table}
	out := query.Bind(&series)
	out.Bounds = of.Bounds
	return out, nil
}

// ProcessElement deletes the events of a series.
func (fn *deleteFn[E]) ProcessElement(ctx context.Context, encoded []byte, _ func(*bool) bool, _ func(bool)) error {
	of, err := schemaOf[E]().ofSeries(encoded, fn.Options.Query)
	if err != nil {
		return err
	}
	deleted, err := fn.writer.DeleteRange(ctx, of, fn.Options.From, fn.Options.To)
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
