package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/window"
)

// withKey gives a mapping other row keys.
func withKey(l *mappingOf[sample], id string, key codec.Key) *mappingOf[sample] {
	l.Table.ID, l.Key = id, key
	keys := l.untyped()
	l.Put = func(e *sample, c *eventCells) {
		c.Row(keys.rowKey(event{e}, ""))
		c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
		if e.Note != nil {
			c.Set(1, e.Note)
		}
	}
	return l
}

// partedMappings are mappings whose windows are read in parts: with plain, salted and reversed keys.
func partedMappings() []*mappingOf[sample] {
	salt := codec.Segment{Kind: codec.SaltSegment, Buckets: 5, Salted: []int{0}}
	series, bucket, moment := codec.Segment{Name: "series"}, codec.Segment{Kind: codec.BucketSegment}, codec.Segment{Kind: codec.TimeSegment}
	falling := codec.TimeFormat{Kind: codec.UnixMillis, Reverse: true}
	day := days().Key.Bucket
	fallingDay := codec.Bucket{Every: 24 * time.Hour, Label: codec.Label{Format: falling}}
	return []*mappingOf[sample]{
		days(), singles(), metrics(), classed(days()), unsorted(metrics()),
		withKey(days(), "salted", codec.Key{Delimiter: "#", Segments: []codec.Segment{salt, series, bucket}, Bucket: day}),
		withKey(singles(), "salted_singles", codec.Key{Delimiter: "#", Segments: []codec.Segment{salt, series, moment}, Time: falling}),
		withKey(days(), "falling", codec.Key{Delimiter: "#", Segments: []codec.Segment{series, bucket}, Bucket: fallingDay}),
		withKey(singles(), "falling_singles", codec.Key{Delimiter: "#", Segments: []codec.Segment{series, moment}, Time: falling}),
		withKey(days(), "falling_salted", codec.Key{Delimiter: "#", Segments: []codec.Segment{salt, series, bucket}, Bucket: fallingDay}),
		withKey(days(), "terminated", codec.Key{Segments: []codec.Segment{series, bucket}, Bucket: codec.Bucket{Every: 24 * time.Hour, Label: codec.Label{Format: codec.TimeFormat{Kind: codec.BinaryTime}}}}),
	}
}

// windowsIn returns the windows of a read, and its errors among them.
func windowsIn(ctx context.Context, r *readerOf[sample], l *mapping, of Selection, from, to time.Time, width time.Duration, o WindowOptions) (out []string) {
	for w, err := range readWindows(ctx, r, intoColumns(l), sampleWindows, of, from, to, window.Every(width), o) {
		if err != nil {
			out = append(out, "error: "+err.Error())
			continue
		}
		out = append(out, fmt.Sprintf("%s undecodable %d", windowText(w), w.Undecodable))
	}
	return out
}

// TestKeyScale checks that keys between others are in order, in range, and never in the middle of a series.
func TestKeyScale(t *testing.T) {
	same(t, "a5#", newKeyScale("a1#", "a9#", "#", 0).at(0.5))
	rapid.Check(t, func(t *rapid.T) {
		delimiter, most := "", 4
		name := rapid.StringMatching(`[\x00-\xff]{4}`)
		if rapid.Bool().Draw(t, "delimiter") {
			delimiter, most = "#", 0
			name = rapid.StringMatching(`([0-9]{1,4}|[a-f0-9]{3}|[a-zA-Z_ -]{0,5})#([0-9]{1,4}|[a-f0-9]{3}|[a-zA-Z_ -]{0,5})#`)
		}
		names := rapid.SliceOfN(name, 2, 20).Draw(t, "series")
		slices.Sort(names)
		from, to := names[0], names[len(names)-1]
		if rapid.Bool().Draw(t, "backward") {
			from, to = to, from
		}
		s := newKeyScale(from, to, delimiter, most)
		last := ""
		for i := range 50 {
			at := s.at(float64(i+1) / 50)
			if i > 0 && at != last && (at < last) != (to < from) {
				t.Fatalf("%q comes after %q on the way from %q to %q", at, last, from, to)
			}
			last = at
			for _, n := range names {
				if len(at) > len(n) && strings.HasPrefix(at, n) {
					t.Fatalf("%q is in the series %q", at, n)
				}
			}
		}
	})
}

