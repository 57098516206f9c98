// Package format writes the events of any schema as NDJSON, CSV or tables, and reads NDJSON,
// CSV and the formats of other systems, which [Formats] lists. What it writes, it reads without
// loss.
//
// Values have these forms:
//
//	string               its text; NDJSON escapes it, and CSV quotes it where necessary
//	bytes                base64; both alphabets are accepted, with or without padding
//	bool                 true or false
//	integers, floats     decimal; NaN, Infinity and -Infinity are strings in NDJSON
//	timestamp            RFC 3339 in UTC, up to nanoseconds: 2021-03-05T12:00:00.5Z
//	duration             as in Go, up to nanoseconds: 1h30m0.5s
//	uuid, enum           f81d4fae-7dec-41d0-a765-00a0c91e6bf6, and the name of the value
//	json                 NDJSON contains the value, and CSV its text
//
// An event that lacks a value has no such member in NDJSON, and an empty cell without quotes
// in CSV; an empty string is "".
package format

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Column is one value of the events of a schema. Its name is unique among their columns.
type Column struct {
	layout.Field
	part   part
	micros bool // see Micros; of a column of windows

	get func(e *dynamic.Event) any // nil if the event has none
	set func(e *dynamic.Event, v any)
}

// part is the part of an event that a column has.
type part int

const (
	seriesPart part = iota
	timePart
	sequencePart
	fieldPart
	ttlInputPart // as it is written
	ttlPart      // what is known about the time to live: the class and times
)

// Columns returns the columns of the events that readers of a schema return: the series
// values, the time, the sequence number, the fields, and what is known about the time to
// live.
func Columns(l *layout.Layout) []Column {
	return slices.DeleteFunc(inputColumns(l), func(c Column) bool { return c.part == ttlInputPart })
}

// inputColumns returns the columns that events to write may have.
func inputColumns(l *layout.Layout) []Column {
	var out []Column
	for i, f := range l.Series {
		out = append(out, seriesColumn(f, i))
	}
	out = append(out, timeColumn("time", timePart, func(e *dynamic.Event) *time.Time { return &e.Time }))
	if l.Sequence {
		out = append(out, Column{
			Field: layout.Field{Name: "sequence", Type: schema.Uint32}, part: sequencePart,
			get: func(e *dynamic.Event) any { return uint64(e.Sequence) },
			set: func(e *dynamic.Event, v any) { e.Sequence = uint32(v.(uint64)) },
		})
	}
	for i, f := range l.Fields {
		out = append(out, fieldColumn(f, i))
	}
	for _, f := range l.TTLFields() {
		switch f {
		case layout.ClassField:
			out = append(out, classColumn(l.Classes))
		case layout.TTLDurationField:
			out = append(out, Column{
				Field: layout.Field{Name: "ttl", Type: schema.Duration, Options: schema.Options{Optional: true}},
				part:  ttlInputPart,
				get: func(e *dynamic.Event) any {
					if e.TTL != 0 {
						return e.TTL
					}
					return nil
				},
				set: func(e *dynamic.Event, v any) { e.TTL = v.(time.Duration) },
			})
		case layout.ExpiresAtField:
			c := timeColumn("expires_at", ttlPart, func(e *dynamic.Event) *time.Time { return &e.ExpiresAt })
			c.micros = true
			out = append(out, c)
		case layout.WrittenAtField:
			c := timeColumn("written_at", ttlPart, func(e *dynamic.Event) *time.Time { return &e.WrittenAt })
			out = append(out, c)
		}
	}
	return out
}

// seriesColumn returns the column of a series value.
func seriesColumn(f layout.Field, i int) Column {
	return Column{
		Field: f, part: seriesPart,
		get: func(e *dynamic.Event) any { return at(e.Series, i) },
		set: func(e *dynamic.Event, v any) { e.Series[i] = v },
	}
}

// fieldColumn returns the column of a field.
func fieldColumn(f layout.Field, i int) Column {
	return Column{
		Field: f, part: fieldPart,
		get: func(e *dynamic.Event) any { return at(e.Values, i) },
		set: func(e *dynamic.Event, v any) { e.Values[i] = v },
	}
}

