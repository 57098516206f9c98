package gen_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Class: values that compile and panic. Every method of a reader, a writer or a batcher that its
// constructor did not make, or that got a nil client, returns a typed error.
func TestWithoutClient(t *testing.T) {
	fields := map[string]store.Field{
		"Usage": examples.UsageFieldUsageUser, "Vehicle": examples.VehicleFieldLatitude,
		"MeterReading": examples.MeterReadingFieldPower,
	}
	none := (*bigtable.Client)(nil)
	viewed := store.AuthorizedViews(nil, func(string) string { return "v" })
	called := 0
	for _, of := range []any{
		&examples.UsageReader{}, examples.NewUsageReader(nil), examples.NewUsageReader(none), examples.NewUsageReader(viewed),
		&examples.UsageWriter{}, examples.NewUsageWriter(nil), examples.NewUsageWriter(none), examples.NewUsageWriter(viewed),
		&examples.UsageBatcher{}, examples.NewUsageBatcher(&examples.UsageWriter{}, nil), examples.NewUsageBatcher(examples.NewUsageWriter(none), nil),
		&examples.VehicleReader{}, examples.NewVehicleReader(none), &examples.VehicleWriter{}, examples.NewVehicleWriter(none),
		&examples.MeterReadingReader{}, examples.NewMeterReadingReader(none), &examples.MeterReadingWriter{}, examples.NewMeterReadingWriter(none),
	} {
		v := reflect.ValueOf(of)
		field := fields[strings.NewReplacer("Reader", "", "Writer", "", "Batcher", "").Replace(v.Type().Elem().Name())]
		// One that its constructor did not make, or that has such a writer, knows no table.
		made := !v.Elem().IsZero() && v.Elem().Type() != reflect.TypeFor[examples.UsageBatcher]()
		for i := range v.NumMethod() {
			name := v.Type().Method(i).Name
			if name == "Flush" || name == "Close" || name == "Stats" {
				v.Method(i).Call(arguments(v.Method(i).Type(), field)) // nothing is queued
				continue
			}
			called++
			var missing *store.NoClientError
			if err := errorOf(v.Method(i).Call(arguments(v.Method(i).Type(), field))); !errors.As(err, &missing) || missing.Table == "" && made {
				t.Errorf("%T.%s: %v", of, name, err)
			}
		}
	}
	if called < 100 {
		t.Errorf("only %d methods", called)
	}
	_, rollup := examples.RollupMeter(t.Context(), none)
	_, backfill := examples.BackfillUsage(t.Context(), none, store.BackfillOptions{Target: examples.UsageCPUReadingsTableID})
	for _, err := range []error{rollup, backfill} {
		var missing *store.NoClientError
		if !errors.As(err, &missing) {
			t.Error(err)
		}
	}
}

// arguments returns valid arguments of a method.
func arguments(of reflect.Type, field store.Field) []reflect.Value {
	var out []reflect.Value
	times := 0
	for i := range of.NumIn() {
		if of.IsVariadic() && i == of.NumIn()-1 {
			break
		}
		v := reflect.New(of.In(i)).Elem()
		switch p := v.Addr().Interface().(type) {
		case *context.Context:
			*p = context.Background()
		case *time.Time:
			*p = time.Now().Truncate(time.Hour).Add(time.Duration(times) * time.Hour)
			times++
		case *store.Field:
			*p = field
		case *window.Width:
			*p = window.Every(time.Hour)
		default:
			fill(v)
		}
		out = append(out, v)
	}
	return out
}

// ends counts the numbers that fill has set, so that the end of a range follows its start.
var ends float64

// fill gives a value a content that tables can store.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if at, ok := v.Addr().Interface().(*time.Time); ok {
			*at = time.Now().Truncate(time.Second)
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		ends++
		v.SetFloat(ends)
	}
}

// errorOf returns the error among the results of a call, or the first that an iterator yields.
func errorOf(results []reflect.Value) error {
	last := results[len(results)-1]
	if err, ok := last.Interface().(error); ok {
		return err
	}
	if last.Kind() == reflect.Func {
		for _, err := range last.Seq2() {
			if e, ok := err.Interface().(error); ok {
				return e
			}
		}
	}
	return nil
}
