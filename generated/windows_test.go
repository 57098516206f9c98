package generated_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// positionsOf returns the events of two lines with three vehicles each, in two days around a change
// of the clocks in New York.
func positionsOf() (events []examples.PositionEvent) {
	random := rand.New(rand.NewPCG(29, 2))
	begin := time.Date(2026, 10, 31, 12, 0, 0, 0, time.UTC)
	for _, line := range []string{"m15", "m86"} {
		for vehicle := range 3 {
			s := examples.PositionSeries{Region: "nyc", Line: line, Vehicle: int64(vehicle)}
			for at := begin; at.Before(begin.Add(48 * time.Hour)); at = at.Add(time.Duration(1+random.IntN(3600)) * time.Second) {
				events = append(events, examples.PositionEvent{PositionSeries: s, Time: at, Latitude: random.Float64(), Longitude: random.Float64()})
			}
		}
	}
	return events
}

// TestWindowsOfQueries compares the windows of a series, of a line, whose vehicles come by hour,
// and of groups of series with windows by local day that are computed from the events.
func TestWindowsOfQueries(t *testing.T) {
	b := examplestest.New(t)
	now := store.WriterOptions{Now: func() time.Time { return time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC) }}
	events := positionsOf()
	check(t, examples.NewPositionWriter(b.Client, now).WriteAll(t.Context(), events))
	r := examples.NewPositionReader(b.Client, store.ReaderOptions{Now: now.Now})
	in, err := time.LoadLocation("America/New_York")
	check(t, err)
	from, to := time.Date(2026, 10, 31, 20, 0, 0, 0, time.UTC), time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

	// expected returns the windows of the series for which by returns the group, in order of time,
	// then group by group.
	expected := func(by func(s examples.PositionSeries) (examples.PositionSeries, bool)) (out []string) {
		type day struct {
			group examples.PositionSeries
			start time.Time
		}
		counts, sums := map[day]int64{}, map[day][]float64{}
		var days []day
		for _, e := range events {
			group, ok := by(e.PositionSeries)
			if !ok || e.Time.Before(from) || !e.Time.Before(to) {
				continue
			}
			y, m, d := e.Time.In(in).Date()
			key := day{group, time.Date(y, m, d, 0, 0, 0, 0, in)}
			if counts[key] == 0 {
				days = append(days, key)
			}
			counts[key]++
			sums[key] = append(sums[key], e.Latitude)
		}
		for _, d := range days {
			out = append(out, fmt.Sprintf("%v %s %d %.9f %.9f", d.group, d.start.Format(time.RFC3339), counts[d], slices.Min(sums[d]), slices.Max(sums[d])))
		}
		slices.Sort(out)
		return out
	}
	got := func(windows func(yield func(examples.PositionWindow, error) bool)) (out []string) {
		for w, err := range windows {
			check(t, err)
			if w.Latitude.Count != w.Events || w.Undecodable != 0 || w.Filled {
				t.Errorf("%+v", w)
			}
			out = append(out, fmt.Sprintf("%v %s %d %.9f %.9f", w.PositionSeries, w.Start.Format(time.RFC3339), w.Events, w.Latitude.Min, w.Latitude.Max))
		}
		slices.Sort(out)
		return out
	}
	itself := func(s examples.PositionSeries) (examples.PositionSeries, bool) { return s, s.Line == "m86" }
	one := events[0].PositionSeries
	for name, c := range map[string]struct{ got, want []string }{
		"a series": {
			got(r.Windows(t.Context(), one, from, to, window.Days(1, in))),
			expected(func(s examples.PositionSeries) (examples.PositionSeries, bool) { return s, s == one }),
		},
		"a line": {got(r.ByLineWindows(t.Context(), "nyc", "m86", from, to, window.Days(1, in))), expected(itself)},
		"a line, newest first": {
			got(r.ByLineWindows(t.Context(), "nyc", "m86", from, to, window.Days(1, in), store.WindowOptions{NewestFirst: true})), expected(itself),
		},
		"lines": {
			got(r.ByLinesWindows(t.Context(), "nyc", []string{"m86"}, from, to, window.Days(1, in))), expected(itself),
		},
		"grouped by line": {
			got(r.ExportWindows(t.Context(), from, to, window.Days(1, in), store.WindowOptions{By: []store.SeriesValue{examples.PositionSeriesLine}})),
			expected(func(s examples.PositionSeries) (examples.PositionSeries, bool) {
				return examples.PositionSeries{Line: s.Line}, true
			}),
		},
		"all together": {
			got(r.ExportWindows(t.Context(), from, to, window.Days(1, in), store.WindowOptions{By: []store.SeriesValue{}})),
			expected(func(examples.PositionSeries) (examples.PositionSeries, bool) { return examples.PositionSeries{}, true }),
		},
	} {
		if !slices.Equal(c.got, c.want) || len(c.got) == 0 {
			t.Errorf("%s: %s", name, cmp.Diff(c.want, c.got))
		}
	}
}

// TestPointsOfQueries compares the points of a series and of each of a line with those of its events.
func TestPointsOfQueries(t *testing.T) {
	b := examplestest.New(t)
	now := store.WriterOptions{Now: func() time.Time { return time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC) }}
	events := positionsOf()
	check(t, examples.NewPositionWriter(b.Client, now).WriteAll(t.Context(), events))
	r := examples.NewPositionReader(b.Client, store.ReaderOptions{Now: now.Now})
	from, to := time.Date(2026, 10, 31, 20, 0, 0, 0, time.UTC), time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	want := map[examples.PositionSeries]*window.Points{}
	for _, e := range events {
		if e.Line == "m86" && !e.Time.Before(from) && e.Time.Before(to) {
			if want[e.PositionSeries] == nil {
				want[e.PositionSeries] = window.NewPoints(from, to, 7)
			}
			want[e.PositionSeries].Add(e.Time, e.Latitude)
		}
	}
	n := 0
	for c, err := range r.ByLinePoints(t.Context(), "nyc", "m86", from, to, examples.PositionFieldLatitude, 7) {
		check(t, err)
		n++
		points, err := r.Points(t.Context(), c.Series, from, to, examples.PositionFieldLatitude, 7)
		if all := want[c.Series].All(); err != nil || !slices.Equal(c.Points(), all) || !slices.Equal(points, all) {
			t.Errorf("%v: %v and %v, want %v, %v", c.Series, c.Points(), points, all, err)
		}
	}
	if n != len(want) || n == 0 {
		t.Errorf("%d charts, want %d", n, len(want))
	}
}
