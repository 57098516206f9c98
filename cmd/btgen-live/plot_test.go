package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen/chart"
	"github.com/btgen-dev/btgen/gen/layout"
)

// TestPlotWidth checks which windows a chart chooses.
func TestPlotWidth(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		least, precision time.Duration
		want             string
	}{
		{0, time.Nanosecond, "1ns"}, {3 * time.Microsecond, time.Nanosecond, "5µs"}, {time.Microsecond, time.Second, "1s"},
		{7 * time.Second, time.Millisecond, "10s"}, {365 * day / plotPixels, time.Minute, "12h"}, {36 * time.Hour, time.Second, "2d"},
		{8 * day, time.Second, "2w"}, {31 * day, time.Second, "3mo"}, {400 * day, time.Second, "2y"}, {1<<63 - 1, time.Second, "100y"},
	} {
		d := &plot{layout: &layout.Layout{Precision: tt.precision}}
		d.Zone = time.UTC
		if d.setWidth(tt.least); d.Width != tt.want || d.every.Check() != nil {
			t.Errorf("at least %v: %s, want %s (%v)", tt.least, d.Width, tt.want, d.every.Check())
		}
	}
}

// TestPlotApart checks when windows are too narrow for events.
func TestPlotApart(t *testing.T) {
	line := func(minutes ...int) (out []chart.Point) {
		for _, m := range minutes {
			start := time.Unix(int64(60*m), 0)
			out = append(out, chart.Point{Start: start, End: start.Add(time.Minute), Count: 1})
		}
		return out
	}
	for name, tt := range map[string]struct {
		lines [][]chart.Point
		want  time.Duration
	}{
		"none":                     {nil, 0},
		"one":                      {[][]chart.Point{line(1)}, 0},
		"adjacent":                 {[][]chart.Point{line(0, 1, 2, 3)}, 0},
		"adjacent, with an outage": {[][]chart.Point{line(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 90, 91, 92, 93, 94, 95, 96, 97)}, 0},
		"every fifth":              {[][]chart.Point{line(0, 5, 10, 15), line(2, 7, 12)}, 5 * time.Minute},
		"some":                     {[][]chart.Point{line(0, 1, 3, 4, 6, 7, 9, 10, 12, 13)}, 2 * time.Minute},
	} {
		d := &plot{}
		d.Fields = []chart.Field{{Lines: tt.lines}}
		if got := d.apart(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestPlotPoints checks that the memory of a chart is bounded.
func TestPlotPoints(t *testing.T) {
	d := &plot{}
	d.Width, d.Fields = "1s", []chart.Field{{Lines: make([][]chart.Point, 1)}}
	for range maxPoints {
		if err := d.append(0, 0, chart.Point{}); err != nil {
			t.Fatal(err)
		}
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
