package value

import (
	"bytes"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
)

// Pointers appends pointers to copies of series values in the form of [codec.KeyValues]: one for each
// of Layout.Series, to a zero if the value is nil or does not have the Go type of the field.
func Pointers(l *layout.Layout, series []any, to []any) []any {
	for i := range l.Series {
		var v any
		if i < len(series) {
			v = series[i]
		}
		to = append(to, Pointer(&l.Series[i], v))
	}
	return to
}

// Pointer returns a pointer to a copy of a series value, as Pointers does.
func Pointer(f *layout.Field, v any) any { return of(f).pointer(f, v) }

// FromPointers returns the series values to which pointers in the form of [codec.KeyValues] point.
func FromPointers(l *layout.Layout, from []any) []any {
	out := make([]any, len(from))
	for i, p := range from {
		switch v := of(&l.Series[i]).pointedTo(&l.Series[i], p).(type) {
		case string:
			out[i] = strings.Clone(v) // a part of many keys
		case []byte:
			out[i] = present(bytes.Clone(v))
		default:
			out[i] = v
		}
	}
	return out
}
