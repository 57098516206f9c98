package chart

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
)

// TestValues checks the ticks of values.
func TestValues(t *testing.T) {
	for _, tt := range []struct {
		low, high float64
		n         int
		want      string
	}{
		{0, 1, 5, "0 0.5 1.0"},
		{92439, 95907, 5, "93,000 94,000 95,000 96,000"},
		{-19.7, 40.4, 5, "-20 0 20 40"},
		{5, 5, 4, "4.8 5.0 5.2"},
		{0, 0, 4, "-1.0 -0.5 0 0.5 1.0"},
		{1e300, 2e300, 4, "1e300 1.5e300 2e300"},
		{-math.MaxFloat64, math.MaxFloat64, 3, "-1e308 0 1e308"},
		{1e-9, 3e-9, 4, "1e-9 2e-9 3e-9"},
		{1.5e9, 1.6e9, 4, "1.5e9 1.55e9 1.6e9"},
		{5e-324, 1e-323, 4, "-1.0 -0.5 0 0.5 1.0"},
	} {
		var got []string
		for _, tick := range valuesOf(tt.low, tt.high, tt.n).ticks {
			got = append(got, tick.label)
		}
		assert.Same(t, tt.want, strings.Join(got, " "), tt.low, tt.high)
	}
}

// TestAnyValues checks that scales contain their range, and that ticks differ.
func TestAnyValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low, high := rapid.Float64().Draw(t, "low"), rapid.Float64().Draw(t, "high")
		if low > high {
			low, high = high, low
		}
		s := valuesOf(low, high, rapid.IntRange(1, 12).Draw(t, "n"))
		if a, b := s.at(low), s.at(high); !(a >= -1e-9 && a <= b && b <= 1+1e-9) {
			t.Fatalf("%v and %v are at %v and %v", low, high, a, b)
		}
		if len(s.ticks) > 60 {
			t.Fatalf("%d ticks", len(s.ticks))
		}
		for i, tick := range s.ticks {
			if p := s.at(tick.value); !(p >= -1e-9 && p <= 1+1e-9) || i > 0 && tick.label == s.ticks[i-1].label {
				t.Fatalf("the tick %+v is at %v, in %+v", tick, p, s)
			}
		}
	})
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 12.5: "12.5", 94123.456: "94,123.5", -1234: "-1,234", 123456.7: "123,457", 9999999: "9,999,999",
		1e7: "1e7", 123456789: "1.23457e8", 0.0001: "0.0001", 0.00001234: "1.234e-5", 1.0 / 3: "0.333333", -0.5: "-0.5",
		5e-324: "4.94066e-324", math.MaxFloat64: "1.79769e308",
	} {
		assert.Same(t, want, number(v), v)
	}
}
