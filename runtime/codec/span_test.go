package codec_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

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

// checkRequests fails unless the requests of some buckets are one range, or one range each, or lists of keys that are as
// long as they may be.
func checkRequests(t *rapid.T, requests []codec.Rows, buckets int64, one bool, s codec.Span) {
	keys, before := int64(0), 0 // bytes of the list before
	for i, r := range requests {
		size := func(k string) int {
			if r.Reverse {
				return 2*len(k) + 10 // as a range
			}
			return len(k) + 3
		}
		all := 0
		for _, k := range r.Keys {
			all += size(k)
		}
		if s.MaxBytes > 0 && all > s.MaxBytes && len(r.Keys) > 1 {
			t.Fatalf("list of %d bytes: %q", all, r.Keys)
		}
		if keys += int64(len(r.Keys)); i > 0 && r.Keys != nil {
			last, next := slices.Max(requests[i-1].Keys), slices.Min(r.Keys)
			if r.Reverse {
				last, next = slices.Max(r.Keys), slices.Min(requests[i-1].Keys)
			}
			if last < next && (s.MaxBytes == 0 || before+size(next) <= s.MaxBytes) {
				t.Fatalf("two lists: %+v and %+v", requests[i-1], r)
			}
		}
		before = all
	}
	n := int64(len(requests))
	if one && (n > 1 || keys > 0) || !one && (s.Whole && keys != buckets || !s.Whole && n != buckets) || n > buckets {
		t.Fatalf("%d buckets, and %+v", buckets, requests)
	}
}

// ends may follow the time in a key.
var ends = rapid.SampledFrom([]string{"x", "y", "\x00", "\xff", "0", "x\x00", "\xff\xff"})

func TestSpanBuckets(t *testing.T) {
	testlong.Checks(t, 100)
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
		} else if rapid.Bool().Draw(t, "first") {
			from = b.Min().Add(-3 * width)
		}
		to := from.Add(time.Duration(rapid.OneOf(rapid.Float64Range(-0.1, 1), rapid.Float64Range(-0.1, 15)).Draw(t, "widths") * float64(width)))
		requests := slices.Collect(s.Buckets(b, from, to))
		checkRequests(t, requests, b.Count(from, to), b.Sorted() && s.Suffix == "", s)
		for range s.Buckets(b, from, to) {
			break // must not continue
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
	testlong.Checks(t, 100)
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
			at, err = f.Parse(string(text[len(s.Prefix):])) // with the resolution of the format
			must(t, err)
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
		{"2006-01-02-1504", "2021-03-05T12:00:01Z", "2021-03-05T12:03:01Z", false, "2021-03-05-1201", "2021-03-05-1204"},
		{"2006-01-02-1504", "2021-03-05T12:00:01Z", "2021-03-05T12:00:59Z", false, "", ""},
		{"2006-01", "2021-03-05", "2021-05-01", false, "2021-04", "2021-05"},
		{"2006-01-02", "2021-03-05", "9999-12-31T12:00:00Z", false, "2021-03-05", "9999-12-32"},
		{"unix_s", "1900-01-01", "9000-01-01", false, "0000000000", "999999999:"},
		{"unix_s", "1900-01-01", "1970-01-01", false, "", ""},
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

// The rows that remain after a read up to a key, and those with greater keys.
func TestRowsAfter(t *testing.T) {
	testlong.Checks(t, 100)
	var all []string
	for _, k := range []string{"a", "b", "c", "d"} {
		all = append(all, k, k+"\x00", k+"a")
	}
	key := rapid.SampledFrom(all)
	check(t, "exactly the keys that follow", func(t *rapid.T) {
		r := codec.Rows{Start: key.Draw(t, "start"), Reverse: rapid.Bool().Draw(t, "reverse")}
		if rapid.Bool().Draw(t, "list") {
			r = codec.Rows{Keys: rapid.SliceOfNDistinct(key, 1, 6, rapid.ID).Draw(t, "keys"), Reverse: r.Reverse}
			slices.Sort(r.Keys)
		} else if rapid.Bool().Draw(t, "end") {
			r.End = key.Draw(t, "end")
		}
		of := key.Draw(t, "key")
		after, someAfter := r.After(of)
		behind, someBehind := r.Behind(of)
		if after.Reverse != r.Reverse || behind.Reverse != r.Reverse || someAfter && empty(after) || someBehind && empty(behind) {
			t.Fatalf("%+v: after %q %+v, behind it %+v", r, of, after, behind)
		}
		for _, k := range all {
			greater, in := k > of, contains(r, k) && k != of
			if (someAfter && contains(after, k)) != (in && greater != r.Reverse) || (someBehind && contains(behind, k)) != (in && greater) {
				t.Fatalf("%+v with %q: after %q %+v, %v, behind it %+v, %v", r, k, of, after, someAfter, behind, someBehind)
			}
		}
	})
}

// empty reports whether no key is in some rows.
func empty(r codec.Rows) bool {
	return len(r.Keys) == 0 && (r.Keys != nil || r.End != "" && r.Start >= r.End)
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
