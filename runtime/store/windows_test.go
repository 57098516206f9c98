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

var sampleWindows = window.NewSpec(
	func(w *sampleWindow) *window.Window { return &w.Window },
	func(w *sampleWindow) *string { return &w.Series },
	func(c *sampleColumns) []time.Time { return c.Time },
	window.IntPart("v.1", func(w *sampleWindow) *window.Int[uint64] { return &w.Value }, func(c *sampleColumns) []uint64 { return c.Value }),
)

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

// windowsOf computes windows from events, which are in order of time within their series.
func windowsOf(events []sample, width time.Duration) (out []string) {
	var all []sampleWindow
	for _, e := range events {
		start := e.Time.Truncate(width)
		i := slices.IndexFunc(all, func(w sampleWindow) bool { return w.Series == e.Series && w.Start.Equal(start) })
		if i < 0 {
			i = len(all)
			all = append(all, sampleWindow{Window: window.Window{Start: start, End: start.Add(width)}, Series: e.Series})
			all[i].Value.Min = e.Value
		}
		w := &all[i]
		w.Events++
		w.Value.Count++
		w.Value.Last, w.Value.LastTime = e.Value, e.Time
		w.Value.Min, w.Value.Max = min(w.Value.Min, e.Value), max(w.Value.Max, e.Value)
	}
	for _, w := range all {
		out = append(out, windowText(w))
	}
	return out
}

// windowText returns what windowsOf computes.
func windowText(w sampleWindow) string {
	return fmt.Sprint(w.Series, " ", w.Start, w.End, w.Events, w.Value.Count, w.Value.Min, w.Value.Max, w.Value.Last, w.Value.LastTime)
}

// TestWindows compares windows with those of the events that a read yields, on both paths, for
// mappings of all kinds, and with events that cannot be decoded.
func TestWindows(t *testing.T) {
	const n = 6
	for _, l := range strategies() {
		t.Run(l.Table.ID, func(t *testing.T) {
			t.Parallel()
			l.seriesOf = func(e *sample) *string { return &e.Series }
			random := rand.New(rand.NewPCG(29, 1))
			bt := newBigtable(t, l)
			must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400*n)).WriteAll(t.Context(), sparse(random, l, n, 20)))
			without, err := storetest.ConnectPlain(t.Context(), bt.Addr)
			must(t, err)
			defer func() { _ = without.Close() }()
			into := intoColumns(l.untyped())
			reads := testlong.Pick(10, 40)
			for i := range reads {
				if i == reads/2 {
					spoil(t, l, bt.Client)
				}
				r := NewReader([]*bigtable.Client{bt.Client, without}[i%2], l, clockAt(86400*n))
				of := SeriesOf(sample{Series: "s0"})
				if random.IntN(2) == 0 {
					of = ManySeriesOf(named("s1", "s0", "none"))
				}
				eventsOf := of
				if i%3 == 1 {
					if of = (&Query[sample]{Name: "All"}).Bind(sample{}); l.Pattern != codec.BucketNewColumns {
						eventsOf = of
					} else { // with these keys, events cannot be read across series
						eventsOf = ManySeriesOf(named("s0", "s1"))
					}
				}
				from, to := at(random.IntN(86400*2)), at(86400*2+random.IntN(86400*n))
				width := []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 48 * time.Hour}[random.IntN(4)]
				var events []sample
				failures, undecodable := 0, int64(0)
				for e, err := range r.Read(t.Context(), eventsOf, from, to) {
					if err == nil {
						events = append(events, e)
					} else if failed, ok := errors.AsType[*DecodeError](err); ok {
						if failures++; !failed.Time.IsZero() {
							undecodable++
						}
					} else {
						t.Fatal(err)
					}
				}
				var got []string
				for w, err := range Windows(t.Context(), r, into, sampleWindows, of, from, to, window.Every(width), WindowOptions{NewestFirst: i%3 == 0}) {
					switch {
					case err != nil && !isDecodeError(err):
						t.Fatal(err)
					case err != nil:
						failures--
						continue
					}
					undecodable -= w.Undecodable
					if w.Events > 0 {
						got = append(got, windowText(w))
					}
				}
				slices.SortStableFunc(events, func(a, b sample) int { return a.Time.Compare(b.Time) })
				want := windowsOf(events, width)
				slices.Sort(want)
				if i%3 != 0 && !slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(a[:2], b[:2]) }) {
					t.Errorf("%d of %d: series are not in order: %v", i, reads, got)
				}
				slices.Sort(got)
				if !slices.Equal(got, want) || failures != 0 || undecodable != 0 {
					t.Fatalf("%v of %+v, %d and %d errors too many: %s", width, of.Low, failures, undecodable, cmp.Diff(want, got))
				}
			}
		})
	}
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

