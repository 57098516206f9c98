package codec

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

// TestConvert converts the extremes of types.
func TestConvert(t *testing.T) {
	check := func(name string, got any, err error, want any) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	i, err := ToInt64(int32(math.MinInt32))
	check("int32 to int64", i, err, int64(math.MinInt32))
	i, err = ToInt64(uint32(math.MaxUint32))
	check("uint32 to int64", i, err, int64(math.MaxUint32))
	u, err := ToUint64(math.MaxUint32)
	check("uint32 to uint64", u, err, uint64(math.MaxUint32))
	f, err := ToFloat64(float32(math.SmallestNonzeroFloat32))
	check("float32 to float64", f, err, float64(math.SmallestNonzeroFloat32))
	f, err = ToFloat64(uint32(math.MaxUint32))
	check("uint32 to float64", f, err, float64(math.MaxUint32))
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
	one, err := BoolToInteger[int32](true)
	check("true", one, err, int32(1))
	zero, err := BoolToInteger[uint64](false)
	check("false", zero, err, uint64(0))
	s, err := IntegerToString(int64(math.MinInt64))
	check("int64 to string", s, err, "-9223372036854775808")
	s, err = IntegerToString(uint64(math.MaxUint64))
	check("uint64 to string", s, err, "18446744073709551615")
	s, err = UUIDToString(UUID{15: 10})
	check("UUID to string", s, err, "00000000-0000-0000-0000-00000000000a")
	s, err = EnumNames(TextValues, Enum{{1, "low"}}).Decode([]byte("low"))
	check("text enum", s, err, "low")
	s, err = EnumNames(BinaryValues, Enum{{1, "low"}}).Decode(Binary.Int64.Append(nil, 1))
	check("binary enum", s, err, "low")
	if s, err = EnumNames(BinaryValues, Enum{{1, "low"}}).Decode(Binary.Int64.Append(nil, 2)); err == nil {
		t.Errorf("an unknown number is %q", s)
	}
	if s, err = EnumMember(Enum{{1, "low"}})("high"); err == nil {
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
