package codec_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"pgregory.net/rapid"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// The documented keys (week1) do not contain a year, so they need an origin: 2021-03-05
// is in ISO week 9, and 2021-01-01 in a week of 2020. Weeks start on Mondays, not on Thursdays like 1970.
func TestBucketAsDocumented(t *testing.T) {
	iso := codec.Bucket{Every: week, Label: mustLabel("iso_week")}
	dates := mustLabel("2006-01-02")
	months := func(n int, origin string) codec.Bucket {
		b := codec.Bucket{Months: n, Label: dates}
		if origin != "" {
			b.Origin = date(origin)
		}
		return b
	}
	for _, tt := range []struct {
		b                     codec.Bucket
		at, label, start, end string
	}{
		{weeks, "2021-03-01", "week1", "2021-03-01", "2021-03-08"},
		{weeks, "2021-03-05T12:00:00Z", "week1", "2021-03-01", "2021-03-08"},
		{weeks, "2021-03-07T23:59:59.999999999Z", "week1", "2021-03-01", "2021-03-08"},
		{weeks, "2021-03-08", "week2", "2021-03-08", "2021-03-15"},
		{weeks, "2022-03-05", "week53", "2022-02-28", "2022-03-07"},
		{iso, "2021-03-05", "2021-W09", "2021-03-01", "2021-03-08"},
		{iso, "2021-01-01", "2020-W53", "2020-12-28", "2021-01-04"},
		{iso, "2018-12-31", "2019-W01", "2018-12-31", "2019-01-07"},
		{iso, "9999-12-31", "9999-W52", "9999-12-27", "10000-01-03"},
		{codec.Bucket{Every: 2 * week, Label: dates}, "2021-03-05", "2021-02-22", "2021-02-22", "2021-03-08"},
		{codec.Bucket{Every: week, Origin: time.Unix(0, 0), Label: dates}, "2021-03-05", "2021-03-04", "2021-03-04", "2021-03-11"},
		{months(1, ""), "2021-03-05", "2021-03-01", "2021-03-01", "2021-04-01"},
		{months(3, ""), "2021-03-05", "2021-01-01", "2021-01-01", "2021-04-01"},
		{months(3, "2021-02-01"), "2021-01-31", "2020-11-01", "2020-11-01", "2021-02-01"},
		{months(12, ""), "2020-02-29", "2020-01-01", "2020-01-01", "2021-01-01"},
		{months(12, "2021-03-01"), "1971-02-28", "1970-03-01", "1970-03-01", "1971-03-01"},
		{months(24, "2021-01-01"), "2022-12-31", "2021-01-01", "2021-01-01", "2023-01-01"},
	} {
		at := date(tt.at)
		label, err := tt.b.AppendLabel(nil, at)
		got := []string{string(label), tt.b.Start(at).Format(time.DateOnly), tt.b.End(at).Format(time.DateOnly)}
		if err != nil || !slices.Equal(got, []string{tt.label, tt.start, tt.end}) {
			t.Errorf("%+v of %s: %q, %v; want %s from %s to %s", tt.b, tt.at, got, err, tt.label, tt.start, tt.end)
		}
	}
}

func TestBucketBounds(t *testing.T) {
	for _, tt := range []struct {
		b        codec.Bucket
		min, max string
		widest   time.Duration
	}{
		{weeks, "2021-03-01", "", week},
		{codec.Bucket{Every: week, Origin: date("2021-03-01"), Label: mustLabel("w%02d")}, "2021-03-01", "2023-01-23", week},
		{codec.Bucket{Every: week, Origin: date("2021-03-01"), Label: mustLabel("w%018d")}, "2021-03-01", "", week},
		{codec.Bucket{Every: day, Label: mustLabel("unix_s")}, "1970-01-01", "2286-11-21", day},
		{codec.Bucket{Every: day, Label: mustLabel("unix_ns")}, "1970-01-01", "2262-04-12", day},
		{codec.Bucket{Every: week, Label: mustLabel("iso_week")}, "1970-01-05", "", week},
		{codec.Bucket{Every: 90 * time.Minute, Origin: date("2021-03-05T00:30:00Z"), Label: mustLabel("2006-01-02-1504")}, "1970-01-01T00:30:00Z", "", 90 * time.Minute},
		{codec.Bucket{Months: 1, Label: mustLabel("2006-01")}, "1970-01-01", "", 31 * day},
		{codec.Bucket{Months: 6, Label: mustLabel("2006-01")}, "1970-01-01", "", 186 * day},
		{codec.Bucket{Months: 24, Label: mustLabel("2006")}, "1970-01-01", "", 732 * day},
		{codec.Bucket{Months: 12, Origin: date("2021-03-01"), Label: mustLabel("2006-01")}, "1970-03-01", "", 366 * day},
	} {
		end := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
		if tt.max != "" {
			end = date(tt.max)
		}
		if !sameTime(date(tt.min), tt.b.Min()) || !sameTime(end, tt.b.Max()) || tt.b.Widest() != tt.widest {
			t.Errorf("%+v: labels from %v to %v, at most %v each", tt.b, tt.b.Min(), tt.b.Max(), tt.b.Widest())
		}
	}
}

