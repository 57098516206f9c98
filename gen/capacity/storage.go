package capacity

import (
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// collectionLag is the maximum delay of garbage collection. Source:
// https://cloud.google.com/bigtable/docs/garbage-collection
const collectionLag = 7 * 24 * time.Hour

// ages are the times at which storage is shown, before the steady state.
var ages = []time.Duration{24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour}

// storedOver returns the data of all tables over time. events is per second. If a table keeps
// data forever or as long as its events say, there is no steady state.
func storedOver(l *layout.Layout, events float64) []Stored {
	steady, forever := steadyAfter(l)
	var out []Stored
	for _, age := range ages {
		if forever || age < steady {
			out = append(out, Stored{After: schema.FormatDuration(age), Bytes: storedAfter(l, events, age)})
		}
	}
	if !forever {
		out = append(out, Stored{After: schema.FormatDuration(steady), Bytes: storedAfter(l, events, steady), Steady: true})
	}
	return out
}

// steadyAfter returns when garbage collection keeps pace with writes to all tables; forever
// is true if it never does.
func steadyAfter(l *layout.Layout) (after time.Duration, forever bool) {
	for _, t := range l.Tables {
		for _, c := range t.Columns {
			_, longest := t.ColumnAges(c)
			if longest == 0 {
				return 0, true
			}
			after = max(after, longest+collectionLag)
		}
	}
	return after, false
}

// storedAfter returns the data of all tables at some time after the first write. The lower
// bound includes only live data, the upper one also what expired within the last week.
func storedAfter(l *layout.Layout, events float64, age time.Duration) sample.Bounds {
	var out sample.Bounds
	for _, t := range l.Tables {
		for _, c := range sample.RawCells(l, t) {
			shortest, longest := t.ColumnAges(c.Column)
			live, kept := age, age
			if longest > 0 {
				live, kept = min(age, shortest), min(age, longest+collectionLag)
			}
			out.Lower += events * live.Seconds() * c.Bytes.Lower
			out.Upper += events * kept.Seconds() * c.Bytes.Upper
		}
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
