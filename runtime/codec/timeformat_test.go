package codec_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"pgregory.net/rapid"
)

var layouts = []string{
	"2006", "2006-01", "200601", "2006-01-02", "20060102", "2006-002", "2006.002", "2006002", "2006/01/02T15",
	"2006-01-02-1504", "200601021504", "2006_01_02@15:04", "2006-01-02T15:04:05", "2006-002T15:04:05.000",
	"20060102150405.000000", "2006-01-02T15:04:05,000000000+", "2006.01.02.15.04.05.0", "2006,01~02+15",
}

var unixFormats = []string{"unix_s", "unix_ms", "unix_us", "unix_ns", "binary", "binary_s", "binary_ms", "binary_ns", "binary4_s"}

// mustFormat returns a format that is written as in a schema.
func mustFormat(s string) codec.TimeFormat {
	if i := slices.Index(unixFormats, s); i >= 0 {
		return codec.TimeFormat{Kind: codec.UnixSeconds + codec.TimeKind(i)}
	}
	return codec.TimeFormat{Layout: s}
}

func formats() *rapid.Generator[codec.TimeFormat] {
	return rapid.Custom(func(t *rapid.T) codec.TimeFormat {
		f := mustFormat(rapid.SampledFrom(append(unixFormats, layouts...)).Draw(t, "format"))
		return rapid.SampledFrom(reversals(f)).Draw(t, "reverse")
	})
}

// reversals returns the format, and the format reversed from every number that it can be
// subtracted from.
func reversals(f codec.TimeFormat) []codec.TimeFormat {
	all := []codec.TimeFormat{f}
	for m := codec.Largest; m <= codec.MaxUint64; m++ {
		reversed, short := f, m == codec.MaxInt32 || m == codec.MaxUint32
		reversed.Reverse, reversed.From = true, m
		if f.Kind != codec.LayoutTime && (m == codec.Largest || !f.InBytes() || short == (f.Width() == 4)) && (!short || f.Resolution() == time.Second) {
			all = append(all, reversed)
		}
	}
	return all
}

// inRange returns t, or the last instant that f can represent.
func inRange(f codec.TimeFormat, t time.Time) time.Time {
	if !t.Before(f.Max()) {
		return f.Max().Add(-1)
	}
	return t
}

