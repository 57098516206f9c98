package dynamic

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// NewWriter returns a writer of events to all tables of the schema.
func (s *Schema) NewWriter(client store.Client, opts ...store.WriterOptions) *store.Writer[Event] {
	return store.NewWriter(client, s.Mappings(), opts...)
}

// DeleteQuery deletes what a query of the schema finds with from <= time < to from all tables,
// as [store.Writer.DeleteQuery] does. The schema must allow it with delete. w is a writer of
// the schema, and given has a value for each of Layout.Series; only those that the query
// specifies are used.
func (s *Schema) DeleteQuery(ctx context.Context, w *store.Writer[Event], name string, given []any, from, to time.Time, opts ...store.DeleteOptions) (store.Deletion, error) {
	deletes, base, err := s.deletes(name, given)
	if err != nil {
		return store.Deletion{}, err
	}
	return w.DeleteQuery(ctx, deletes, base, from, to, opts...)
}

// DeleteAllQuery deletes what a query of the schema finds, whatever the time, as
// [store.Writer.DeleteAllQuery] does. The other arguments are those of DeleteQuery.
func (s *Schema) DeleteAllQuery(ctx context.Context, w *store.Writer[Event], name string, given []any, opts ...store.DeleteOptions) (store.Deletion, error) {
	deletes, base, err := s.deletes(name, given)
	if err != nil {
		return store.Deletion{}, err
	}
	return w.DeleteAllQuery(ctx, deletes, base, opts...)
}

// deletes returns the queries of all tables with which a query deletes, and an event with its
// values.
func (s *Schema) deletes(name string, given []any) ([]*store.Query[Event], Event, error) {
	q := s.queries[name]
	if q == nil || q.deletes == nil {
		return nil, Event{}, fmt.Errorf("the schema has no query %q with `delete: true`", name)
	}
	base, err := s.given(q, given)
	return q.deletes, base, err
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
	where   map[string]*store.Query[Event] // queries with the values of their conditions, by name
}

// Where returns a reader whose queries with the given name select events by values of fields, as
// [store.Query.Where] does. low and high have a value for each of Layout.Fields; only those of the
// conditions of the query are used.
func (r *Reader) Where(name string, low, high []any) (*Reader, error) {
	q := r.schema.queries[name]
	if q == nil || len(q.of.Where) == 0 {
		return nil, fmt.Errorf("the schema has no query %q with where", name)
	}
	for _, w := range q.of.Where {
		ends := [][]any{low, high}
		if w.Equal {
			ends = ends[:1]
		}
		for _, values := range ends {
			if len(values) != len(r.schema.layout.Fields) {
				return nil, fmt.Errorf("%w: %d fields, not %d", codec.ErrValue, len(r.schema.layout.Fields), len(values))
			}
			if err := r.schema.checkBound(&r.schema.layout.Fields[w.Field], values[w.Field]); err != nil {
				return nil, err
			}
		}
	}
	out := *r
	out.where = maps.Clone(r.where)
	if out.where == nil {
		out.where = map[string]*store.Query[Event]{}
	}
	out.where[name] = q.query.Where(Event{Values: low}, Event{Values: high})
	return &out, nil
}

// query returns a query with the values of its conditions, if they are known.
func (r *Reader) query(q *query) *store.Query[Event] {
	if bound := r.where[q.of.Name]; bound != nil {
		return bound
	}
	return q.query
}

