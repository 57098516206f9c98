package store

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/window"
)

// odd are times near which days are not 24 hours long: with 23 and 25 hours, with half an hour more or
// less, one that does not exist, one without midnight, and one with 23:00 twice.
var odd = []struct{ zone, at string }{
	{"Europe/Berlin", "2021-03-28"}, {"Europe/Berlin", "2021-10-31"},
	{"Australia/Lord_Howe", "2021-04-04"}, {"Australia/Lord_Howe", "2021-10-03"},
	{"Pacific/Apia", "2011-12-30"}, {"America/Sao_Paulo", "2018-11-04"}, {"America/Sao_Paulo", "2018-02-17"}, {"UTC", "2021-06-01"},
}

// modeledWidths are widths in a time zone, each with the label of the window that contains a time: it is
// computed from what clocks show.
func modeledWidths(in *time.Location) map[string]struct {
	width window.Width
	label func(t time.Time) string
} {
	clock := func(t time.Time) time.Time {
		_, seconds := t.In(in).Zone()
		return t.UTC().Add(time.Duration(seconds) * time.Second)
	}
	day := func(t time.Time) time.Time { return clock(t).Truncate(24 * time.Hour) }
	type modeled = struct {
		width window.Width
		label func(t time.Time) string
	}
	return map[string]modeled{
		"day":   {window.Days(1, in), func(t time.Time) string { return day(t).Format("2006-01-02") }},
		"week":  {window.Weeks(1, in), func(t time.Time) string { y, w := day(t).ISOWeek(); return fmt.Sprintf("%d-W%02d", y, w) }},
		"month": {window.Months(1, in), func(t time.Time) string { return t.In(in).Format("2006-01") }},
		"year":  {window.Years(1, in), func(t time.Time) string { return t.In(in).Format("2006") }},
		"hour":  {window.Every(time.Hour), func(t time.Time) string { return t.UTC().Format("2006-01-02T15") }},
		"hours": {window.Every(6 * time.Hour).In(in), func(t time.Time) string { return clock(t).Truncate(6 * time.Hour).Format("2006-01-02T15") }},
		"from":  {window.Days(1, in).From(6 * time.Hour), func(t time.Time) string { return clock(t).Add(-6 * time.Hour).Format("2006-01-02") }},
		"all":   {window.Whole(), func(time.Time) string { return "all" }},
	}
}

// stepped is an event after another one of its series, if there is one before it that the read knows.
type stepped struct {
	sample
	before *sample
}

// steppedIn returns events, each after the last one of its series since a time, in order of time.
func steppedIn(events []sample, since time.Time) (out []stepped) {
	events = slices.Clone(events)
	slices.SortFunc(events, func(a, b sample) int { return a.Time.Compare(b.Time) })
	last := map[string]*sample{}
	for i := range events {
		if e := &events[i]; !e.Time.Before(since) {
			out = append(out, stepped{*e, last[e.Series]})
			last[e.Series] = e
		}
	}
	return out
}

// rise returns by how much the counters of the events of a window have increased, and since when.
func rise(in []stepped) (increase *big.Int, since time.Time) {
	increase, since = new(big.Int), in[0].Time
	for _, e := range in {
		value, last := new(big.Int).SetUint64(e.Value), new(big.Int).SetUint64(e.Value)
		begin := e.Time
		if e.before != nil {
			last.SetUint64(e.before.Value)
			begin = e.before.Time
		}
		if value.Cmp(last) < 0 {
			last.SetInt64(0) // the counter began again
		}
		if increase.Add(increase, value.Sub(value, last)); begin.Before(since) {
			since = begin
		}
	}
	return increase, since
}

// risen describes what rise returns, and the rate.
func risen(increase *big.Int, since time.Time, rate float64) string {
	return fmt.Sprintf("rises by %v since %v, %v", increase, since, rate)
}

// modelRise describes the increase of the events of a window, and its rate.
func modelRise(in []stepped) string {
	increase, since := rise(in)
	last := in[len(in)-1].Time
	exact, _ := new(big.Float).SetInt(increase).Float64()
	rate := math.NaN()
	if last.After(since) {
		rate = exact / last.Sub(since).Seconds()
	}
	return risen(increase, since, rate)
}