// TestWindowsOfBrokenReads checks that a read that fails yields only windows that are complete, and
// then its error.
func TestWindowsOfBrokenReads(t *testing.T) {
	for _, l := range []*Mapping[sample]{days(), singles(), metrics()} {
		l.seriesOf = func(e *sample) *string { return &e.Series }
		bt := newBigtable(t, l)
		var samples []sample
		for i := range 300 {
			samples = append(samples, sample{Series: "s0", Time: at(i * 3600), Value: uint64(i)})
		}
		must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400)).WriteAll(t.Context(), samples))
		var whole []string
		windows := func(client Client) (out []string, err error) {
			r := NewReader(client, l, clockAt(86400))
			for w, err := range Windows(t.Context(), r, intoColumns(l.untyped()), sampleWindows, SeriesOf(sample{Series: "s0"}), at(0), at(3600*300), window.Every(24*time.Hour)) {
				if err != nil {
					return out, err
				}
				out = append(out, windowText(w))
			}
			return out, nil
		}
		whole, err := windows(bt.Client)
		if err != nil || len(whole) != 13 {
			t.Fatal(whole, err)
		}
		for after := range 20 {
			rows := 0
			client := fakeClient{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
				return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
					stopped := false
					err := api.ReadRows(ctx, set, func(row bigtable.Row) bool {
						rows++
						stopped = rows > after
						return !stopped && f(row)
					}, opts...)
					if err == nil && stopped {
						err = errors.New("broken")
					}
					return err
				}}
			}}
			got, err := windows(client)
			if rows > after && (err == nil || err.Error() != "broken") {
				t.Fatalf("table %s, after %d rows: %v", l.Table.ID, after, err)
			}
			if len(got) > len(whole) || !slices.Equal(got, whole[:len(got)]) {
				t.Fatalf("table %s, after %d rows: %s", l.Table.ID, after, cmp.Diff(whole[:len(got)], got))
			}
		}
	}
}

// TestDescendingWindows compares windows of a series that are read from the newest one, in parts, with
// those that are read from the oldest one, with gaps of any length.
func TestDescendingWindows(t *testing.T) {
	for _, l := range []*Mapping[sample]{days(), singles(), metrics(), unsorted(days()), offsetBlobs()} {
		t.Run(l.Table.ID, func(t *testing.T) {
			t.Parallel()
			l.seriesOf = func(e *sample) *string { return &e.Series }
			random := rand.New(rand.NewPCG(29, 5))
			bt := newBigtable(t, l)
			var samples []sample
			for hour := 0; hour < 24*300; hour += 1 + random.IntN(2)*random.IntN(2)*random.IntN(2)*random.IntN(2000) {
				samples = append(samples, sample{Series: "s0", Time: at(3600 * hour), Value: random.Uint64()})
			}
			clock := clockAt(86400 * 301)
			must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, WriterOptions{Now: clock.Now}).WriteAll(t.Context(), samples))
			r := NewReader(bt.Client, l, clock)
			for i := range testlong.Pick(6, 60) {
				if i == 4 {
					spoil(t, l, bt.Client)
				}
				from, to := at(random.IntN(86400*100)), at(86400*(100+random.IntN(200)))
				if random.IntN(3) == 0 {
					from, to = time.Time{}, at(86400*1000)
				}
				width := []time.Duration{time.Hour, 24 * time.Hour, 1000 * time.Hour}[random.IntN(3)]
				o := WindowOptions{Fill: window.Fill(random.IntN(4))}
				if from.IsZero() {
					o.Fill = window.FillNone
				}
				want := windowsIn(t.Context(), r, l.untyped(), SeriesOf(sample{Series: "s0"}), from, to, width, o)
				o.NewestFirst, o.Limit = true, random.IntN(2)*(1+random.IntN(100))
				got := windowsIn(t.Context(), r, l.untyped(), SeriesOf(sample{Series: "s0"}), from, to, width, o)
				failed := func(s string) bool { return strings.HasPrefix(s, "error: ") }
				if o.Limit == 0 && slices.ContainsFunc(got, failed) != slices.ContainsFunc(want, failed) {
					t.Fatalf("errors are lost: %v, %v", got, want)
				}
				got, want = slices.DeleteFunc(got, failed), slices.DeleteFunc(want, failed)
				slices.Reverse(want)
				if o.Limit > 0 {
					want = want[:min(len(want), o.Limit)]
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%v from %v until %v, %+v: %s", width, from, to, o, cmp.Diff(want, got))
				}
			}
			none := windowsIn(t.Context(), r, l.untyped(), SeriesOf(sample{Series: "none"}), at(0), at(86400), time.Hour, WindowOptions{Fill: window.FillNull, NewestFirst: true})
			if len(none) != 24 {
				t.Errorf("%d windows of a series without events", len(none))
			}
		})
	}
}

