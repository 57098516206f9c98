package value

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Window summarizes the events of a series of any schema in a window of time.
type Window struct {
	window.Window
	Series []any // one for each of Layout.Series; nil for those by which series are not grouped
	// Fields are the statistics of Layout.Fields, each a pointer: to a window.Int[int64], [uint64] or
	// [time.Duration], a window.Float64[float64], or a window.Values[any]. It is nil if a field has none.
	Fields []any
}

// Own clones what the window shares with the one of which it is a copy. Package window calls it.
func (w *Window) Own() {
	w.Fields = slices.Clone(w.Fields)
	for i, f := range w.Fields {
		switch f := f.(type) {
		case *window.Int[int64]:
			w.Fields[i] = codec.Clone(f)
		case *window.Int[uint64]:
			w.Fields[i] = codec.Clone(f)
		case *window.Int[time.Duration]:
			w.Fields[i] = codec.Clone(f)
		case *window.Float64[float64]:
			w.Fields[i] = codec.Clone(f)
		case *window.Values[any]:
			w.Fields[i] = codec.Clone(f)
		}
	}
}

// Windows says how the events of a schema are summarized, as generated code does. Columns of events have the times and the
// values of each of Layout.Fields.
func Windows[C any](l *layout.Layout, times func(c *C) []time.Time, values func(c *C, field int) []any) *window.Spec[[]any, C, Window] {
	parts := make([]window.Part[C, Window], len(l.Fields))
	for i := range l.Fields {
		f, name := &l.Fields[i], l.FieldName(&l.Fields[i])
		in := func(c *C) []any { return values(c, i) }
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
			parts[i] = window.AnyValuesPart(name, statisticsOf[window.Values[any]](l, i), in, stored(f))
		}
	}
	return window.NewSpec(
		func(w *Window) *window.Window { return &w.Window },
		func(w *Window) *[]any { return &w.Series },
		times, parts...)
}

// statisticsOf returns the location of the statistics of a field in a window.
func statisticsOf[S any](l *layout.Layout, field int) func(w *Window) *S {
	return func(w *Window) *S {
		if w.Fields == nil {
			w.Fields = make([]any, len(l.Fields))
		}
		if w.Fields[field] == nil {
			w.Fields[field] = new(S)
		}
		return w.Fields[field].(*S)
	}
}
