package examples_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

const (
	day  = 24 * time.Hour
	week = 7 * day // of a bucket
	ttl  = 90 * day
)

// begin is a Monday in the far future, since the in-memory server garbage-collects by the system clock.
var begin = time.Date(2100, 1, 4, 0, 0, 0, 0, time.UTC)

// year is a year of two meters and, as a model, the readings that were written and not deleted, whether or not they have
// expired.
type year struct {
	t        *testing.T
	random   *rand.Rand
	bt       *storetest.Bigtable
	now      time.Time
	every    time.Duration // between readings
	meters   []examples.MeterSeries
	readings map[examples.MeterSeries]map[time.Time]examples.MeterEvent
	late     []examples.MeterEvent                    // still on their way
	doubted  map[examples.MeterSeries]map[string]bool // weeks that changed after their first readings had expired
	last     store.Operation                          // of a reader
}

func newYear(t *testing.T) *year {
	y := &year{
		t: t, random: rand.New(rand.NewPCG(30, 4)), bt: examplestest.New(t), now: begin, every: testlong.Pick(time.Hour, 30*time.Minute),
		meters:   []examples.MeterSeries{{Region: "north", Meter: 42}, {Region: "south", Meter: 42}},
		readings: map[examples.MeterSeries]map[time.Time]examples.MeterEvent{}, doubted: map[examples.MeterSeries]map[string]bool{},
	}
	for _, m := range y.meters {
		y.readings[m], y.doubted[m] = map[time.Time]examples.MeterEvent{}, map[string]bool{}
	}
	return y
}

func (y *year) clock() time.Time { return y.now }

func (y *year) must(err error) {
	y.t.Helper()
	if err != nil {
		y.t.Fatal(err)
	}
}

func (y *year) writer() *examples.MeterWriter {
	return examples.NewMeterWriter(y.bt.Client, store.WriterOptions{Now: y.clock})
}

// write writes readings, in place of earlier ones of the same times.
func (y *year) write(events ...examples.MeterEvent) {
	y.must(y.writer().WriteAll(y.t.Context(), events))
	for _, e := range events {
		y.readings[e.MeterSeries][e.Time] = e
	}
}

// weekStart returns the start of the bucket of a time.
func weekStart(at time.Time) time.Time { return at.Truncate(week) }

// known returns a random reading in a week whose readings are all there, and will be at the next pass.
func (y *year) known() (e examples.MeterEvent, found bool) {
	m := y.meters[y.random.IntN(len(y.meters))]
	for range 100 {
		at := y.now.Add(-time.Duration(y.random.Int64N(int64(ttl)))).Truncate(y.every)
		if e, found = y.readings[m][at]; found && weekStart(at).Add(ttl-week-day).After(y.now) {
			return e, true
		}
	}
	return e, false
}

// passes lets a week pass: its readings arrive, some of them up to three weeks late, and earlier ones are corrected, moved and
// deleted. Every second week, those that have changed are summarized.
func (y *year) passes(n int) {
	start := begin.Add(time.Duration(n) * week)
	y.now = start.Add(week + time.Hour)
	var arrived []examples.MeterEvent
	for _, m := range y.meters {
		for at := start; at.Before(start.Add(week)); at = at.Add(y.every) {
			e := examples.MeterEvent{MeterSeries: m, Time: at, Energy: 50 + y.random.Int64N(500), Voltage: 220 + 20*y.random.Float64()}
			if y.random.IntN(20) == 0 {
				y.late = append(y.late, e)
			} else {
				arrived = append(arrived, e)
			}
		}
	}
	y.late = slices.DeleteFunc(y.late, func(e examples.MeterEvent) bool {
		now := y.random.IntN(2) == 0 || e.Time.Before(start.Add(-2*week))
		if now {
			arrived = append(arrived, e)
		}
		return now
	})
	y.random.Shuffle(len(arrived), func(i, j int) { arrived[i], arrived[j] = arrived[j], arrived[i] })
	y.write(arrived...)
	for range 10 {
		if e, ok := y.known(); ok {
			y.change(e)
		}
	}
	if n%2 == 0 {
		return
	}
	if report := y.summarize(); report.Sealed == 0 || report.Sealed != report.Noted || report.Inexact != 0 {
		y.t.Errorf("at %v: %+v", y.now, report)
	}
	y.collect()
}

