package capacity

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// ages are the times at which storage is shown, before the steady state.
var ages = []time.Duration{24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour}

// storedOver returns the data of all tables over time. If a table keeps data
// forever or as long as its events say, there is no steady state.
func storedOver(l *layout.Layout) []Stored {
	steady, forever := steadyAfter(l)
	var out []Stored
	add := func(age time.Duration, steady bool) {
		s := Stored{After: schema.FormatDuration(age), Bytes: storedAfter(l, age), Steady: steady}
		if tiered(l) {
			cold := coldAfter(l, age)
			s.Cold = &cold
		}
		out = append(out, s)
	}
	for _, age := range ages {
		if forever || age < steady {
			add(age, false)
		}
	}
	if !forever {
		add(steady, true)
	}
	return out
}

// steadyAfter returns when garbage collection keeps pace with writes to all tables; forever
// is true if it never does.
func steadyAfter(l *layout.Layout) (after time.Duration, forever bool) {
	for _, t := range l.Tables {
		e := estimate.Of(l, t)
		cells := e.Cells
		if e.Rollup != nil {
			cells = append(slices.Clone(cells), e.Rollup.Run)
		}
		for _, c := range cells {
			if c.Longest == 0 {
				return 0, true
			}
			after = max(after, c.Longest+estimate.CollectionLag)
		}
		if t.Endless() { // the horizon can be that of a number of events
			after = (after + time.Hour - 1).Truncate(time.Hour)
		}
	}
	return after, false
}

// storedAfter returns the data of all tables at some time after the first write.
func storedAfter(l *layout.Layout, age time.Duration) estimate.Bounds {
	var out estimate.Bounds
	for _, t := range l.Tables {
		e := estimate.Of(l, t)
		out = out.Plus(e.StoredAfter(age))
	}
	return out
}

// seeksOf returns how many row ranges and row keys requests have.
func seeksOf(requests []scan.Request) float64 {
	n := 0
	for _, r := range requests {
		for _, rows := range r.Rows {
			n += max(1, len(rows.Keys))
		}
	}
	return float64(n)
}
