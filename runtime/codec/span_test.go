package codec_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func collect(s codec.Span, b codec.Bucket, from, to time.Time) []codec.Rows {
	return slices.Collect(s.Buckets(b, from, to))
}

func keys(reverse bool, keys ...string) codec.Rows { return codec.Rows{Keys: keys, Reverse: reverse} }

func span(reverse bool, start, end string) codec.Rows {
	return codec.Rows{Start: start, End: end, Reverse: reverse}
}

// The keys of each kind of span, oldest first and newest first.
func TestSpan(t *testing.T) {
	padded, seconds := weeks, weeks
	padded.Label = mustLabel("w%02d")
	seconds.Label = mustLabel("unix_s")
	seconds.Label.Format.Reverse = true // 9999999999 − 1619395200 on 2021-04-26
	from, to := date("2021-03-01").Add(8*week), date("2021-03-01").Add(10*week)
	for _, tt := range []struct {
		name   string
		s      codec.Span
		b      codec.Bucket
		oldest []codec.Rows
	}{
		{"numbers, label at the end", codec.Span{Prefix: "p#", Whole: true}, weeks,
			[]codec.Rows{keys(false, "p#week9"), keys(false, "p#week10")}},
		{"numbers, a known end", codec.Span{Prefix: "p#", Delimiter: "#", Suffix: "x", Whole: true}, weeks,
			[]codec.Rows{keys(false, "p#week9#x"), keys(false, "p#week10#x")}},
		{"numbers, an open end", codec.Span{Prefix: "p#", Delimiter: "#"}, weeks,
			[]codec.Rows{span(false, "p#week9#", "p#week9$"), span(false, "p#week10#", "p#week10$")}},
		{"numbers, a known segment and an open end", codec.Span{Prefix: "p#", Delimiter: "#", Suffix: "x#"}, weeks,
			[]codec.Rows{span(false, "p#week9#x#", "p#week9#x$"), span(false, "p#week10#x#", "p#week10#x$")}},
		{"padded, label at the end", codec.Span{Prefix: "p#", Whole: true}, padded,
			[]codec.Rows{span(false, "p#w09", "p#w10\x00")}},
		{"padded, a known end", codec.Span{Prefix: "p#", Delimiter: "#", Suffix: "x", Whole: true}, padded,
			[]codec.Rows{keys(false, "p#w09#x", "p#w10#x")}},
		{"padded, an open end", codec.Span{Prefix: "p#", Delimiter: "#"}, padded,
			[]codec.Rows{span(false, "p#w09#", "p#w10$")}},
		{"reversed, label at the end", codec.Span{Prefix: "p#", Whole: true}, seconds,
			[]codec.Rows{span(true, "p#8379999999", "p#8380604799\x00")}},
		{"reversed, a known end", codec.Span{Prefix: "p#", Delimiter: "#", Suffix: "x", Whole: true}, seconds,
			[]codec.Rows{keys(true, "p#8379999999#x", "p#8380604799#x")}},
		{"reversed, an open end, binary", codec.Span{Prefix: "p"}, seconds,
			[]codec.Rows{span(true, "p8379999999", "p838060479:")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.oldest, collect(tt.s, tt.b, from, to)); d != "" {
				t.Errorf("oldest first: %s", d)
			}
			if one := collect(tt.s, tt.b, from, to.Add(-week)); len(tt.oldest) == 2 && !cmp.Equal(tt.oldest[:1], one) {
				t.Errorf("one bucket: %+v", one)
			}
			tt.s.Newest = true
			slices.Reverse(tt.oldest)
			for i := range tt.oldest {
				tt.oldest[i].Reverse = !tt.oldest[i].Reverse
			}
			if d := cmp.Diff(tt.oldest, collect(tt.s, tt.b, from, to)); d != "" {
				t.Errorf("newest first: %s", d)
			}
			for range tt.s.Buckets(tt.b, from, to) {
				break // must not continue
			}
			for _, r := range [][2]time.Time{{from, from}, {to, from}} {
				if got := collect(tt.s, tt.b, r[0], r[1]); got != nil {
					t.Errorf("nothing in [%v, %v): %v", r[0], r[1], got)
				}
			}
		})
	}
}