// The bytes of a time in each format, and in those that other programs subtract from a number: Long.MAX_VALUE - ms, for
// example.
func TestTimeFormatForm(t *testing.T) {
	at := date("2021-03-05T12:03:09.0506Z")
	for _, tt := range []struct {
		format, want string
		resolution   time.Duration
		months       int
		from         codec.Minuend // if the format begins with a minus
		end          int           // a year
	}{
		{"unix_s", "1614945789", time.Second, 0, 0, 2286},
		{"unix_ms", "1614945789050", time.Millisecond, 0, 0, 2286},
		{"unix_us", "1614945789050600", time.Microsecond, 0, 0, 2286},
		{"unix_ns", "1614945789050600000", time.Nanosecond, 0, 0, 2262},
		{"binary", "\x00\x05\xbc\xc8\xde\x16\x7e\xe8", time.Microsecond, 0, 0, 10000},
		{"binary_s", "\x00\x00\x00\x00\x60\x42\x1d\xfd", time.Second, 0, 0, 10000},
		{"binary_ms", "\x00\x00\x01\x78\x02\x45\x24\x7a", time.Millisecond, 0, 0, 10000},
		{"binary_ns", "\x16\x69\x70\xa3\x87\xdf\xba\x40", time.Nanosecond, 0, 0, 2262},
		{"binary4_s", "\x60\x42\x1d\xfd", time.Second, 0, 0, 2106},
		{"2006", "2021", 0, 12, 0, 10000},
		{"2006-01", "2021-03", 0, 1, 0, 10000},
		{"2006-01-02", "2021-03-05", 24 * time.Hour, 0, 0, 10000},
		{"2006-002", "2021-064", 24 * time.Hour, 0, 0, 10000},
		{"2006-01-02T15", "2021-03-05T12", time.Hour, 0, 0, 10000},
		{"2006-01-02-1504", "2021-03-05-1203", time.Minute, 0, 0, 10000},
		{"20060102150405", "20210305120309", time.Second, 0, 0, 10000},
		{"20060102150405.00", "20210305120309.05", 10 * time.Millisecond, 0, 0, 10000},
		{"-unix_ms", "9223370421908986757", time.Millisecond, 0, codec.MaxInt64, 10000},
		{"-unix_s", "9223372035239830018", time.Second, 0, codec.MaxInt64, 10000},
		{"-unix_s", "0532537858", time.Second, 0, codec.MaxInt32, 2038},
		{"-unix_s", "2680021506", time.Second, 0, codec.MaxUint32, 2106},
		{"-unix_us", "18445129127920501015", time.Microsecond, 0, codec.MaxUint64, 10000},
		{"-unix_ns", "7608426247804175807", time.Nanosecond, 0, codec.MaxInt64, 2262},
		{"-unix_ns", "16831798284658951615", time.Nanosecond, 0, codec.MaxUint64, 2262},
		{"-binary_ms", "\x7f\xff\xfe\x87\xfd\xba\xdb\x85", time.Millisecond, 0, codec.MaxInt64, 10000},
		{"-binary_ms", "\xff\xff\xfe\x87\xfd\xba\xdb\x85", time.Millisecond, 0, codec.MaxUint64, 10000},
		{"-binary4_s", "\x9f\xbd\xe2\x02", time.Second, 0, codec.Largest, 2106},
		{"-binary4_s", "\x1f\xbd\xe2\x02", time.Second, 0, codec.MaxInt32, 2038},
	} {
		f := mustFormat(strings.TrimPrefix(tt.format, "-"))
		f.Reverse, f.From = tt.format[0] == '-', tt.from
		got, err := f.Append([]byte("x"), at)
		if err != nil || string(got) != "x"+tt.want || f.Width() != len(tt.want) {
			t.Errorf("%s: got %q, %v, width %d; want %q", f, got, err, f.Width(), "x"+tt.want)
		}
		if f.Resolution() != tt.resolution || f.Months() != tt.months || f.Max().Year() != tt.end {
			t.Errorf("%s: resolution %v, %d months, to %v", f, f.Resolution(), f.Months(), f.Max())
		}
		for _, out := range []string{tt.want, tt.want[1:], tt.want + "0", strings.Repeat("\xff", len(tt.want)), strings.Repeat("9", len(tt.want))} {
			if back, err := f.Parse(out); err == nil {
				if again, err := f.Append(nil, back); err != nil || string(again) != out {
					t.Errorf("%s: %q is read as %s", f, out, back)
				}
			}
		}
	}
}

func TestTimeFormatBounds(t *testing.T) {
	ends := map[string]string{
		"unix_s": "2286-11-20T17:46:40Z", "unix_ms": "2286-11-20T17:46:40Z", "unix_us": "2286-11-20T17:46:40Z",
		"unix_ns": "2262-04-11T23:47:16.854775808Z", "binary_ns": "2262-04-11T23:47:16.854775808Z", "binary4_s": "2106-02-07T06:28:16Z",
	}
	for _, s := range append(unixFormats, layouts...) {
		f := mustFormat(s)
		end := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
		if e, ok := ends[s]; ok {
			end = date(e)
		}
		if !f.Min().Equal(time.Unix(0, 0)) || !f.Max().Equal(end) {
			t.Errorf("%s holds [%v, %v)", s, f.Min(), f.Max())
		}
		for _, out := range []time.Time{{}, f.Min().Add(-1), f.Max(), f.Max().AddDate(1, 0, 0)} {
			if _, err := f.Append(nil, out); !errors.Is(err, codec.ErrTimeRange) {
				t.Errorf("%s of %v: %v", s, out, err)
			}
		}
		first, err1 := f.Append(nil, f.Min())
		last, err2 := f.Append(nil, f.Max().Add(-1))
		if err1 != nil || err2 != nil || len(first) != len(last) {
			t.Errorf("%s: from %s, %v to %s, %v", s, first, err1, last, err2)
		}
	}
}