// layoutsByTime returns days until a time, and hours since then, in the same table.
func layoutsByTime(since time.Time) *mappingOf[sample] {
	hour := codec.Bucket{Every: time.Hour, Label: codec.Label{Format: codec.TimeFormat{Kind: codec.UnixMillis}}}
	l, older := days(), days()
	l.Key.Bucket = hour
	older.Table.ID, l.Since, l.Older = "layouts", since, []*mappingOf[sample]{older}
	return withKey(l, "layouts", l.Key)
}

// timeFirst returns days of all series, with the day before the series in row keys.
func timeFirst() *mappingOf[sample] {
	salt := codec.Segment{Kind: codec.SaltSegment, Buckets: 3, Salted: []int{0}}
	segments := []codec.Segment{salt, {Kind: codec.BucketSegment}, {Name: "series"}}
	return withKey(days(), "time_first", codec.Key{Delimiter: "#", Segments: segments, Bucket: days().Key.Bucket})
}

// fieldRows are mappings in which the rows of the fields of an event cannot be joined without the series.
func fieldRows() []*mappingOf[sample] {
	behind := metrics() // the metric follows the bucket
	behind.Table.ID = "behind"
	behind.Key.Segments = []codec.Segment{{Name: "series"}, {Kind: codec.BucketSegment}, {Kind: codec.MetricSegment}}
	behind.Put = func(e *sample, c *eventCells) {
		for column, datum := range [][]byte{strconv.AppendUint(nil, e.Value, 10), e.Note} {
			if datum != nil {
				c.Row(rowOf(behind, e, column))
				c.Set(column, datum)
			}
		}
	}
	later, earlier := metrics(), days()
	later.Older, later.Since = []*mappingOf[sample]{days()}, at(86400*3)
	earlier.Older, earlier.Since = []*mappingOf[sample]{metrics()}, at(86400*3)
	return []*mappingOf[sample]{metrics(), behind, later, earlier}
}

// TestWindowsInParts compares windows read in many parts, also with streams that break, with those read in one, for
// all kinds of keys, patterns, layouts and selections. A value is undecodable.
func TestWindowsInParts(t *testing.T) {
	t.Parallel()
	const now = 86400 * 6
	others := []*mappingOf[sample]{unsorted(days()), timeFirst(), layoutsByTime(at(86400 * 3))}
	kinds := slices.Concat(strategies(), partedMappings(), fieldRows(), others)
	for _, l := range testlong.Sample(kinds, 5) {
		random := rand.New(rand.NewPCG(29, 3))
		bt := windowed(t, l, now, sparse(random, l, 6, 20))
		spoil(t, l, bt.Client)
		for i, of := range []Selection{of0, manySeriesOf(named("s1", "none", "s0")), everySample} {
			from, to := at(random.IntN(now/2)), at(now-random.IntN(now/2))
			o := WindowOptions{By: [][]SeriesValue{nil, {}}[random.IntN(2)], Parallelism: -1}
			name := fmt.Sprintf("%s, selection %d from %v to %v", l.Table.ID, i, from, to)
			c := windowsCase{t, name, l, of, newReaderOf(bt.Client, l, clockAt(now))}
			want := c.windows(1<<30, from, to, o)
			for n := range 3 {
				o.Parallelism, o.NewestFirst = n-1, n > 0
				if got := c.windows(1+random.IntN(30), from, to, o); len(want) == 0 || !slices.Equal(want, got) {
					t.Fatalf("%s, %+v: %s", c.name, o, cmp.Diff(want, got))
				}
			}
			fields := func(l *mappingOf[sample]) bool { return l.Pattern == codec.BucketNewColumns }
			c.totals(i == 2 && slices.ContainsFunc(l.Periods(), fields), at(now))
			if i == 0 && l.Columns[0].Name == "v.1" {
				c.points(at(now))
			}
			after, open := random.IntN(8), new(atomic.Int64)
			client, received := breaksAfter(bt.Client, after, errors.New("broken"))
			c.reader = newReaderOf(during(client, func() func() {
				open.Add(1)
				return func() { open.Add(-1) }
			}), l, clockAt(now))
			got := c.windows(1+random.IntN(30), from, to, o)
			fails := slices.ContainsFunc(got, func(w string) bool { return strings.HasSuffix(w, "broken") })
			unlike := func(w string) bool { return !strings.HasPrefix(w, "error:") && !slices.Contains(want, w) }
			if slices.ContainsFunc(got, unlike) || fails != (received.Load() > int64(after)) || open.Load() != 0 {
				t.Fatalf("%s, broken after %d rows, %d requests in progress: %s", c.name, after, open.Load(), cmp.Diff(want, got))
			}
		}
	}
}

