package alltypes

import (
	"math/big"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// TestWindowColumns compares windows in columnar form with those of the iterator, for fields of all
// types.
func TestWindowColumns(t *testing.T) {
	bt := newServer(t)
	series := rapid.Custom(newSeries).Example(29)
	event := rapid.Custom(func(t *rapid.T) SampleEvent { return newEvent(t, series) })
	w := NewSampleWriter(bt.Client, writing)
	for i := range 40 {
		check(t, w.Write(t.Context(), event.Example(i)))
	}
	r := NewSampleReader(bt.Client, options)
	columns := new(SampleWindowColumns)
	for _, o := range []store.WindowOptions{{}, {Fill: window.FillLinear}, {Fields: []store.Field{SampleFieldSmall}}} {
		var windows []SampleWindow
		columns.Reset()
		check(t, store.AppendWindows(columns, func(yield func(SampleWindow, error) bool) {
			for w, err := range r.Windows(t.Context(), series, start, end, window.Days(1, time.UTC), o) {
				if windows = append(windows, w); !yield(w, err) {
					return
				}
			}
		}))
		if len(windows) == 0 || len(columns.Start) != len(windows) {
			t.Fatalf("%d windows, and columns of %d", len(windows), len(columns.Start))
		}
		for i := range windows {
			compareColumns(t, reflect.ValueOf(&windows[i]).Elem(), reflect.ValueOf(columns).Elem(), i)
		}
	}
}

// compareColumns compares a window with the i-th one in columnar form.
func compareColumns(t *testing.T, w, columns reflect.Value, i int) {
	t.Helper()
	for n := range columns.NumField() {
		of, name := w, columns.Type().Field(n).Name
		if n > 0 {
			of = w.FieldByName(name)
		}
		for _, f := range reflect.VisibleFields(columns.Field(n).Type()) {
			if f.Anonymous {
				continue
			}
			want := w.FieldByName("SampleSeries").Interface()
			if f.Name != "Series" {
				want = statistic(of, f.Name)
			}
			got := columns.Field(n).FieldByIndex(f.Index).Index(i).Interface()
			if diff := cmp.Diff(want, got, equality(), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Errorf("%s.%s of window %d (-iterator +columns)\n%s", name, f.Name, i, diff)
			}
		}
	}
}

// statistic returns a statistic of a field.
func statistic(of reflect.Value, name string) any {
	if f := of.FieldByName(name); f.IsValid() {
		return f.Interface()
	}
	if exact := of.Addr().MethodByName("BigSum"); name == "Sum" && exact.IsValid() {
		sum, _ := new(big.Float).SetInt(exact.Call(nil)[0].Interface().(*big.Int)).Float64()
		return sum
	}
	return of.Addr().MethodByName(name).Call(nil)[0].Interface()
}
