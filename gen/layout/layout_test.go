package layout_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

const day = 24 * time.Hour

// cells returns a table with bucket_new_cells.
func cells(bucket, ttl string) string {
	return fmt.Sprintf(`  cells: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, id, bucket]}, bucket: %s, family: m, ttl: %s}
`, bucket, ttl)
}

func TestMaxCells(t *testing.T) {
	for _, test := range []struct {
		precision, bucket string
		want              int64
	}{
		{"1m", "1h", 60}, {"1m", "1w", 10080}, {"1ms", "1m", 60_000}, {"1h", "1mo", 31 * 24}, {"1d", "1y", 366}, {"1h", "1h", 1},
	} {
		l := testschema.Tables(t, test.precision, cells(test.bucket, "{keep: forever}"))
		compare(t, test.want, l.Tables[0].MaxCells, test.bucket, test.precision)
	}
}

func TestRetention(t *testing.T) {
	for ttl, want := range map[string]codec.Retention{
		"{keep: forever}": nil,
		"{max_age: 30d}":  {{MaxAge: 30 * day}},
		"{any_of: [{max_age: 30d}, {max_age: 1d}]}":                               {{MaxAge: day}},
		"{all_of: [{max_age: 30d}, {max_age: 1d}]}":                               {{MaxAge: 30 * day}},
		"{all_of: [{max_age: 1d}, {max_versions: 3}]}":                            {{MaxAge: day}, {Versions: 3}},
		"{all_of: [{max_age: 1d}, {max_versions: 60}]}":                           nil, // a bucket never has more
		"{max_versions: 60}":                                                      nil,
		"{any_of: [{max_age: 30d}, {max_versions: 60}]}":                          {{MaxAge: 30 * day}},
		"{all_of: [{max_age: 1d}, {all_of: [{max_age: 2d}, {max_versions: 1}]}]}": {{MaxAge: 2 * day}, {Versions: 1}},
	} {
		l := testschema.Tables(t, "1m", cells("1h", ttl))
		compare(t, want, l.Tables[0].Families[0].Life.Retention, ttl)
	}
}

// TestHarmonic compares the weight of all series with the sum of their weights.
func TestHarmonic(t *testing.T) {
	for _, s := range []float64{0, 0.5, 0.99, 1, 1.2, 3} {
		for _, n := range []int64{1, 2, 1000, 1001, 200_000} {
			want := 0.0
			for k := range n {
				want += math.Pow(float64(k+1), -s)
			}
			if got := layout.Harmonic(n, s); math.Abs(got-want) > 1e-9*want {
				t.Errorf("%d series with skew %v: %v, want %v", n, s, got, want)
			}
		}
	}
}

// A year of windows is no longer than a leap year, though twelve long months would be.
func TestWidest(t *testing.T) {
	for every, want := range map[schema.Span]time.Duration{
		{}: 0, {Fixed: 7 * day}: 7 * day, {Months: 1}: 31 * day, {Months: 12}: 366 * day, {Months: 14}: 428 * day,
	} {
		compare(t, want, (&layout.MaterializedView{Every: every}).Widest(), every)
	}
}

// periodSchema is a schema with one table, whose lines follow its ID.
func periodSchema(table string) string {
	return `btgen: v1
package: p
name: P
series: {region: string, device: int64}
time: {precision: 1s}
fields: {value: {type: int64, number: 1}}
tables:
  readings:
    ` + strings.ReplaceAll(strings.TrimSpace(table), "\n", "\n    ") + "\n"
}

// resolvePeriods resolves a table, and returns the layout and what was found.
func resolvePeriods(t *testing.T, table string) (*layout.Layout, string) {
	t.Helper()
	s, errs := schema.Parse("s.yaml", []byte(periodSchema(table)))
	if len(errs) > 0 {
		t.Fatalf("%s: %v", table, errs)
	}
	l, found := layout.Resolve(s)
	var messages []string
	for _, d := range found {
		messages = append(messages, d.Message+" / "+d.Hint)
	}
	return l, strings.Join(messages, "\n")
}

const periodTable = `
pattern: bucket_new_cells
key: {delimiter: "#", segments: [region, device, bucket]}
family: m
ttl: {max_age: 400d}
`