func TestTimeFormatRoundTrip(t *testing.T) {
	testlong.Checks(t, 100)
	check(t, "what is written is read, rounded down, and bytes sort as time does", func(t *rapid.T) {
		f := formats().Draw(t, "format")
		a, b := inRange(f, times(1970, 2262).Draw(t, "a")), inRange(f, times(1970, 2262).Draw(t, "b"))
		x, err1 := f.Append(nil, a)
		y, err2 := f.Append(nil, b)
		if order := a.Compare(b); err1 != nil || err2 != nil || f.Reverse && -bytes.Compare(x, y)*order < 0 || !f.Reverse && bytes.Compare(x, y)*order < 0 {
			t.Fatalf("%q of %v, %v, and %q of %v, %v", x, a, err1, y, b, err2)
		}
		if f.Kind == codec.LayoutTime && a.Format(f.Layout) != string(x) {
			t.Fatalf("%s, but package time has %s", x, a.Format(f.Layout))
		}
		got, err := f.Parse(string(x))
		if err != nil || got.After(a) || got.Location() != time.UTC || f.Months() == 0 && !got.Equal(codec.Truncate(a, f.Resolution())) {
			t.Fatalf("%s of %v is read as %v, %v", x, a, got, err)
		}
		if again, err := f.Append(nil, got); err != nil || !bytes.Equal(again, x) {
			t.Fatalf("%s is written again as %s, %v", x, again, err)
		}
		for i := range x { // only formatted times are read
			in := rapid.SampledFrom([]string{"", "0", "1", "3", "6", "9", "x", " ", "+", "/", "\x7f", "\xff"}).Draw(t, "in")
			changed := string(x[:i]) + in + string(x[i+rapid.IntRange(0, 1).Draw(t, "out"):])
			at, err := f.Parse(changed)
			if again, _ := f.Append(nil, at); err == nil && string(again) != changed || err != nil && !errors.Is(err, codec.ErrTimeRange) {
				t.Fatalf("%s: %q is read as %v, %v", f, changed, at, err)
			}
		}
	})
}

// Formatting a parsed time returns the same string, and package time agrees.
func FuzzTimeFormat(f *testing.F) {
	all := slices.Concat(unixFormats, layouts)
	for i, s := range all {
		f.Add(byte(i), "2021-03-05T12:03:09.050600000")
		text, _ := mustFormat(s).Append(nil, date("2021-03-05T12:03:09.0506Z"))
		f.Add(byte(i), string(text))
	}
	f.Fuzz(func(t *testing.T, which byte, text string) {
		format := all[int(which)%len(all)]
		tf := mustFormat(format)
		if tf.String() != format || (tf.Resolution() == 0) == (tf.Months() == 0) {
			t.Errorf("%q: %v, %d months", format, tf.Resolution(), tf.Months())
		}
		at, err := tf.Parse(text)
		if err != nil {
			return
		}
		if again, err := tf.Append(nil, at); err != nil || string(again) != text {
			t.Errorf("%q: %q is read as %v and written as %q, %v", format, text, at, again, err)
		}
		if tf.Kind != codec.LayoutTime {
			return
		}
		if want, err := time.Parse(format, text); err != nil || !want.Equal(at) || want.Format(format) != text {
			t.Errorf("%q: %q is read as %v, package time has %v, %v", format, text, at, want, err)
		}
	})
}

// near draws instants around a few close ones, so that ranges have interesting edges.
func near() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		base := rapid.SampledFrom([]string{
			"1970-01-01", "2021-03-05T12:00:00Z", "2021-12-31T23:59:59Z", "2262-04-11T23:47:16.854775807Z",
			"2038-01-19T03:14:07Z", "2106-02-07T06:28:15Z", "2286-11-20T17:46:40Z", "9999-12-31T23:59:59.999999999Z",
		}).Draw(t, "base")
		unit := rapid.SampledFrom([]time.Duration{1, time.Microsecond, time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, 240 * time.Hour}).Draw(t, "unit")
		return date(base).Add(unit * time.Duration(rapid.IntRange(-40, 40).Draw(t, "n")))
	})
}

func contains(r codec.Rows, key string) bool {
	if r.Keys != nil {
		return slices.Contains(r.Keys, key)
	}
	return r.Start <= key && (r.End == "" || key < r.End)
}

func TestPrefixRowsOfTimes(t *testing.T) {
	for prefix, end := range map[string]string{"us-west1#369#": "us-west1#369$", "a\xff": "b", "\xff\xff": "", "": ""} {
		if got := codec.PrefixRows(prefix); got.Start != prefix || got.End != end {
			t.Errorf("PrefixRows(%q) = %+v", prefix, got)
		}
	}
	check(t, "exactly the keys with the prefix", func(t *rapid.T) {
		bytes := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 0xfe, 0xff}), 0, 4)
		prefix, key := string(bytes.Draw(t, "prefix")), string(bytes.Draw(t, "key"))
		if contains(codec.PrefixRows(prefix), key) != strings.HasPrefix(key, prefix) {
			t.Fatalf("prefix %q, key %q", prefix, key)
		}
	})
}
