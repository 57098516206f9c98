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

// Own clones what the window shares with the one of which it is a copy.
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

// Windows says how the events of a schema are summarized, as generated code does: of the columnar form of
// events, the slices from an index have the values of Layout.Fields, each a *[]any.
func Windows(l *layout.Layout, slice int) *window.Spec {
	parts := make([]window.Part, len(l.Fields))
	for i := range l.Fields {
		f := &l.Fields[i]
		switch number, name := f.Type.Traits().Number, l.FieldName(f); {
		case number == schema.Floating:
			parts[i] = window.AnyFloatPart[float64](name, slice+i)
		case number == schema.Unsigned:
			parts[i] = window.AnyIntPart[uint64](name, slice+i)
		case number != schema.NoNumber:
			parts[i] = window.AnyIntPart[int64](name, slice+i)
		case f.Type == schema.Duration:
			parts[i] = window.AnyIntPart[time.Duration](name, slice+i)
		default:
			parts[i] = window.AnyValuesPart(name, slice+i, stored(f))
		}
	}
	return window.NewSpecOf[[]any, Window](func(of any) *window.Summary {
		w := of.(*Window)
		if w.Fields == nil {
			w.Fields = make([]any, len(l.Fields))
		}
		for i := range l.Fields {
			if w.Fields[i] == nil {
				w.Fields[i] = newStatistics(&l.Fields[i])
			}
		}
		return window.NewSummary(w, &w.Window, &w.Series, w.Fields)
	}, parts...)
}

// newStatistics returns the statistics of a field without values.
func newStatistics(f *layout.Field) any {
	switch number := f.Type.Traits().Number; {
	case number == schema.Floating:
		return new(window.Float64[float64])
	case number == schema.Unsigned:
		return new(window.Int[uint64])
	case number != schema.NoNumber:
		return new(window.Int[int64])
	case f.Type == schema.Duration:
		return new(window.Int[time.Duration])
	}
	return new(window.Values[any])
}