// timeColumn returns the column of a time, which only that of the event has always.
func timeColumn(name string, part part, of func(e *dynamic.Event) *time.Time) Column {
	return Column{
		Field: layout.Field{Name: name, Type: schema.Timestamp, Options: schema.Options{Optional: part != timePart}},
		part:  part,
		get: func(e *dynamic.Event) any {
			if t := *of(e); !t.IsZero() {
				return t
			}
			return nil
		},
		set: func(e *dynamic.Event, v any) { *of(e) = v.(time.Time) },
	}
}

// classColumn returns the column of the class, one of some names.
func classColumn(names []string) Column {
	class := layout.Field{Name: "class", Type: schema.Enum}
	for i, name := range names {
		class.Enum = append(class.Enum, codec.EnumName{Number: int64(i + 1), Name: name})
	}
	return Column{
		Field: class, part: ttlPart,
		get: func(e *dynamic.Event) any { return at(names, e.Class-1) },
		set: func(e *dynamic.Event, v any) { e.Class = slices.Index(names, v.(string)) + 1 },
	}
}

// at returns a value; nil if there is none.
func at[T any](values []T, i int) any {
	if i >= 0 && i < len(values) {
		return values[i]
	}
	return nil
}

// OfField reports whether the column is a field of the schema.
func (c *Column) OfField() bool { return c.part == fieldPart }

// Always reports whether every event that is read has a value.
func (c *Column) Always() bool { return c.part < fieldPart || c.part == fieldPart && !c.Optional }

// Micros reports whether the values are timestamps that always have whole microseconds, given
// the precision of event times.
func (c *Column) Micros(precision time.Duration) bool {
	return c.micros || c.part == timePart && precision%time.Microsecond == 0
}

// Value returns the value that an event has, with the Go types of package value; nil if it
// has none.
func (c *Column) Value(e *dynamic.Event) any { return c.get(e) }

// numeric reports whether the values of a type are numbers.
func numeric(t schema.Type) bool { return t.Traits().Number != schema.NoNumber }

// isFloat reports whether the values of a type are floating-point numbers.
func isFloat(t schema.Type) bool { return t == schema.Float32 || t == schema.Float64 }

// appendText appends a value of a type as text.
func appendText(dst []byte, t schema.Type, v any) []byte {
	switch v := v.(type) {
	case string:
		return append(dst, v...)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return appendFloat(dst, t, v)
	case time.Time:
		if v.Location() != time.UTC { // of a window
			return v.AppendFormat(dst, time.RFC3339Nano)
		}
		return codec.Text.Timestamp.Append(dst, v)
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	case bool:
		return strconv.AppendBool(dst, v)
	case []byte:
		return base64.StdEncoding.AppendEncode(dst, v)
	case time.Duration:
		return append(dst, v.String()...)
	case *big.Int: // a sum
		if dst = v.Append(dst, 10); t == schema.Duration {
			dst = append(dst, "ns"...)
		}
	}
	return dst
}

// appendFloat appends the shortest text that has the value.
func appendFloat(dst []byte, t schema.Type, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	case t == schema.Float32:
		return codec.Text.Float32.Append(dst, float32(v))
	}
	return codec.Text.Float64.Append(dst, v)
}

// ErrValue is the error of a text that is no value of its column.
var ErrValue = errors.New("not a value of the type")

// ParseText parses a value of a field in the form that the package comment describes. Errors
// wrap [ErrValue].
func ParseText(f *layout.Field, text []byte) (any, error) {
	v, err := parserOf(f)(text)
	if err == nil {
		err = exact(f, v, text, TextKind)
	}
	return v, err
}

// parserOf returns ParseText for a field, without [exact].
func parserOf(f *layout.Field) func(text []byte) (any, error) {
	decode := value.Coding(f, codec.TextValues).Decode
	if f.Type == schema.Bytes {
		decode = parseBytes
	}
	return func(text []byte) (any, error) {
		v, err := decode(text)
		if err != nil {
			return nil, refuse(f, text)
		}
		if f.Type == schema.Timestamp && FinerTime(text) || f.Type == schema.Duration && FinerDuration(text) {
			return nil, tooFine(text)
		}
		if isFloat(f.Type) && ofSource(text) {
			return nil, &valueError{fmt.Sprintf("\"%s\" is not a valid %s", shown(text), f.Type), "a decimal number without _"}
		}
		return v, nil
	}
}