// stored is one row of the test table.
type stored struct {
	key   string
	times [2]time.Time // the row holds times in [times[0], times[1])
	match bool         // the span includes its other segments
}

// checkSpan fails unless the requests contain each matching row with a time in [from,
// to) exactly once and in order of time.
func checkSpan(t *rapid.T, requests []codec.Rows, rows []stored, from, to time.Time, newest bool) {
	t.Helper()
	for _, r := range requests {
		if len(r.Keys) == 0 && r.Start == "" && r.End == "" || !slices.IsSorted(r.Keys) {
			t.Fatalf("request %+q", r.Keys)
		}
	}
	var last time.Time
	slices.SortFunc(rows, func(a, b stored) int { return strings.Compare(a.key, b.key) })
	seen := map[string]int{}
	for _, r := range requests {
		read := slices.Clone(rows)
		if r.Reverse {
			slices.Reverse(read)
		}
		for _, row := range read {
			if !contains(r, row.key) {
				continue
			}
			seen[row.key]++
			at := row.times[0]
			if !last.IsZero() && (newest && at.After(last) || !newest && at.Before(last)) {
				t.Fatalf("%q of %v is read after %v", row.key, at, last)
			}
			last = at
		}
	}
	for _, row := range rows {
		want := 0
		if from.Before(to) && row.match && row.times[0].Before(to) && from.Before(row.times[1]) {
			want = 1
		}
		if seen[row.key] != want {
			t.Fatalf("%q of %v is in %d requests, want %d: %+v", row.key, row.times, seen[row.key], want, requests)
		}
	}
}

// ends may follow the time in a key.
var ends = rapid.SampledFrom([]string{"x", "y", "\x00", "\xff", "0", "x\x00", "\xff\xff"})

func TestSpanBuckets(t *testing.T) {
	check(t, "exactly the buckets that overlap, in order", func(t *rapid.T) {
		b := buckets().Draw(t, "bucket")
		s := codec.Span{
			Prefix:    rapid.SampledFrom([]string{"", "p#", "\xff"}).Draw(t, "prefix"),
			Delimiter: rapid.SampledFrom([]string{"#", "::", "/", "\x00", "|"}).Draw(t, "delimiter"),
			Newest:    rapid.Bool().Draw(t, "newest"),
			MaxBytes:  rapid.SampledFrom([]int{0, 1, 60, 1000}).Draw(t, "maxBytes"),
			Whole:     rapid.Bool().Draw(t, "whole"),
		}
		if b.Width() > 0 && rapid.Bool().Draw(t, "binary") {
			s.Delimiter = ""
		}
		if rapid.Bool().Draw(t, "suffix") {
			s.Suffix = "x"
			if !s.Whole {
				s.Suffix += s.Delimiter
			}
		}
		width := b.Widest()
		from := within(t, b, "from")
		if rapid.Bool().Draw(t, "last") {
			from = b.Max().Add(-10 * width)
		}
		to := from.Add(time.Duration(rapid.OneOf(rapid.Float64Range(-0.1, 1), rapid.Float64Range(-0.1, 15)).Draw(t, "widths") * float64(width)))
		requests, keys := collect(s, b, from, to), 0
		for _, r := range requests {
			size := 0
			keys += len(r.Keys)
			for _, k := range r.Keys {
				if size += len(k) + 3; r.Reverse {
					size += len(k) + 7 // as a range
				}
			}
			if s.MaxBytes > 0 && size > s.MaxBytes && len(r.Keys) > 1 {
				t.Fatalf("list of %d bytes: %q", size, r.Keys)
			}
		}
		if n := b.Count(from, to); s.Whole && (s.Suffix != "" || !b.Sorted()) && n != int64(keys) {
			t.Fatalf("%d buckets, and %d keys", n, keys)
		}
		var rows []stored
		at := laterOf(b.Min(), from.Add(-12*width))
		for ; at.Before(to.Add(12*width)) && at.Before(b.Max()); at = b.End(at) {
			label, err := b.AppendLabel([]byte(s.Prefix), at)
			must(t, err)
			key := string(label)
			switch {
			case s.Whole && s.Suffix == "":
			case s.Whole:
				key += s.Delimiter + rapid.SampledFrom([]string{"x", "y", "x\x00"}).Draw(t, "end")
			case s.Suffix != "":
				key += s.Delimiter + rapid.SampledFrom([]string{"x", "y"}).Draw(t, "known") + s.Delimiter + ends.Draw(t, "end")
			default:
				key += s.Delimiter + ends.Draw(t, "end")
			}
			match := key == s.Prefix+string(label[len(s.Prefix):])+s.Delimiter+s.Suffix || s.Suffix == "" ||
				!s.Whole && strings.HasPrefix(key, string(label)+s.Delimiter+s.Suffix)
			rows = append(rows, stored{key, [2]time.Time{b.Start(at), b.End(at)}, match})
		}
		checkSpan(t, requests, rows, from, to, s.Newest)
	})
}

