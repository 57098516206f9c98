package sample

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Examples are plausible values.
func TestLikelyValues(t *testing.T) {
	for _, test := range []struct {
		name, unit string
		typ        schema.Type
		low, high  float64
	}{
		{"rssi", "dBm", schema.Int64, -95, -40},
		{"rssi", "", schema.Int32, -95, -40},
		{"signal", "dBm", schema.Float32, -95, -40},
		{"rssi", "", schema.Uint32, 40, 95}, // the absolute value, as some devices send it
		{"temperature", "°C", schema.Float64, -10, 35},
		{"cpuTemperature", "celsius", schema.Int64, -10, 90},
		{"temp_max", "°F", schema.Float64, 14, 95},
		{"humidity", "%", schema.Int64, 20, 90},
		{"anything", "%", schema.Float32, 0, 100},
		{"load_pct", "", schema.Uint32, 1, 100},
		{"battery_percent", "", schema.Int32, 1, 100},
		{"battery", "mV", schema.Uint32, 2000, 13000},
		{"voltage", "V", schema.Float64, 1, 400},
		{"latitude", "", schema.Float64, -90, 90},
		{"lat", "degrees", schema.Float32, -90, 90},
		{"longitude", "°", schema.Float64, -180, 180},
		{"speed", "km/h", schema.Int32, 1, 130},
		{"price", "USD", schema.Float64, 1, 1000},
		{"error_count", "", schema.Int64, 1, 1000},
		{"status", "", schema.Int64, 200, 200},
		{"response_bytes", "", schema.Uint64, 100, 1e9},
		{"sent", "bytes", schema.Uint32, 100, 1e9},
		{"latency_ms", "", schema.Float64, 1, 500},
		{"ratio", "", schema.Float64, 0.01, 1},
		{"ratio", "", schema.Int64, 1, 100}, // a fraction would round to 0
		{"pressure", "hPa", schema.Float64, 850, 1050},
		{"x", "furlongs", schema.Int32, 1, 100},
	} {
		f := layout.Field{Name: test.name, Options: schema.Options{Unit: test.unit}, Type: test.typ}
		for n := range 8 {
			v := reflect.ValueOf(Value(&f, n, time.Now())).Convert(reflect.TypeFor[float64]()).Float()
			if test.low < 0 && test.high < 0 && v > 0 || v < test.low || v > test.high {
				t.Errorf("%s in %q, %s: %v, want from %v to %v", test.name, test.unit, test.typ, v, test.low, test.high)
			}
		}
	}
}

// Every guess fits every numeric type.
func TestLikelyNumbersFit(t *testing.T) {
	for _, q := range quantities {
		for name := range strings.FieldsSeq(q.names) {
			for unit := range q.value {
				for _, typ := range []schema.Type{schema.Int32, schema.Int64, schema.Uint32, schema.Uint64, schema.Float32, schema.Float64} {
					f := layout.Field{Name: name, Options: schema.Options{Unit: unit}, Type: typ}
					checkVaried(t, &f)
				}
			}
		}
	}
}

// fataler is the common interface of testing.T and rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkVaried checks a field's values in successive events: the first is the example,
// and the others are valid, and have its type, sign and magnitude.
func checkVaried(t fataler, f *layout.Field) {
	t.Helper()
	at := time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)
	first := Value(f, 0, at)
	if f.Example != nil && !reflect.DeepEqual(first, f.Example) {
		t.Fatalf("%+v: the first event has %v", f, first)
	}
	for n := range 9 {
		v := Value(f, n, at)
		if err := value.Check(f, v, layout.FiniteFloats); err != nil || reflect.TypeOf(v) != reflect.TypeOf(first) {
			t.Fatalf("%+v: %v after %v: %v", f, v, first, err)
		}
		near := true
		switch v := v.(type) {
		case int64, uint64, float64, time.Duration:
			is, was := number(v), number(first)
			near = math.Signbit(is) == math.Signbit(was) && math.Abs(is) >= math.Abs(was)/2 && math.Abs(is) <= math.Abs(was)
		case time.Time:
			near = v.Sub(first.(time.Time)).Abs() <= time.Minute
		case []byte:
			near = len(v) == len(first.([]byte))
		}
		if !near {
			t.Fatalf("%+v: %v after %v", f, v, first)
		}
	}
}

// number converts a value to float64.
func number(v any) float64 { return reflect.ValueOf(v).Convert(reflect.TypeFor[float64]()).Float() }

