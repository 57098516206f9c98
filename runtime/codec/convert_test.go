package codec

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

// pair is the two results of a function.
func pair(v any, err error) []any { return []any{v, err} }

// TestConvert converts the extremes of types.
func TestConvert(t *testing.T) {
	low := Enum{{1, "low"}}
	for want, got := range map[any][]any{
		int64(math.MinInt32):                   pair(ToInt64(int32(math.MinInt32))),
		int64(math.MaxUint32):                  pair(ToInt64(uint32(math.MaxUint32))),
		uint64(math.MaxUint32):                 pair(ToUint64(math.MaxUint32)),
		float64(math.SmallestNonzeroFloat32):   pair(ToFloat64(float32(math.SmallestNonzeroFloat32))),
		float64(math.MaxUint32):                pair(ToFloat64(uint32(math.MaxUint32))),
		int32(1):                               pair(BoolToInteger[int32](true)),
		uint64(0):                              pair(BoolToInteger[uint64](false)),
		"-9223372036854775808":                 pair(IntegerToString(int64(math.MinInt64))),
		"18446744073709551615":                 pair(IntegerToString(uint64(math.MaxUint64))),
		"00000000-0000-0000-0000-00000000000a": pair(UUIDToString(UUID{15: 10})),
		"low":                                  pair(EnumNames(TextValues, low).Decode([]byte("low"))),
	} {
		if got[0] != want || got[1] != nil {
			t.Errorf("%v; want %v", got, want)
		}
	}
	if s, err := EnumNames(BinaryValues, low).Decode(Binary.Int64.Append(nil, 1)); err != nil || s != "low" {
		t.Errorf("a binary enum is %q, %v", s, err)
	}
	for v, exact := range map[int64]bool{0: true, 1 << 53: true, -1 << 53: true, 1<<53 + 1: false, -1<<53 - 1: false, 1<<53 + 2: false, math.MinInt64: false, math.MaxInt64: false} {
		if f, err := ExactFloat64(v); (err == nil) != exact || exact && f != float64(v) || err != nil && (!errors.Is(err, ErrInexact) || !errors.Is(err, ErrValue)) {
			t.Errorf("%d: %v, %v", v, f, err)
		}
	}
	for v, exact := range map[uint64]bool{0: true, 1 << 53: true, 1<<53 + 1: false, math.MaxUint64: false} {
		if f, err := ExactFloat64(v); (err == nil) != exact || exact && f != float64(v) {
			t.Errorf("%d: %v, %v", v, f, err)
		}
	}
	if s, err := EnumNames(BinaryValues, low).Decode(Binary.Int64.Append(nil, 2)); err == nil {
		t.Errorf("an unknown number is %q", s)
	}
	if s, err := EnumMember(low)("high"); err == nil {
		t.Errorf("an unknown name is %q", s)
	}
}

// TestOlderMember reads members of events in JSON that have an older name.
func TestOlderMember(t *testing.T) {
	for _, tt := range []struct {
		name, event string
		want        float64
		missing     bool
		err         error
	}{
		{name: "older", event: `{"temp": 5, "x": {"temp": 7}}`, want: 5},
		{name: "newer and older", event: `{"temp": 5, "temperature": 6}`, want: 6},
		{name: "neither", event: `{"x": {"temp": 7}}`, missing: true},
		{name: "null", event: `{"temp": null}`, missing: true},
		{name: "twice", event: `{"temp": 5, "temp": 6}`, want: 6},
		{name: "another case", event: `{"TEMP": 5}`, missing: true},
		{name: "inexact", event: `{"temp": 9007199254740993}`, err: ErrInexact},
		{name: "another type", event: `{"temp": "5"}`, err: ErrValue},
	} {
		var v struct {
			Temperature *float64 `json:"temperature"`
		}
		must(t, ParseJSON([]byte(tt.event), &v))
		err := OlderMember([]byte(tt.event), "temp", &v.Temperature, ExactFloat64[int64])
		switch {
		case tt.err != nil:
			if !errors.Is(err, tt.err) || !errors.Is(err, ErrValue) || !strings.Contains(err.Error(), "temp") {
				t.Errorf("%s: %v", tt.name, err)
			}
		case err != nil, (v.Temperature == nil) != tt.missing, v.Temperature != nil && *v.Temperature != tt.want:
			t.Errorf("%s: %v, %v", tt.name, v.Temperature, err)
		}
	}
	event := []byte(`{"doc" : {"a": 1} }`)
	if got := OlderJSON(event, "doc", nil); string(got) != ` {"a": 1} ` {
		t.Errorf("%q", got)
	}
	if got := OlderJSON(event, "doc", json.RawMessage("2")); string(got) != "2" {
		t.Errorf("%q", got)
	}
}
