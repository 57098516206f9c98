package dynamic

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Window summarizes the events of a series of any schema in a window of time. See [Statistic] for
// the statistics of its fields.
type Window struct {
	window.Window
	Series []any // one for each of Layout.Series; nil for those by which series are not grouped
	// fields are the statistics of Layout.Fields, each a pointer: to a window.Int[int64], [uint64] or
	// [time.Duration], a window.Float64[float64], or a window.Values[any]. It is nil if a field has none.
	fields []any
}

// Own clones what the window shares with the one of which it is a copy. Package window calls it.
func (w *Window) Own() {
	w.fields = slices.Clone(w.fields)
	for i, f := range w.fields {
		switch f := f.(type) {
		case *window.Int[int64]:
			w.fields[i] = codec.Clone(f)
		case *window.Int[uint64]:
			w.fields[i] = codec.Clone(f)
		case *window.Int[time.Duration]:
			w.fields[i] = codec.Clone(f)
		case *window.Float64[float64]:
			w.fields[i] = codec.Clone(f)
		case *window.Values[any]:
			w.fields[i] = codec.Clone(f)
		}
	}
}

// windowsSpec is how events are summarized.
type windowsSpec = window.Spec[[]any, Columns, Window]

// windows says how events are summarized.
func windows(l *layout.Layout) *windowsSpec {
	parts := make([]window.Part[Columns, Window], len(l.Fields))
	for i := range l.Fields {
		f, name := &l.Fields[i], l.FieldName(&l.Fields[i])
		in := func(c *Columns) []any { return c.Values[i] }
		switch number := f.Type.Traits().Number; {
		case number == schema.Floating:
			parts[i] = window.AnyFloatPart(name, statisticsOf[window.Float64[float64]](l, i), in)
		case number == schema.Unsigned:
			parts[i] = window.AnyIntPart(name, statisticsOf[window.Int[uint64]](l, i), in)
		case number != schema.NoNumber:
			parts[i] = window.AnyIntPart(name, statisticsOf[window.Int[int64]](l, i), in)
		case f.Type == schema.Duration:
			parts[i] = window.AnyIntPart(name, statisticsOf[window.Int[time.Duration]](l, i), in)
		default:
			parts[i] = window.AnyValuesPart(name, statisticsOf[window.Values[any]](l, i), in)
		}
	}
	return window.NewSpec(
		func(w *Window) *window.Window { return &w.Window },
		func(w *Window) *[]any { return &w.Series },
		func(c *Columns) []time.Time { return c.Time },
		parts...)
}

// statisticsOf returns the location of the statistics of a field in a window.
func statisticsOf[S any](l *layout.Layout, field int) func(w *Window) *S {
	return func(w *Window) *S {
		if w.fields == nil {
			w.fields = make([]any, len(l.Fields))
		}
		if w.fields[field] == nil {
			w.fields[field] = new(S)
		}
		return w.fields[field].(*S)
	}
}

// Windows summarizes the events of a series, as [store.Windows] does.
func (r *Reader) Windows(ctx context.Context, series []any, from, to time.Time, width window.Width, opts ...store.WindowOptions) iter.Seq2[Window, error] {
	base, err := r.schema.base(series)
	return r.windows(ctx, r.schema.layout.Read, store.SeriesOf(base), err, from, to, width, opts)
}

// ManyWindows summarizes the events of several series, as [store.Windows] does.
func (r *Reader) ManyWindows(ctx context.Context, series [][]any, from, to time.Time, width window.Width, opts ...store.WindowOptions) iter.Seq2[Window, error] {
	bases, err := r.schema.each(series)
	return r.windows(ctx, r.schema.layout.Read, store.ManySeriesOf(bases), err, from, to, width, opts)
}

// QueryWindows summarizes the events that a query of the schema selects, as [store.Windows] does.
func (r *Reader) QueryWindows(ctx context.Context, name string, v Values, from, to time.Time, width window.Width, opts ...store.WindowOptions) iter.Seq2[Window, error] {
	q, of, err := r.schema.selects(name, v)
	if err != nil {
		return r.windows(ctx, nil, of, err, from, to, width, opts)
	}
	return r.windows(ctx, q.table.of, of, nil, from, to, width, opts)
}

// TableWindows summarizes the events of all series in a table of the schema, as [store.Windows] does. If
// the schema does not have the table, the error is a [*store.UnknownTableError].
func (r *Reader) TableWindows(ctx context.Context, table string, from, to time.Time, width window.Width, opts ...store.WindowOptions) iter.Seq2[Window, error] {
	all := (&store.Query[Event]{Name: "Table"}).Bind(Event{Series: make([]any, len(r.schema.layout.Series))})
	var known []string
	for _, t := range r.schema.layout.Tables {
		if t.ID == table {
			return r.windows(ctx, t, all, nil, from, to, width, opts)
		}
		known = append(known, t.ID)
	}
	return r.windows(ctx, nil, all, &store.UnknownTableError{Table: table, Tables: known}, from, to, width, opts)
}

// windows summarizes what a selection has in a table, or yields an error.
func (r *Reader) windows(ctx context.Context, t *layout.Table, of store.Selection[Event], err error, from, to time.Time, width window.Width, opts []store.WindowOptions) iter.Seq2[Window, error] {
	if err != nil {
		return func(yield func(Window, error) bool) { yield(Window{}, err) }
	}
	table := r.schema.tables[t]
	return store.Windows(ctx, r.readers[table], table.columns, r.schema.windows, of, from, to, width, opts...)
}