// change corrects a reading, moves it to the other meter, or deletes those of its hour.
func (y *year) change(e examples.MeterEvent) {
	of := y.readings[e.MeterSeries]
	switch y.random.IntN(4) {
	case 0:
		moved := e
		if moved.MeterSeries = y.meters[0]; e.MeterSeries == moved.MeterSeries {
			moved.MeterSeries = y.meters[1]
		}
		y.must(y.writer().Replace(y.t.Context(), e, moved))
		delete(of, e.Time)
		y.readings[moved.MeterSeries][e.Time] = moved
	case 1:
		from := e.Time.Truncate(time.Hour)
		to := from.Add(time.Hour)
		_, err := y.writer().DeleteRange(y.t.Context(), e.MeterSeries, from, to)
		y.must(err)
		for at := range of {
			if !at.Before(from) && at.Before(to) {
				delete(of, at)
			}
		}
	default:
		e.Energy += 1000
		y.write(e)
	}
}

// summarize summarizes the weeks that have changed. Nothing is written meanwhile.
func (y *year) summarize() store.RollupReport {
	report, err := examples.RollupMeter(y.t.Context(), y.bt.Client, store.RollupOptions{Now: y.clock, Sleep: func(_ context.Context, d time.Duration) error {
		y.now = y.now.Add(d)
		return nil
	}})
	y.must(err)
	return report
}

// collect deletes the readings that have expired from half of the rows, as garbage collection does sooner or later.
func (y *year) collect() {
	table := y.bt.Client.Open("meter_quarters")
	var keys []string
	y.must(table.ReadRows(y.t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		keys = append(keys, row.Key())
		return true
	}, bigtable.RowFilter(bigtable.ChainFilters(bigtable.CellsPerRowLimitFilter(1), bigtable.StripValueFilter()))))
	for _, key := range keys {
		if y.random.IntN(2) == 0 {
			m := bigtable.NewMutation()
			for _, column := range []string{"energy", "voltage"} {
				m.DeleteTimestampRange("m", column, 0, bigtable.Time(y.now.Add(-ttl)))
			}
			y.must(table.Apply(y.t.Context(), key, m))
		}
	}
}

// tooLate corrects a reading of a week whose first readings have expired. That of the others is promised, and that this is said.
func (y *year) tooLate() {
	m := y.meters[0]
	start := weekStart(y.now.Add(-ttl))
	at := start.Add(week)
	for found := false; !found; _, found = y.readings[m][at] {
		at = at.Add(-y.every)
	}
	if !start.Add(ttl).Before(y.now) || !at.Add(ttl).After(y.now) {
		y.t.Fatalf("at %v, the week of %v has not expired in part", y.now, start)
	}
	e := y.readings[m][at]
	e.Energy += 1000
	y.write(e)
	y.doubted[m][start.Format(time.DateOnly)] = true
}

// check compares the windows of all meters with the readings, by hours and by local days, which have 23 to 25 of them.
func (y *year) check() {
	y.t.Helper()
	in, err := time.LoadLocation("Europe/Berlin")
	y.must(err)
	from, to := time.Date(2100, 1, 1, 0, 0, 0, 0, in), time.Date(2101, 2, 1, 0, 0, 0, 0, in)
	r := examples.NewMeterReader(y.bt.Client, store.ReaderOptions{Now: y.clock, Hooks: store.Hooks{End: func(_ context.Context, op store.Operation, _ error) { y.last = op }}})
	for _, m := range y.meters {
		for name, by := range map[string]struct {
			width window.Width
			start func(at time.Time) time.Time
		}{
			"hours": {window.Every(time.Hour), func(at time.Time) time.Time { return at.Truncate(time.Hour) }},
			"days": {window.Days(1, in), func(at time.Time) time.Time {
				year, month, day := at.In(in).Date()
				return time.Date(year, month, day, 0, 0, 0, 0, in)
			}},
		} {
			want, inexact := y.model(m, by.start), 0
			got := y.windows(m, r.Windows(y.t.Context(), m, from, to, by.width), func(w *examples.MeterWindow) {
				inexact++
				delete(want, w.Start.Unix())
			})
			if diff := cmp.Diff(want, got); diff != "" {
				y.t.Fatalf("at %v, %v by %s (-readings +windows):\n%s", y.now, m, name, diff)
			}
			if least := len(y.doubted[m]) * 7; inexact < least {
				y.t.Errorf("at %v, %v by %s: %d inexact windows, want %d", y.now, m, name, inexact, least)
			}
		}
	}
}

