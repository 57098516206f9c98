// Package estimate estimates the sizes of tables, and the cost of reads, from the declared load
// and example events.
package estimate

import (
	"math"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/words"
)

// Bounds are an average size in bytes before compression, of which only bounds are known.
// Each cell counts its row key, family, qualifier, 8-byte timestamp and value. Bigtable
// publishes neither the overhead of a cell nor the compression ratio.
//
// The bounds differ in the sizes of values that the schema does not declare, and, for stored
// data, in what has expired but is not yet garbage-collected.
type Bounds struct {
	Lower float64 `json:"lower"`
	// Typical assumes usual sizes of undeclared values. Rules decide by it.
	Typical float64 `json:"typical"`
	Upper   float64 `json:"upper"`
}

// String returns the sizes for people, such as "1.2–3 kB".
func (b Bounds) String() string { return words.Sizes(b.Lower, b.Upper) }

// exactly returns equal bounds.
func exactly(n float64) Bounds { return Bounds{n, n, n} }

// Plus adds bounds.
func (b Bounds) Plus(other Bounds) Bounds {
	return Bounds{b.Lower + other.Lower, b.Typical + other.Typical, b.Upper + other.Upper}
}

// Minus subtracts bounds of a part from those of the whole.
func (b Bounds) Minus(part Bounds) Bounds { return b.Plus(part.times(-1)) }

// each applies an ascending function to each bound.
func (b Bounds) each(f func(n float64) float64) Bounds {
	return Bounds{f(b.Lower), f(b.Typical), f(b.Upper)}
}

// times multiplies bounds.
func (b Bounds) times(n float64) Bounds { return Bounds{n * b.Lower, n * b.Typical, n * b.Upper} }

// Estimate is the estimated size of a table under a load, for events with all fields. It is
// the only estimate of sizes: rules, explanations and capacities use it.
type Estimate struct {
	Load          layout.Load
	KeyBytes      int64   // of the example key
	RowsPerEvent  int64   // rows per event
	CellsPerEvent int64   // cells per event, in all rows
	EventsPerRow  float64 // in a full bucket or, if it is endless, in the row of a series
	// LivePerRow are the events of EventsPerRow that are live. It is less only in the row of a
	// series, which also contains what expired within the last week.
	LivePerRow  float64
	CellsPerRow float64
	Cells       []CellSize // of an event
	Values      float64    // typical size of an event's values
	Cell        float64    // typical size of the largest cell value
	Datum       float64    // typical size of the largest datum in a qualifier
	Event       Bounds     // size of an event
	Row         Bounds     // size of a full row; the lower bound includes only live events
	// LeastRow is the typical size of a full row if Bigtable counts the key once per row, and
	// neither families nor qualifiers.
	LeastRow  float64
	BytesADay Bounds        // for all series
	Retention time.Duration // of the family that keeps data longest; 0 if one keeps it forever
	Shortest  time.Duration // of the family that keeps data shortest, if none keeps it forever
	// Horizon is Retention, or the time in which so many events of a series replace each other
	// as the rule keeps in its row, if that is shorter; 0 if data is kept forever.
	Horizon time.Duration
	// Table is the size of the table once garbage collection keeps pace with writes.
	// The lower bound includes only live data, the others also what expired within
	// the last week. It is 0 if any data is kept forever; see Steady.
	Table Bounds
	// Rows is the number of rows of a series at that point; 0 if nothing is
	// garbage-collected.
	Rows float64
	// Rollup is the size of the rollup; nil if there is none.
	Rollup *Rollup
}

// EventsIn returns the number of events of a series in a duration.
func (e *Estimate) EventsIn(d time.Duration) float64 { return e.Load.Rate * d.Seconds() }

// CollectionLag is the maximum delay of garbage collection. Source:
// https://cloud.google.com/bigtable/docs/garbage-collection
const CollectionLag = 7 * 24 * time.Hour

