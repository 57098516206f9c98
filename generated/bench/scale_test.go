package main

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/weather"
)

// scales are time ranges, from part of a row to a row for each week of a year.
var scales = []struct {
	name string
	span time.Duration
}{
	{"1d", 24 * time.Hour}, {"1w", week}, {"4w", 4 * week}, {"13w", 13 * week}, {"52w", 52 * week},
}

// BenchmarkScale measures how the cost of reads grows with the time range, and how
// much memory they hold if the caller keeps nothing.
func BenchmarkScale(b *testing.B) {
	on := newBed(b, startAway(b, "tables"))
	generated := generated(newCellsCalls(), readingOf)
	for _, s := range scales {
		from, n := end.Add(-s.span), int(s.span/time.Minute)
		run := func(b *testing.B, r read[reading]) {
			measure(b, on, size{n, 4 * n}, func(ctx context.Context) error { return r(ctx, from, end, nil) })
		}
		b.Run("span="+s.name, func(b *testing.B) {
			b.Run("path=best", func(b *testing.B) { run(b, bestReader[reading]((*bestColumns).newCells)(on.ordinary)) })
			b.Run("path=wire-columns", func(b *testing.B) { run(b, generated[0].reader(on.wire)) })
			b.Run("path=wire-events", func(b *testing.B) {
				run(b, generated[1].reader(on.wire))
				b.ReportMetric(float64(held(b, on.wire, from, end))/1e6, "held-MB")
			})
		})
	}
}

// held returns the maximum number of bytes that a read holds, sampled many times,
// beyond those held before it.
func held(b *testing.B, client *bigtable.Client, from, to time.Time) uint64 {
	b.Helper()
	before, most, n := heap(), uint64(0), 0
	r := weather.NewBalloonNewCellsReader(client, options)
	for _, err := range r.Read(b.Context(), weather.BalloonNewCellsSeries{Location: location, BalloonID: balloon}, from, to) {
		if err != nil {
			b.Fatal(err)
		}
		if n++; n%1000 == 1 {
			most = max(most, heap())
		}
	}
	return most - min(most, before)
}
