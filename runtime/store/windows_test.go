package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

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

var sampleWindows = newSpecOf[string, sampleWindow](window.IntPart[uint64]("v.1", 7))

// sampleWindowColumns are windows in columnar form, as in generated code.
type sampleWindowColumns struct {
	window.WindowColumns[string]
	Value window.NumberColumns[uint64]
}

func (c *sampleWindowColumns) Reset() { window.Reset(c) }

func (c *sampleWindowColumns) Append(w *sampleWindow) {
	c.WindowColumns.Append(&w.Window, w.Series)
	c.Value.Append(&w.Value)
}

// text returns all that columns have of windows.
func (c *sampleWindowColumns) text() (out []string) {
	v := &c.Value
	for i := range c.Start {
		out = append(out, fmt.Sprint(c.Series[i], c.Start[i], c.End[i], c.Events[i], c.Filled[i], c.Undecodable[i], v.Count[i], v.First[i], v.Last[i],
			v.FirstTime[i], v.LastTime[i], v.Min[i], v.Max[i], v.Sum[i], v.Mean[i], v.Increase[i], v.Rate[i]))
	}
	return out
}

// columnsText returns the text of the columns of windows.
func columnsText(windows []sampleWindow) (out []string) {
	for _, w := range windows {
		v := &w.Value
		sum, _ := new(big.Float).SetInt(v.BigSum()).Float64()
		out = append(out, fmt.Sprint(w.Series, w.Start, w.End, w.Events, w.Filled, w.Undecodable, v.Count, v.First, v.Last,
			v.FirstTime, v.LastTime, v.Min, v.Max, sum, v.Mean(), v.Increase(), v.Rate()))
	}
	return out
}

// wholeText returns the text of a window, and whether it is inexact.
func wholeText(w sampleWindow) string {
	return fmt.Sprintf("%s +%v", columnsText([]sampleWindow{w})[0], w.Inexact)
}

// windowText returns what windowsOf computes.
func windowText(w sampleWindow) string {
	return fmt.Sprint(w.Series, " ", w.Start, w.End, w.Events, w.Value.Count, w.Value.Min, w.Value.Max, w.Value.Last, w.Value.LastTime)
}

// TestAppendWindows checks that no window takes an allocation, and which error of several is returned.
func TestAppendWindows(t *testing.T) {
	windows := func(n int, errs ...error) iter.Seq2[sampleWindow, error] {
		return func(yield func(sampleWindow, error) bool) {
			for i := range n {
				if !yield(sampleWindow{Window: window.Window{Start: at(i), Events: 1}, Series: "s"}, nil) {
					return
				}
				for _, err := range errs {
					if !yield(sampleWindow{}, err) {
						return
					}
				}
			}
		}
	}
	var c sampleWindowColumns
	allocations := testing.AllocsPerRun(10, func() {
		c.Reset()
		must(t, AppendWindows(&c, windows(1000)))
	})
	if allocations > 10 || len(c.Start) != 1000 || !slices.Equal(c.Start[998:], []time.Time{at(998), at(999)}) || len(c.Value.Mean) != 1000 {
		t.Errorf("%v allocations, %d windows", allocations, len(c.Start))
	}
	first, second, last := &DecodeError{Row: "first", Err: codec.ErrMissing}, &DecodeError{Row: "second", Err: codec.ErrMissing}, errors.New("last")
	for _, tt := range []struct {
		errs []error
		want error
	}{{[]error{first, second}, first}, {[]error{first, last}, last}, {[]error{last}, last}} {
		c.Reset()
		if err := AppendWindows(&c, windows(1, tt.errs...)); err != tt.want || len(c.Start) != 1 {
			t.Errorf("%v: %v with %d windows", tt.errs, err, len(c.Start))
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
				if n++; !errors.Is(err, c.want) {
					t.Errorf("%s: %v, want %v", name, err, c.want)
				}
			}
			if n != 1 {
				t.Errorf("%s: %v: %d windows", name, c.want, n)
			}
		}
	}
	for _, o := range []WindowOptions{{Limit: -1}, {Before: -time.Hour}} {
		for _, err := range readWindows(t.Context(), r, intoColumns(l.untyped()), sampleWindows, seriesOf(sample{Series: "s"}), at(0), at(1), window.Every(time.Hour), o) {
			if !isOptionsError(err) {
				t.Error(o, err)
			}
		}
	}
}