// TestFirstWindow checks how much of a year is read when the first window arrives, in both orders.
func TestFirstWindow(t *testing.T) {
	const rows = 365
	for _, l := range []*Mapping[sample]{days(), singles()} {
		l.seriesOf = func(e *sample) *string { return &e.Series }
		bt := newBigtable(t, l)
		var samples []sample
		for i := range rows {
			samples = append(samples, sample{Series: "s0", Time: at(86400 * i), Value: 1})
		}
		clock := clockAt(86400 * rows)
		must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, WriterOptions{Now: clock.Now}).WriteAll(t.Context(), samples))
		client, err := storetest.ConnectPlain(t.Context(), bt.Addr)
		must(t, err)
		t.Cleanup(func() { _ = client.Close() })
		for _, newestFirst := range []bool{false, true} {
			received, first, n := 0, 0, 0
			r := NewReader(fakeClient{client, func(api bigtable.TableAPI) bigtable.TableAPI {
				return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
					return api.ReadRows(ctx, set, func(row bigtable.Row) bool {
						received++
						return f(row)
					}, opts...)
				}}
			}}, l, clock)
			for _, err := range Windows(t.Context(), r, intoColumns(l.untyped()), sampleWindows, SeriesOf(sample{Series: "s0"}), at(0), at(86400*rows), window.Every(24*time.Hour), WindowOptions{NewestFirst: newestFirst}) {
				must(t, err)
				if n++; n == 1 {
					first = received
				}
			}
			if n != rows || first > rows/20 || received > rows+1 {
				t.Errorf("table %s, newest first %t: %d windows, %d of %d rows before the first one", l.Table.ID, newestFirst, n, first, received)
			}
		}
	}
}