// buckets draws valid buckets of every kind.
func buckets() *rapid.Generator[codec.Bucket] {
	return rapid.Custom(func(t *rapid.T) codec.Bucket {
		var b codec.Bucket
		labels := []string{"unix_s", "unix_ms", "unix_us", "unix_ns", "binary", "binary_ms", "binary4_s", "20060102T150405", "week%d", "%d.", "w%03d.", "%012d"}
		origin := rapid.Bool().Draw(t, "has origin")
		if rapid.Bool().Draw(t, "calendar") {
			b.Months = rapid.SampledFrom([]int{1, 2, 3, 4, 6, 12, 24, 120}).Draw(t, "months")
			if origin {
				at := times(1970, 2300).Draw(t, "origin")
				b.Origin = time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
			}
			labels = append(labels, "2006-01", "2006-002")
			if b.Months%12 == 0 && (!origin || b.Origin.Month() == time.January) {
				labels = append(labels, "2006")
			}
		} else {
			unit := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, day, week}).Draw(t, "unit")
			n := rapid.IntRange(1, 100).Draw(t, "n")
			if unit == time.Second {
				n += 59
			}
			b.Every = unit * time.Duration(n)
			if origin {
				b.Origin = codec.Truncate(times(1970, 2300).Draw(t, "origin"), min(unit, day))
			}
			for layout, r := range map[string]time.Duration{"2006-01-02": day, "2006.002.15": time.Hour, "2006-01-02-1504": time.Minute} {
				if unit >= r {
					labels = append(labels, layout)
				}
			}
			slices.Sort(labels)
			if b.Every == week && (!origin || b.Origin.Weekday() == time.Monday) {
				labels = append(labels, "iso_week")
			}
		}
		b.Label = mustLabel(rapid.SampledFrom(labels).Draw(t, "label"))
		if b.Label.Format.Kind != codec.LayoutTime {
			b.Label.Format = rapid.SampledFrom(reversals(b.Label.Format)).Draw(t, "reverse")
		}
		return b
	})
}

// within draws an instant that has a label.
func within(t *rapid.T, b codec.Bucket, name string) time.Time {
	lo, hi := b.Min(), b.Max()
	s := rapid.Int64Range(lo.Unix(), hi.Unix()).Draw(t, name)
	at := time.Unix(s, rapid.Int64Range(0, 999_999_999).Draw(t, name+" ns")).UTC()
	if !at.Before(hi) {
		return hi.Add(-1)
	}
	return at
}

