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
	// Fields are the statistics of Layout.Fields, each a pointer: to a window.Int[int64], [uint64] or
	// [time.Duration], a window.Float64[float64], an IntQuantiles or Float64Quantiles of these, or a window.Values[any]. It is
	// nil if a field has none.
	Fields []any
}

// Own clones what the window shares with the one of which it is a copy.
func (w *Window) Own() {
	w.Fields = slices.Clone(w.Fields)
	for i, f := range w.Fields {
		if of := reflect.ValueOf(f); of.Kind() == reflect.Pointer {
			own := reflect.New(of.Type().Elem())
			own.Elem().Set(of.Elem())
			w.Fields[i] = own.Interface()
		}
	}
}

// Windows says how the events of a schema are summarized, as generated code does: of the columnar form of
// events, the slices from an index have the values of Layout.Fields, each a *[]any.
func Windows(l *layout.Layout, slice int) *window.Spec {
	parts, statistics := make([]window.Part, len(l.Fields)), make([]func() any, len(l.Fields))
	for i := range l.Fields {
		f := &l.Fields[i]
		parts[i], statistics[i] = partOf(f, l.FieldName(f), slice+i)
	}
	return window.NewSpecOf[[]any, Window](func(of any) *window.Summary {
		w := of.(*Window)
		if w.Fields == nil {
			w.Fields = make([]any, len(l.Fields))
		}
		for i, f := range w.Fields {
			if f == nil {
				w.Fields[i] = statistics[i]()
			}
		}
		return window.NewSummary(w, &w.Window, &w.Series, w.Fields)
	}, parts...)
}

// partOf returns the part of a field, and a function that returns its statistics without values.
func partOf(f *layout.Field, name string, slice int) (window.Part, func() any) {
	switch number := f.Type.Traits().Number; {
	case number == schema.Floating:
		return measureOf[window.Float64[float64], window.Float64Quantiles[float64]](f, window.AnyFloatPart[float64](name, slice))
	case number == schema.Unsigned:
		return measureOf[window.Int[uint64], window.IntQuantiles[uint64]](f, window.AnyIntPart[uint64](name, slice))
	case number != schema.NoNumber:
		return measureOf[window.Int[int64], window.IntQuantiles[int64]](f, window.AnyIntPart[int64](name, slice))
	case f.Type == schema.Duration:
		return measureOf[window.Int[time.Duration], window.IntQuantiles[time.Duration]](f, window.AnyIntPart[time.Duration](name, slice))
	}
	return window.AnyValuesPart(name, slice, stored(f)), func() any { return new(window.Values[any]) }
}

// measureOf returns the part of a number and a function that returns its statistics: an S or, with quantiles, a Q.
func measureOf[S, Q any](f *layout.Field, p window.Part) (window.Part, func() any) {
	if f.Quantiles {
		return window.WithQuantiles(p), func() any { return new(Q) }
	}
	return p, func() any { return new(S) }
}
