package gen_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

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
