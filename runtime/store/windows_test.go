package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// sampleWindow summarizes samples.
type sampleWindow struct {
	window.Window
	Series string
	Value  window.Int[uint64]
}

var sampleWindows = &specOf[string, sampleWindow]{window.NewSpec[string, sampleWindow](window.IntPart[uint64]("v.1", 7))}

// wholeText returns the text of a window, and whether it is inexact.
func wholeText(w sampleWindow) string {
	v := &w.Value
	return fmt.Sprint(w.Series, w.Start, w.End, w.Events, w.Filled, w.Undecodable, v.Count, v.First, v.Last,
		v.FirstTime, v.LastTime, v.Min, v.Max, v.BigSum(), v.Mean(), v.Increase(), v.Rate(), " +", w.Inexact)
}

// windowText returns what windowsOf computes.
func windowText(w sampleWindow) string {
	return fmt.Sprint(w.Series, " ", w.Start, w.End, w.Events, w.Value.Count, w.Value.Min, w.Value.Max, w.Value.Last, w.Value.LastTime)
}

// windowNumbers are windows in columnar form, which are only numbers.
type windowNumbers []int

func (c *windowNumbers) Append(w *int) { *c = append(*c, *w) }

// TestAppendWindows checks that no window takes an allocation, and which error of several is returned.
func TestAppendWindows(t *testing.T) {
	windows := func(n int, errs ...error) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			more := true
			for i := 0; i < n && more; i++ {
				more = yield(i, nil)
			}
			for i := 0; i < len(errs) && more; i++ {
				more = yield(0, errs[i])
			}
		}
	}
	var c windowNumbers
	allocations := testing.AllocsPerRun(10, func() {
		c = c[:0]
		must(t, AppendWindows(&c, windows(1000)))
	})
	if allocations > 10 || len(c) != 1000 || c[999] != 999 {
		t.Errorf("%v allocations, %d windows", allocations, len(c))
	}
	first, second, last := &DecodeError{Row: "first", Err: codec.ErrMissing}, &DecodeError{Row: "second", Err: codec.ErrMissing}, errors.New("last")
	for _, tt := range []struct {
		errs []error
		want error
	}{{[]error{first, second}, first}, {[]error{first, last}, last}, {[]error{last}, last}} {
		c = c[:0]
		if err := AppendWindows(&c, windows(1, tt.errs...)); err != tt.want || len(c) != 1 {
			t.Errorf("%v: %v with %d windows", tt.errs, err, len(c))
		}
	}
}

// TestWindowsRefuse checks that a read sends no request if its options are invalid.
func TestWindowsRefuse(t *testing.T) {
	l := days()
	r := newReaderOf(faked(tableFunc{readRows: func(context.Context, bigtable.RowSet, func(bigtable.Row) bool, ...bigtable.ReadOption) error {
		t.Error("a request is sent")
		return nil
	}}), l)
	for _, c := range []struct {
		to      time.Time
		width   window.Width
		options WindowOptions
		want    error
	}{
		{at(1), window.Every(0), WindowOptions{}, window.ErrWidth},
		{at(1), window.Days(1, nil), WindowOptions{}, window.ErrWidth},
		{at(1), window.Days(math.MaxInt, time.UTC), WindowOptions{}, window.ErrWidth},
		{at(1), window.Every(time.Hour), WindowOptions{Fill: 77}, window.ErrFill},
		{at(1), window.Every(time.Hour), WindowOptions{Fill: -1, NewestFirst: true}, window.ErrFill},
		{time.Time{}, window.Every(time.Hour), WindowOptions{}, codec.ErrRange},
		{at(1), window.Every(time.Hour), WindowOptions{Fields: []Field{"none"}}, ErrNoField},
		{at(1), window.Every(time.Hour), WindowOptions{By: []SeriesValue{"host"}}, ErrNoSeriesValue},
		{at(1), window.Every(time.Hour), WindowOptions{By: []SeriesValue{"series", ""}, NewestFirst: true, Limit: 1}, ErrNoSeriesValue},
	} {
		for name, of := range map[string]Selection{"a series": seriesOf(sample{Series: "s"}), "no series": manySeriesOf([]sample{})} {
			n := 0
			for _, err := range readWindows(t.Context(), r, intoColumns(l.untyped()), sampleWindows, of, at(0), c.to, c.width, c.options) {
				n++
				assert.Is(t, c.want, err, name)
			}
			assert.Same(t, 1, n, name, c.want)
		}
	}
	for _, c := range []struct {
		from  time.Time
		field Field
		n     int
		want  error
	}{{at(0), "note", 1, ErrNoField}, {time.Time{}, "v.1", 1, codec.ErrRange}, {at(0), "v.1", 0, window.ErrPixels}, {at(0), "v.1", math.MinInt, window.ErrPixels}} {
		points, err := r.reader.Points(t.Context(), intoColumns(l.untyped()).columns, sampleWindows.spec, of0, c.from, at(1), c.field, c.n)
		if !errors.Is(err, c.want) || points != nil || c.from.IsZero() != strings.Contains(err.Error(), "a chart needs a from") {
			t.Errorf("%+v: %v, %v", c, points, err)
		}
	}
	for _, o := range []WindowOptions{{Limit: -1}, {Before: -time.Hour}} {
		into, hour := intoColumns(l.untyped()), window.Every(time.Hour)
		asError[*OptionsError](t, firstError(readWindows(t.Context(), r, into, sampleWindows, of0, at(0), at(1), hour, o)), o)
	}
}

