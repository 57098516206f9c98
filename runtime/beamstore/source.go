package beamstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"

	"github.com/btgen-dev/btgen/runtime/store"
)

// ReadOptions specify which events to read.
type ReadOptions struct {
	// From and To are the time range: From <= time < To. A zero From precedes all events, and
	// a zero To is the time at which the pipeline is built.
	From, To time.Time
	// Table is the ID of the table to read, without a prefix; empty for the table of the
	// query or, without a query, the one that the reader of the schema uses.
	Table string
	// Query limits the read to some series.
	Query Query
	// SkipUndecodable counts rows and events that cannot be decoded, in the metric
	// undecodable, and leaves them out. Otherwise, they fail the pipeline.
	SkipUndecodable bool
}

// Source is what one table contributes to a read. It is the element of a splittable DoFn
// whose restrictions are ranges of row keys.
type Source struct {
	Table    string
	From, To time.Time
	Now      time.Time // decides which events have expired, so that a bundle that is executed again reads the same
	Query    Query
	Job      store.JobTable // instead of the others, for a backfill or a rollup
}

// Read returns the events of the selected series and times as a PCollection of E. Events have
// their own time as their timestamp in Beam. The runner can split the read between any two
// rows, initially by the keys that Bigtable samples.
//
// The error is a *store.UnknownTableError, a *QueryError or a *RangeError.
func (s *Schema[E]) Read(scope beam.Scope, conn Connection, o ReadOptions) (beam.PCollection, error) {
	scope = scope.Scope("btgen.Read")
	sources, err := s.sources(o)
	if err != nil {
		return beam.PCollection{}, err
	}
	return s.read(scope, conn, sources, o.SkipUndecodable), nil
}

// read reads sources.
func (s *Schema[E]) read(scope beam.Scope, conn Connection, sources []Source, skipUndecodable bool) beam.PCollection {
	return beam.ParDo(scope, &readFn[E]{opened: opened{Conn: conn.resolved()}, SkipUndecodable: skipUndecodable}, beam.CreateList(scope, sources))
}

// sources returns what each table contributes.
func (s *Schema[E]) sources(o ReadOptions) ([]Source, error) {
	table := cmp.Or(o.Table, s.Table)
	if o.Query.Name != "" {
		q, ok := s.Queries[o.Query.Name]
		if !ok {
			return nil, &QueryError{Schema: s.Name, Query: o.Query.Name}
		}
		table = cmp.Or(o.Table, q.Table)
	}
	at := now().UTC()
	if o.To.IsZero() {
		o.To = at
	}
	if o.From.After(o.To) {
		return nil, &RangeError{From: o.From, To: o.To}
	}
	ids, err := s.tables(table)
	if err != nil {
		return nil, err
	}
	var sources []Source
	for _, id := range ids {
		sources = append(sources, Source{Table: id, From: o.From, To: o.To, Now: at, Query: o.Query})
	}
	return sources, nil
}

// readFn reads the events of a source.
type readFn[E any] struct {
	ranged
	opened
	SkipUndecodable bool
}

// SplitRestriction returns the ranges with rows of the source, of about equal size.
func (fn *readFn[E]) SplitRestriction(ctx context.Context, source Source, _ store.KeyRange) ([]store.KeyRange, error) {
	return fn.split(func(client store.Client) (ranges []store.KeyRange, err error) {
		scanner, err := fn.scanner(client, source)
		if err != nil {
			return nil, err
		}
		splits, err := scanner.Splits(ctx)
		if err != nil {
			return nil, err
		}
		within, err := schemaOf[E]().ranges(source)
		for _, w := range within {
			for _, s := range splits {
				if part, some := intersect(s, w); some {
					ranges = append(ranges, part)
				}
			}
		}
		return ranges, err
	})
}

