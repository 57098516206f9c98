package main

import (
	"context"
	"testing"

	"github.com/btgen-dev/btgen/generated/weather"
)

// layoutReads are reads of a week of the newest layout of a table: of one that always had
// it, and of one where it replaced two others.
func layoutReads() []struct {
	table string
	reads []named[reading]
} {
	replaced := seriesOf(weather.NewBalloonLayoutsReader, weather.BalloonLayoutsSeries{Location: location, BalloonID: balloon})
	return []struct {
		table string
		reads []named[reading]
	}{
		{"layouts=1", generated(newCellsCalls(), readingOf)},
		{"layouts=3", generated(replaced, readingOf)},
	}
}

// BenchmarkLayouts measures what earlier layouts cost the reads of the newest.
func BenchmarkLayouts(b *testing.B) {
	on := newBed(b, startAway(b, "tables"))
	from := end.Add(-week)
	n := len(readings(from, end))
	for _, l := range layoutReads() {
		for _, read := range l.reads {
			b.Run(l.table+"/path=wire"+read.name, func(b *testing.B) {
				run := read.reader(on.wire)
				measure(b, on, size{n, 4 * n}, func(ctx context.Context) error { return run(ctx, from, end, nil) })
			})
		}
	}
}

// TestLayouts checks that the benchmark reads the same events with both tables.
func TestLayouts(t *testing.T) {
	on := newBed(t, startHere(t, tables()))
	from := end.Add(-week)
	for _, l := range layoutReads() {
		for _, read := range l.reads {
			got := 0
			if err := read.reader(on.wire)(t.Context(), from, end, func(reading) { got++ }); err != nil || got != len(readings(from, end)) {
				t.Errorf("%s%s: %d events, %v", l.table, read.name, got, err)
			}
		}
	}
}