// TestWindowsOfGapsCanBeCanceled checks that a read which is canceled ends, even where it only fills a gap
// of many windows: before all events, between two, after them, and without any.
func TestWindowsOfGapsCanBeCanceled(t *testing.T) {
	const year = 365 * 86400
	l := days()
	l.seriesOf = func(e *sample) *string { return &e.Series }
	bt := newBigtable(t, l)
	clock := clockAt(2 * year)
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, WriterOptions{Now: clock.Now}).WriteAll(t.Context(), []sample{
		{Series: "s0", Time: at(year / 2), Value: 1}, {Series: "s0", Time: at(year), Value: 2},
	}))
	r := NewReader(bt.Client, l, clock)
	for _, series := range []string{"s0", "none"} {
		for _, from := range []int{0, year/2 + 1, year + 1} {
			for _, newestFirst := range []bool{false, true} {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				n, failed := 0, error(nil)
				for _, err := range Windows(ctx, r, intoColumns(l.untyped()), sampleWindows, SeriesOf(sample{Series: series}), at(from), at(2*year), window.Every(time.Second), WindowOptions{Fill: window.FillNull, NewestFirst: newestFirst}) {
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

// TestLastWindows checks that the last windows of all series combined are read without the rows
// before them, if the time comes before the series in row keys.
func TestLastWindows(t *testing.T) {
	const series, days = 10, 365
	l := timeFirst()
	l.seriesOf = func(e *sample) *string { return &e.Series }
	bt := newBigtable(t, l)
	var samples []sample
	for i := range series * days {
		samples = append(samples, sample{Series: fmt.Sprintf("s%d", i%series), Time: at(86400 * (i / series)), Value: uint64(i)})
	}
	clock := clockAt(86400 * days)
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, WriterOptions{Now: clock.Now}).WriteAll(t.Context(), samples))
	client, err := storetest.ConnectPlain(t.Context(), bt.Addr)
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	received := 0
	r := NewReader(fakeClient{client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return tableFunc{TableAPI: api, readRows: func(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
			return api.ReadRows(ctx, set, func(row bigtable.Row) bool {
				received++
				return f(row)
			}, opts...)
		}}
	}}, l, clock)
	o := WindowOptions{By: []SeriesValue{}, NewestFirst: true, Limit: 3}
	got := windowsIn(t.Context(), r, l.untyped(), (&Query[sample]{Name: "All"}).Bind(sample{}), time.Time{}, at(86400*days), 24*time.Hour, o)
	o.NewestFirst, o.Limit = false, 0
	all := windowsIn(t.Context(), NewReader(bt.Client, l, clock), l.untyped(), (&Query[sample]{Name: "All"}).Bind(sample{}), time.Time{}, at(86400*days), 24*time.Hour, o)
	want := all[len(all)-3:]
	slices.Reverse(want)
	if !slices.Equal(got, want) || received != (3+1)*series { // and the values before them
		t.Errorf("%d rows are received: %s", received, cmp.Diff(want, got))
	}
}

// TestWindowsHeld checks that a read holds as much memory while it yields a year of one series as
// while it yields a month, with an event every five minutes, by hours. The rows are hours, too: a
// read holds one row.
func TestWindowsHeld(t *testing.T) {
	const hours, month = 365 * 24, 30 * 24
	l := days()
	l.seriesOf = func(e *sample) *string { return &e.Series }
	l.Key.Bucket = codec.Bucket{Every: time.Hour, Label: codec.Label{Format: codec.TimeFormat{Layout: "2006-01-02T15"}}}
	l.Put = nil
	keys := make([]string, hours)
	for hour := range keys {
		keys[hour] = "s0#" + at(3600*hour).Format("2006-01-02T15")
	}
	r := NewReader(faked(tableFunc{readRows: func(_ context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, _ ...bigtable.ReadOption) error {
		for hour, key := range keys {
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
		for w, err := range Windows(t.Context(), r, into, sampleWindows, SeriesOf(sample{Series: "s0"}), at(0), at(3600*hours), window.Every(time.Hour), WindowOptions{NewestFirst: newestFirst}) {
			must(t, err)
			if w.Events != 12 {
				t.Fatalf("%+v", w)
			}
			if n++; n%(hours/12) == 1 {
				most = max(most, heap()-before)
			}
		}
		if n != hours {
			t.Errorf("%d windows", n)
		}
		return most
	}
	for _, newestFirst := range []bool{false, true} {
		_ = held(month, newestFirst) // what is held once and for all
		if less, more := held(month, newestFirst), held(hours, newestFirst); more > 3*max(less, 4<<10) {
			t.Errorf("newest first %t: %d bytes are held in a month, %d in a year", newestFirst, less, more)
		}
	}
}

// TestWindowsRefuse checks that a read sends no request if its options are invalid.
func TestWindowsRefuse(t *testing.T) {
	l := days()
	l.seriesOf = func(e *sample) *string { return &e.Series }
	r := NewReader(faked(tableFunc{readRows: func(context.Context, bigtable.RowSet, func(bigtable.Row) bool, ...bigtable.ReadOption) error {
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
		for name, of := range map[string]Selection[sample]{"a series": SeriesOf(sample{Series: "s"}), "no series": ManySeriesOf([]sample{})} {
			n := 0
			for _, err := range Windows(t.Context(), r, intoColumns(l.untyped()), sampleWindows, of, at(0), c.to, c.width, c.options) {
				if n++; !errors.Is(err, c.want) {
					t.Errorf("%s: %v, want %v", name, err, c.want)
				}
			}
			if n != 1 {
				t.Errorf("%s: %v: %d windows", name, c.want, n)
			}
		}
	}
	for _, err := range Windows(t.Context(), r, intoColumns(l.untyped()), sampleWindows, SeriesOf(sample{Series: "s"}), at(0), at(1), window.Every(time.Hour), WindowOptions{Limit: -1}) {
		if refused, ok := errors.AsType[*LimitError](err); !ok || refused.Limit != -1 {
			t.Error(err)
		}
	}
}

// TestPoints compares charts with the points of the events that a read yields, of one series and of all
// series, with a value that cannot be decoded.
func TestPoints(t *testing.T) {
	for _, l := range []*Mapping[sample]{days(), singles(), metrics(), unsorted(days()), classed(days())} {
		t.Run(l.Table.ID, func(t *testing.T) {
			t.Parallel()
			l.seriesOf = func(e *sample) *string { return &e.Series }
			random := rand.New(rand.NewPCG(29, 6))
			bt := newBigtable(t, l)
			must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400*6)).WriteAll(t.Context(), sparse(random, l, 6, 40)))
			r, into := NewReader(bt.Client, l, clockAt(86400*6)), intoColumns(l.untyped())
			chart := func(of Selection[sample], from, to time.Time, field Field, n int) (out []string) {
				for c, err := range Charts(t.Context(), r, into, sampleWindows, of, from, to, field, n) {
					if err != nil {
						out = append(out, err.Error())
						continue
					}
					out = append(out, fmt.Sprint(c.Series, c.Points()))
				}
				return out
			}
			for i := range 4 {
				if i == 2 {
					spoil(t, l, bt.Client)
				}
				from, to, n := at(random.IntN(86400)), at(86400*(2+random.IntN(4))), 1+random.IntN(50)
				var want, all []string
				for _, name := range []string{"s0", "s1"} {
					points := window.NewPoints(from, to, n)
					failed := false
					for e, err := range r.Read(t.Context(), SeriesOf(sample{Series: name}), from, to, ReadOptions{Fields: []Field{"v.1"}}) {
						if err != nil {
							all, failed = append(all, err.Error()), true
							continue
						}
						points.Add(e.Time, float64(e.Value))
					}
					want = append(want, fmt.Sprint(name, points.All()))
					got, err := Points(t.Context(), r, into, sampleWindows, SeriesOf(sample{Series: name}), from, to, "v.1", n)
					if fmt.Sprint(name, got) != want[len(want)-1] || (err != nil) != failed {
						t.Fatalf("%d points of %s: %v, want %v, %v", n, name, got, want[len(want)-1], err)
					}
				}
				got := chart((&Query[sample]{Name: "All"}).Bind(sample{}), from, to, "v.1", n)
				want = append(want, all...)
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Fatal(cmp.Diff(want, got))
				}
			}
			of := SeriesOf(sample{Series: "s0"})
			if _, err := Points(t.Context(), r, into, sampleWindows, of, at(0), at(1), "note", 1); !errors.Is(err, ErrNoField) {
				t.Error(err)
			}
			if _, err := Points(t.Context(), r, into, sampleWindows, of, time.Time{}, at(1), "v.1", 1); !errors.Is(err, codec.ErrRange) || !strings.Contains(err.Error(), "a chart needs a from") {
				t.Error(err)
			}
			for _, n := range []int{0, -1, math.MinInt} {
				if points, err := Points(t.Context(), r, into, sampleWindows, of, at(0), at(1), "v.1", n); !errors.Is(err, window.ErrPixels) || points != nil {
					t.Error(n, points, err)
				}
			}
		})
	}
}

// TestWindowsOfFieldRows compares the windows of all series in tables in which the rows of the fields of an
// event cannot be joined without the series with those of all series by name, in all layouts. A read
// of the events of all series is refused.
func TestWindowsOfFieldRows(t *testing.T) {
	behind := metrics() // the metric follows the bucket
	behind.Key.Segments = []codec.Segment{{Name: "series"}, {Kind: codec.BucketSegment}, {Kind: codec.MetricSegment}}
	behind.Put = func(e *sample, c *Cells) {
		for column, datum := range [][]byte{strconv.AppendUint(nil, e.Value, 10), e.Note} {
			if datum != nil {
				w := codec.NewKeyWriter(nil, "#")
				w.String("series", codec.KeyForm{}, e.Series)
				w.Bucket(behind.Key.Bucket, e.Time)
				w.Const(behind.Columns[column].Name)
				c.Row(w.Key())
				c.Set(column, datum)
			}
		}
	}
	const n = 6
	later, earlier := metrics(), days()
	later.Older, later.Since = []*Mapping[sample]{days()}, at(86400*3)
	earlier.Older, earlier.Since = []*Mapping[sample]{metrics()}, at(86400*3)
	for name, l := range map[string]*Mapping[sample]{"before bucket": metrics(), "after bucket": behind, "newest layout": later, "earlier layout": earlier} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, m := range append(slices.Clone(l.Older), l) {
				m.seriesOf = func(e *sample) *string { return &e.Series }
				adjusted(m, func(m *mapping) { m.layout = &intoColumns(m).columns })
			}
			bt := newBigtable(t, l)
			must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400*n)).WriteAll(t.Context(), sparse(rand.New(rand.NewPCG(7, 7)), l, n, 20)))
			r, into := NewReader(bt.Client, l, clockAt(86400*n)), intoColumns(l.untyped())
			all := (&Query[sample]{Name: "All"}).Bind(sample{})
			read := func(of Selection[sample], from, to time.Time, o WindowOptions) (out []string) {
				for w, err := range Windows(t.Context(), r, into, sampleWindows, of, from, to, window.Every(5*time.Minute), o) {
					must(t, err)
					out = append(out, windowText(w))
				}
				return out
			}
			for _, o := range []WindowOptions{{}, {NewestFirst: true}, {Limit: 7}, {NewestFirst: true, Limit: 30}, {By: []SeriesValue{}}, {By: []SeriesValue{"series"}, NewestFirst: true}, {Fields: []Field{}}, {Parallelism: -1, Fill: window.FillNull}} {
				for _, from := range []time.Time{at(0), at(86400*2 + 60*7), at(86400*4 + 60*11)} {
					to := at(86400*5 + 60*9)
					if want, got := read(ManySeriesOf(named("s0", "s1")), from, to, o), read(all, from, to, o); len(want) == 0 || !slices.Equal(want, got) {
						t.Fatalf("%+v from %v: %s", o, from, cmp.Diff(want, got))
					}
				}
			}
			for e, err := range r.Read(t.Context(), all, at(0), at(86400*n)) {
				if !errors.Is(err, ErrFieldRows) {
					t.Fatal(e, err)
				}
			}
			if err := ReadColumns(t.Context(), r, into, new(sampleColumns), all, at(0), at(86400*n)); !errors.Is(err, ErrFieldRows) {
				t.Fatal(err)
			}
		})
	}
}

