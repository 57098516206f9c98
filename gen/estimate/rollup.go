package estimate

import (
	"math"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/rollup"
)

// Rollup is the size of the rollup of a table.
type Rollup struct {
	Windows float64  // with events, in a run
	Run     CellSize // of a bucket of a series
	Mark    CellSize // of each mutation of events, until the bucket is summarized
	// Buckets is how many buckets of a series end in a second.
	Buckets float64
}

// The sizes of the statistics of a field in a window, in bytes: the times take 6 each, and numbers have six others.
const (
	windowBytes = 3  // the number of the window, and of its events
	valueBytes  = 13 // the count, and the times of the first and the last value
	floatBytes  = 8  // of each statistic; six of them
	intBytes    = 3
	runBytes    = 20 // of all windows, with the checksum
)

// rollupOf returns the size of the rollup of a table; nil if it has none.
func rollupOf(l *layout.Layout, t *layout.Table, e *Estimate) *Rollup {
	r := t.Rollup
	if r == nil || t.Bucket.Widest() == 0 {
		return nil
	}
	width := t.Bucket.Widest()
	out := &Rollup{Windows: math.Max(1, math.Min(float64(width/r.Every), e.EventsPerRow)), Buckets: 1 / width.Seconds()}
	window := exactly(windowBytes)
	run := exactly(runBytes)
	names, fields := l.FieldsOfRollup(t)
	for i, f := range fields {
		run = run.Plus(exactly(float64(len(names[i]) + 6)))
		window = window.Plus(statisticsWidth(f, e.Load))
	}
	key, family := keyWidth(l, t, e.Load), exactly(float64(len(r.Family)))
	out.Run = CellSize{Key: key, Family: family, Qualifier: exactly(float64(len(rollup.RunName(0, 0)))), Value: run.Plus(window.times(out.Windows))}
	out.Mark = CellSize{Key: key, Family: family, Qualifier: exactly(float64(len(rollup.Mark(0))))}
	if age := r.GC.MaxAge; age > 0 {
		out.Run.Shortest, out.Run.Longest = age+width, age+width // from the end of the bucket
	}
	return out
}

// statisticsWidth bounds the size of the statistics of a field in a window.
func statisticsWidth(f *layout.Field, load layout.Load) Bounds {
	out := exactly(valueBytes)
	switch number := f.Type.Traits().Number; {
	case number == schema.Floating:
		return out.Plus(exactly(6 * floatBytes))
	case number != schema.NoNumber || f.Type == schema.Duration:
		return out.Plus(Bounds{6, 6 * intBytes, 6 * floatBytes})
	case f.Type.Traits().Variable:
		return out.Plus(variable(load).times(2))
	}
	return out.Plus(exactly(2 * float64(f.Type.Traits().Width)))
}

// stored returns the size of the runs of all series at an age of the table.
func (r *Rollup) stored(age time.Duration, load layout.Load) Bounds {
	return r.Run.stored(age, r.Buckets).times(float64(load.Series))
}
