package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/internal/chart"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/window"
)

// plotOf returns a plot of a layout.
func plotOf(l *layout.Layout) *plot { return &plot{request: &request{schema: dynamic.New(l)}} }

// TestPlotWidth checks which windows a chart chooses: those of a rollup are multiples of its width.
func TestPlotWidth(t *testing.T) {
	const us, ms, hour, day = time.Microsecond, time.Millisecond, time.Hour, 24 * time.Hour
	for _, tt := range []struct {
		least, precision, rollup time.Duration
		zone, want               string
	}{
		{0, 1, 0, "UTC", "1ns"}, {3 * us, 1, 0, "UTC", "5µs"}, {us, time.Second, 0, "UTC", "1s"}, {7 * time.Second, ms, 0, "UTC", "10s"},
		{365 * day / plotPixels, time.Minute, 0, "UTC", "12h"}, {36 * hour, time.Second, 0, "UTC", "2d"}, {8 * day, time.Second, 0, "UTC", "2w"},
		{31 * day, time.Second, 0, "UTC", "3mo"}, {400 * day, time.Second, 0, "UTC", "2y"}, {1<<63 - 1, time.Second, 0, "UTC", "100y"},
		{11 * time.Minute, ms, 10 * time.Minute, "UTC", "30m"}, {time.Second, ms, 10 * time.Minute, "UTC", "10m"}, {5 * hour, ms, 4 * hour, "UTC", "12h"},
		{time.Minute, ms, 90 * time.Minute, "UTC", "3h"}, {time.Minute, ms, 7 * time.Minute, "UTC", "7m"}, {hour, ms, 7 * time.Second, "UTC", "3605s"},
		{100 * day, ms, hour, "UTC", "1y"}, {8 * day, ms, 7 * day, "UTC", "2w"}, {15 * day, ms, 7 * day, "UTC", "504h"}, {31 * day, ms, 12 * hour, "UTC", "3mo"},
		{31 * day, ms, 2 * day, "UTC", "768h"}, {13 * hour, ms, hour, "Europe/London", "1d"}, {13 * hour, ms, 6 * hour, "Europe/London", "1d in UTC"},
		{13 * hour, ms, hour, "Asia/Kolkata", "1d in UTC"}, {2 * hour, ms, hour, "Europe/London", "2h"}, {2 * hour, ms, hour, "Asia/Kolkata", "2h in UTC"},
		{2 * hour, ms, 30 * time.Minute, "Asia/Kolkata", "2h"}, {40 * day, ms, 30 * time.Minute, "Asia/Kolkata", "3mo"}, {1<<63 - 1, ms, 7 * time.Minute, "UTC", "52560004m"},
	} {
		d := plotOf(&layout.Layout{Precision: tt.precision})
		zone, err := time.LoadLocation(tt.zone)
		must(t, err)
		d.Zone, d.From, d.To = zone, time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)
		d.setWidth(tt.least, tt.rollup)
		if width, err := window.Parse(d.Width, zone); d.Width != tt.want || err != nil || width.String() != d.wide.String() || width.Check() != nil {
			t.Errorf("at least %v, of %v in %s: %s, want %s (%v)", tt.least, tt.rollup, tt.zone, d.Width, tt.want, err)
		}
	}
}