// modelWindows returns the windows of events by their definition, which know values since a time. groups names the group of a
// series.
func modelWindows(events []sample, group func(series string) string, label func(t time.Time) string, since, from, to time.Time, fill window.Fill) (out []string) {
	of := map[string]map[string][]stepped{}
	for _, e := range steppedIn(events, since) {
		if e.Time.Before(from) || !e.Time.Before(to) {
			continue
		}
		g := group(e.Series)
		if of[g] == nil {
			of[g] = map[string][]stepped{}
		}
		of[g][label(e.Time)] = append(of[g][label(e.Time)], e)
	}
	var labels []string
	for at := from; at.Before(to); at = at.Add(15 * time.Minute) {
		if l := label(at); len(labels) == 0 || labels[len(labels)-1] != l {
			labels = append(labels, l)
		}
	}
	if l := label(to.Add(-1)); labels[len(labels)-1] != l {
		labels = append(labels, l)
	}
	var groups []string
	for g := range of {
		groups = append(groups, g)
	}
	slices.Sort(groups)
	for _, g := range groups {
		last := uint64(0)
		for _, l := range labels {
			in := of[g][l]
			if len(in) == 0 && fill == window.FillNone {
				continue
			}
			if len(in) == 0 {
				value := uint64(0)
				if fill == window.FillPrevious {
					value = last
				}
				out = append(out, fmt.Sprintf("%s %s filled %d", g, l, value))
				continue
			}
			low, high, sum := in[0].Value, in[0].Value, new(big.Int)
			for _, e := range in {
				low, high = min(low, e.Value), max(high, e.Value)
				sum.Add(sum, new(big.Int).SetUint64(e.Value))
			}
			last = in[len(in)-1].Value
			out = append(out, fmt.Sprintf("%s %s %d: %d to %d, %v, %d at %v, %d at %v, %s", g, l, len(in), low, high, sum, in[0].Value, in[0].Time, last, in[len(in)-1].Time, modelRise(in)))
		}
	}
	return out
}

// layoutsByTime returns days until a time, and hours since then, in the same table.
func layoutsByTime(since time.Time) *mappingOf[sample] {
	series, bucket := codec.Segment{Name: "series"}, codec.Segment{Kind: codec.BucketSegment}
	hour := codec.Bucket{Every: time.Hour, Label: codec.Label{Format: codec.TimeFormat{Kind: codec.UnixMillis}}}
	l := withKey(days(), "layouts", codec.Key{Delimiter: "#", Segments: []codec.Segment{series, bucket}, Bucket: hour})
	older := days()
	older.Table.ID = "layouts"
	for _, m := range []*mappingOf[sample]{l, older} {
		adjusted(m, func(m *mapping) { m.columns = intoColumns(m).columns })
	}
	l.Since, l.Older = since.Truncate(24*time.Hour), []*mappingOf[sample]{older}
	return l
}

// timeFirst returns days of all series, with the day before the series in row keys.
func timeFirst() *mappingOf[sample] {
	salt := codec.Segment{Kind: codec.SaltSegment, Buckets: 3, Salted: []int{0}}
	return withKey(days(), "time_first", codec.Key{
		Delimiter: "#", Segments: []codec.Segment{salt, {Kind: codec.BucketSegment}, {Name: "series"}}, Bucket: days().Key.Bucket,
	})
}

