package explain

import (
	"fmt"

	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
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
	// YearCells and YearEvents are the cells that windows of a year take of a series, and the events that they are made of.
	YearCells  float64 `json:"year_cells"`
	YearEvents float64 `json:"year_events"`
	Means      string  `json:"means"`
}

// rollupOf explains the rollup of a table; nil if it has none.
func rollupOf(t *layout.Table, e *estimate.Estimate) *Rollup {
	r := t.Rollup
	if r == nil || e.Rollup == nil {
		return nil
	}
	out := &Rollup{
		Family: r.Family, Every: schema.FormatDuration(r.Every), Fields: r.Fields, Idle: r.Idle,
		Windows: e.Rollup.Windows, Run: Range(e.Rollup.Run.Bytes()),
		YearCells: e.Rollup.Buckets * oneYear.Seconds(), YearEvents: e.EventsIn(oneYear),
	}
	out.Means = fmt.Sprintf("Each row also has the windows of its bucket, by %s: one cell in family %s with up to %s and about %s, from %s after the bucket has ended. Windows of a series over a year take %s instead of %s. "+
		"Each mutation of events also sets a mark of %s, and rows with marks are read from their events until they are summarized.",
		out.Every, r.Family, words.Count(out.Windows, "window", "windows"), words.Size(out.Run.Typical), schema.FormatDuration(r.After),
		words.Count(out.YearCells, "cell", "cells"), words.Count(out.YearEvents, "event", "events"), words.Size(e.Rollup.Mark.Bytes().Typical))
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