// TestWindowsFromYearZero checks a window that begins before the zero time, which also stands for none: it has all
// that was written.
func TestWindowsFromYearZero(t *testing.T) {
	l := days()
	l.seriesOf = func(e *sample) *string { return &e.Series }
	bt := newBigtable(t, l)
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(86400)).Write(t.Context(), sample{Series: "s0", Time: at(60), Value: 7}))
	n := 0
	for w, err := range Windows(t.Context(), NewReader(bt.Client, l, clockAt(86400)), intoColumns(l.untyped()), sampleWindows, SeriesOf(sample{Series: "s0"}), time.Time{}, at(86400), window.Years(3000, time.UTC)) {
		must(t, err)
		if n++; w.Inexact || w.Start.Year() != 0 || w.Events != 1 {
			t.Errorf("%+v", w)
		}
	}
	if n != 1 {
		t.Errorf("%d windows", n)
	}
}

// TestDescendingGaps checks a search whose steps are far narrower than what lies between: windows of a second, from the newest
// one, with months between them, from events and from a rollup. The requests do not depend on the gaps.
func TestDescendingGaps(t *testing.T) {
	singles := partedMappings()
	kinds := []*Mapping[sample]{days(), unsorted(days()), rolled(days(), 400*24*time.Hour), timeFirst()}
	kinds = append(kinds, singles[slices.IndexFunc(singles, func(l *Mapping[sample]) bool { return l.Table.ID == "singles" })])
	for _, l := range kinds {
		t.Run(l.Table.ID+fmt.Sprint(l.Rollup != nil), func(t *testing.T) {
			l.seriesOf = func(e *sample) *string { return &e.Series }
			bt := newBigtable(t, l)
			const n, year = 12, 365 * 86400
			var samples []sample
			for i := range n {
				samples = append(samples, sample{Series: "s0", Time: at(i * year / n), Value: uint64(i * i)})
			}
			must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(year)).WriteAll(t.Context(), samples))
			width, now := window.Every(time.Second), year
			if l.Rollup != nil {
				roll(t, bt, l, rollupNow(year+86400))
				width, now = window.Every(l.Rollup.Every), year+402*86400 // events have expired
			}
			o := clockAt(now)
			var op Operation
			o.Hooks.End = func(_ context.Context, done Operation, _ error) { op = done }
			i := n
			for w, err := range Windows(t.Context(), NewReader(bt.Client, l, o), intoColumns(l.untyped()), sampleWindows, SeriesOf(sample{Series: "s0"}), at(-year), at(year), width, WindowOptions{NewestFirst: true}) {
				must(t, err)
				i--
				if rise := max(0, i*i-(i-1)*(i-1)); w.Value.Last != uint64(i*i) || i > 0 && w.Value.Increase() != float64(rise) {
					t.Errorf("%+v, want %d after %d", w, i*i, rise)
				}
			}
			if i != 0 || op.Requests > 4*(n+1) || op.Events+op.Runs < n {
				t.Errorf("%d windows are missing: %+v", i, op)
			}
		})
	}
}