// TestWindowsModel compares windows with those of a model: near changes of the clock in several time zones,
// filled, newest first, limited and grouped, of one series, several and all, after deletions, and of
// reads that break, for keys and patterns of all kinds and for layouts by time. At length,
// BTGEN_WINDOWS=1800, the number of events of a case, makes 200,000 events of it.
func TestWindowsModel(t *testing.T) {
	events := testlong.Pick(150, 450)
	if n, err := strconv.Atoi(os.Getenv("BTGEN_WINDOWS")); err == nil {
		events = n
	}
	kinds := append(partedMappings(), unsorted(days()), timeFirst(), offsetBlobs(), layoutsByTime(time.Date(2021, 3, 28, 0, 0, 0, 0, time.UTC)))
	for _, l := range testlong.Sample(kinds, 2) {
		t.Run(l.Table.ID, func(t *testing.T) {
			t.Parallel()
			for i := range testlong.Pick(1, len(odd)) {
				m := windowsModel{t: t, l: l, random: rand.New(rand.NewPCG(29, uint64(7+i)))}
				where := odd[(i+m.random.IntN(len(odd)))%len(odd)]
				if l.Table.ID == "layouts" || strings.HasSuffix(l.Table.ID, "_numbered") {
					where = odd[i%4] // their layouts begin in 2021
				}
				t.Run(where.zone+where.at, func(t *testing.T) {
					m.t = t
					m.run(where.zone, where.at, events)
				})
			}
		})
	}
}

// modeledSeries are the series of the model, whose names have different lengths.
var modeledSeries = []string{"0", "1", "16", "s01", "s3", "s3x", "a", "z"}

// windowsModel is a case of TestWindowsModel.
type windowsModel struct {
	t      *testing.T
	l      *mappingOf[sample]
	random *rand.Rand
	events []sample
	bt     Client
	now    time.Time

	columns sampleWindowColumns // reused
}

// run stores n events around a date, deletes some, and reads windows.
func (m *windowsModel) run(zone, date string, n int) {
	in, err := time.LoadLocation(zone)
	must(m.t, err)
	center, err := time.ParseInLocation("2006-01-02 15", date+" 12", in)
	must(m.t, err)
	m.now = center.AddDate(0, 2, 0)
	bt := newBigtable(m.t, m.l)
	m.bt = bt.Client
	seconds := map[int]bool{}
	for range n {
		second := int(m.random.NormFloat64() * 86400)
		if seconds[second] {
			continue
		}
		seconds[second] = true
		e := sample{Series: modeledSeries[m.random.IntN(8)], Time: center.Add(time.Duration(second) * time.Second).UTC(), Value: m.random.Uint64()}
		if m.l.Table.hasClasses() {
			e.Class = 1
		}
		m.events = append(m.events, e)
	}
	w := newWriterOf(bt.Client, []*mappingOf[sample]{m.l}, WriterOptions{Now: func() time.Time { return m.now }})
	must(m.t, w.WriteAll(m.t.Context(), m.events))
	for range 3 {
		series, from := modeledSeries[m.random.IntN(8)], center.Add(time.Duration(m.random.IntN(72)-36)*time.Hour)
		to := from.Add(time.Duration(m.random.IntN(12)) * time.Hour)
		_, err := w.DeleteRange(m.t.Context(), seriesOf(sample{Series: series}), from, to)
		must(m.t, err)
		m.events = slices.DeleteFunc(m.events, func(e sample) bool { return e.Series == series && !e.Time.Before(from) && e.Time.Before(to) })
	}
	for range testlong.Pick(6, 20) {
		from := center.Add(-time.Duration(m.random.IntN(100*3600)) * time.Second)
		m.read(in, from, from.Add(time.Duration(1+m.random.IntN(200*3600))*time.Second))
	}
}

