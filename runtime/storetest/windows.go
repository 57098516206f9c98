package storetest

import (
	"iter"
	"reflect"
	"testing"

	"github.com/btgen-dev/btgen/runtime/window"
)

// Summarized fails the test unless a read yields one window, which summarizes the events of a series: of each
// field, it has the number of values, the first one and the last one.
func Summarized[W, E any](t testing.TB, what string, got iter.Seq2[W, error], events ...E) {
	t.Helper()
	windows, err := collect(got)
	if err != nil || len(windows) != 1 {
		t.Errorf("%s: %d windows, want 1: %v", what, len(windows), err)
		return
	}
	w := reflect.ValueOf(windows[0])
	if n := w.FieldByName("Window").Interface().(window.Window).Events; n != int64(len(events)) {
		t.Errorf("%s: %d events, want %d", what, n, len(events))
	}
	for i := range w.NumField() {
		name, stats := w.Type().Field(i).Name, w.Field(i)
		if stats.Kind() != reflect.Struct || !stats.FieldByName("FirstTime").IsValid() {
			continue // what windows of all fields have in common
		}
		values := valuesOf(events, name)
		if n := stats.FieldByName("Count").Int(); n != int64(len(values)) {
			t.Errorf("%s, %s: %d values, want %d", what, name, n, len(values))
			continue
		}
		if len(values) == 0 {
			continue
		}
		first, last := stats.FieldByName("First").Interface(), stats.FieldByName("Last").Interface()
		if !reflect.DeepEqual(first, values[0]) || !reflect.DeepEqual(last, values[len(values)-1]) {
			t.Errorf("%s, %s: the first value is %v and the last one %v, want %v and %v", what, name, first, last, values[0], values[len(values)-1])
		}
	}
}

// valuesOf returns the values of a field of those events that have it.
func valuesOf[E any](events []E, field string) (out []any) {
	for _, e := range events {
		v := reflect.ValueOf(e).FieldByName(field)
		switch v.Kind() {
		case reflect.Pointer, reflect.Slice:
			if v.IsNil() {
				continue
			}
		}
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		out = append(out, v.Interface())
	}
	return out
}

// Drawn returns a function that takes the results of a method that returns points, and fails the test unless
// these are the values of a field, a number, of the events.
func Drawn[E any](t testing.TB, field string, events ...E) func(got []window.Point, err error) {
	t.Helper()
	return func(got []window.Point, err error) {
		t.Helper()
		var want []window.Point
		for _, e := range events {
			for _, v := range valuesOf([]E{e}, field) {
				want = append(want, window.Point{Time: timeOf(e), Value: reflect.ValueOf(v).Convert(reflect.TypeFor[float64]()).Float()})
			}
		}
		if err != nil || len(got) != len(want) {
			t.Errorf("points of %s: got %v, want %v: %v", field, got, want, err)
			return
		}
		for i := range want {
			if !got[i].Time.Equal(want[i].Time) || got[i].Value != want[i].Value {
				t.Errorf("points of %s: got %v, want %v", field, got, want)
				return
			}
		}
	}
}