// windowsCase reads windows of a selection.
type windowsCase struct {
	t      *testing.T
	name   string
	l      *mappingOf[sample]
	of     Selection
	reader *readerOf[sample]
}

// windows returns windows read in parts of some events, and errors, as sorted texts. It checks their order.
func (c *windowsCase) windows(alone int, from, to time.Time, o WindowOptions) []string {
	c.t.Helper()
	c.reader.reader.alone = alone
	out := windowsIn(c.t.Context(), c.reader, c.l.untyped(), c.of, from, to, 5*time.Minute, o)
	last := map[string]string{}
	for i, w := range out {
		series, _, _ := strings.Cut(w, " ")
		before, follows := last[series]
		follows = follows && series != "error:"
		if follows && (before > w) != o.NewestFirst || strings.HasSuffix(w, "broken") && i < len(out)-1 {
			c.t.Fatalf("%s, %+v: %s is behind %s of %q", c.name, o, w, before, out)
		}
		last[series] = w
	}
	slices.Sort(out)
	return out
}

// points compares the points of a chart with those of the events that a read yields.
func (c *windowsCase) points(to time.Time) {
	c.t.Helper()
	want, failed := window.NewPoints(at(0), to, 13), false
	for e, err := range c.reader.Read(c.t.Context(), c.of, at(0), to, ReadOptions{Fields: []Field{"v.1"}}) {
		if failed = failed || err != nil; err == nil {
			want.Add(e.Time, float64(e.Value))
		}
	}
	into := intoColumns(c.l.untyped()).columns
	got, err := c.reader.reader.Points(c.t.Context(), into, sampleWindows.spec, c.of, at(0), to, "v.1", 13)
	same(c.t, fmt.Sprint(want.All()), fmt.Sprint(got))
	same(c.t, failed, isDecodeError(err))
}

// totals checks that windows and columns have the events and errors of a read, unless such a read is refused.
func (c *windowsCase) totals(refused bool, to time.Time) {
	c.t.Helper()
	var columns sampleColumns
	into := intoColumns(c.l.untyped())
	err := readColumns(c.t.Context(), c.reader, into, &columns, c.of, at(0), to)
	events, failed, errs, undecodable := 0, 0, 0, 0
	for _, read := range c.reader.Read(c.t.Context(), c.of, at(0), to) {
		switch {
		case refused && errors.Is(read, ErrFieldRows) && errors.Is(err, ErrFieldRows):
			return
		case isDecodeError(read):
			failed++
		default:
			must(c.t, read)
			events++
		}
	}
	if len(columns.Time) != events && failed == 0 || refused {
		c.t.Fatalf("%s: %d events in columns, want %d", c.name, len(columns.Time), events)
	}
	daily := readWindows(c.t.Context(), c.reader, into, sampleWindows, c.of, at(0), to, window.Every(24*time.Hour))
	for w, err := range daily {
		if errs++; !isDecodeError(err) {
			must(c.t, err)
			errs--
		}
		events, undecodable = events-int(w.Events), undecodable+int(w.Undecodable)
	}
	if events != 0 || errs != failed || undecodable > failed || isDecodeError(err) != (failed > 0) {
		c.t.Fatalf("%s: %d events too many, %d and %d errors, %d undecodable; %v", c.name, events, failed, errs, undecodable, err)
	}
}