// TestWindowsFromYearZero checks a window that begins before the zero time, which also stands for none: it has all
// that was written.
func TestWindowsFromYearZero(t *testing.T) {
	l, n := days(), 0
	bt := windowed(t, l, 86400, hourly(1, 0, 1))
	for w, err := range readWindows(t.Context(), newReaderOf(bt.Client, l, clockAt(86400)), intoColumns(l.untyped()), sampleWindows, of0, time.Time{}, at(86400), window.Years(3000, time.UTC)) {
		must(t, err)
		if n++; w.Inexact || w.Start.Year() != 0 || w.Events != 1 {
			t.Errorf("%+v", w)
		}
	}
	if n != 1 {
		t.Errorf("%d windows", n)
	}
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
	bt := newBigtable(t, l)
	must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(now)).WriteAll(t.Context(), samples))
	return bt
}

// hourly returns n samples of a few series, each some hours after the one before.
func hourly(n, hours, series int) (out []sample) {
	for i := range n {
		out = append(out, sample{Series: fmt.Sprint("s", i%series), Time: at(3600 * hours * i), Value: uint64(i)})
	}
	return out
}

// TestUndecodable checks that an event that cannot be decoded is an error, and counted in its window, with keys of all kinds, also if a read
// is split, and that the columns of a read have all others.
func TestUndecodable(t *testing.T) {
	t.Parallel()
	const now = 86400 * 6
	for _, l := range testlong.Sample(append(strategies(), partedMappings()...), 6) {
		random, into := rand.New(rand.NewPCG(29, 3)), intoColumns(l.untyped())
		bt := windowed(t, l, now, sparse(random, l, 6, 20))
		spoil(t, l, bt.Client)
		for i, of := range []Selection{of0, manySeriesOf(named("s1", "none", "s0")), everySample, everySample} {
			if l.Pattern == codec.BucketNewColumns && i > 1 {
				continue
			}
			r := newReaderOf(bt.Client, l, clockAt(now))
			r.reader.alone = []int{1, 20, 5, aloneEvents}[i]
			events, undecodable, failed, errs := 0, 0, 0, 0
			for _, err := range r.Read(t.Context(), of, at(0), at(now)) {
				if isDecodeError(err) {
					failed++
				} else {
					must(t, err)
					events++
				}
			}
			for w, err := range readWindows(t.Context(), r, into, sampleWindows, of, at(0), at(now), window.Every(24*time.Hour), WindowOptions{NewestFirst: i == 2}) {
				if isDecodeError(err) {
					errs++
				} else {
					must(t, err)
				}
				events, undecodable = events-int(w.Events), undecodable+int(w.Undecodable)
			}
			var columns sampleColumns
			err := readColumns(t.Context(), r, into, &columns, of, at(0), at(now))
			if events != 0 || errs != failed || undecodable > failed || isDecodeError(err) != (failed > 0) {
				t.Errorf("%s %d: %d events too many, %d and %d errors, %d are undecodable; %v", l.Table.ID, i, events, failed, errs, undecodable, err)
			}
		}
	}
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

// TestLastWindows checks that the last windows of all series combined are read without the rows before them, if the time comes before the
// series in row keys.
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

// TestWindowsOfGapsCanBeCanceled checks that a read which is canceled ends, even where it only fills a gap
// of many windows: before all events, between two, after them, and without any.
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

// TestWindowsHeld checks that a read holds as much memory while it yields half a year of one series as
// while it yields a month, with an event every five minutes, by hours. The rows are hours, too: a
// read holds one row.
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

// TestPoints compares charts with the points of the events that a read yields, of one series and of all
// series, with a value that cannot be decoded.
func TestPoints(t *testing.T) {
	from, to, n := at(7), at(86400*8), 13
	for _, l := range []*mappingOf[sample]{days(), singles(), metrics(), unsorted(days()), classed(days())} {
		bt := windowed(t, l, 86400*9, sparse(rand.New(rand.NewPCG(29, 6)), l, 9, 40))
		spoil(t, l, bt.Client)
		r, into := newReaderOf(bt.Client, l, clockAt(86400*9)), intoColumns(l.untyped())
		var want, got []string
		for _, name := range []string{"s0", "s1"} {
			of, points, failed := seriesOf(sample{Series: name}), window.NewPoints(from, to, n), error(nil)
			for e, err := range r.Read(t.Context(), of, from, to, ReadOptions{Fields: []Field{"v.1"}}) {
				if err != nil {
					failed, want = err, append(want, err.Error())
					continue
				}
				points.Add(e.Time, float64(e.Value))
			}
			want = append(want, fmt.Sprint(name, points.All()))
			one, err := readPoints(t.Context(), r, into, sampleWindows, of, from, to, "v.1", n)
			same(t, want[len(want)-1], fmt.Sprint(name, one))
			same(t, failed == nil, err == nil)
		}
		for c, err := range readCharts(t.Context(), r, into, sampleWindows, everySample, from, to, "v.1", n) {
			if err != nil {
				got = append(got, err.Error())
				continue
			}
			got = append(got, fmt.Sprint(c.Series, c.Points()))
		}
		slices.Sort(got)
		slices.Sort(want)
		same(t, want, got)
		for _, c := range []struct {
			from  time.Time
			field Field
			n     int
			want  error
		}{{at(0), "note", 1, ErrNoField}, {time.Time{}, "v.1", 1, codec.ErrRange}, {at(0), "v.1", 0, window.ErrPixels}, {at(0), "v.1", -1, window.ErrPixels}, {at(0), "v.1", math.MinInt, window.ErrPixels}} {
			points, err := readPoints(t.Context(), r, into, sampleWindows, of0, c.from, to, c.field, c.n)
			if !errors.Is(err, c.want) || points != nil || c.from.IsZero() != strings.Contains(err.Error(), "a chart needs a from") {
				t.Errorf("%+v: %v, %v", c, points, err)
			}
		}
	}
}

// TestWindowsOfFieldRows compares the windows of all series in tables in which the rows of the fields of an
// event cannot be joined without the series with those of all series by name, in all layouts. A read
// of the events of all series is refused.
func TestWindowsOfFieldRows(t *testing.T) {
	t.Parallel()
	behind := metrics() // the metric follows the bucket
	behind.Key.Segments = []codec.Segment{{Name: "series"}, {Kind: codec.BucketSegment}, {Kind: codec.MetricSegment}}
	behind.Put = func(e *sample, c *eventCells) {
		for column, datum := range [][]byte{strconv.AppendUint(nil, e.Value, 10), e.Note} {
			if datum != nil {
				c.Row(rowOf(behind, e, column))
				c.Set(column, datum)
			}
		}
	}
	const n = 6
	later, earlier := metrics(), days()
	later.Older, later.Since = []*mappingOf[sample]{days()}, at(86400*3)
	earlier.Older, earlier.Since = []*mappingOf[sample]{metrics()}, at(86400*3)
	layouts := map[string]*mappingOf[sample]{"before bucket": metrics(), "after bucket": behind, "newest layout": later, "earlier layout": earlier}
	for name, l := range testlong.SampleMap(layouts, 2) {
		bt := windowed(t, l, 86400*n, sparse(rand.New(rand.NewPCG(7, 7)), l, n, 20))
		r, into := newReaderOf(bt.Client, l, clockAt(86400*n)), intoColumns(l.untyped())
		for _, o := range []WindowOptions{{}, {NewestFirst: true}, {Limit: 7}, {NewestFirst: true, Limit: 30}, {By: []SeriesValue{}}, {By: []SeriesValue{"series"}, NewestFirst: true}, {Fields: []Field{}}, {Parallelism: -1, Fill: window.FillNull}} {
			for _, from := range []time.Time{at(0), at(86400*2 + 60*7), at(86400*4 + 60*11)} {
				read := func(of Selection) []string {
					return windowsIn(t.Context(), r, l.untyped(), of, from, at(86400*5+60*9), 5*time.Minute, o)
				}
				if want, got := read(manySeriesOf(named("s0", "s1"))), read(everySample); len(want) == 0 || !slices.Equal(want, got) {
					t.Fatalf("%s, %+v from %v: %s", name, o, from, cmp.Diff(want, got))
				}
			}
		}
		for rows := range 20 {
			client, _ := breaksAfter(bt.Client, rows, errors.New("broken"))
			broken := false
			for w, err := range readWindows(t.Context(), newReaderOf(client, l, clockAt(86400*n)), into, sampleWindows, everySample, at(0), at(86400*n), window.Every(time.Hour), WindowOptions{}) {
				if broken {
					t.Fatalf("%s: after a break behind %d rows, %s, %v", name, rows, windowText(w), err)
				}
				broken = err != nil
			}
		}
		for e, err := range r.Read(t.Context(), everySample, at(0), at(86400*n)) {
			if !errors.Is(err, ErrFieldRows) {
				t.Fatal(e, err)
			}
		}
		if err := readColumns(t.Context(), r, into, new(sampleColumns), everySample, at(0), at(86400*n)); !errors.Is(err, ErrFieldRows) {
			t.Fatal(err)
		}
	}
}

// TestDescendingGaps checks a search whose steps are far narrower than what lies between: windows of a second, from the newest
// one, with months between them, from events and from a rollup. The requests do not depend on the gaps. Where the row keys begin with the
// time, this also holds for the windows of all series combined, up to a limit.
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
			o := clockAt(now)
			var op Operation
			o.Hooks.End = func(_ context.Context, done Operation, _ error) { op = done }
			i, most := n, n
			if windows.Limit = limit; limit > 0 {
				most = min(limit, n)
			}
			for w, err := range readWindows(t.Context(), newReaderOf(bt.Client, l, o), intoColumns(l.untyped()), sampleWindows, of, at(-year), at(year), width, windows) {
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
