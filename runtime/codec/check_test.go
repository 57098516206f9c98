package codec_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/runtime/codec"
)

func TestChecker(t *testing.T) {
	year10k := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		want  error // nil if the value is valid
		check func(c *codec.Checker)
	}{
		{"values at the edges", nil, func(c *codec.Checker) {
			c.Time("f", time.Unix(0, 0))
			c.Time("f", year10k.Add(-1))
			c.Timestamp("f", time.Unix(0, math.MinInt64))
			c.Timestamp("f", time.Unix(0, math.MaxInt64))
			c.String("f", "°C")
			c.Enum("f", phases, -7)
			c.NotNaN("f", math.Inf(-1))
			c.Finite("f", math.MaxFloat64)
		}},
		{"zero time", codec.ErrTimeRange, func(c *codec.Checker) { c.Time("f", time.Time{}) }},
		{"before 1970", codec.ErrTimeRange, func(c *codec.Checker) { c.Time("f", time.Unix(0, -1000)) }},
		{"after 9999", codec.ErrTimeRange, func(c *codec.Checker) { c.Time("f", year10k) }},
		{"bad UTF-8", codec.ErrUTF8, func(c *codec.Checker) { c.String("f", "\xb0C") }},
		{"unknown enum", codec.ErrEnum, func(c *codec.Checker) { c.Enum("f", phases, 0) }},
		{"timestamp before 1677", codec.ErrTimeRange, func(c *codec.Checker) { c.Timestamp("f", time.Unix(0, math.MinInt64).Add(-1)) }},
		{"timestamp after 2262", codec.ErrTimeRange, func(c *codec.Checker) { c.Timestamp("f", time.Unix(0, math.MaxInt64).Add(1)) }},
		{"zero timestamp", codec.ErrTimeRange, func(c *codec.Checker) { c.Timestamp("f", time.Time{}) }},
		{"NaN", codec.ErrNaN, func(c *codec.Checker) { c.NotNaN("f", math.NaN()) }},
		{"infinity is not finite", codec.ErrNaN, func(c *codec.Checker) { c.Finite("f", math.Inf(1)) }},
		{"NaN is not finite", codec.ErrNaN, func(c *codec.Checker) { c.Finite("f", math.NaN()) }},
		{"first error wins", codec.ErrTimeRange, func(c *codec.Checker) {
			c.Time("f", time.Time{})
			c.Time("g", time.Time{})
			c.String("g", "\xff")
			c.JSON("g", nil)
			c.Enum("g", phases, 0)
			c.Timestamp("g", time.Time{})
			c.NotNaN("g", math.NaN())
			c.Finite("g", math.NaN())
		}},
	} {
		var c codec.Checker
		if tt.check(&c); tt.want != nil {
			wantErr(t, c.Err(), "f", tt.want)
		} else if c.Err() != nil {
			t.Errorf("%s: %v", tt.name, c.Err())
		}
	}
}

func TestFieldError(t *testing.T) {
	checked := func(check func(c *codec.Checker)) error {
		var c codec.Checker
		check(&c)
		return c.Err()
	}
	_, empty := parts{value("location", plain, "")}.append(nil, "#")
	wrong := parts{value("location", plain, ""), value("balloon_id", plain, int64(0))}.parse("us-west2#+5", "#")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{checked(func(c *codec.Checker) { c.String("location", "\xff") }), `location "\xff": not valid UTF-8`},
		{checked(func(c *codec.Checker) { c.Finite("load", math.Inf(-1)) }),
			"load -Inf: NaN or infinite value, which tables with format: json cannot store; format: protobuf can"},
		{checked(func(c *codec.Checker) { c.Enum("phase", phases, 0) }), "phase: not set: 0 is not a value of the enum"},
		{empty, "location: empty key segment"},
		{wrong, `balloon_id "+5": row key does not have the form of the table's keys: want a decimal number in range`},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	_, err := parts{value("location", plain, "x"+strings.Repeat("é", 99)+"#")}.append(nil, "#")
	if fe, ok := errors.AsType[*codec.FieldError](err); !ok || len(fe.Value) > 50 || !utf8.ValidString(fe.Value) {
		t.Errorf("value is not shortened: %v", err)
	}
}