// Layouts whose keys or families differ may follow one another; golden/diagnostics has those that are refused.
func TestPeriodsAccepted(t *testing.T) {
	for _, tt := range []struct{ name, more, want string }{
		{"no common start", "bucket: {every: 1d, origin: 2021-01-01}\nsince: 2027-01-11\nbefore: [{bucket: {every: 1d, origin: 2021-01-01T12:00:00Z, label: 2006-01-02T15}}]", "give their buckets a common origin"},
		{"segments swapped", "bucket: 1d\nsince: 2027-01-11\nbefore: [{key: {delimiter: \"#\", segments: [device, region, bucket]}}]", ""},
		{"another delimiter", "bucket: 1d\nsince: 2027-01-11\nbefore: [{key: {delimiter: \"/\", segments: [region, device, bucket]}}]", ""},
		{"a family of its own", "bucket: 1d\nsince: 2027-01-11\nbefore: [{family: old, key: {delimiter: \"#\", segments: [device, region, bucket]}}]", ""},
		{"a salt", "bucket: 1d\nsince: 2027-01-11\nbefore: [{key: {delimiter: \"#\", segments: [{hash: [device], buckets: 16}, region, device, bucket]}}]", ""},
		{"the same label", "bucket: {every: 6h, label: 2006-01-02T15}\nsince: 2027-01-11\nbefore: [{bucket: 1h}]", ""},
		{"numbers of weeks", "bucket: {every: 1d, origin: 2021-03-01, label: week%d}\nsince: 2027-01-11\nbefore: [{bucket: {every: 1w, origin: 2021-03-01, label: week%d}}]", ""},
	} {
		if _, found := resolvePeriods(t, periodTable+tt.more); !strings.Contains(found, tt.want) || tt.want == "" && found != "" {
			t.Errorf("%s: got %q, want %q", tt.name, found, tt.want)
		}
	}
}

// TestTellApart compares tables whose keys begin with an id in some form, followed by the text
// that distinguishes kinds of records: it does only if readers of both find it at the same place.
func TestTellApart(t *testing.T) {
	const (
		text   = "id"                                               // digits up to the delimiter
		padded = "{name: id, pad: 6}"                               // likewise
		four   = "{name: host, encoding: text, pad: 4}"             // bytes
		eight  = "{name: host, encoding: text, pad: 8}"             // bytes
		fixed  = "{name: id, encoding: hex, pad: 16, joined: true}" // no delimiter follows
		nine   = "{name: id, encoding: hex, pad: 9, joined: true}"  // likewise
		binary = "{name: id, encoding: binary}"                     // in a binary key: 8 bytes
		word   = "host"                                             // in a binary key: ends with 00 01
	)
	kind := func(text string) string { return fmt.Sprintf("{const: %s, kind: true}", text) }
	joined := func(text string) string { return fmt.Sprintf("{const: %s, kind: true, joined: true}", text) }
	for _, test := range []struct {
		delimiter    string
		a, b         string // the segment before the text
		kindA, kindB string
		want         bool
		delimiterB   string // that of both if it is empty
	}{
		{"#", text, text, kind("click"), kind("view"), true, ""},
		{"#", text, padded, kind("click"), kind("view"), true, ""},
		{"#", text, text, kind("click"), kind("click"), false, ""},
		{"#", text, text, kind("click"), kind("clicks"), true, ""},
		{"#", text, text, joined("click"), joined("clicks"), false, ""},
		{"#", text, text, joined("click"), joined("view"), true, ""},
		{"#", text, text, joined("click"), kind("clicks"), false, ""},
		{"#", text, text, kind("click"), kind("view"), false, "##"},
		{"#", four, four, kind("click"), kind("view"), true, ""},
		{"#", four, eight, kind("click"), kind("view"), false, ""},
		{"#", four, text, kind("click"), kind("view"), false, ""},
		{"#", fixed, fixed, kind("click"), kind("view"), true, ""},
		{"#", fixed, nine, kind("click"), kind("view"), false, ""},
		{"#", fixed, text, kind("click"), kind("view"), false, ""},
		{"", binary, binary, kind("click"), kind("view"), true, ""},
		{"", word, word, kind("click"), kind("view"), true, ""},
		{"", binary, four, kind("click"), kind("view"), false, ""},
		{"", binary, eight, kind("click"), kind("view"), true, ""},
		{"", word, binary, kind("click"), kind("view"), false, ""},
		{"", word, eight, kind("click"), kind("view"), false, ""},
	} {
		table := func(delimiter, segment, kind string) *layout.Layout {
			if delimiter != "" {
				delimiter = fmt.Sprintf("delimiter: %q, ", delimiter)
			}
			return testschema.Tables(t, "1s", fmt.Sprintf(`  rows: {pattern: single_unserialized, key: {%ssegments: [{const: x}, %s, %s, %s, time]}, family: m, ttl: {max_age: 1d}}
`, delimiter, segment, kind, map[bool]string{true: "id", false: "host"}[segment == word || segment == four || segment == eight]))
		}
		delimiterB := test.delimiterB
		if delimiterB == "" {
			delimiterB = test.delimiter
		}
		a, b := table(test.delimiter, test.a, test.kindA), table(delimiterB, test.b, test.kindB)
		for range 2 {
			compare(t, test.want, layout.TellApart(a.Tables[0], b.Tables[0]), test)
			a, b = b, a
		}
	}
}

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
