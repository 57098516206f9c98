package codec_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"pgregory.net/rapid"
)

// Every value has one canonical form: 9.5, never 9.50.
func TestCanonicalFloat(t *testing.T) {
	tests := []struct {
		v    float64
		want string
	}{
		{9.5, "9.5"}, {9.50, "9.5"}, {94587, "94587"}, {-0.25, "-0.25"}, {0, "0"},
		{math.Copysign(0, -1), "-0"}, {1e6, "1000000"}, {1e20, "100000000000000000000"},
		{1e21, "1e+21"}, {1e30, "1e+30"}, {1e-6, "0.000001"}, {1e-7, "1e-07"},
		{0.30000000000000004, "0.30000000000000004"}, {math.MaxFloat64, "1.7976931348623157e+308"},
		{math.Inf(1), "+Inf"}, {math.Inf(-1), "-Inf"}, {math.NaN(), "NaN"},
	}
	for _, tt := range tests {
		if got := string(codec.AppendTextFloat64(nil, tt.v)); got != tt.want {
			t.Errorf("text of %v is %s, want %s", tt.v, got, tt.want)
		}
	}
	if got := string(codec.AppendTextFloat32(nil, 0.1)); got != "0.1" {
		t.Errorf("text of float32 0.1 is %s", got)
	}
	check(t, "every notation of a number gives the same text", func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		want := string(codec.AppendTextFloat64(nil, v))
		for _, format := range "efgG" {
			other := strconv.FormatFloat(v, byte(format), -1, 64)
			got, err := codec.TextFloat64([]byte(other))
			if err != nil || string(codec.AppendTextFloat64(nil, got)) != want {
				t.Fatalf("%s reads as %v, %v; want %s", other, got, err, want)
			}
		}
	})
	check(t, "no text is longer than need be", func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		text := string(codec.AppendTextFloat64(nil, v))
		if strings.ContainsRune(text, '.') && !strings.ContainsRune(text, 'e') && strings.HasSuffix(text, "0") {
			t.Fatal(text)
		}
	})
}