// TestPlotApart checks when windows are too narrow for events.
func TestPlotApart(t *testing.T) {
	line := func(count int64, minutes ...int) (out []chart.Point) {
		for _, m := range minutes {
			start := time.Unix(int64(60*m), 0)
			out = append(out, chart.Point{Start: start, End: start.Add(time.Minute), Count: count})
		}
		return out
	}
	// every returns n windows of one event, of which each follows at the next of some distances.
	every := func(n int, distances ...int) []chart.Point {
		minutes := []int{0}
		for i := range n - 1 {
			minutes = append(minutes, minutes[i]+distances[i%len(distances)])
		}
		return line(1, minutes...)
	}
	for name, tt := range map[string]struct {
		lines [][]chart.Point
		want  time.Duration
	}{
		"none":                         {nil, 0},
		"one":                          {[][]chart.Point{every(1)}, 0},
		"adjacent":                     {[][]chart.Point{every(40, 1)}, 0},
		"adjacent, with an outage":     {[][]chart.Point{append(every(20, 1), line(1, 90, 91, 92, 93)...)}, 0},
		"every fifth":                  {[][]chart.Point{every(20, 5), every(11, 5)}, 5 * time.Minute},
		"every fifth, not in time":     {[][]chart.Point{every(40, 5, 4, 5, 6)}, 6 * time.Minute},
		"every fifth, with an outage":  {[][]chart.Point{append(every(20, 5), line(1, 900, 905, 910)...)}, 5 * time.Minute},
		"between one and two":          {[][]chart.Point{every(40, 1, 2)}, 2 * time.Minute},
		"weekdays":                     {[][]chart.Point{every(40, 1, 1, 1, 1, 3)}, 0},
		"two bursts":                   {[][]chart.Point{line(300, 0, 43200)}, 0},
		"many bursts":                  {[][]chart.Point{line(60, 0, 9, 17, 30, 34, 50, 60, 71, 80, 94, 100, 120)}, 0},
		"two bursts, and a few events": {[][]chart.Point{line(300, 0, 43200), line(1, 0, 43200), line(1, 5, 30000)}, 0},
	} {
		d := &plot{}
		d.Fields = []chart.Field{{Lines: tt.lines}}
		assert.Same(t, tt.want, d.apart(), name)
	}
}

// TestPlotCover checks that wide windows do not extend the axis beyond the events.
func TestPlotCover(t *testing.T) {
	at := func(hours int) time.Time { return time.Unix(int64(3600*hours), 0) }
	for _, tt := range []struct{ from, to, width, wantFrom, wantTo int }{
		{5, 95, 2, 4, 96},
		{15, 26, 20, 15, 26},
	} {
		d := &plot{}
		d.From, d.To = at(tt.from), at(tt.to)
		var line []chart.Point
		for start := tt.from / tt.width * tt.width; start <= tt.to; start += tt.width {
			line = append(line, chart.Point{Start: at(start), End: at(start + tt.width), Count: 1})
		}
		d.Fields = []chart.Field{{Lines: [][]chart.Point{line}}}
		if d.cover(); !d.From.Equal(at(tt.wantFrom)) || !d.To.Equal(at(tt.wantTo)) {
			t.Errorf("%+v: %v to %v", tt, d.From.UTC(), d.To.UTC())
		}
	}
}

// TestPlotPoints checks that the memory of a chart is bounded.
func TestPlotPoints(t *testing.T) {
	d := &plot{request: newRequest("plot", &cobra.Command{})}
	d.Width, d.Fields = "1s", []chart.Field{{Lines: make([][]chart.Point, 1)}}
	for range maxPoints {
		must(t, d.append(0, 0, chart.Point{}))
	}
	const want = "a series has more than 20,000 windows of 1s, and nothing is drawn: use wider ones (--every), or a shorter range"
	if err := d.append(0, 0, chart.Point{}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestPlotDurations checks the unit of durations.
func TestPlotDurations(t *testing.T) {
	for want, seconds := range map[string]float64{"d": 172800, "h": 7200, "min": 120, "s": 2, "ms": 0.002, "µs": 2e-6, "ns": 2e-9} {
		f := chart.Field{Unit: "s", Lines: [][]chart.Point{{{Min: seconds / 2, Mean: seconds, Max: seconds}}}}
		scaleDurations(&f)
		if p := f.Lines[0][0]; f.Unit != want || cmp.Diff([]int{1, 2, 2}, []int{int(p.Min + 0.5), int(p.Mean + 0.5), int(p.Max + 0.5)}) != "" {
			t.Errorf("%v s: %+v in %s, want %s", seconds, p, f.Unit, want)
		}
	}
}
