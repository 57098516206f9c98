package schema

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "5m": 5 * time.Minute, "12h": 12 * time.Hour, "7d": 168 * time.Hour, "1w": 168 * time.Hour,
		"1d12h": 36 * time.Hour, "1w1d1h1m1s1ms1us1ns": 192*time.Hour + time.Hour + time.Minute + time.Second + 1001001,
		"0s": 0, "007d": 168 * time.Hour, "100ns": 100, "90m": 90 * time.Minute,
		"9223372036854775807ns": math.MaxInt64,
	} {
		if got, err := ParseDuration(text); got != want || err != nil {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                      `"" is not a duration: write a whole number and a unit, as in 30s, 5m, 12h, 7d, 1w or 1d12h`,
		"d":                     "\"d\" is not a duration: write `1d`",
		"7y":                    "years differ in length: write days: `2557d` is at least as long",
		"1y6mo":                 "years differ in length: write days: `552d` is at least as long",
		"2 years":               "\"2 years\" is not a duration: write days: `731d` is at least as long",
		"6 months":              "\"6 months\" is not a duration: write days: `186d` is at least as long",
		"P30D":                  "\"P30D\" is not a duration: write `30d`",
		"P1Y2M3DT4H":            "\"P1Y2M3DT4H\" is not a duration: write days: `431d4h` is at least as long",
		"9999999y":              "years differ in length: write days, such as `365d`",
		"1d12":                  `"1d12" lacks a unit: add one after 12, as in 1d12h`,
		"7days":                 "\"7days\" has the unknown unit \"days\": write `7d`",
		"7 days":                "\"7 days\" is not a duration: write `7d`",
		"1.5h":                  "\"1.5h\" has a decimal point, but durations have none: write `1h30m`",
		"1M":                    `"1M" has the unknown unit "M": m means minutes, mo means months`,
		"1day12hours":           "\"1day12hours\" has the unknown unit \"day\": write `1d12h`",
		"+1d":                   "\"+1d\" has a sign, but durations have none: write `1d`",
		"1h2h":                  "\"1h2h\" must have its units in descending order, each at most once: write `3h`",
		"9223372036854775808ns": `"9223372036854775808ns" is longer than 292 years: write a shorter duration`,
		"15250w2d":              `"15250w2d" is longer than 292 years: write a shorter duration`,
		"1⁵s":                   `"1⁵s" is not a duration: write a whole number and a unit, as in 30s, 5m, 12h, 7d, 1w or 1d12h`,
	} {
		if _, err := ParseDuration(text); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestDurationRoundTrip formats and parses arbitrary durations.
func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Min(0).Draw(t, "d"))
		text := FormatDuration(d)
		if got, err := ParseDuration(text); got != d || err != nil {
			t.Fatalf("%s: got %v, %v; want %v", text, got, err, d)
		}
	})
}

// TestDurationRepair checks that the proposal in an error is a valid duration.
func TestDurationRepair(t *testing.T) {
	number := rapid.StringMatching(`[0-9]{1,12}(\.[0-9]{1,3})?`)
	unit := rapid.SampledFrom([]string{"w", "d", "h", "m", "s", "ms", "us", "ns", "days", "Hours", "min", "µs", "M", "x", "", "mo"})
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			text.WriteString(rapid.SampledFrom([]string{"", "", "-", " "}).Draw(t, "before") + number.Draw(t, "number") + unit.Draw(t, "unit"))
		}
		hint := repairDuration(text.String())
		parts := strings.Split(hint, "`")
		if strings.HasPrefix(hint, "write a whole number") {
			return
		}
		if len(parts) != 3 {
			t.Fatalf("%q: no proposal in %s", text.String(), hint)
		}
		if _, err := ParseDuration(parts[1]); err != nil {
			t.Fatalf("%q: %s", text.String(), err)
		}
	})
}

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]Span{
		"1m": {Fixed: time.Minute}, "1w": {Fixed: 7 * 24 * time.Hour}, "1mo": {Months: 1}, "3mo": {Months: 3}, "24mo": {Months: 24},
		"1y": {Months: 12}, "290y": {Months: 3480},
	} {
		got, err := parseSpan(text)
		if got != want || err != nil {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
		if again, err := parseSpan(got.String()); again != want || err != nil {
			t.Errorf("%s: %s reads as %v, %v", text, got, again, err)
		}
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]float64{"1/s": 1, "10/s": 10, "1/m": 1. / 60, "100/1h": 100. / 3600, "6/1m": .1, "1/1ms": 1000, "1/w": 1. / 604800} {
		if got, err := parseRate(text); math.Abs(got-want) > 1e-12 || err != nil {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1", "/s", "1/", "0/s", "01/s", "-1/s", "1.5/s", "1/0s", "1/y", "1/s/s", "1 / s", "9999999999999/s"} {
		if got, err := parseRate(text); err == nil {
			t.Errorf("%s: got %v", text, got)
		}
	}
}