// exact returns an error for an integer that its floating-point column would store as another number. A
// format that says that a number is one of floating point has rounded it already, and so has a program
// that prints the shortest text of a large one.
func exact(f *layout.Field, v any, text []byte, kind Kind) error {
	const always = 7 // digits that a float32 has
	number, ok := v.(float64)
	if !ok || kind == FloatKind || len(text) <= always || !isInteger(text) {
		return nil
	}
	bits := 64
	if f.Type == schema.Float32 {
		bits = 32
	}
	stored, _ := new(big.Float).SetFloat64(number).Int(nil)
	digits := stored.Append(nil, 10)
	same := func(b []byte) bool { return bytes.Equal(unsigned(b), unsigned(text)) }
	if same(digits) || (kind == TextKind || kind == bareKind) && same(strconv.AppendFloat(nil, number, 'f', -1, bits)) {
		return nil
	}
	return &valueError{fmt.Sprintf("\"%s\" would be stored as %s", shown(text), shown(digits)), "a field of an integer type"}
}

// unsigned returns the digits of an integer without its sign and leading zeros.
func unsigned(integer []byte) []byte { return bytes.TrimLeft(integer, "+-0") }

// ofSource reports whether a number is hexadecimal or has a _, as in the source code of programs:
// [strconv.ParseFloat] accepts it, but no system writes it.
func ofSource(number []byte) bool { return bytes.ContainsAny(number, "_xX") }

// maxShown is the maximum number of characters of a value in an error.
const maxShown = 40

// refuse returns the error of a text that is no value of a field.
func refuse(f *layout.Field, text []byte) error {
	want := forms[f.Type]
	if f.Type == schema.Enum {
		var names []string
		for _, v := range f.Enum {
			names = append(names, v.Name)
		}
		want = "one of " + strings.Join(names, ", ")
	}
	return &valueError{fmt.Sprintf("\"%s\" is not a valid %s", shown(text), f.Type), want}
}

// shown returns the beginning of a text for an error.
func shown(text []byte) string {
	return words.Excerpt(string(text[:min(len(text), 4*maxShown+1)]), maxShown)
}

// forms describe the values of types whose names do not suffice.
var forms = map[schema.Type]string{
	schema.String: "valid UTF-8", schema.Bytes: "base64", schema.Bool: "true or false", schema.Timestamp: "a time such as 2021-03-05T12:00:00Z",
	schema.Duration: "a duration such as 1h30m", schema.JSON: "valid JSON",
}

// valueError is an error of [ParseText].
type valueError struct{ problem, want string }

func (e *valueError) Error() string {
	if e.want == "" {
		return e.problem
	}
	return e.problem + ": want " + e.want
}

func (e *valueError) Unwrap() error { return ErrValue }

// urlAlphabet replaces the characters in which one alphabet of base64 differs from that of URLs.
var urlAlphabet = strings.NewReplacer("+", "-", "/", "_")

// parseBytes parses base64 of both alphabets.
func parseBytes(text []byte) (any, error) {
	url := urlAlphabet.Replace(string(text))
	if len(url)%4 == 0 {
		url = strings.TrimSuffix(strings.TrimSuffix(url, "="), "=")
	}
	v, err := codec.Text.Bytes.Decode([]byte(url))
	if v == nil && err == nil {
		v = []byte{}
	}
	return v, err
}

// SeriesContains reports whether a series value of an event, or what AppendSeries appends, contains a text in lower case, in
// whatever case.
func SeriesContains(columns []Column, e *dynamic.Event, text string) bool {
	contains := func(b []byte) bool { return strings.Contains(strings.ToLower(string(b)), text) }
	return contains(AppendSeries(nil, columns, e)) || slices.ContainsFunc(columns, func(c Column) bool {
		return contains(appendText(nil, c.Type, c.Value(e)))
	})
}

// AppendSeries appends the series values of an event as the command line takes them:
// host=a disk=1. Values with spaces, quotes or invisible characters are quoted as in Go.
// columns are those of the series.
func AppendSeries(dst []byte, columns []Column, e *dynamic.Event) []byte {
	for i := range columns {
		if i > 0 {
			dst = append(dst, ' ')
		}
		c := &columns[i]
		dst = append(append(dst, c.Name...), '=')
		begin := len(dst)
		dst = appendText(dst, c.Type, c.Value(e))
		if slices.ContainsFunc(dst[begin:], func(b byte) bool { return b <= ' ' || b == '"' || b >= 0x7f }) {
			dst = append(dst[:begin], strconv.Quote(string(dst[begin:]))...)
		}
	}
	return dst
}
