package explain

import (
	"fmt"
	"math"
	"slices"

	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// Rollup explains the rollup of a table.
type Rollup struct {
	Family  string   `json:"family"`
	Every   string   `json:"every"`            // width of windows, such as 1h
	Fields  []string `json:"fields,omitempty"` // empty for all
	Idle    bool     `json:"idle,omitempty"`   // reads do not use it
	Windows float64  `json:"windows_per_bucket"`
	Run     Range    `json:"run"` // the cell of a bucket of a series
	// YearCells are the cells that windows of a year take of a series, and YearBytes their typical size.
	YearCells float64 `json:"year_cells"`
	YearBytes float64 `json:"year_bytes"`
	// YearEvents are the events that these windows are made of: what the windows take without the rollup.
	YearEvents     float64 `json:"year_events"`
	YearEventCells float64 `json:"year_event_cells"`
	YearEventBytes float64 `json:"year_event_bytes"`
	Means          string  `json:"means"`
	Names          string  `json:"names"` // what cells are, by their names
}

// rollupOf explains the rollup of a table; nil if it has none.
func rollupOf(t *layout.Table, e *estimate.Estimate) *Rollup {
	r := t.Rollup
	if r == nil || e.Rollup == nil {
		return nil
	}
	buckets, events := math.Ceil(e.Rollup.Buckets*oneYear.Seconds()), e.EventsIn(oneYear)
	out := &Rollup{
		Family: r.Family, Every: schema.FormatDuration(r.Every), Fields: r.Fields, Idle: r.Idle,
		Windows: e.Rollup.Windows, Run: Range(e.Rollup.Run.Bytes()),
		YearCells: buckets, YearBytes: buckets * e.Rollup.Run.Bytes().Typical,
		YearEvents: events, YearEventCells: events * float64(e.CellsPerEvent), YearEventBytes: events * e.Event.Typical,
	}
	out.Means = fmt.Sprintf("Each row also has the windows of its bucket, by %s: one cell in family %s with up to %s and about %s, from %s after the bucket has ended. "+
		"Windows of a series over a year, by %s or any multiple of it, take %s with about %s. Without the rollup, they take %s of %s with about %s, which must still be there. "+
		"Each mutation of events also sets a mark of %s, and rows with marks are read from their events until they are summarized.",
		out.Every, r.Family, words.Count(out.Windows, "window", "windows"), words.Size(out.Run.Typical), schema.FormatDuration(r.After),
		out.Every, words.Count(out.YearCells, "cell", "cells"), words.Size(out.YearBytes),
		words.Count(out.YearEventCells, "cell", "cells"), words.Count(out.YearEvents, "event", "events"), words.Size(out.YearEventBytes),
		words.Size(e.Rollup.Mark.Bytes().Typical))
	out.Names = fmt.Sprintf("In family %[1]s, cells whose names begin with m are marks. A d marks a deletion of expired events, and has the times that were deleted. "+
		"An r is a run: the windows of the bucket, and in its name the number of marks and deletions that it and the runs before it have replaced.", r.Family)
	if r.Idle {
		out.Means += " Reads do not use it yet (serves: false)."
	}
	return out
}

// rollupFamily explains the family of a rollup.
func rollupFamily(f *layout.Family) Family {
	return Family{
		Name: f.Name, TTL: string(f.Strategy), Timestamp: "the end of the bucket", GC: f.GC.String(), Collected: prose.Collected(f), Read: prose.ReadFilter(f),
	}
}

// rollupCell explains the cell of a rollup in the row of some events: a run, or a mark if the bucket has not ended.
func rollupCell(l *layout.Layout, t *layout.Table, events []sample.Event, ended bool) Stored {
	end := t.Bucket.End(events[0].Time)
	var value Bytes
	c, means := sample.Mark(t, events[0].Time), "events have changed: windows come from them until the bucket is summarized, from "+showTime(end.Add(t.Rollup.After))+" on"
	if ended {
		c = sample.Run(l, t, events)
		value = binaryOf(string(c.Value))
		value.Show = words.Count(float64(len(c.Value)), "byte", "bytes")
		means = fmt.Sprintf("windows by %s of %s", schema.FormatDuration(t.Rollup.Every), words.Count(float64(len(events)), "event", "events"))
		if until := t.RollupFamily.Life.Fresh(c.Micros, true); until.Year() < 9000 && !until.IsZero() {
			means += "; expires " + showTime(until)
		}
	}
	return Stored{
		Family: t.Rollup.Family, Qualifier: bytesOf(c.Qualifier), Timestamp: showTime(end), Micros: c.Micros,
		Value: value, Means: means, Event: c.Event,
	}
}

// addRollup adds the cells of a rollup to example rows, all but the newest of which have ended.
func addRollup(l *layout.Layout, t *layout.Table, rows []Row, events []sample.Event) {
	in := make([][]sample.Event, len(rows))
	newest := events[len(events)-1].Time
	for i := range rows {
		for n := range events {
			if slices.ContainsFunc(rows[i].Cells, func(c Stored) bool { return c.Event == n }) {
				in[i] = append(in[i], events[n])
			}
		}
	}
	for i := range rows {
		if in[i] == nil {
			continue // events without values
		}
		ended := len(rows) == 1 || t.Bucket.Start(in[i][0].Time).Before(t.Bucket.Start(newest))
		rows[i].Cells = append(rows[i].Cells, rollupCell(l, t, in[i], ended))
	}
}