// read reads windows with random parameters, and again with streams that break.
func (m *windowsModel) read(in *time.Location, from, to time.Time) {
	widths := modeledWidths(in)
	name := []string{"day", "week", "month", "year", "hour", "hours", "from", "all"}[m.random.IntN(8)]
	width := widths[name]
	o := WindowOptions{Fill: window.Fill(m.random.IntN(3)), NewestFirst: m.random.IntN(2) == 0, Parallelism: m.random.IntN(5) - 1}
	if m.random.IntN(2) == 0 {
		o.Before = time.Duration(1+m.random.IntN(100*3600)) * time.Second
	}
	of, group := seriesOf(sample{Series: "s3"}), func(series string) string { return series }
	selects := func(series string) bool { return series == "s3" }
	switch kind := m.random.IntN(3); {
	case kind == 1:
		of, selects = manySeriesOf(named("s3", "16", "none", "1")), func(series string) bool { return slices.Contains([]string{"1", "16", "s3"}, series) }
	case kind == 2:
		of, selects = everySample, func(string) bool { return true }
	}
	if m.random.IntN(4) == 0 {
		o.By, group = []SeriesValue{}, func(string) string { return "" }
	}
	some := slices.DeleteFunc(slices.Clone(m.events), func(e sample) bool { return !selects(e.Series) })
	want := modelWindows(some, group, width.label, from.Add(-o.Before), from, to, o.Fill)
	if (o.By != nil || of.Query == nil && !of.Many) && m.random.IntN(2) == 0 { // one group
		o.Limit = 1 + m.random.IntN(20)
		if n := min(len(want), o.Limit); o.NewestFirst {
			want = want[len(want)-n:]
		} else {
			want = want[:n]
		}
	}
	if !slices.ContainsFunc(some, func(e sample) bool { return !e.Time.Before(from) && e.Time.Before(to) }) {
		return // whether windows are filled depends on the selection
	}
	got, err := m.windows(m.bt, of, from, to, width.width, width.label, o)
	if err != nil || !slices.Equal(got, want) {
		m.t.Fatalf("%s in %s from %v until %v, %+v: %v %s", name, in, from, to, o, err, cmp.Diff(want, got))
	}
	after := m.random.IntN(5)
	broken, rows := breaksAfter(m.bt, after, errors.New("broken"))
	var open atomic.Int64
	got, err = m.windows(during(broken, func() func() {
		open.Add(1)
		return func() { open.Add(-1) }
	}), of, from, to, width.width, width.label, o)
	for _, w := range got {
		if !slices.Contains(want, w) {
			m.t.Fatalf("%s in %s: %s is not complete", name, in, w)
		}
	}
	if rows.Load() > int64(after) && err == nil || open.Load() != 0 {
		m.t.Fatalf("%s in %s: a broken read has the error %v, and %d requests are in progress", name, in, err, open.Load())
	}
}

// windows returns the windows of a read in the order of the model. It checks that their columnar form is
// equal.
func (m *windowsModel) windows(client Client, of Selection, from, to time.Time, width window.Width, label func(t time.Time) string, o WindowOptions) (out []string, err error) {
	r := newReaderOf(client, m.l, ReaderOptions{Now: func() time.Time { return m.now }})
	r.reader.alone = 1 + m.random.IntN(50)
	type text struct {
		series string
		start  time.Time
		text   string
	}
	var all []text
	var windows []sampleWindow
	m.columns.Reset()
	err = AppendWindows(&m.columns, func(yield func(sampleWindow, error) bool) {
		for w, err := range readWindows(m.t.Context(), r, intoColumns(m.l.untyped()), sampleWindows, of, from, to, width, o) {
			if err == nil {
				windows = append(windows, w)
			}
			if !yield(w, err) {
				return
			}
		}
	})
	if diff := cmp.Diff(columnsText(windows), m.columns.text()); diff != "" {
		m.t.Fatalf("(-iterator +columns)\n%s", diff)
	}
	for _, w := range windows {
		v := &w.Value
		s := fmt.Sprintf("%s %s %d: %d to %d, %v, %d at %v, %d at %v, %s", w.Series, label(w.Start), w.Events, v.Min, v.Max, v.BigSum(), v.First, v.FirstTime, v.Last, v.LastTime,
			risen(v.BigIncrease(), v.Since(), v.Rate()))
		if w.Filled {
			s = fmt.Sprintf("%s %s filled %d", w.Series, label(w.Start), v.Last)
		}
		if n := len(all); n > 0 && all[n-1].series == w.Series && all[n-1].start.Before(w.Start) == o.NewestFirst {
			m.t.Fatalf("%s comes after %s", s, all[n-1].text)
		}
		all = append(all, text{w.Series, w.Start, s})
	}
	slices.SortFunc(all, func(a, b text) int {
		if a.series != b.series {
			return strings.Compare(a.series, b.series)
		}
		return a.start.Compare(b.start)
	})
	for _, w := range all {
		out = append(out, w.text)
	}
	return out, err
}
