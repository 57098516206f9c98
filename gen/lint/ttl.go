package lint

import (
	"math"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// noGCRule is T01: a family without a ttl.
func noGCRule(_ *layout.Layout, t *layout.Table, f layout.Family, report reporter) {
	switch {
	case f.HasGC:
	case len(t.Families) > 1:
		report.at(f.Pos, "family", f.Name, t.ID)
	default:
		report.at(t.Pos, "table", t.ID)
	}
}

// fewVersions is T02: events that have not reached any age would be garbage-collected.
func fewVersions(_ *layout.Layout, t *layout.Table, f layout.Family, report reporter) {
	verdict, most := layout.Fits(t.Pattern, f.Strategy), fewestVersions(f.Life.Retention)
	if most > 0 && verdict.Rule == "T02" && !t.Endless() { // in whose row the limit is what keeps it small
		report.at(f.GCPos, "fewer", most, t.MaxCells, verdict.Reason, verdict.Instead)
	}
}

// endlessRow is K21: the only row of a series grows without limit.
func endlessRow(l *layout.Layout, t *layout.Table, report reporter) {
	if !t.Endless() {
		return
	}
	for _, f := range t.Families {
		if !f.HasGC || !f.Life.Forever() {
			continue
		}
		e := report.size()
		if t.Pattern.NewestOnly() {
			report.at(f.GCPos, "versions", rate(e.Load.Rate))
			return
		}
		days := math.Floor(maxRowBytes / e.Row.Typical * e.EventsPerRow / e.Load.Rate / (24 * time.Hour).Seconds())
		report.at(f.GCPos, "events", rate(e.Load.Rate), words.Count(days, "day", "days"))
		return
	}
}

// fewestVersions returns how many versions of a column are kept regardless of age, or 0 if
// the number is unlimited.
func fewestVersions(r codec.Retention) int {
	most := 0
	for _, term := range r {
		if term.Versions == 0 {
			return 0
		}
		most = max(most, term.Versions)
	}
	return most
}

// misfit is T03, T04, T05 and T07: the strategy needs other cell timestamps than event times, or counts
// versions of columns that are named by values, so that an event with a repeated value deletes an older one.
func misfit(_ *layout.Layout, t *layout.Table, f layout.Family, report reporter) {
	strategy, what := f.Strategy, string(f.Strategy)
	if report.rule.ID == "T03" {
		what = "max_versions" // also if nested in another rule
	}
	if f.Life.Timestamp == codec.TimestampWrite {
		strategy = layout.MaxAgeFromWrite // also if nested
		if f.Strategy != strategy {
			what += " with from: write"
		}
	}
	if verdict := layout.Fits(t.Pattern, strategy); verdict.Rule == report.rule.ID && (verdict.Rule != "T03" || f.CountsVersions()) {
		report.at(f.GCPos, "misfit", what, t.Pattern, verdict.Reason, verdict.Instead)
	}
}

// neverCollects is T08: a version limit that no column ever reaches. Where timestamps are
// those of writes, an event that is written again adds a cell.
func neverCollects(_ *layout.Layout, t *layout.Table, f layout.Family, report reporter) {
	collects := f.GC.Normalize().Kind != codec.GCNone
	if collects && f.Life.EventTimed() && keepsAll(f.Life.Retention, t.MaxCells) {
		report.at(f.GCPos, "never", f.GC, words.Count(float64(t.MaxCells), "cell", "cells"))
	}
}

// keepsAll reports whether a retention keeps every cell of a column that has at most
// the given number.
func keepsAll(r codec.Retention, cells int64) bool {
	return len(r) == 0 || slices.ContainsFunc(r, func(t codec.Term) bool { return t.MaxAge == 0 && int64(t.Versions) >= cells })
}

// lateEvents is T14: the writer refuses events that garbage collection would delete at
// once.
func lateEvents(l *layout.Layout, t *layout.Table, f layout.Family, report reporter) {
	age := f.Age()
	if f.Life.EventTimed() && age > 0 && l.Expect.Lateness >= age {
		report.at(f.GCPos, "late", l.Expect.Lateness, age, longerAge(t, f, l.Expect.Lateness+age, age))
	}
}

// longerAge proposes a longer age or an age from the write time, for a family with a
// single age.
func longerAge(t *layout.Table, f layout.Family, longer, age time.Duration) string {
	if f.Strategy != layout.MaxAge {
		return ""
	}
	hint := ": " + code("ttl: {max_age: %s}", schema.FormatDuration(longer))
	if layout.Fits(t.Pattern, layout.MaxAgeFromWrite).Rule == "" {
		hint += ", or measure it from the write time: " + code("ttl: {max_age: %s, from: write}", schema.FormatDuration(age))
	}
	return hint
}

// shortLived is T15: most of a row is expired. Buckets of up to twice the time to live
// are accepted.
func shortLived(l *layout.Layout, t *layout.Table, report reporter) {
	e := report.size()
	if !t.Pattern.Bucketed() || t.Endless() || e.Shortest == 0 || t.Bucket.Widest() <= 2*e.Shortest {
		return
	}
	alive := e.EventsPerRow * e.Shortest.Seconds() / t.Bucket.Widest().Seconds()
	report.at(t.WidthPos, "expired", report.written(t).Bucket.Every.V, e.Shortest, max(1, alive), e.EventsPerRow, basis(e.Load), report.narrower(l, t))
}

// replicatedVersions is T11: collection by versions is replicated.
func replicatedVersions(l *layout.Layout, _ *layout.Table, f layout.Family, report reporter) {
	if l.Expect.Clusters > 1 && f.CountsVersions() {
		report.at(f.GCPos, "versions", l.Expect.Clusters)
	}
}

// plannedStorage is T17: expired data is stored for up to a week.
func plannedStorage(l *layout.Layout, t *layout.Table, report reporter) {
	if l.Expect.Rate == 0 || l.Expect.Series == 0 {
		return
	}
	if e := report.size(); e.Horizon > 0 {
		kept := schema.FormatDuration(e.Retention)
		switch {
		case e.Horizon != e.Retention:
			kept = words.Count(e.LivePerRow, "event", "events") + " a series"
		case e.Shortest < e.Retention:
			kept = schema.FormatDuration(e.Shortest) + " to " + kept
		}
		stored, when := e.Table, ""
		if !e.Steady() {
			const year = 365 * 24 * time.Hour
			stored, when = e.StoredAfter(year), " after a year, and grows"
		}
		report.at(t.Pos, "storage", stored, when, e.BytesADay, kept, windowsFor(t))
	}
}

// windowsFor says how long the rollup of a table is kept; it is empty without one.
func windowsFor(t *layout.Table) string {
	if t.Rollup == nil {
		return ""
	}
	if t.Rollup.GC.MaxAge == 0 {
		return ", and windows forever"
	}
	return ", and windows for " + schema.FormatDuration(t.Rollup.GC.MaxAge)
}
