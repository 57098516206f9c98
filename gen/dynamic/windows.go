package dynamic

import (
	"context"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
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
			parts[i] = window.AnyValuesPart(name, statisticsOf[window.Values[any]](l, i), in, value.Stored(f))
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

// Rollup summarizes the events of all tables with a rollup; see [store.Rollup]. The error is
// store.ErrNoRollup if the schema has no such table.
func (s *Schema) Rollup(ctx context.Context, client store.Client, opts ...store.RollupOptions) (store.RollupReport, error) {
	columns := s.rollupColumns()
	if columns == nil {
		return store.RollupReport{}, store.ErrNoRollup
	}
	return store.Rollup(ctx, client, s.Mappings(), columns, s.windows, opts...)
}

// RollupParts returns the steps of [Schema.Rollup]; see [store.NewRollupParts].
func (s *Schema) RollupParts(client store.Client, o store.RollupOptions) (*store.RollupParts, error) {
	columns := s.rollupColumns()
	if columns == nil {
		return nil, store.ErrNoRollup
	}
	return store.NewRollupParts(client, s.Mappings(), columns, s.windows, o)
}

// rollupColumns returns the columns of the first table with a rollup; nil if there is none.
func (s *Schema) rollupColumns() *store.Columns[Event, Columns] {
	i := slices.IndexFunc(s.layout.Tables, func(t *layout.Table) bool {
		return slices.ContainsFunc(t.Periods(), func(p *layout.Table) bool { return p.Rollup != nil })
	})
	if i < 0 {
		return nil
	}
	return s.tables[s.layout.Tables[i]].columns
}