// TestWindowsFromYearZero checks a window that begins before the zero time, which also stands for none.
func TestWindowsFromYearZero(t *testing.T) {
	l, n := days(), 0
	bt := windowed(t, l, 86400, hourly(1, 0, 1))
	for w, err := range readWindows(t.Context(), newReaderOf(bt.Client, l, clockAt(86400)), intoColumns(l.untyped()), sampleWindows, of0, time.Time{}, at(86400), window.Years(3000, time.UTC)) {
		must(t, err)
		if n++; w.Inexact || w.Start.Year() != 0 || w.Events != 1 {
			t.Errorf("%+v", w)
		}
	}
	same(t, 1, n)
}

// everySample selects all samples.
var everySample = (&Query{Name: "All"}).Bind(&sample{})

// of0 selects the samples of series s0.
var of0 = seriesOf(sample{Series: "s0"})

// windowed writes samples to a new table whose windows can be read.
func windowed(t *testing.T, l *mappingOf[sample], now int, samples []sample) *storetest.Bigtable {
	t.Helper()
	for _, p := range l.Periods() {
		adjusted(p, func(m *mapping) { m.columns = intoColumns(m).columns })
	}
	bt := holding(t, l, now, samples)
	return bt
}

// hourly returns n samples of a few series, each some hours after the one before.
func hourly(n, hours, series int) (out []sample) {
	for i := range n {
		out = append(out, sample{Series: fmt.Sprint("s", i%series), Time: at(3600 * hours * i), Value: uint64(i)})
	}
	return out
}

// TestFirstWindow checks how much of a year is read when the first window arrives, in both orders.
func TestFirstWindow(t *testing.T) {
	const rows = 365
	for _, l := range []*mappingOf[sample]{days(), singles()} {
		bt := windowed(t, l, 86400*rows, hourly(rows, 24, 1))
		for _, newestFirst := range []bool{false, true} {
			client, received := breaksAfter(bt.Client, math.MaxInt, nil)
			first, n := int64(0), 0
			for _, err := range readWindows(t.Context(), newReaderOf(client, l, clockAt(86400*rows)), intoColumns(l.untyped()), sampleWindows, of0, at(0), at(86400*rows), window.Every(24*time.Hour), WindowOptions{NewestFirst: newestFirst}) {
				must(t, err)
				if n++; n == 1 {
					first = received.Load()
				}
			}
			if n != rows || first > rows/20 || received.Load() > rows+1 {
				t.Errorf("table %s, newest first %t: %d windows, %d of %d rows before the first one", l.Table.ID, newestFirst, n, first, received.Load())
			}
		}
	}
}

// TestLastWindows checks that the last windows of all series combined are read without the rows before them.
func TestLastWindows(t *testing.T) {
	const series, days = 10, 365
	l := timeFirst()
	bt := windowed(t, l, 86400*days, nil)
	var samples []sample
	for i := range series * days {
		samples = append(samples, sample{Series: fmt.Sprintf("s%d", i%series), Time: at(86400 * (i / series)), Value: uint64(i)})
	}
	must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(86400*days)).WriteAll(t.Context(), samples))
	client, received := breaksAfter(bt.Client, math.MaxInt, nil)
	read := func(o WindowOptions) []string {
		o.By = []SeriesValue{}
		return windowsIn(t.Context(), newReaderOf(client, l, clockAt(86400*days)), l.untyped(), everySample, time.Time{}, at(86400*days), 24*time.Hour, o)
	}
	got, n := read(WindowOptions{NewestFirst: true, Limit: 3}), received.Load()
	want := read(WindowOptions{})[days-3:]
	if slices.Reverse(want); !slices.Equal(got, want) || n != (3+1)*series { // and the values before them
		t.Errorf("%d rows are received: %s", n, cmp.Diff(want, got))
	}
}

// TestWindowsOfGapsCanBeCanceled cancels reads which only fill a gap: before, between, after or without events.
func TestWindowsOfGapsCanBeCanceled(t *testing.T) {
	const half = 182 * 86400
	l := days()
	bt := windowed(t, l, 4*half, hourly(3, half/3600, 1))
	for _, series := range []string{"s0", "none"} {
		for _, from := range []int{-half, half + 1, 2*half + 1} {
			for _, newestFirst := range []bool{false, true} {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				n, failed := 0, error(nil)
				for _, err := range readWindows(ctx, newReaderOf(bt.Client, l, clockAt(4*half)), intoColumns(l.untyped()), sampleWindows, seriesOf(sample{Series: series}), at(from), at(4*half), window.Every(time.Second), WindowOptions{Fill: window.FillNull, NewestFirst: newestFirst}) {
					if n++; n == 10 {
						cancel(errors.New("enough"))
					}
					failed = err
				}
				if n != 11 || failed == nil || !strings.Contains(failed.Error(), "enough") {
					t.Errorf("%s from %d, newest first %t: %d windows, %v", series, from, newestFirst, n, failed)
				}
			}
		}
	}
}

