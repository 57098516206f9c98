package sample

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// typeSamples are the made-up values of a type, typed like Field.Default.
type typeSamples struct {
	key      func(f *layout.Field, form codec.KeyForm) any             // a likely series value that a form can hold
	field    func(f *layout.Field, at time.Time) any                   // a likely value of an event at a time
	vary     func(f *layout.Field, first any, n int) any               // the value of the n-th event, given the first
	first    func(f *layout.Field) []any                               // candidates for a series value other than key
	other    func(f *layout.Field, first any) []any                    // other candidates, those of which the first is a prefix before others
	numbered func(f *layout.Field, form codec.KeyForm, n Numbered) any // one of many series values
}

// Numbered is the number of a series value.
type Numbered struct {
	Index   uint64    // counted from 0
	Fitting uint64    // counted from 1, as far as the key can hold it
	Random  [2]uint64 // different for most indexes, and in no order
}

// samplesOf returns the samples of a type. Layouts with errors have series values of types that no
// key contains, or of no type.
func samplesOf(t schema.Type) typeSamples {
	own, ok := samples[t]
	switch {
	case !ok:
		return signed
	case own.key == nil:
		own.key, own.first, own.other, own.numbered = signed.key, signed.first, signed.other, signed.numbered
	}
	return own
}

// samples are those of each type. Types that no key contains have only those of fields.
var samples = map[schema.Type]typeSamples{
	schema.String: {
		key:   func(f *layout.Field, form codec.KeyForm) any { return exampleText(f.Name, form) },
		field: func(f *layout.Field, _ time.Time) any { return likelyText(f.Name) },
		vary:  varied(func(_ *layout.Field, v string, n int) any { return countUp(v, n) }),
		first: func(f *layout.Field) []any { return []any{f.Name, "a", "b", "Z", "0", "1"} },
		other: others(func(v string) []any { return []any{v + "0", v + "1", v + "a", v + "Z"} }),
		numbered: func(_ *layout.Field, form codec.KeyForm, n Numbered) any {
			return string(padded([]byte(fmt.Sprintf("%010x", n.Random[0]>>24)), form))
		},
	},
	schema.Bytes: {
		key:   func(_ *layout.Field, form codec.KeyForm) any { return exampleBytes(form) },
		field: likely([]byte{0xca, 0xfe, 1}),
		vary:  varied(func(_ *layout.Field, v []byte, n int) any { return varyBytes(v, n) }),
		first: candidates([]byte{'Z'}),
		other: others(func(v []byte) []any {
			return []any{append(slices.Clone(v), 'Z'), append(slices.Clone(v[:max(0, len(v)-1)]), 'Z')} // if the length is fixed
		}),
		numbered: func(_ *layout.Field, form codec.KeyForm, n Numbered) any {
			return padded(binary.BigEndian.AppendUint64(nil, n.Random[0]), form)
		},
	},
	schema.Bool: {
		key:      inKeys(true),
		field:    likely(true),
		vary:     varied(func(_ *layout.Field, v bool, n int) any { return v == (n%2 == 0) }),
		first:    candidates(true),
		other:    others(func(v bool) []any { return []any{!v} }),
		numbered: func(_ *layout.Field, _ codec.KeyForm, n Numbered) any { return n.Index%2 == 1 },
	},
	schema.Int32:   signed,
	schema.Int64:   signed,
	schema.Uint32:  unsigned,
	schema.Uint64:  unsigned,
	schema.Float32: {field: likelyNumeric, vary: varied(func(f *layout.Field, v float64, n int) any { return varyFloat(v, stride(n), numberStep(f), true) })},
	schema.Float64: {field: likelyNumeric, vary: varied(func(f *layout.Field, v float64, n int) any { return varyFloat(v, stride(n), numberStep(f), false) })},
	schema.Timestamp: {
		key:   inKeys(SeriesTime),
		field: func(_ *layout.Field, at time.Time) any { return at.Add(-time.Second) },
		vary:  varied(func(_ *layout.Field, v time.Time, n int) any { return varyTime(v, int64(n)) }),
		first: candidates(SeriesTime),
		other: others(func(v time.Time) []any { return []any{v.Add(time.Second), v.Add(-time.Second)} }),
		numbered: func(_ *layout.Field, _ codec.KeyForm, n Numbered) any {
			return SeriesTime.Add(time.Duration(n.Index) * time.Second)
		},
	},
	schema.Duration: {
		key: func(_ *layout.Field, form codec.KeyForm) any {
			return time.Duration(fitting(int64(time.Minute), form))
		},
		field:    func(f *layout.Field, _ time.Time) any { return likelyDuration(f.Name) },
		vary:     varied(func(_ *layout.Field, v time.Duration, n int) any { return varyDuration(v, stride(n)) }),
		first:    candidates(time.Minute, time.Microsecond, 36*time.Nanosecond, 3*time.Nanosecond),
		other:    others(func(v time.Duration) []any { return []any{v*10 + 1, v + 1, v - 1} }),
		numbered: func(_ *layout.Field, _ codec.KeyForm, n Numbered) any { return time.Duration(n.Fitting) },
	},
	schema.UUID: {
		key:   inKeys("f81d4fae-7dec-41d0-a765-00a0c91e6bf6"),
		field: likely("f81d4fae-7dec-41d0-a765-00a0c91e6bf0"),
		vary:  varied(func(_ *layout.Field, v string, n int) any { return varyHex(v, n) }),
		first: candidates("f81d4fae-7dec-41d0-a765-00a0c91e6bf6"),
		other: others(func(string) []any {
			return candidates("f81d4fae-7dec-41d0-a765-00a0c91e6bf7", "f81d4fae-7dec-41d0-a765-00a0c91e6bf8")(nil)
		}),
		numbered: func(_ *layout.Field, _ codec.KeyForm, n Numbered) any { return uuidOf(n.Random) },
	},
	schema.Enum: {
		key:   func(f *layout.Field, _ codec.KeyForm) any { return f.Enum[0].Name },
		field: func(f *layout.Field, _ time.Time) any { return f.Enum[0].Name },
		vary:  varied(func(f *layout.Field, v string, n int) any { return nextName(f.Enum, v, n) }),
		first: enumValues,
		other: func(f *layout.Field, _ any) []any { return enumValues(f) },
		numbered: func(f *layout.Field, _ codec.KeyForm, n Numbered) any {
			return f.Enum[n.Index%uint64(len(f.Enum))].Name
		},
	},
	schema.JSON: {
		field: likely(`{"n":1}`),
		vary:  varied(func(_ *layout.Field, v string, n int) any { return varyJSON(v, n) }),
	},
}

