package dynamic

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// NewWriter returns a writer of events to all tables of the schema.
func (s *Schema) NewWriter(client store.Client, opts ...store.WriterOptions) *store.Writer[Event] {
	return store.NewWriter(client, s.Mappings(), opts...)
}

// DeleteQuery deletes what a query of the schema selects with from <= time < to from all tables,
// as [store.Writer.DeleteRange] does. The schema must allow it with delete. w is a writer of
// the schema.
func (s *Schema) DeleteQuery(ctx context.Context, w *store.Writer[Event], name string, v Values, from, to time.Time, opts ...store.DeleteOptions) (store.Deletion, error) {
	of, err := s.deletes(name, v)
	if err != nil {
		return store.Deletion{}, err
	}
	return w.DeleteRange(ctx, of, from, to, opts...)
}

// DeleteAllQuery deletes what a query of the schema selects, whatever the time, as
// [store.Writer.DeleteAll] does. The other arguments are those of DeleteQuery.
func (s *Schema) DeleteAllQuery(ctx context.Context, w *store.Writer[Event], name string, v Values, opts ...store.DeleteOptions) (store.Deletion, error) {
	of, err := s.deletes(name, v)
	if err != nil {
		return store.Deletion{}, err
	}
	return w.DeleteAll(ctx, of, opts...)
}

// deletes returns what a query that deletes selects.
func (s *Schema) deletes(name string, v Values) (store.Selection[Event], error) {
	if q := s.queries[name]; q == nil || q.of.Deletes == nil {
		return store.Selection[Event]{}, fmt.Errorf("the schema has no query %q with `delete: true`", name)
	}
	_, of, err := s.selects(name, v)
	return of, err
}

// Values are the values of a query: one for each of its inputs, in the order of layout.Query.Inputs.
// They have the types that package value lists. A range is an []any with its ends, and several values,
// prefixes or ranges are an []any with these.
type Values []any

// selects returns a query with its values.
func (s *Schema) selects(name string, v Values) (q *query, of store.Selection[Event], err error) {
	if q = s.queries[name]; q == nil {
		return nil, of, fmt.Errorf("the schema has no query %q", name)
	}
	inputs := q.of.Inputs
	if len(v) != len(inputs) {
		return nil, of, fmt.Errorf("%w: query %s takes %d values, not %d", codec.ErrValue, name, len(inputs), len(v))
	}
	of = store.Selection[Event]{Query: q.query, Many: q.of.Several() != nil}
	if len(q.of.Where()) > 0 {
		low, high := Event{Values: make([]any, len(s.layout.Fields))}, Event{Values: make([]any, len(s.layout.Fields))}
		for i := range inputs {
			if inputs[i].Where {
				if err := s.set(low.Values, high.Values, &inputs[i], v[i]); err != nil {
					return nil, of, err
				}
			}
		}
		of = of.Where(low, high)
	}
	several := 1
	for i := range inputs {
		if inputs[i].Many {
			all, ok := v[i].([]any)
			if several = len(all); !ok {
				return nil, of, fmt.Errorf("%w: %s is no []any", codec.ErrValue, inputs[i].Words(s.layout))
			}
		}
	}
	for k := range several {
		low, high := Event{Series: make([]any, len(s.layout.Series))}, Event{Series: make([]any, len(s.layout.Series))}
		for i := range inputs {
			value := v[i]
			if inputs[i].Many {
				value = value.([]any)[k]
			}
			if inputs[i].Where {
				continue
			}
			if err := s.set(low.Series, high.Series, &inputs[i], value); err != nil {
				return nil, of, err
			}
		}
		if of.Low = append(of.Low, low); q.of.Selects().Last == codec.GivenRange {
			of.High = append(of.High, high)
		}
	}
	return q, of, nil
}

// set sets the value of an input, or the ends of its range. It rejects values of other Go types.
func (s *Schema) set(low, high []any, in *layout.Input, value any) error {
	ends := []any{value, value}
	if in.Ends() == 2 {
		if ends, _ = value.([]any); len(ends) != 2 {
			return fmt.Errorf("%w: %s has no two ends", codec.ErrValue, in.Words(s.layout))
		}
	}
	check := s.checkValue
	if in.Where {
		check = s.checkBound
	}
	for i, to := range [][]any{low, high} {
		if err := check(in.Of(s.layout), ends[i]); err != nil {
			return err
		}
		to[in.Index] = ends[i]
	}
	return nil
}

// NewScanners returns scanners of the events of all series in a table of the schema: one for
// each Bigtable table that contains them, the newest layout first. If the schema does not
// have the table, the error is a [*store.UnknownTableError].
func (s *Schema) NewScanners(client store.Client, table string, opts ...store.ReaderOptions) ([]*store.Scanner[Event], error) {
	var out []*store.Scanner[Event]
	var known []string
	for _, m := range s.Mappings() {
		if known = append(known, m.Table.ID); m.Table.ID != table {
			continue
		}
		seen := map[string]bool{}
		for _, period := range m.Periods() {
			if seen[period.Table.ID] {
				continue
			}
			seen[period.Table.ID] = true
			scanner, err := store.NewScanner(client, []*store.Mapping[Event]{m}, period.Table.ID, opts...)
			if err != nil {
				return nil, err
			}
			out = append(out, scanner)
		}
	}
	if out == nil {
		return nil, &store.UnknownTableError{Table: table, Tables: known}
	}
	return out, nil
}