// TestWindowsHeld checks that a read of hours of half a year holds as much memory as one of a month, about one row.
func TestWindowsHeld(t *testing.T) {
	const hours, month = 182 * 24, 30 * 24
	l := days()
	l.Key.Bucket = bucketOf(time.Hour, "2006-01-02T15")
	l.Put = nil
	r := newReaderOf(faked(tableFunc{readRows: func(_ context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, _ ...bigtable.ReadOption) error {
		for hour := range hours {
			key := "s0#" + at(3600*hour).Format("2006-01-02T15")
			if !set.(bigtable.RowRange).Contains(key) {
				continue
			}
			var items []bigtable.ReadItem
			for minute := 55; minute >= 0; minute -= 5 {
				items = append(items, bigtable.ReadItem{Row: key, Column: "f.1:v.1", Timestamp: bigtable.Time(at(3600*hour + 60*minute)), Value: make([]byte, 8)})
			}
			if !f(bigtable.Row{"f.1": items}) {
				return nil
			}
		}
		return nil
	}}), l, clockAt(3600*hours))
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	held := func(hours int, newestFirst bool) (most int64) {
		into := intoColumns(l.untyped())
		before, n := heap(), 0
		for w, err := range readWindows(t.Context(), r, into, sampleWindows, of0, at(0), at(3600*hours), window.Every(time.Hour), WindowOptions{NewestFirst: newestFirst}) {
			must(t, err)
			if n++; n%(hours/12) == 1 {
				most = max(most, heap()-before)
			}
			same(t, int64(12), w.Events)
		}
		same(t, hours, n)
		return most
	}
	for _, newestFirst := range testlong.Sample([]bool{false, true}, 2) {
		_ = held(month, newestFirst) // what is held once and for all
		if less, more := held(month, newestFirst), held(hours, newestFirst); more > 3*max(less, 4<<10) {
			t.Errorf("newest first %t: %d bytes are held in a month, %d in half a year", newestFirst, less, more)
		}
	}
}

// TestDescendingGaps checks that the requests for windows of a second, from the newest one, do not depend on the
// months between them, from events and from a rollup; also for all series combined if row keys begin with the time.
func TestDescendingGaps(t *testing.T) {
	const n, year = 12, 365 * 86400
	byTime := codec.Key{Delimiter: "#", Segments: []codec.Segment{{Kind: codec.BucketSegment}, {Name: "series"}}, Bucket: days().Key.Bucket}
	for _, c := range []struct {
		l      *mappingOf[sample]
		series int
		limits []int
	}{
		{days(), 1, []int{0}}, {singles(), 1, []int{0}}, {unsorted(days()), 1, []int{0}}, {rolled(days(), 400*24*time.Hour), 1, []int{0}}, {timeFirst(), 1, []int{0}},
		{withKey(days(), "by_time", byTime), 3, []int{1, 3, n, 2 * n}}, {timeFirst(), 3, []int{1, n}}, {rolled(withKey(days(), "rolled", byTime), 400*24*time.Hour), 3, []int{1, 3, n, 2 * n}},
	} {
		l := c.l
		bt := windowed(t, l, year, hourly(n, year/3600/n, c.series))
		width, now := window.Every(time.Second), year
		if l.Rollup != nil {
			roll(t, bt, l, rollupNow(year+86400))
			width, now = window.Every(l.Rollup.Every), year+402*86400 // events have expired
		}
		of, windows := of0, WindowOptions{NewestFirst: true}
		if c.series > 1 {
			of, windows.By = everySample, []SeriesValue{}
		}
		for _, limit := range c.limits {
			var op Operation
			i, most := n, n
			if windows.Limit = limit; limit > 0 {
				most = min(limit, n)
			}
			for w, err := range readWindows(t.Context(), newReaderOf(bt.Client, l, tells(now, &op)), intoColumns(l.untyped()), sampleWindows, of, at(-year), at(year), width, windows) {
				must(t, err)
				if i--; w.Value.Last != uint64(i) || w.Events != 1 || c.series == 1 && i > 0 && w.Value.Increase() != 1 {
					t.Errorf("%s: %+v, want %d", l.Table.ID, w, i)
				}
			}
			if n-i != most || op.Requests > 4*(most+c.series+1) || op.Events+op.Runs < most { // the value before the last window of each series is read, too
				t.Errorf("%s: %d of %d windows: %+v", l.Table.ID, n-i, limit, op)
			}
		}
	}
}