// model summarizes the readings of a meter, by the starts of windows in Unix time.
func (y *year) model(m examples.MeterSeries, startOf func(time.Time) time.Time) map[int64]string {
	in := map[int64][]examples.MeterEvent{}
	for at, e := range y.readings[m] {
		start := startOf(at).Unix()
		in[start] = append(in[start], e)
	}
	out := map[int64]string{}
	for start, events := range in {
		slices.SortFunc(events, func(a, b examples.MeterEvent) int { return a.Time.Compare(b.Time) })
		first, last := events[0], events[len(events)-1]
		var sum int64
		low, high := first.Energy, first.Energy
		lowest := first.Voltage
		for _, e := range events {
			sum += e.Energy
			low, high, lowest = min(low, e.Energy), max(high, e.Energy), min(lowest, e.Voltage)
		}
		out[start] = fmt.Sprint(len(events), sum, low, high, first.Energy, last.Energy, lowest, first.Time, last.Time)
	}
	return out
}

// windows returns windows in the form of those of the model. It passes those that may lack changes to inexact, and the next ones,
// whose increase begins with the last value of these.
func (y *year) windows(m examples.MeterSeries, read iter.Seq2[examples.MeterWindow, error], inexact func(w *examples.MeterWindow)) map[int64]string {
	out, follows := map[int64]string{}, false
	for w, err := range read {
		y.must(err)
		doubted := y.doubted[m][weekStart(w.Start.UTC()).Format(time.DateOnly)] || y.doubted[m][weekStart(w.End.UTC().Add(-1)).Format(time.DateOnly)]
		expected := doubted || follows
		follows = doubted
		switch {
		case w.Inexact && expected:
			inexact(&w)
			continue
		case w.Inexact != doubted:
			y.t.Fatalf("at %v: the window of %v from %v is inexact: %v", y.now, m, w.Start, w.Inexact)
		}
		sum, err := w.Energy.Sum()
		y.must(err)
		out[w.Start.Unix()] = fmt.Sprint(w.Events, sum, w.Energy.Min, w.Energy.Max, w.Energy.First, w.Energy.Last, w.Voltage.Min, w.Energy.FirstTime, w.Energy.LastTime)
	}
	return out
}

// TestYear writes a year of readings, some of them late, and corrects, moves and deletes others, while weeks are summarized and
// readings expire. The windows by hour and by day are always those of all readings that were written and not deleted, except
// for a week that is changed when its first readings have expired: its windows say so.
func TestYear(t *testing.T) {
	testlong.Skip(t, "a year")
	y := newYear(t)
	for n := range 52 {
		if y.passes(n); n%26 == 25 {
			y.check()
		}
	}
	y.now = y.now.Add(3 * day) // in the middle of a week
	y.tooLate()
	y.check()
	if report := y.summarize(); report.Sealed != 1 || report.Inexact != 1 {
		t.Errorf("after a correction that is too late: %+v", report)
	}
	y.check()

	y.now = y.now.Add(2 * 365 * day)
	y.collect()
	y.check()
	if y.last.Runs != 52 || y.last.Events != 0 || y.last.Requests != 1 {
		t.Errorf("a year takes %d buckets of the rollup and %d events, in %d requests", y.last.Runs, y.last.Events, y.last.Requests)
	}

	_, err := y.writer().DeleteSeries(t.Context(), y.meters[0])
	y.must(err)
	clear(y.readings[y.meters[0]])
	clear(y.doubted[y.meters[0]])
	y.check()

	y.now = begin.AddDate(6, 1, 0)
	clear(y.readings[y.meters[1]])
	y.check()
}