// Whatever the example, later events have similar values of the same type.
func TestVariedExamples(t *testing.T) {
	enum := codec.Enum{{Number: 0, Name: "low"}, {Number: 7, Name: "high"}, {Number: 9, Name: "none"}}
	examples := map[schema.Type]*rapid.Generator[any]{
		schema.String:    rapid.String().AsAny(),
		schema.Bytes:     rapid.SliceOfN(rapid.Byte(), 0, 4).AsAny(),
		schema.Bool:      rapid.Bool().AsAny(),
		schema.Int32:     rapid.Map(rapid.Int32(), func(v int32) int64 { return int64(v) }).AsAny(),
		schema.Int64:     rapid.Int64().AsAny(),
		schema.Uint32:    rapid.Map(rapid.Uint32(), func(v uint32) uint64 { return uint64(v) }).AsAny(),
		schema.Uint64:    rapid.Uint64().AsAny(),
		schema.Float32:   rapid.Map(rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32), func(v float32) float64 { return float64(v) }).AsAny(),
		schema.Float64:   rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).AsAny(),
		schema.Timestamp: rapid.Map(rapid.Int64(), func(v int64) time.Time { return time.Unix(0, v).UTC() }).AsAny(),
		schema.Duration:  rapid.Map(rapid.Int64(), func(v int64) time.Duration { return time.Duration(v) }).AsAny(),
		schema.UUID:      rapid.StringMatching(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).AsAny(),
		schema.Enum:      rapid.SampledFrom([]string{"low", "high", "none"}).AsAny(),
		schema.JSON:      rapid.SampledFrom([]string{`{"a": [1, 9]}`, `"x"`, `"\u0009"`, `-0.5e10`, `9`, `{"9": "\u00e9"}`}).AsAny(),
	}
	names := rapid.SampledFrom([]string{"value", "rssi", "latitude", "price", "status", "frequency"})
	for typ := schema.String; typ <= schema.JSON; typ++ {
		t.Run(typ.String(), rapid.MakeCheck(func(t *rapid.T) {
			checkVaried(t, &layout.Field{Name: names.Draw(t, "name"), Type: typ, Enum: enum, Options: schema.Options{Example: examples[typ].Draw(t, "example")}})
		}))
	}
}

// Later events differ from the first if they can.
func TestVariation(t *testing.T) {
	at := time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		f    layout.Field
		want string
	}{
		{layout.Field{Type: schema.Int64, Options: schema.Options{Example: int64(-67)}}, "-67 -66 -64 -65"},
		{layout.Field{Type: schema.Int64, Options: schema.Options{Example: int64(94558)}}, "94558 93612 91720 92666"},
		{layout.Field{Type: schema.Int64, Options: schema.Options{Example: int64(2)}}, "2 1 1 1"},
		{layout.Field{Type: schema.Int64, Options: schema.Options{Example: int64(0)}}, "0 0 0 0"},
		{layout.Field{Type: schema.Float64, Options: schema.Options{Example: 9.6}}, "9.6 9.5 9.3 9.4"},
		{layout.Field{Type: schema.Float64, Options: schema.Options{Example: 0.5}}, "0.5 0.49 0.48 0.49"},
		{layout.Field{Type: schema.Float32, Options: schema.Options{Example: 0.0}}, "0 0 0 0"},
		{layout.Field{Type: schema.Float64, Name: "latitude"}, "40.758 40.7576 40.7568 40.7572"},
		{layout.Field{Type: schema.Int64, Name: "port"}, "443 443 443 443"},
		{layout.Field{Type: schema.Bool, Options: schema.Options{Example: false}}, "false true false true"},
		{layout.Field{Type: schema.String, Options: schema.Options{Example: "pump-09"}}, "pump-09 pump-10 pump-11 pump-12"},
		{layout.Field{Type: schema.String, Options: schema.Options{Example: "USD"}}, "USD USD USD USD"},
		{layout.Field{Type: schema.Duration, Options: schema.Options{Example: 90 * time.Second}}, "1m30s 1m29s 1m27s 1m28s"},
		{layout.Field{Type: schema.Duration, Name: "uptime"}, "26h0m0s 25h0m0s 23h0m0s 24h0m0s"},
		{layout.Field{Type: schema.Enum, Enum: codec.Enum{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Options: schema.Options{Example: "b"}}, "b c a b"},
		{layout.Field{Type: schema.Bytes, Options: schema.Options{Example: []byte("ab")}}, "[97 98] [97 99] [97 100] [97 101]"},
		{layout.Field{Type: schema.Bytes, Options: schema.Options{Example: []byte{}}}, "[] [] [] []"},
	} {
		var got []string
		for n := range 4 {
			got = append(got, fmt.Sprint(Value(&test.f, n, at)))
		}
		compare(t, test.want, strings.Join(got, " "))
	}
}

var compare = assert.Same

// Comments of generated code show keys on one line: those that are not printable are
// quoted.
func TestShowKey(t *testing.T) {
	for key, want := range map[string]string{
		"us-west2#3698": "us-west2#3698", "größe": "größe", "a b": "a b",
		"": `""`, "a\nb": `"a\nb"`, "\xca\xfe": `"\xca\xfe"`, "\u202e": `"\u202e"`,
	} {
		compare(t, want, ShowKey(key))
	}
}
