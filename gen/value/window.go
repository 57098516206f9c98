package value

import (
	"reflect"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Window summarizes the events of a series of any schema in a window of time.
type Window struct {
	window.Window
	Series []any // one for each of Layout.Series; nil for those by which series are not grouped
	// Fields are the statistics of Layout.Fields, each a list of pointers: to a window.Int[int64], [uint64] or
	// [time.Duration], a window.Float64[float64], or a window.Values[any], and then to the sketches of the field. It is
	// nil if a field has none.
	Fields [][]any
}

// Own clones what the window shares with the one of which it is a copy.
func (w *Window) Own() {
	w.Fields = slices.Clone(w.Fields)
	for i, statistics := range w.Fields {
		w.Fields[i] = slices.Clone(statistics)
		for k, f := range statistics {
			of := reflect.ValueOf(f).Elem()
			own := reflect.New(of.Type())
			own.Elem().Set(of)
			w.Fields[i][k] = own.Interface()
		}
	}
}

// Windows says how the events of a schema are summarized, as generated code does: of the columnar form of
// events, the slices from an index have the values of Layout.Fields, each a *[]any.
func Windows(l *layout.Layout, slice int) *window.Spec {
	parts := make([]window.Part, len(l.Fields))
	for i := range l.Fields {
		f := &l.Fields[i]
		parts[i] = partOf(f, l.FieldName(f), slice+i)
		for _, x := range f.Sketches.All() {
			parts[i] = x.With(parts[i])
		}
	}
	return window.NewSpecOf[[]any, Window](func(of any) *window.Summary {
		w := of.(*Window)
		if w.Fields == nil {
			w.Fields = make([][]any, len(l.Fields))
		}
		for i, f := range w.Fields {
			if f == nil {
				w.Fields[i] = parts[i].New()
			}
		}
		return window.NewSummary(w, &w.Window, &w.Series, slices.Concat(w.Fields...))
	}, parts...)
}

// partOf returns the part of a field, without its sketches.
func partOf(f *layout.Field, name string, slice int) window.Part {
	switch number := f.Type.Traits().Number; {
	case number == schema.Floating:
		return window.AnyFloatPart[float64](name, slice)
	case number == schema.Unsigned:
		return window.AnyIntPart[uint64](name, slice)
	case number != schema.NoNumber:
		return window.AnyIntPart[int64](name, slice)
	case f.Type == schema.Duration:
		return window.AnyIntPart[time.Duration](name, slice)
	}
	return window.AnyValuesPart(name, slice, stored(f))
}
