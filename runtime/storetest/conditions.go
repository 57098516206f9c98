package storetest

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"time"
)

// Filter returns the events that meet a condition.
func Filter[E any](meets func(e E) bool, events ...E) []E {
	return slices.DeleteFunc(slices.Clone(events), func(e E) bool { return !meets(e) })
}

// SeriesOf returns the series of events, each once, in their order.
func SeriesOf[S, E any](of func(e E) S, events ...E) []S {
	var out []S
	for _, e := range events {
		s := of(e)
		if !slices.ContainsFunc(out, func(other S) bool { return reflect.DeepEqual(s, other) }) {
			out = append(out, s)
		}
	}
	return out
}

// Lower returns the lower of two values of a field, and Higher the other one.
func Lower[T any](a, b T) T {
	if compare(a, b) < 0 {
		return a
	}
	return b
}

// Higher returns the higher of two values of a field.
func Higher[T any](a, b T) T {
	if compare(a, b) < 0 {
		return b
	}
	return a
}

// Within reports whether a field is at least low and less than high. It may be a pointer or nil.
func Within(field, low, high any) bool {
	v, has := valueOf(field)
	return has && compare(v, low) >= 0 && compare(v, high) < 0
}

// Equal reports whether a field has a value. It may be a pointer or nil.
func Equal(field, value any) bool {
	v, has := valueOf(field)
	return has && compare(v, value) == 0
}

// valueOf returns the value of a field that may be a pointer; false if it is nil.
func valueOf(field any) (any, bool) {
	switch v := reflect.ValueOf(field); {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return v.Elem().Interface(), true
	case v.Kind() == reflect.Pointer, v.Kind() == reflect.Slice && v.IsNil():
		return nil, false
	}
	return field, true
}

// compare compares two values of the same type as their encodings in cells are sorted; it returns 0 if they
// are equal.
func compare(a, b any) int {
	if at, ok := a.(time.Time); ok {
		return at.Compare(b.(time.Time))
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case x.CanInt():
		return cmp.Compare(x.Int(), y.Int())
	case x.CanUint():
		return cmp.Compare(x.Uint(), y.Uint())
	case x.CanFloat():
		return cmp.Compare(x.Float(), y.Float())
	case x.Kind() == reflect.String:
		return cmp.Compare(x.String(), y.String())
	case x.Kind() == reflect.Slice:
		return bytes.Compare(x.Bytes(), y.Bytes())
	case x.Kind() == reflect.Array:
		return slices.Compare(arrayOf(x), arrayOf(y))
	case x.Kind() == reflect.Bool && x.Bool() != y.Bool():
		return 1
	}
	return 0
}

// arrayOf returns the bytes of an array.
func arrayOf(v reflect.Value) []byte {
	out := make([]byte, v.Len())
	reflect.Copy(reflect.ValueOf(out), v)
	return out
}