func TestBucketProperties(t *testing.T) {
	testlong.Checks(t, 100)
	check(t, "buckets tile time", func(t *rapid.T) {
		b, at := buckets().Draw(t, "bucket"), times(1, 9999).Draw(t, "t")
		start, end := b.Start(at), b.End(at)
		if end.Sub(start) > b.Widest() {
			t.Fatalf("[%v, %v) is wider than %v", start, end, b.Widest())
		}
		if start.After(at) || !at.Before(end) {
			t.Fatalf("%v is not in [%v, %v)", at, start, end)
		}
		if !b.Start(start).Equal(start) || !b.Start(end.Add(-1)).Equal(start) || !b.Start(end).Equal(end) {
			t.Fatalf("[%v, %v) overlaps its neighbours", start, end)
		}
		if o := b.Origin; !o.IsZero() && !b.Start(o).Equal(o) {
			t.Fatalf("no bucket starts at the origin %v", o)
		}
	})
	check(t, "label round trip", func(t *rapid.T) {
		b := buckets().Draw(t, "bucket")
		at := within(t, b, "t")
		label, err := b.AppendLabel([]byte("x"), at)
		must(t, err)
		there := at.In(time.FixedZone("", -11*3600)) // all days have 24 hours
		if again, err := b.AppendLabel([]byte("x"), there); err != nil || string(again) != string(label) || !b.Start(there).Equal(b.Start(at)) {
			t.Fatalf("%v has %s, %v, and %v has %s", at, label, err, there, again)
		}
		for i := range len(label) - 1 { // only labels are read
			in := rapid.SampledFrom([]string{"", "#", "0", "1", "2", "9", "a", "Z", "-", " ", strings.Repeat("9", 20)}).Draw(t, "in")
			changed := string(label[1:1+i]) + in + string(label[1+i+rapid.IntRange(0, 1).Draw(t, "out"):])
			if at, err := b.ParseLabel(changed); err == nil && string(first(b.AppendLabel(nil, at))) != changed {
				t.Fatalf("%s is read as %v", changed, at)
			} else if err != nil && !errors.Is(err, codec.ErrTimeRange) {
				t.Fatal(err)
			}
		}
		got, err := b.ParseLabel(string(label[1:]))
		if b.Width() != 0 && b.Width() != len(label)-1 {
			t.Fatalf("%s has not the width %d", label, b.Width())
		}
		if err != nil || !sameTime(b.Start(at), got) {
			t.Fatalf("%s is read as %v, %v; want %v", label, got, err, b.Start(at))
		}
	})
	check(t, "labels are of their buckets alone, and sorted ones sort", func(t *rapid.T) {
		b := buckets().Draw(t, "bucket")
		x, y := within(t, b, "x"), within(t, b, "y")
		if rapid.Bool().Draw(t, "neighbours") {
			y = laterOf(b.Min(), b.Start(x).Add(-1))
		}
		a, _ := b.AppendLabel(nil, x)
		c, _ := b.AppendLabel(nil, y)
		if (string(a) == string(c)) != b.Start(x).Equal(b.Start(y)) {
			t.Fatalf("%v has %s, %v has %s", x, a, y, c)
		}
		order := b.Start(x).Compare(b.Start(y))
		if b.Descending() {
			order = -order
		}
		if b.Sorted() && bytes.Compare(a, c) != order {
			t.Fatalf("%v has %s, %v has %s", x, a, y, c)
		}
	})
	check(t, "there are labels from Min to Max only", func(t *rapid.T) {
		b, at := buckets().Draw(t, "bucket"), times(1, 9999).Draw(t, "t")
		for _, at := range []time.Time{at, b.Min(), b.Min().Add(-1), b.Max(), b.Max().Add(-1)} {
			_, err := b.AppendLabel(nil, at)
			want := !at.Before(b.Min()) && at.Before(b.Max())
			if (err == nil) != want || err != nil && !errors.Is(err, codec.ErrTimeRange) {
				t.Fatalf("label of %v in [%v, %v): %v", at, b.Min(), b.Max(), err)
			}
		}
	})
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A label of the right form that is not the start of a bucket was written with another
// bucket width, before a change of the schema. The error says so.
func TestLabelOfOtherBuckets(t *testing.T) {
	dates := mustLabel("2006-01-02")
	for _, tt := range []struct {
		b           codec.Bucket
		label, want string
	}{
		{codec.Bucket{Every: week, Label: dates}, "2021-03-05", "the start of a bucket, such as 2021-03-01 or 2021-03-08: the row was written with another bucket width or origin"},
		{codec.Bucket{Every: day, Label: mustLabel("2006-01-02T15")}, "2021-03-05T13", "the start of a bucket, such as 2021-03-05T00 or 2021-03-06T00"},
		{codec.Bucket{Months: 3, Label: mustLabel("2006-01")}, "2021-02", "the start of a bucket, such as 2021-01 or 2021-04"},
		{codec.Bucket{Months: 24, Label: mustLabel("2006")}, "2021", "the start of a bucket, such as 2020 or 2022"},
		{codec.Bucket{Every: week, Label: dates}, "2021-3-05", "a label of the form 2006-01-02"},
		{weeks, "week01", "a label of the form week%d"},
	} {
		inKey := parts{value("host", plain, ""), bucket(tt.b, time.Time{})}.parse("a#"+tt.label, "#")
		for _, err := range []error{inKey, second(tt.b.ParseLabel(tt.label))} {
			assert.Contains(t, tt.want, err, tt.label)
		}
	}
}

func second(_ time.Time, err error) error { return err }

func first(b []byte, _ error) []byte { return b }

// A bucket with all events has no label, and contains every time that an event can have.
func TestEndlessBucket(t *testing.T) {
	b := codec.EndlessBucket
	if !b.Endless() || !b.Sorted() || b.Width() != 0 {
		t.Error(b)
	}
	for _, at := range []string{"1970-01-01", "2021-03-05T12:00:00Z", "9999-12-31T23:59:59.999999999Z"} {
		label, err := b.AppendLabel(nil, date(at))
		if start := b.Start(date(at)); err != nil || string(label) != "" || !start.Equal(b.Min()) || !b.End(date(at)).Equal(b.Max()) {
			t.Errorf("%s: %q, %v, from %v", at, label, err, start)
		}
	}
	for _, at := range []time.Time{date("1969-12-31T23:59:59Z"), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, err := b.AppendLabel(nil, at)
		assert.Is(t, codec.ErrTimeRange, err, at)
	}
	s := codec.Span{Prefix: "a#pump-1", Whole: true, Exact: true}
	want := codec.Rows{Start: "a#pump-1", End: "a#pump-1\x00"}
	if got, one := s.One(b, date("2021-03-05"), date("2021-03-06")); !one || got.Start != want.Start || got.End != want.End {
		t.Errorf("%+v", got)
	}
	if got := s.All(); got.Start != want.Start || got.End != want.End || s.Has("a#pump-17") || !s.Has("a#pump-1") {
		t.Errorf("%+v", got)
	}
}

// The last segment of a key without the time may be the rest of the key, whatever it contains.
func TestRestOfKey(t *testing.T) {
	for delimiter, form := range map[string]codec.KeyForm{"#": plain, "": inBinary} {
		device := "a#b\x00\x01"
		k, v := parts{value("id", form, int64(7)), series(codec.Segment{Joined: true}, &device)}.key(delimiter)
		key, err := k.Append(nil, &v)
		device = ""
		if wrong := k.Parse(string(key), &v); err != nil || device != "a#b\x00\x01" || wrong != nil || !strings.HasSuffix(string(key), device) {
			t.Errorf("%q, %v: %q, %v", key, err, device, wrong)
		}
	}
}