// Reader reads events. It is safe for concurrent use.
type Reader struct {
	schema  *Schema
	readers map[*table]*store.Reader[Event]
}

// NewReader returns a reader of the tables of the schema.
func (s *Schema) NewReader(client store.Client, opts ...store.ReaderOptions) *Reader {
	r := &Reader{schema: s, readers: map[*table]*store.Reader[Event]{}}
	for _, t := range s.layout.Tables {
		of := s.tables[t]
		r.readers[of] = store.NewReader(client, of.layout, opts...)
	}
	return r
}

// whole returns the table that series are read from, and its reader.
func (r *Reader) whole() (*table, *store.Reader[Event]) {
	t := r.schema.tables[r.schema.layout.Read]
	return t, r.readers[t]
}

// Read yields the events of a series with from <= time < to, as [store.Reader.Read] does.
func (r *Reader) Read(ctx context.Context, series []any, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[Event, error] {
	base, err := r.schema.base(series)
	if err != nil {
		return failed(err)
	}
	_, reader := r.whole()
	return r.complete(reader.Read(ctx, store.SeriesOf(base), from, to, opts...))
}

// Latest returns the newest event of a series, as [store.Reader.Latest] does.
func (r *Reader) Latest(ctx context.Context, series []any) (Event, error) {
	base, err := r.schema.base(series)
	if err != nil {
		return Event{}, err
	}
	_, reader := r.whole()
	e, err := reader.Latest(ctx, base)
	return r.sized(e), err
}

// ReadColumns appends what Read yields to columns, as [store.ReadColumns] does.
func (r *Reader) ReadColumns(ctx context.Context, series []any, from, to time.Time, columns *Columns, opts ...store.ReadOptions) error {
	base, err := r.schema.base(series)
	if err != nil {
		return err
	}
	t, reader := r.whole()
	return store.ReadColumns(ctx, reader, t.columns, columns, store.SeriesOf(base), from, to, opts...)
}

// Query yields the events that a query of the schema selects with from <= time < to, as
// [store.Reader.Read] does.
func (r *Reader) Query(ctx context.Context, name string, v Values, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[Event, error] {
	q, of, err := r.schema.selects(name, v)
	if err != nil {
		return failed(err)
	}
	return r.complete(r.readers[q.table].Read(ctx, of, from, to, opts...))
}

// QueryColumns appends what Query yields to columns, as [store.ReadColumns] does.
func (r *Reader) QueryColumns(ctx context.Context, name string, v Values, from, to time.Time, columns *Columns, opts ...store.ReadOptions) error {
	q, of, err := r.schema.selects(name, v)
	if err != nil {
		return err
	}
	return store.ReadColumns(ctx, r.readers[q.table], q.table.columns, columns, of, from, to, opts...)
}

// QuerySeries yields the series of the events that a query selects, as [store.ReadSeries] does.
func (r *Reader) QuerySeries(ctx context.Context, name string, v Values, from, to time.Time) iter.Seq2[[]any, error] {
	q, of, err := r.schema.selects(name, v)
	if err != nil {
		return func(yield func([]any, error) bool) { yield(nil, err) }
	}
	return store.ReadSeries[[]any](ctx, r.readers[q.table], of, from, to)
}

// ReadMany yields the events of several series with from <= time < to, as [store.Reader.Read] does.
func (r *Reader) ReadMany(ctx context.Context, series [][]any, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[Event, error] {
	bases, err := r.schema.each(series)
	if err != nil {
		return failed(err)
	}
	_, reader := r.whole()
	return r.complete(reader.Read(ctx, store.ManySeriesOf(bases), from, to, opts...))
}

// LatestMany yields the newest event of each of several series, as [store.Reader.LatestMany]
// does.
func (r *Reader) LatestMany(ctx context.Context, series [][]any) iter.Seq2[Event, error] {
	bases, err := r.schema.each(series)
	if err != nil {
		return failed(err)
	}
	_, reader := r.whole()
	return r.complete(reader.LatestMany(ctx, bases))
}

// each returns an event for each of several series.
func (s *Schema) each(series [][]any) ([]Event, error) {
	var out []Event
	for _, values := range series {
		base, err := s.base(values)
		if err != nil {
			return nil, err
		}
		out = append(out, base)
	}
	return out, nil
}

// base returns an event with the series values of a read. It rejects values of other Go types.
func (s *Schema) base(series []any) (Event, error) {
	fields := s.layout.Series
	if len(series) != len(fields) {
		return Event{}, fmt.Errorf("%w: %d series values, not %d", codec.ErrValue, len(fields), len(series))
	}
	for i := range fields {
		if err := s.checkValue(&fields[i], series[i]); err != nil {
			return Event{}, err
		}
	}
	return Event{Series: slices.Clone(series)}, nil
}

// complete gives all events a value for each field.
func (r *Reader) complete(events iter.Seq2[Event, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range events {
			if !yield(r.sized(e), err) {
				return
			}
		}
	}
}

// sized returns an event with a value for each field.
func (r *Reader) sized(e Event) Event {
	e.Values = r.schema.sized(e.Values)
	return e
}

// failed yields an error.
func failed(err error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { yield(Event{}, err) }
}