func TestSpanTimes(t *testing.T) {
	check(t, "exactly the keys in the range, in order", func(t *rapid.T) {
		f := formats().Draw(t, "format")
		s := codec.Span{Prefix: rapid.SampledFrom([]string{"", "p#", "\xff"}).Draw(t, "prefix"), Newest: rapid.Bool().Draw(t, "newest")}
		delim := rapid.SampledFrom([]string{"#", "::", "/", "\x00", "|", ""}).Draw(t, "delimiter")
		from, to := near().Draw(t, "from"), near().Draw(t, "to")
		var rows []stored
		for _, at := range rapid.SliceOfN(near(), 1, 20).Draw(t, "times") {
			text, err := f.Append([]byte(s.Prefix), at)
			if err != nil {
				continue
			}
			key := string(text) + delim + ends.Draw(t, "end")
			if rapid.Bool().Draw(t, "nothing follows") {
				key = string(text)
			}
			at = asInKey(f, at)
			if !slices.ContainsFunc(rows, func(r stored) bool { return r.key == key }) {
				// An instant is a range that contains nothing else.
				rows = append(rows, stored{key, [2]time.Time{at, at.Add(1)}, true})
			}
		}
		// Rows are selected by the time in their keys alone.
		var requests []codec.Rows
		if r, ok := s.Times(f, from, to); ok {
			requests = append(requests, r)
		}
		checkSpan(t, requests, rows, from, to, s.Newest)
	})
}

func TestSpanTimesBytes(t *testing.T) {
	for _, tt := range []struct {
		format, from, to string
		reverse          bool
		start, end       string // none if empty
	}{
		{"2006-01-02-1504", "2021-03-05T12:00:00Z", "2021-03-05T12:04:00Z", false, "2021-03-05-1200", "2021-03-05-1204"},
		{"2006-01-02-1504", "2021-03-05T12:00:01Z", "2021-03-05T12:03:01Z", false, "2021-03-05-1201", "2021-03-05-1204"},
		{"2006-01-02-1504", "2021-03-05T12:00:01Z", "2021-03-05T12:00:59Z", false, "", ""},
		{"2006-01", "2021-03-05", "2021-05-01", false, "2021-04", "2021-05"},
		{"2006", "2021-03-05", "2022-03-05", false, "2022", "2023"},
		{"2006-01-02", "2021-03-05", "9999-12-31T12:00:00Z", false, "2021-03-05", "9999-12-32"},
		{"unix_s", "1900-01-01", "9000-01-01", false, "0000000000", "999999999:"},
		{"unix_s", "1900-01-01", "1970-01-01", false, "", ""},
		{"unix_s", "9000-01-01", "9000-01-02", false, "", ""},
		{"unix_s", "2021-03-05", "2021-03-05", false, "", ""},
		{"unix_s", "2021-03-05", "2021-03-04", false, "", ""},
		{"unix_s", "2021-03-05T12:00:00Z", "2021-03-05T12:04:00Z", true, "8385054160", "838505439:"},
		{"unix_s", "2021-03-05T12:00:00Z", "9999-12-31", true, "0000000000", "838505439:"},
		{"binary", "2021-03-05T12:00:00Z", "2021-03-05T12:04:00Z", false, "\x00\x05\xbc\xc8\xd2\xd1\xd0\x00", "\x00\x05\xbc\xc8\xe1\x1f\xec\x00"},
		{"binary", "2021-03-05T12:00:00Z", "2021-03-05T12:04:00Z", true, "\x7f\xfa\x43\x37\x1e\xe0\x14\x00", "\x7f\xfa\x43\x37\x2d\x2e\x30"},
	} {
		f := mustFormat(tt.format)
		f.Reverse = tt.reverse
		for _, newest := range []bool{false, true} {
			got, ok := codec.Span{Prefix: "p#", Newest: newest}.Times(f, date(tt.from), date(tt.to))
			want := codec.Rows{Start: "p#" + tt.start, End: "p#" + tt.end, Reverse: newest != tt.reverse}
			if d := cmp.Diff(want, got); ok != (tt.start != "") || ok && d != "" {
				t.Errorf("%+v, newest first %v: %v, %s", tt, newest, ok, d)
			}
		}
	}
}

