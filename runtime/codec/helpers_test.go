package codec_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"pgregory.net/rapid"
)

// check runs a property under a name.
func check(t *testing.T, name string, property func(*rapid.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { rapid.Check(t, property) })
}

// date parses RFC 3339; the time of day is optional.
func date(s string) time.Time {
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	panic(s)
}

// times draws instants from one year to before another, to the nanosecond.
func times(from, to int) *rapid.Generator[time.Time] {
	lo := time.Date(from, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	hi := time.Date(to, 1, 1, 0, 0, 0, 0, time.UTC).Unix() - 1
	return rapid.Custom(func(t *rapid.T) time.Time {
		s := rapid.Int64Range(lo, hi).Draw(t, "seconds")
		ns := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 999_999_999)).Draw(t, "nanos")
		return time.Unix(s, ns).UTC()
	})
}

// nanoTimes draws instants that int64 nanoseconds can represent.
func nanoTimes() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64(), func(ns int64) time.Time { return time.Unix(0, ns).UTC() })
}

func uuids() *rapid.Generator[codec.UUID] {
	return rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) codec.UUID { return codec.UUID(b) })
}

func durations() *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.Int64(), func(ns int64) time.Duration { return time.Duration(ns) })
}

func jsons() *rapid.Generator[json.RawMessage] {
	return rapid.Map(rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.SliceOf(rapid.Int()), func(s []int) any { return s }),
		rapid.Map(rapid.MapOf(rapid.String(), rapid.Bool()), func(m map[string]bool) any { return m }),
	), func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return b
	})
}

var phases = codec.Enum{{Number: 1, Name: "ascent"}, {Number: 2, Name: "float"}, {Number: -7, Name: "lost"}}

func sameFloat64(a, b float64) bool      { return math.Float64bits(a) == math.Float64bits(b) }
func sameFloat32(a, b float32) bool      { return math.Float32bits(a) == math.Float32bits(b) }
func sameTime(a, b time.Time) bool       { return a.Equal(b) && b.Location() == time.UTC }
func sameJSON(a, b json.RawMessage) bool { return string(a) == string(b) }
func sameBytes(a, b []byte) bool         { return string(a) == string(b) }

func same[T comparable](a, b T) bool { return a == b }

// wantErr fails unless err is a *FieldError for the field that wraps want.
func wantErr(t *testing.T, err error, field string, want error) {
	t.Helper()
	var fe *codec.FieldError
	if !errors.As(err, &fe) || fe.Field != field || !errors.Is(err, want) {
		t.Errorf("got error %v, want one of %s: %v", err, field, want)
	}
}

var (
	// weeks is the balloon's bucket: 2021-03-05 is in week1.
	weeks = codec.Bucket{
		Every:  7 * 24 * time.Hour,
		Origin: date("2021-03-01"),
		Label:  mustLabel("week%d"),
	}
	minutes = codec.TimeFormat{Layout: "2006-01-02-1504"}
)

// mustLabel returns a label that is written as in a schema.
func mustLabel(s string) codec.Label {
	if s == "iso_week" {
		return codec.Label{Kind: codec.ISOWeekLabel}
	}
	prefix, verb, numbered := strings.Cut(s, "%")
	if !numbered {
		return codec.Label{Format: mustFormat(s)}
	}
	pad, _ := strconv.Atoi(strings.TrimSuffix(verb, "d")) // 0 if there is none
	return codec.Label{Kind: codec.NumberLabel, Prefix: prefix, Pad: pad}
}

// part adds a segment to a key, with its value.
type part func(k *codec.Key, v *codec.KeyValues)

// parts are the segments of a key.
type parts []part

// key returns the key, and its values.
func (p parts) key(delimiter string) (codec.Key, codec.KeyValues) {
	k, v := codec.Key{Delimiter: delimiter}, codec.KeyValues{}
	for _, add := range p {
		add(&k, &v)
	}
	return k, v
}

// append appends the row key.
func (p parts) append(dst []byte, delimiter string) ([]byte, error) {
	k, v := p.key(delimiter)
	return k.Append(dst, &v)
}

// parse parses a row key, and changes the values.
func (p parts) parse(row, delimiter string) error {
	k, v := p.key(delimiter)
	return k.Parse(row, &v)
}

// other adds a segment without a series value.
func other(s codec.Segment) part {
	return func(k *codec.Key, _ *codec.KeyValues) { k.Segments = append(k.Segments, s) }
}

func constant(text string) part { return other(codec.Segment{Kind: codec.ConstSegment, Const: text}) }

func sequence(n uint32) part {
	return func(k *codec.Key, v *codec.KeyValues) {
		k.Segments, v.Sequence = append(k.Segments, codec.Segment{Kind: codec.SequenceSegment}), &n
	}
}

func bucket(b codec.Bucket, at time.Time) part {
	return func(k *codec.Key, v *codec.KeyValues) {
		k.Segments, k.Bucket, v.At = append(k.Segments, codec.Segment{Kind: codec.BucketSegment}), b, &at
	}
}

func timed(f codec.TimeFormat, at time.Time) part {
	return func(k *codec.Key, v *codec.KeyValues) {
		k.Segments, k.Time, v.At = append(k.Segments, codec.Segment{Kind: codec.TimeSegment}), f, &at
	}
}

// series adds a series value, given a pointer to it.
func series(s codec.Segment, value any) part {
	return func(k *codec.Key, v *codec.KeyValues) {
		s.Series = len(v.Series)
		k.Segments, v.Series = append(k.Segments, s), append(v.Series, value)
	}
}

func enum(name string, f codec.KeyForm, of codec.Enum, v int64) part {
	return series(codec.Segment{Name: name, Type: codec.EnumSegment, Form: f, Enum: of}, &v)
}

func value[T any](name string, f codec.KeyForm, v T) part {
	types := []any{"", []byte(nil), false, int32(0), int64(0), uint32(0), uint64(0), time.Duration(0), time.Time{}, codec.UUID{}}
	of := slices.IndexFunc(types, func(zero any) bool { _, ok := zero.(T); return ok })
	return series(codec.Segment{Name: name, Type: codec.SegmentType(of), Form: f}, &v)
}
