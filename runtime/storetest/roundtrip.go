package storetest

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Reader has those methods that every generated reader has.
type Reader[S, E, C, O any] interface {
	Read(ctx context.Context, series S, from, to time.Time, opts ...O) iter.Seq2[E, error]
	ReadColumns(ctx context.Context, series S, from, to time.Time, columns *C, opts ...O) error
	Latest(ctx context.Context, series S) (E, error)
}

// Reads fails the test unless a generated reader reads the events of a series, which are in order of their times.
// end is after the last one, and newest are the options for the newest event.
func Reads[S, E, C, O any](t testing.TB, r Reader[S, E, C, O], series S, end time.Time, events []E, newest O) {
	t.Helper()
	ctx, last := t.Context(), len(events)-1
	from, to := timeOf(events[0]), timeOf(events[last])
	Same(t, "Read", r.Read(ctx, series, from, end), events...)
	Same(t, "Read of a range", r.Read(ctx, series, from, to), events[:last]...)
	Same(t, "Read, newest first", r.Read(ctx, series, from, end, newest), events[last])
	Same(t, "ReadColumns", Columns[E](func(c *C) error { return r.ReadColumns(ctx, series, from, end, c) }), events...)
	Same(t, "Latest", One(r.Latest(ctx, series)), events[last])
}

// timeOf returns the time of an event.
func timeOf(event any) time.Time {
	return reflect.ValueOf(event).FieldByName("Time").Interface().(time.Time)
}

// Same fails the test unless a read yields exactly the wanted events, in order, and no
// error. what describes the read in messages.
func Same[E any](t testing.TB, what string, got iter.Seq2[E, error], want ...E) {
	t.Helper()
	events, err := collect(got)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	for i := range max(len(events), len(want)) {
		switch {
		case i >= len(events):
			t.Errorf("%s: got %d events, want %d; the next is missing:\n\t%s", what, len(events), len(want), show(reflect.ValueOf(want[i])))
		case i >= len(want):
			t.Errorf("%s: got %d events, want %d; one more is\n\t%s", what, len(events), len(want), show(reflect.ValueOf(events[i])))
		case !reflect.DeepEqual(events[i], want[i]):
			t.Errorf("%s: got %d events, want %d; event %d differs:\n\t%s", what, len(events), len(want), i,
				strings.Join(differences("", reflect.ValueOf(events[i]), reflect.ValueOf(want[i])), "\n\t"))
		default:
			continue
		}
		return // later failures may be a consequence
	}
}

// SameInAnyOrder is like [Same] but ignores the order of events.
func SameInAnyOrder[E any](t testing.TB, what string, got iter.Seq2[E, error], want ...E) {
	t.Helper()
	events, err := collect(got)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	for _, e := range want {
		i := slices.IndexFunc(events, func(other E) bool { return reflect.DeepEqual(e, other) })
		if i < 0 {
			t.Errorf("%s: an event is missing:\n\t%s\nremaining events:%s", what, show(reflect.ValueOf(e)), list(events))
			return
		}
		events = slices.Delete(events, i, i+1)
	}
	if len(events) > 0 {
		t.Errorf("%s: got %d events more than the %d wanted:%s", what, len(events), len(want), list(events))
	}
}

// collect returns the events of a read up to the first error.
func collect[E any](read iter.Seq2[E, error]) ([]E, error) {
	var out []E
	for event, err := range read {
		if err != nil {
			return out, err
		}
		out = append(out, event)
	}
	return out, nil
}

// Deletes returns a function that takes the results of a method that deletes, and fails the test
// unless it has deleted so many events.
func Deletes(t testing.TB, what string, events int) func(deleted interface{ Events() int }, err error) {
	t.Helper()
	return func(deleted interface{ Events() int }, err error) {
		t.Helper()
		if err != nil || deleted.Events() != events {
			t.Errorf("%s: %d events, want %d: %v", what, deleted.Events(), events, err)
		}
	}
}

// One converts the results of a method to a read of one event. A non-nil error follows
// the event.
func One[E any](event E, err error) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) { yield(event, err) }
}

// Columns converts a method that appends events to columns of type C to a read that
// yields events of type E. The first field of C is the series, which E embeds; the
// others have the names of fields of E.
func Columns[E, C any](read func(columns *C) error) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		var columns C
		err := read(&columns)
		all := reflect.ValueOf(columns)
		for i := range all.Field(0).Len() {
			var event E
			e := reflect.ValueOf(&event).Elem()
			e.Field(0).Set(all.Field(0).Index(i))
			for f := 1; f < all.NumField(); f++ {
				name, slice := all.Type().Field(f).Name, all.Field(f)
				if slice.Len() != all.Field(0).Len() {
					yield(event, fmt.Errorf("the columns have %d series, and %s %d values", all.Field(0).Len(), name, slice.Len()))
					return
				}
				e.FieldByName(name).Set(slice.Index(i))
			}
			if !yield(event, nil) {
				return
			}
		}
		if err != nil {
			var none E
			yield(none, err)
		}
	}
}

// differences describes the fields in which two events differ, one per line.
func differences(name string, got, want reflect.Value) []string {
	if _, isTime := want.Interface().(time.Time); !isTime && want.Kind() == reflect.Struct {
		var out []string
		for i := range want.NumField() {
			out = append(out, differences(want.Type().Field(i).Name, got.Field(i), want.Field(i))...)
		}
		return out
	}
	if reflect.DeepEqual(got.Interface(), want.Interface()) {
		return nil
	}
	return []string{fmt.Sprintf("%s: got %s, want %s", name, show(got), show(want))}
}

// list formats events, one per line.
func list[E any](events []E) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("\n\t" + show(reflect.ValueOf(e)))
	}
	if len(events) == 0 {
		b.WriteString(" none")
	}
	return b.String()
}

// show formats a value on one line and dereferences pointers.
func show(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Time:
		return x.Format(time.RFC3339Nano)
	case fmt.Stringer:
		if v.Kind() != reflect.Pointer {
			return x.String()
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "nil"
		}
		return show(v.Elem())
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			parts = append(parts, v.Type().Field(i).Name+": "+show(v.Field(i)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.String, reflect.Slice:
		if v.Kind() == reflect.Slice && v.IsNil() {
			return "nil"
		}
		return fmt.Sprintf("%q", v.Interface())
	}
	return fmt.Sprint(v.Interface())
}