// Rows that remain after some were read, in both directions.
func TestRowsAfter(t *testing.T) {
	for _, tt := range []struct {
		rows codec.Rows
		key  string
		want codec.Rows
		some bool
	}{
		{span(false, "b", "d"), "c", span(false, "c\x00", "d"), true},
		{span(false, "b", "d"), "a", span(false, "b", "d"), true},
		{span(false, "b", "c\x00"), "c", span(false, "c\x00", "c\x00"), false},
		{span(false, "b", "d"), "e", span(false, "e\x00", "d"), false},
		{span(false, "b", ""), "e", span(false, "e\x00", ""), true},
		{span(true, "b", "d"), "c", span(true, "b", "c"), true},
		{span(true, "b", "d"), "e", span(true, "b", "d"), true},
		{span(true, "b", "d"), "b", span(true, "b", "b"), false},
		{span(true, "b", ""), "e", span(true, "b", "e"), true},
		{keys(false, "b", "c", "d"), "c", keys(false, "d"), true},
		{keys(true, "b", "c", "d"), "c", keys(true, "b"), true},
		{keys(false, "b", "c"), "c", keys(false), false},
	} {
		got, some := tt.rows.After(tt.key)
		if some != tt.some || some && !cmp.Equal(tt.want, got) {
			t.Errorf("%+v after %q: %+v, %v; want %+v, %v", tt.rows, tt.key, got, some, tt.want, tt.some)
		}
	}
}

// A pattern for the times of a range matches those, and no others: also if the labels of buckets have
// other numbers of digits at its ends.
func TestWithin(t *testing.T) {
	reversed := codec.TimeFormat{Kind: codec.UnixMillis, Reverse: true}
	formats := []codec.TimeFormat{{Kind: codec.UnixSeconds}, {Layout: "2006-01-02T15"}, reversed}
	rapid.Check(t, func(t *rapid.T) {
		instant := rapid.Custom(func(t *rapid.T) time.Time {
			return date("2021-03-01").Add(time.Duration(rapid.Int64Range(0, int64(10*time.Hour)).Draw(t, "ns")))
		})
		from, to, at := instant.Draw(t, "from"), instant.Draw(t, "to"), instant.Draw(t, "at")
		within := func(times codec.KeyTimes, text []byte) bool {
			pattern, ok := times.Within(from, to)
			return ok && matches(pattern, string(text))
		}
		f := rapid.SampledFrom(formats).Draw(t, "format")
		text, err := f.Append(nil, at)
		must(t, err)
		said, _ := f.Parse(string(text)) // rounded down
		if got, want := within(f, text), !said.Before(from) && said.Before(to); got != want {
			t.Errorf("%s of [%v, %v): %v, want %v", text, from, to, got, want)
		}
		numbers := codec.Label{Kind: codec.NumberLabel, Prefix: "w", Suffix: rapid.SampledFrom([]string{"", "0"}).Draw(t, "suffix")}
		b := codec.Bucket{Every: time.Hour, Origin: date("2021-03-01").Add(-95 * time.Hour), Label: numbers}
		if rapid.Bool().Draw(t, "sorted") {
			b.Label = codec.Label{Format: codec.TimeFormat{Layout: "2006-01-02T15"}}
		}
		label, err := b.AppendLabel(nil, at)
		if got, want := within(b, label), from.Before(to) && b.End(at).After(from) && b.Start(at).Before(to); err != nil || got != want {
			t.Errorf("bucket %s of [%v, %v): %v, want %v, %v", label, from, to, got, want, err)
		}
	})
}

