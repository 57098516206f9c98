package layout_test

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

func TestParseLabel(t *testing.T) {
	for _, tt := range []struct {
		s    string
		want codec.Label
	}{
		{"week%d", codec.Label{Kind: codec.NumberLabel, Prefix: "week"}},
		{"week%04d", codec.Label{Kind: codec.NumberLabel, Prefix: "week", Pad: 4}},
		{"%018d!", codec.Label{Kind: codec.NumberLabel, Suffix: "!", Pad: 18}},
		{"%01dd", codec.Label{Kind: codec.NumberLabel, Suffix: "d", Pad: 1}},
		{"iso_week", codec.Label{Kind: codec.ISOWeekLabel}},
		{"unix_ms", codec.Label{Format: codec.TimeFormat{Kind: codec.UnixMillis}}},
		{"2006-01-02", codec.Label{Format: codec.TimeFormat{Layout: "2006-01-02"}}},
	} {
		got, err := layout.ParseLabel(tt.s)
		if err != nil || got != tt.want || got.String() != tt.s {
			t.Errorf("%s gives %+v (%s), %v", tt.s, got, got, err)
		}
	}
	for _, s := range []string{"", "week", "week%", "week%s", "week%4d", "week%0d", "week%00d", "week%004d", "week%019d", "week%+d",
		"%d%d", "%d%%", "%%d", "% d", "2006-15", "iso"} {
		if got, err := layout.ParseLabel(s); err == nil {
			t.Errorf("%q gives %+v", s, got)
		}
	}
}

var timeLayouts = []string{
	"2006", "2006-01", "200601", "2006-01-02", "20060102", "2006-002", "2006.002", "2006002", "2006/01/02T15",
	"2006-01-02-1504", "200601021504", "2006_01_02@15:04", "2006-01-02T15:04:05", "2006-002T15:04:05.000",
	"20060102150405.000000", "2006-01-02T15:04:05,000000000+", "2006.01.02.15.04.05.0", "2006,01~02+15",
}

var unixFormats = []string{"unix_s", "unix_ms", "unix_us", "unix_ns", "binary", "binary_s", "binary_ms", "binary_ns", "binary4_s"}

func TestParseTime(t *testing.T) {
	for _, s := range append(unixFormats, timeLayouts...) {
		f, err := layout.ParseTime(s)
		if err != nil || f.String() != s {
			t.Errorf("%q gives %q, %v", s, f, err)
		}
	}
	for _, s := range []string{
		"", "unix", "unix_S", "-2006", "06", "2006-15", "2006-02", "2006-01-15", "2006-01-02-04", "2006-01-02-15-05",
		"01-02-2006", "2006-02-01", "2006-01-01", "2006-2006", "2006-01-002", "2006-002-02", "2006-Jan-02",
		"2006-01-02Z", "2006-01-02-03", "2006-01-02T15:04.000", "2006-01-02T15:04:05.999", "2006-01-02T15:04:05.0000000000",
		"2006-01-02T15:04:05-0700", "2006 01", "2006#01", "2006-1", "2006-01-_2",
		"2006-01-02T15:04:05.000.000", "2006-01-02T15:04:05-000", "2006é",
	} {
		_, err := layout.ParseTime(s)
		if err == nil || !strings.Contains(err.Error(), "unix_ms") || !strings.Contains(err.Error(), "2006") {
			t.Errorf("%q: error does not say what is allowed: %v", s, err)
		}
	}
}

func TestReversed(t *testing.T) {
	for _, tt := range []struct {
		format string
		from   codec.Minuend
		want   string // of the format, or part of the error
	}{
		{"unix_ms", codec.Largest, "unix_ms reversed"},
		{"unix_ms", codec.MaxInt64, "unix_ms reversed from max_int64"},
		{"unix_s", codec.MaxInt32, "unix_s reversed from max_int32"},
		{"unix_ns", codec.MaxInt64, "unix_ns reversed"},
		{"unix_ns", codec.MaxUint64, "unix_ns reversed from max_uint64"},
		{"binary", codec.MaxInt64, "binary reversed"},
		{"binary4_s", codec.MaxUint32, "binary4_s reversed"},
		{"binary4_s", codec.MaxInt32, "binary4_s reversed from max_int32"},
		{"unix_ms", codec.MaxInt32, "time format unix_ms exceeds max_int32: want max_int64 or max_uint64"},
		{"binary_s", codec.MaxUint32, "time format binary_s has 8 bytes, and max_uint32 has 4: want max_int64 or max_uint64"},
		{"binary4_s", codec.MaxInt64, "has 4 bytes, and max_int64 has 8: want max_int32 or max_uint32"},
		{"2006-01-02", codec.MaxInt64, "cannot be reversed"},
	} {
		f, err := layout.ParseTime(tt.format)
		assert.Is(t, nil, err)
		if f, err = layout.Reversed(f, tt.from); err == nil {
			assert.Same(t, tt.want, f.String())
			continue
		}
		assert.Contains(t, tt.want, err)
	}
}