// NewReader returns a reader of the tables that the schema reads.
func (s *Schema) NewReader(client store.Client, opts ...store.ReaderOptions) *Reader {
	r := &Reader{schema: s, readers: map[*table]*store.Reader[Event]{}}
	for _, t := range s.layout.ReadTables() {
		if of := s.tables[t]; r.readers[of] == nil {
			r.readers[of] = store.NewReader(client, of.layout, opts...)
		}
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
	base, err := r.schema.base(series, nil)
	if err != nil {
		return failed(err)
	}
	_, reader := r.whole()
	return r.complete(reader.Read(ctx, base, from, to, opts...))
}

// Latest returns the newest event of a series, as [store.Reader.Latest] does.
func (r *Reader) Latest(ctx context.Context, series []any) (Event, error) {
	base, err := r.schema.base(series, nil)
	if err != nil {
		return Event{}, err
	}
	_, reader := r.whole()
	e, err := reader.Latest(ctx, base)
	return r.sized(e), err
}

// ReadColumns appends what Read yields to columns, as [store.ReadColumns] does.
func (r *Reader) ReadColumns(ctx context.Context, series []any, from, to time.Time, columns *Columns, opts ...store.ReadOptions) error {
	base, err := r.schema.base(series, nil)
	if err != nil {
		return err
	}
	t, reader := r.whole()
	return store.ReadColumns(ctx, reader, t.columns, columns, nil, base, from, to, opts...)
}

// Query yields the events that a query of the schema finds with from <= time < to, as
// [store.Reader.Query] does. given has a value for each of Layout.Series; only those that
// the query specifies are used.
func (r *Reader) Query(ctx context.Context, name string, given []any, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[Event, error] {
	q := r.schema.queries[name]
	if q == nil {
		return failed(fmt.Errorf("the schema has no query %q", name))
	}
	if len(q.of.Range) > 0 {
		return failed(fmt.Errorf("query %q takes a range: call QueryRange", name))
	}
	base, err := r.schema.given(q, given)
	if err != nil {
		return failed(err)
	}
	return r.complete(r.readers[q.table].Query(ctx, r.query(q), base, from, to, opts...))
}

// QueryMany yields the events that a query of several values finds with from <= time < to, as
// [store.Reader.QueryMany] does. given has a value for each of Layout.Series, as for Query; the
// one that the query gives several times is replaced by each of several.
func (r *Reader) QueryMany(ctx context.Context, name string, given, several []any, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[Event, error] {
	q := r.schema.queries[name]
	if q == nil || len(q.of.Many) == 0 {
		return failed(fmt.Errorf("the schema has no query %q with many", name))
	}
	if len(given) != len(r.schema.layout.Series) {
		return failed(fmt.Errorf("%w: %d series values, not %d", codec.ErrValue, len(r.schema.layout.Series), len(given)))
	}
	var bases []Event
	for _, v := range several {
		values := slices.Clone(given)
		values[q.of.Many[0]] = v
		base, err := r.schema.given(q, values)
		if err != nil {
			return failed(err)
		}
		bases = append(bases, base)
	}
	return r.complete(r.readers[q.table].QueryMany(ctx, r.query(q), bases, from, to, opts...))
}

// QueryRange yields the events that a query with a range finds with from <= time < to, as
// [store.Reader.QueryRange] does. given is as for Query, with the start of the range; high is its
// end.
func (r *Reader) QueryRange(ctx context.Context, name string, given []any, high any, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[Event, error] {
	q := r.schema.queries[name]
	if q == nil || len(q.of.Range) == 0 {
		return failed(fmt.Errorf("the schema has no query %q with range", name))
	}
	low, err := r.schema.given(q, given)
	if err != nil {
		return failed(err)
	}
	ends := slices.Clone(given)
	ends[q.of.Range[0]] = high
	end, err := r.schema.given(q, ends)
	if err != nil {
		return failed(err)
	}
	return r.complete(r.readers[q.table].QueryRange(ctx, r.query(q), low, end, from, to, opts...))
}

// QuerySeries yields the series that a query finds, as [store.QuerySeries] does. given is as for
// Query.
func (r *Reader) QuerySeries(ctx context.Context, name string, given []any, from, to time.Time) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		q := r.schema.queries[name]
		if q == nil {
			yield(nil, fmt.Errorf("the schema has no query %q", name))
			return
		}
		base, err := r.schema.given(q, given)
		if err != nil {
			yield(nil, err)
			return
		}
		r.readers[q.table].QuerySeries(ctx, r.query(q), base, from, to)(func(e Event, err error) bool { return yield(e.Series, err) })
	}
}

// ReadMany yields the events of several series with from <= time < to, as
// [store.EventReader.ReadMany] does.
func (r *Reader) ReadMany(ctx context.Context, series [][]any, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[Event, error] {
	bases, err := r.schema.bases(series)
	if err != nil {
		return failed(err)
	}
	_, reader := r.whole()
	return r.complete(reader.ReadMany(ctx, bases, from, to, opts...))
}

// LatestMany yields the newest event of each of several series, as [store.Reader.LatestMany]
// does.
func (r *Reader) LatestMany(ctx context.Context, series [][]any) iter.Seq2[Event, error] {
	bases, err := r.schema.bases(series)
	if err != nil {
		return failed(err)
	}
	_, reader := r.whole()
	return r.complete(reader.LatestMany(ctx, bases))
}

// bases returns an event for each of several series.
func (s *Schema) bases(series [][]any) ([]Event, error) {
	var out []Event
	for _, values := range series {
		base, err := s.base(values, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, base)
	}
	return out, nil
}

// given returns an event with the series values that a query specifies.
func (s *Schema) given(q *query, values []any) (Event, error) {
	return s.base(values, append([]int{}, q.of.Given()...)) // not nil, even if the query specifies none
}

// base returns an event with the series values of a read: those with the indexes in by,
// or all if it is nil. It rejects values of other Go types.
func (s *Schema) base(series []any, by []int) (Event, error) {
	fields := s.layout.Series
	if len(series) != len(fields) {
		return Event{}, fmt.Errorf("%w: %d series values, not %d", codec.ErrValue, len(fields), len(series))
	}
	if by == nil {
		for i := range fields {
			by = append(by, i)
		}
	}
	base := Event{Series: make([]any, len(fields))}
	for _, i := range by {
		if err := s.checkValue(&fields[i], series[i]); err != nil {
			return Event{}, err
		}
		base.Series[i] = series[i]
	}
	return base, nil
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
