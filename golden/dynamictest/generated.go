package dynamictest

import (
	"reflect"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
)

// SetEvent sets an event of generated code.
func SetEvent(l *layout.Layout, to reflect.Value, e *dynamic.Event) { structs{l}.event(to, e) }

// EventOf converts an event of generated code.
func EventOf(l *layout.Layout, from reflect.Value) dynamic.Event { return structs{l}.dynamic(from) }

// SetSeries sets a series of generated code.
func SetSeries(l *layout.Layout, to reflect.Value, series []any) { structs{l}.series(to, series) }

// SeriesOf converts a series of generated code.
func SeriesOf(l *layout.Layout, from reflect.Value) (out []any) {
	for i := range l.Series {
		out = append(out, fromGo(&l.Series[i], from.Field(i)))
	}
	return out
}

// SetValue sets a value of a field, or what points to it.
func SetValue(f *layout.Field, to reflect.Value, v any) { assign(to, toGo(f, v)) }

// StatisticOf returns a statistic of a field in a window of generated code, as [dynamic.Statistic.Of] does.
func StatisticOf(s dynamic.Statistic, f *layout.Field, field int, w reflect.Value) any {
	of := reflect.New(w.Field(2 + field).Type())
	of.Elem().Set(w.Field(2 + field))
	return generatedStatistic(s, f, of)
}