// TestDescendingGapsOfAll is TestDescendingGaps for the windows of all series combined, up to a limit, where the row keys begin with the
// time: the requests depend on the number of windows.
func TestDescendingGapsOfAll(t *testing.T) {
	byTime := withKey(days(), "by_time", codec.Key{Delimiter: "#", Segments: []codec.Segment{{Kind: codec.BucketSegment}, {Name: "series"}}, Bucket: days().Key.Bucket})
	for _, l := range []*Mapping[sample]{byTime, timeFirst(), rolled(withKey(days(), "rolled", byTime.Key), 400*24*time.Hour)} {
		t.Run(l.Table.ID, func(t *testing.T) {
			l.seriesOf = func(e *sample) *string { return &e.Series }
			bt := newBigtable(t, l)
			const n, series, year = 12, 3, 365 * 86400
			var samples []sample
			for i := range n {
				samples = append(samples, sample{Series: fmt.Sprint("s", i%series), Time: at(i * year / n), Value: uint64(i)})
			}
			must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(year)).WriteAll(t.Context(), samples))
			width, now := window.Every(time.Second), year
			if l.Rollup != nil {
				roll(t, bt, l, rollupNow(year+86400))
				width, now = window.Every(l.Rollup.Every), year+402*86400 // events have expired
			}
			for _, limit := range []int{1, 3, n, 2 * n} {
				o := clockAt(now)
				var op Operation
				o.Hooks.End = func(_ context.Context, done Operation, _ error) { op = done }
				i := n
				for w, err := range Windows(t.Context(), NewReader(bt.Client, l, o), intoColumns(l.untyped()), sampleWindows, (&Query[sample]{Name: "All"}).Bind(sample{}), at(-year), at(year), width, WindowOptions{NewestFirst: true, By: []SeriesValue{}, Limit: limit}) {
					must(t, err)
					if i--; w.Value.Last != uint64(i) || w.Events != 1 {
						t.Errorf("%+v, want %d", w, i)
					}
				}
				found := n - i
				if found != min(limit, n) || op.Requests > 4*(found+series+1) { // the value before the last window of each series is read, too
					t.Errorf("%d of %d windows: %+v", found, limit, op)
				}
			}
		})
	}
}