// matches reports whether text, in ASCII, matches a pattern.
func matches(p codec.KeyPieces, text string) bool {
	return regexp.MustCompile("^(?:" + strings.ReplaceAll(p.Regexp(), `\C`, `[\x00-\x7f]`) + ")$").MatchString(text)
}

// Behind returns the rows after a key in key order.
func TestBehind(t *testing.T) {
	for _, rows := range []codec.Rows{{Start: "a#1", End: "a#5", Reverse: true}, {Keys: []string{"b#1", "b#7"}}} {
		for _, test := range []struct {
			key  string
			some bool
		}{{"", true}, {"a#0", true}, {"a#3", true}, {"b#1", rows.Keys != nil}, {"c", false}} {
			rest, some := rows.Behind(test.key)
			if some != test.some || some && rows.Keys == nil && rest.Start <= test.key || rest.Reverse != rows.Reverse || slices.Contains(rest.Keys, test.key) {
				t.Errorf("%+v behind %q: %+v, %v", rows, test.key, rest, some)
			}
		}
	}
}

// The latest buckets are one range or, with unpadded labels, the keys of a prefix that
// match a pattern. If there is neither, Recent returns false without iterating over
// buckets.
func TestRecent(t *testing.T) {
	sorted := codec.Bucket{Every: time.Minute, Label: codec.Label{Kind: codec.TimeLabel, Format: codec.TimeFormat{Kind: codec.UnixSeconds}}}
	numbered := codec.Bucket{Every: time.Minute, Label: codec.Label{Kind: codec.NumberLabel, Prefix: "m"}}
	now := time.Unix(59, 0)
	rows, form, ok := codec.Span{Prefix: "a#", Whole: true}.Recent(sorted, now)
	if low, _ := sorted.AppendLabel([]byte("a#"), time.Unix(0, 0)); !ok || form != nil || rows.Start != string(low) || rows.End <= rows.Start {
		t.Errorf("%+v, %v, %v", rows, form, ok)
	}
	if rows, form, ok := (codec.Span{Prefix: "a#", Whole: true}).Recent(numbered, now); !ok || form == nil || rows.Start != "a#" {
		t.Errorf("%+v, %v, %v", rows, form, ok)
	}
	if _, _, ok := (codec.Span{Prefix: "a#", Delimiter: "#", Suffix: "b", Whole: true}).Recent(sorted, now); ok {
		t.Error("a range for what has a suffix")
	}
}

// TestSpanBetween checks the span of the rows between two others: there is none, and so no request, if they are the same or inverted.
func TestSpanBetween(t *testing.T) {
	low, high := codec.Span{Prefix: "a#s3"}, codec.Span{Prefix: "a#s6"}
	if s, some := codec.Between(low, high); !some || s.Prefix != "a#s" || s.Begin() != "a#s3" || s.All().End != "a#s6" {
		t.Errorf("%+v, %t", s, some)
	}
	for _, ends := range [][2]codec.Span{{low, low}, {high, low}} {
		if s, some := codec.Between(ends[0], ends[1]); some {
			t.Errorf("%+v", s)
		}
	}
}

// asInKey returns t with the resolution and range of f.
func asInKey(f codec.TimeFormat, t time.Time) time.Time {
	s, err := f.Append(nil, t)
	if err != nil {
		panic(err)
	}
	got, err := f.Parse(string(s))
	if err != nil {
		panic(err)
	}
	return got
}