func TestTextForm(t *testing.T) {
	tests := []struct {
		got  []byte
		want string
	}{
		{codec.AppendTextInt64(nil, -94587), "-94587"},
		{codec.AppendTextUint64(nil, math.MaxUint64), "18446744073709551615"},
		{codec.AppendTextBool(nil, false), "false"},
		{codec.AppendTextBytes(nil, []byte{0xfb, 0xff}), "-_8"},
		{codec.AppendTextTimestamp(nil, date("2021-03-05T13:00:00.5+01:00")), "2021-03-05T12:00:00.5Z"},
		{codec.AppendTextDuration(nil, 3723*time.Second), "1h2m3s"},
		{codec.AppendTextEnum(nil, phases, 2), "float"},
		{codec.AppendTextEnum(nil, phases, 3), "3"},
		{codec.AppendTextUUID(nil, codec.UUID{15: 1}), "00000000-0000-0000-0000-000000000001"},
	}
	for _, tt := range tests {
		if string(tt.got) != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

// Other tools may have written the cells.
func TestTextLenient(t *testing.T) {
	if v, err := codec.TextInt64([]byte("+0065")); v != 65 || err != nil {
		t.Error(v, err)
	}
	if v, err := codec.TextFloat64([]byte("9.50")); v != 9.5 || err != nil {
		t.Error(v, err)
	}
	if v, err := codec.TextBool([]byte("1")); !v || err != nil {
		t.Error(v, err)
	}
	if v, err := codec.TextTimestamp([]byte("2021-03-05T13:00:00+01:00")); !sameTime(date("2021-03-05T12:00:00Z"), v) || err != nil {
		t.Error(v, err)
	}
	if v, err := codec.TextUUID([]byte("FFFFFFFF-0000-0000-0000-000000000001")); v != (codec.UUID{255, 255, 255, 255, 15: 1}) || err != nil {
		t.Error(v, err)
	}
}

// textCodecs decode a string and encode the result.
var textCodecs = map[string]func(b []byte) ([]byte, error){
	"string": func(b []byte) ([]byte, error) {
		v, err := codec.TextString(b)
		return codec.AppendTextString(nil, v), err
	},
	"bytes": func(b []byte) ([]byte, error) {
		v, err := codec.TextBytes(b)
		return codec.AppendTextBytes(nil, v), err
	},
	"bool": func(b []byte) ([]byte, error) { v, err := codec.TextBool(b); return codec.AppendTextBool(nil, v), err },
	"int32": func(b []byte) ([]byte, error) {
		v, err := codec.TextInt32(b)
		return codec.AppendTextInt32(nil, v), err
	},
	"int64": func(b []byte) ([]byte, error) {
		v, err := codec.TextInt64(b)
		return codec.AppendTextInt64(nil, v), err
	},
	"uint32": func(b []byte) ([]byte, error) {
		v, err := codec.TextUint32(b)
		return codec.AppendTextUint32(nil, v), err
	},
	"uint64": func(b []byte) ([]byte, error) {
		v, err := codec.TextUint64(b)
		return codec.AppendTextUint64(nil, v), err
	},
	"float32": func(b []byte) ([]byte, error) {
		v, err := codec.TextFloat32(b)
		return codec.AppendTextFloat32(nil, v), err
	},
	"float64": func(b []byte) ([]byte, error) {
		v, err := codec.TextFloat64(b)
		return codec.AppendTextFloat64(nil, v), err
	},
	"timestamp": func(b []byte) ([]byte, error) {
		v, err := codec.TextTimestamp(b)
		return codec.AppendTextTimestamp(nil, v), err
	},
	"duration": func(b []byte) ([]byte, error) {
		v, err := codec.TextDuration(b)
		return codec.AppendTextDuration(nil, v), err
	},
	"UUID": func(b []byte) ([]byte, error) { v, err := codec.TextUUID(b); return codec.AppendTextUUID(nil, v), err },
	"JSON": func(b []byte) ([]byte, error) { v, err := codec.TextJSON(b); return codec.AppendTextJSON(nil, v), err },
	"enum": func(b []byte) ([]byte, error) {
		v, err := codec.TextEnum(b, phases)
		return codec.AppendTextEnum(nil, phases, v), err
	},
}

func TestTextRefuses(t *testing.T) {
	tests := map[string][]string{
		"string":    {"\xff"},
		"bytes":     {"YQ==", "YR", "Y", "Y\nQ", "a+b/"},
		"bool":      {"", "yes"},
		"int32":     {"", " 1", "2147483648", "1_000", "0x10"},
		"int64":     {"", "1.0", "9223372036854775808"},
		"uint32":    {"", "-1", "+1", "4294967296"},
		"uint64":    {"", "-1", "18446744073709551616"},
		"float32":   {"", "1e39", "1,5"},
		"float64":   {"", "1e309", "9.5°C"},
		"timestamp": {"", "2021-03-05", "2021-03-05 12:00:00Z", "9999-12-31T23:59:59-01:00"},
		"duration":  {"", "1", "1w"},
		"UUID":      {"", "00000000-0000-0000-0000-0000000000-0", "{00000000-0000-0000-0000-000000000001}", "0000000000000000000000000000000000001", "g0000000-0000-0000-0000-000000000001"},
		"JSON":      {"", "{", "nan"},
		"enum":      {"", "1", "Float"},
	}
	for name, texts := range tests {
		for _, text := range texts {
			if _, err := textCodecs[name]([]byte(text)); !errors.Is(err, codec.ErrValue) {
				t.Errorf("%s %q: got error %v", name, text, err)
			}
		}
	}
}

// Decoding and encoding again reaches a fixed point.
func FuzzTextValues(f *testing.F) {
	for _, s := range []string{"9.50", "+5", "true", "2021-03-05T12:00:00Z", "1.5h", "YQ", `{"a": 1}`, "float", "-0", "0x1p-2"} {
		f.Add([]byte(s))
	}
	f.Add([]byte("FFFFFFFF-0000-0000-0000-000000000001"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, recode := range textCodecs {
			once, err := recode(b)
			if err != nil {
				if !errors.Is(err, codec.ErrValue) {
					t.Errorf("%s %q: %v", name, b, err)
				}
				continue
			}
			twice, err := recode(once)
			if err != nil || string(twice) != string(once) {
				t.Errorf("%s %q: first %q, then %q, %v", name, b, once, twice, err)
			}
		}
	})
}

func TestUUIDText(t *testing.T) {
	check(t, "UUID", func(t *rapid.T) {
		want := uuids().Draw(t, "u")
		b, _ := want.MarshalText()
		var got codec.UUID
		if err := got.UnmarshalText(b); err != nil || got != want || string(b) != want.String() {
			t.Fatal(string(b), got, err)
		}
	})
	u := codec.UUID{1}
	if err := u.UnmarshalText([]byte("x")); !errors.Is(err, codec.ErrValue) || u != (codec.UUID{1}) {
		t.Error(u, err)
	}
}