// timestampBytes is the size of a cell timestamp.
const timestampBytes = 8

// Of estimates the size of a table under the load of its schema.
func Of(l *layout.Layout, t *layout.Table) Estimate {
	e := Estimate{Load: l.Load(), RowsPerEvent: int64(t.RowsPerEvent()), EventsPerRow: 1, LivePerRow: 1}
	if !t.Complete() {
		return e // the layout has an error
	}
	e.KeyBytes = int64(len(sample.Key(l, t)))
	e.Cells = cellsOf(l, t, e.Load)
	e.fillRow(t)
	values := 0.0 // what a row contains at least of an event
	for _, c := range e.Cells {
		e.CellsPerEvent++
		value, datum := c.Value.Typical, c.Datum.Typical
		e.Values += value + datum
		e.Cell, e.Datum = max(e.Cell, value), max(e.Datum, datum)
		e.Event = e.Event.Plus(c.Bytes())
		values += timestampBytes + value + datum
	}
	rows := float64(e.RowsPerEvent)
	e.CellsPerRow = float64(e.CellsPerEvent) / rows * e.EventsPerRow
	e.Row = e.Event.times(e.EventsPerRow / rows)
	e.Row.Lower = e.Event.Lower / rows * e.LivePerRow
	e.LeastRow = values/rows*e.EventsPerRow + float64(e.KeyBytes)
	e.BytesADay = e.Event.times(e.Load.Rate * float64(e.Load.Series) * (24 * time.Hour).Seconds())
	e.Shortest, e.Retention = t.Ages()
	e.Rollup = rollupOf(l, t, &e)
	for _, c := range e.Cells {
		if c.Longest == 0 {
			return e
		}
		e.Horizon = max(e.Horizon, c.Longest)
	}
	e.Rows = math.Ceil(e.EventsIn(e.Horizon+CollectionLag)/e.EventsPerRow) * rows
	if e.Steady() {
		e.Table = e.StoredAfter(math.MaxInt64)
	}
	return e
}

// Steady reports whether garbage collection keeps pace with writes at some time: neither events nor windows of a rollup are
// kept forever.
func (e *Estimate) Steady() bool {
	return e.Horizon > 0 && (e.Rollup == nil || e.Rollup.Run.Longest > 0)
}

// fillRow computes the number of events in a full row.
func (e *Estimate) fillRow(t *layout.Table) {
	if !t.Pattern.Bucketed() {
		return
	}
	if !t.Endless() {
		e.EventsPerRow = max(1, min(e.Load.Rate*t.Bucket.Widest().Seconds(), float64(t.Slots)))
		e.LivePerRow = e.EventsPerRow
		return
	}
	for _, c := range e.Cells {
		live, kept := c.events(assumedGrowth, e.Load.Rate)
		e.LivePerRow, e.EventsPerRow = max(e.LivePerRow, live), max(e.EventsPerRow, kept)
	}
}

// assumedGrowth is how long a row is assumed to grow that keeps its events forever.
const assumedGrowth = 10 * 365 * 24 * time.Hour

// StoredAfter returns the size of the table at some time after the first write. The lower bound
// includes only live data, the others also what expired within the last week.
func (e *Estimate) StoredAfter(age time.Duration) Bounds {
	var out Bounds
	for _, c := range e.Cells {
		out = out.Plus(c.stored(age, e.Load.Rate).times(float64(e.Load.Series)))
	}
	if e.Rollup != nil {
		out = out.Plus(e.Rollup.stored(age, e.Load))
	}
	return out
}

// Limits of moderate rows: half of the limits of the lint rules.
const (
	moderateCells = 50_000
	moderateBytes = 50_000_000
)

// Moderate reports whether full rows are small enough to be held in memory during a
// read, with room to grow.
func (e *Estimate) Moderate() bool {
	return e.CellsPerRow <= moderateCells && e.Row.Typical <= moderateBytes
}