// ProcessElement emits the events of a range of rows, or of as much of it as the runner wants.
func (fn *readFn[E]) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, source Source, emit func(beam.EventTime, E)) error {
	s := schemaOf[E]()
	match, err := s.matcher(source.Query)
	if err != nil {
		return err
	}
	scanner, err := fn.scanner(fn.client.Client, source)
	if err != nil {
		return err
	}
	timeOf := s.Mappings[0].TimeIn()
	for row, err := range scanner.Rows(ctx, rt.GetRestriction().(store.KeyRange), source.From, source.To) {
		var broken *store.DecodeError
		switch {
		case errors.As(err, &broken) && !rt.GetRestriction().(store.KeyRange).Contains(row.Key):
			rt.TryClaim(row.Key) // the runner has split it off
			return nil
		case broken != nil && fn.SkipUndecodable:
			undecodable.Inc(ctx, 1)
			continue
		case err != nil:
			return err
		case !rt.TryClaim(row.Key):
			return nil
		}
		n := 0
		for i := range row.Events {
			if e := &row.Events[i]; match(e) {
				emit(mtime.FromTime(*timeOf(e)), *e)
				n++
			}
		}
		eventsRead.Inc(ctx, int64(n))
	}
	rt.TryClaim(rangeEnd{})
	return nil
}

// scanner returns a scanner of the source's table.
func (fn *readFn[E]) scanner(client store.Client, source Source) (*store.Scanner[E], error) {
	return store.NewScanner[E](client, schemaOf[E]().Mappings, source.Table, store.ReaderOptions{
		TablePrefix: fn.Conn.TablePrefix, Now: func() time.Time { return source.Now },
	})
}

// matcher returns the function that reports whether a query includes an event.
func (s *Schema[E]) matcher(q Query) (func(event any) bool, error) {
	if q.Name == "" {
		return func(any) bool { return true }, nil
	}
	of, err := s.selection(q)
	if err != nil {
		return nil, err
	}
	return s.mapping(s.Queries[q.Name].Table).Selects(of)
}

// ranges returns the disjoint ranges of keys that contain the rows of a source, in order.
func (s *Schema[E]) ranges(source Source) ([]store.KeyRange, error) {
	q, everything := s.Queries[source.Query.Name], []store.KeyRange{{}}
	if q.Query == nil {
		return everything, nil
	}
	of, err := s.selection(source.Query)
	if err != nil {
		return nil, err
	}
	var all []store.KeyRange
	reads := false // for older events, too
	for _, period := range s.mapping(q.Table).Periods() {
		if period.Table.ID != source.Table {
			continue
		}
		reads = true
		rows, err := period.Rows(of)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	if !reads {
		return everything, nil
	}
	return union(all), nil
}

// mapping returns the newest mapping to a table of the schema.
func (s *Schema[E]) mapping(table string) *store.Mapping {
	i := slices.IndexFunc(s.Mappings, func(m *store.Mapping) bool { return m.Table.ID == table })
	return s.Mappings[i]
}

// union returns disjoint ranges with the same keys, in order.
func union(ranges []store.KeyRange) []store.KeyRange {
	slices.SortFunc(ranges, func(a, b store.KeyRange) int { return cmp.Compare(a.Start, b.Start) })
	var out []store.KeyRange
	for _, r := range ranges {
		last := len(out) - 1
		switch {
		case last < 0 || out[last].End != "" && out[last].End < r.Start:
			out = append(out, r)
		case r.End == "" || out[last].End != "" && out[last].End < r.End:
			out[last].End = r.End
		}
	}
	return out
}

// intersect returns the keys that are in both ranges; false if there are none.
func intersect(a, b store.KeyRange) (store.KeyRange, bool) {
	r := store.KeyRange{Start: max(a.Start, b.Start), End: cmp.Or(a.End, b.End)}
	if a.End != "" && b.End != "" {
		r.End = min(a.End, b.End)
	}
	return r, r.End == "" || r.Start < r.End
}

func encodeSource(s Source) ([]byte, error) { return json.Marshal(s) }

func decodeSource(b []byte) (s Source, err error) {
	err = json.Unmarshal(b, &s)
	return s, err
}
