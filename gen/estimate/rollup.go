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
	// Marks is how many marks the rows of a series have at a time, if one program writes its events one by one: it uses a mark for
	// half of the grace period. They stay until their bucket is summarized: as soon as possible, or a day later.
	Marks Bounds
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
		window = window.Plus(statisticsWidth(f, math.Max(1, e.EventsPerRow/out.Windows), e.Load))
	}
	key, family := keyWidth(l, t, e.Load), exactly(float64(len(r.Family)))
	out.Run = CellSize{Key: key, Family: family, Qualifier: exactly(float64(len(rollup.RunName(0, 0)))), Value: run.Plus(window.times(out.Windows))}
	out.Mark = CellSize{Key: key, Family: family, Qualifier: exactly(float64(len(rollup.Mark(0))))}
	grace := r.Grace(t.Bucket)
	perRow := math.Min(e.EventsPerRow, math.Max(1, float64(width)/float64(grace/2)))
	rows := func(wait time.Duration) float64 { return float64(width+r.After+2*grace+wait) / float64(width) }
	out.Marks = Bounds{Typical: perRow * (rows(0) - 0.5), Upper: perRow * rows(24*time.Hour)}
	if age := r.GC.MaxAge; age > 0 {
		out.Run.Shortest, out.Run.Longest = age+width, age+width // from the end of the bucket
	}
	return out
}

// statisticsWidth bounds the size of the statistics of a field in a window with some values.
func statisticsWidth(f *layout.Field, values float64, load layout.Load) Bounds {
	out := exactly(valueBytes)
	for _, x := range f.Sketches.All() {
		width := x.Width(values)
		out = out.Plus(Bounds{width.Least, width.Usual, width.Most})
	}
	switch number := f.Type.Traits().Number; {
	case number == schema.Floating:
		return out.Plus(exactly(6 * floatBytes))
	case f.Type.Measures():
		return out.Plus(Bounds{6, 6 * intBytes, 6 * floatBytes})
	case f.Type.Traits().Variable:
		return out.Plus(variable(load).times(2))
	}
	return out.Plus(exactly(2 * float64(f.Type.Traits().Width)))
}

// stored returns the size of the runs and marks of all series at an age of the table.
func (r *Rollup) stored(age time.Duration, load layout.Load) Bounds {
	mark, written := r.Mark.Bytes(), age.Seconds()*math.Max(load.Rate, r.Buckets)
	marks := Bounds{Typical: mark.Typical * math.Min(r.Marks.Typical, written), Upper: mark.Upper * math.Min(r.Marks.Upper, written)}
	return r.Run.stored(age, r.Buckets).Plus(marks).times(float64(load.Series))
}