// signed and unsigned are the samples of integers.
var (
	signed = typeSamples{
		key:   func(_ *layout.Field, form codec.KeyForm) any { return fitting(3698, form) },
		field: likelyNumeric,
		vary:  varied(func(f *layout.Field, v int64, n int) any { return v - shift(v, stride(n), numberStep(f)) }),
		first: candidates(int64(3698), int64(36), int64(3), int64(1)),
		other: others(func(v int64) []any { return []any{v*10 + 1, v + 1, v - 1, v ^ 1} }),
		numbered: func(_ *layout.Field, _ codec.KeyForm, n Numbered) any {
			return int64(n.Fitting)
		},
	}
	unsigned = typeSamples{
		key:   func(_ *layout.Field, form codec.KeyForm) any { return uint64(fitting(3698, form)) },
		field: likelyNumeric,
		vary: varied(func(f *layout.Field, v uint64, n int) any {
			return v - uint64(shift(int64(min(v, math.MaxInt64)), stride(n), numberStep(f)))
		}),
		first:    candidates(uint64(3698), uint64(36), uint64(3), uint64(1)),
		other:    others(func(v uint64) []any { return []any{v*10 + 1, v + 1, v - 1, v ^ 1} }),
		numbered: func(_ *layout.Field, _ codec.KeyForm, n Numbered) any { return n.Fitting },
	}
)

// NumberedValue returns one of many values of a series.
func NumberedValue(f *layout.Field, form codec.KeyForm, n Numbered) any {
	return samplesOf(f.Type).numbered(f, form, n)
}

func likelyNumeric(f *layout.Field, _ time.Time) any { return likelyValue(f) }

func likely(v any) func(*layout.Field, time.Time) any {
	return func(*layout.Field, time.Time) any { return v }
}

func inKeys(v any) func(*layout.Field, codec.KeyForm) any {
	return func(*layout.Field, codec.KeyForm) any { return v }
}

func candidates(v ...any) func(*layout.Field) []any {
	return func(*layout.Field) []any { return v }
}

// varied returns a function that varies values of a Go type, and leaves others unchanged.
func varied[T any](vary func(f *layout.Field, v T, n int) any) func(*layout.Field, any, int) any {
	return func(f *layout.Field, first any, n int) any {
		if v, ok := first.(T); ok {
			return vary(f, v, n)
		}
		return first
	}
}

// others returns a function that has none for values of other Go types.
func others[T any](other func(v T) []any) func(*layout.Field, any) []any {
	return func(_ *layout.Field, first any) []any {
		if v, ok := first.(T); ok {
			return other(v)
		}
		return nil
	}
}

// enumValues lists the values of an enum.
func enumValues(f *layout.Field) []any {
	var out []any
	for _, v := range f.Enum {
		out = append(out, v.Name)
	}
	return out
}

// nextName returns the n-th name of an enum after another one.
func nextName(enum codec.Enum, name string, n int) string {
	i := slices.IndexFunc(enum, func(e codec.EnumName) bool { return e.Name == name })
	return enum[(i+n)%len(enum)].Name
}

// varyHex adds n to the last hex digit.
func varyHex(v string, n int) string {
	last, err := strconv.ParseUint(v[len(v)-1:], 16, 8)
	if err != nil {
		return v
	}
	return v[:len(v)-1] + strconv.FormatUint((last+uint64(n))%16, 16)
}

// uuidOf returns the UUID with the given bits.
func uuidOf(random [2]uint64) string {
	raw := hex.EncodeToString(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, random[0]), random[1]))
	return raw[:8] + "-" + raw[8:12] + "-" + raw[12:16] + "-" + raw[16:20] + "-" + raw[20:]
}

// padded repeats or cuts bytes to the length that a form requires, if it does.
func padded(b []byte, form codec.KeyForm) []byte {
	for len(b) < form.Pad {
		b = append(b, b...)
	}
	if form.Pad > 0 {
		b = b[:form.Pad]
	}
	return b
}
