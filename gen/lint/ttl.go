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

// ttlChecks are about the time to live of events, and of their rollups.
var ttlChecks = checks{
	"K28": func(r reporter) {
		served := r.t.Rollup != nil && !r.t.Rollup.Idle && !r.t.WriteOnly
		if served && !slices.Contains(r.l.ReadTables(), r.t) {
			r.at(r.t.RollupPos, "unread", r.t.ID)
		}
	},
	// Fewer than three days between the first time at which a bucket can be summarized and the last.
	"T23": func(r reporter) {
		if r.t.Rollup == nil {
			return
		}
		if age, least := r.t.Age(), r.t.Rollup.Least(r.t.Bucket); age >= least && age < least+spareTime {
			r.at(r.t.Families[0].GCPos, "brief", r.t.ID, wholeDays(least+spareTime))
		}
	},
	"T01": ofFamilies(func(r reporter, f layout.Family) { // a family without a ttl
		switch {
		case f.HasGC:
		case len(r.t.Families) > 1:
			r.at(f.Pos, "family", f.Name, r.t.ID)
		default:
			r.at(r.t.Pos, "table", r.t.ID)
		}
	}),
	"T02": ofFamilies(func(r reporter, f layout.Family) { // events that have not reached any age would be garbage-collected
		verdict, most := layout.Fits(r.t.Pattern, f.Strategy), fewestVersions(f.Life.Retention)
		if most > 0 && verdict.Rule == "T02" && !r.t.Endless() { // in whose row the limit is what keeps it small
			r.at(f.GCPos, "fewer", most, r.t.MaxCells, verdict.Reason, verdict.Instead)
		}
	}),
	"K21": func(r reporter) { // the only row of a series grows without limit
		i := slices.IndexFunc(r.t.Families, func(f layout.Family) bool { return f.HasGC && f.Life.Forever() })
		if !r.t.Endless() || i < 0 {
			return
		}
		pos, e := r.t.Families[i].GCPos, r.size()
		if r.t.Pattern.NewestOnly() {
			r.at(pos, "versions", rate(e.Load.Rate))
			return
		}
		days := math.Floor(maxRowBytes / e.Row.Typical * e.EventsPerRow / e.Load.Rate / (24 * time.Hour).Seconds())
		r.at(pos, "events", rate(e.Load.Rate), words.Count(days, "day", "days"))
	},
	"T03": ofFamilies(misfit),
	"T04": ofFamilies(misfit),
	"T05": ofFamilies(misfit),
	"T07": ofFamilies(misfit),
	// A version limit that no column ever reaches. Where timestamps are those of writes, an event that is written again adds a cell.
	"T08": ofFamilies(func(r reporter, f layout.Family) {
		keepsAll := func(t codec.Term) bool { return t.MaxAge == 0 && int64(t.Versions) >= r.t.MaxCells }
		collects := f.GC.Normalize().Kind != codec.GCNone && f.Life.EventTimed()
		if kept := f.Life.Retention; collects && (len(kept) == 0 || slices.ContainsFunc(kept, keepsAll)) {
			r.at(f.GCPos, "never", f.GC, words.Count(float64(r.t.MaxCells), "cell", "cells"))
		}
	}),
	"T14": ofFamilies(func(r reporter, f layout.Family) { // the writer refuses events that garbage collection would delete at once
		age := f.Age()
		if f.Life.EventTimed() && age > 0 && r.l.Expect.Lateness >= age {
			r.at(f.GCPos, "late", r.l.Expect.Lateness, age, r.longerAge(f, r.l.Expect.Lateness+age, age))
		}
	}),
	// Most of a row is expired. Buckets of up to twice the time to live are accepted.
	"T15": func(r reporter) {
		e := r.size()
		if !r.t.Pattern.Bucketed() || r.t.Endless() || e.Shortest == 0 || r.t.Bucket.Widest() <= 2*e.Shortest {
			return
		}
		alive := e.EventsPerRow * e.Shortest.Seconds() / r.t.Bucket.Widest().Seconds()
		r.at(r.t.WidthPos, "expired", r.written(r.t).Bucket.Every.V, e.Shortest, max(1, alive), e.EventsPerRow, basis(e.Load), r.narrower())
	},
	"T11": ofFamilies(func(r reporter, f layout.Family) { // collection by versions is replicated
		if r.l.Expect.Clusters > 1 && f.CountsVersions() {
			r.at(f.GCPos, "versions", r.l.Expect.Clusters)
		}
	}),
	"T17": func(r reporter) { // expired data is stored for up to a week
		if e := r.size(); r.l.Expect.Rate > 0 && r.l.Expect.Series > 0 && e.Horizon > 0 {
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
			windows := ""
			if of := r.t.Rollup; of != nil && of.GC.MaxAge == 0 {
				windows = ", and windows forever"
			} else if of != nil {
				windows = ", and windows for " + schema.FormatDuration(of.GC.MaxAge)
			}
			r.at(r.t.Pos, "storage", stored, when, e.BytesADay, kept, windows)
		}
	},
}

// spareTime is how long nothing may summarize a table; our judgment.
const spareTime = 3 * 24 * time.Hour

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

// longerAge proposes a longer age or an age from the write time, for a family with a
// single age.
func (r reporter) longerAge(f layout.Family, longer, age time.Duration) string {
	if f.Strategy != schema.MaxAge {
		return ""
	}
	hint := ": " + code("ttl: {max_age: %s}", schema.FormatDuration(longer))
	if layout.Fits(r.t.Pattern, layout.MaxAgeFromWrite).Rule == "" {
		hint += ", or measure it from the write time: " + code("ttl: {max_age: %s, from: write}", schema.FormatDuration(age))
	}
	return hint
}

// misfit is T03, T04, T05 and T07: the strategy needs other cell timestamps than event times, or counts
// versions of columns that are named by values, so that an event with a repeated value deletes an older one.
func misfit(r reporter, f layout.Family) {
	strategy, what := f.Strategy, string(f.Strategy)
	if r.rule.ID == "T03" {
		what = "max_versions" // also if nested in another rule
	}
	if f.Life.Timestamp == codec.TimestampWrite {
		strategy = layout.MaxAgeFromWrite // also if nested
		if f.Strategy != strategy {
			what += " with from: write"
		}
	}
	if verdict := layout.Fits(r.t.Pattern, strategy); verdict.Rule == r.rule.ID && (verdict.Rule != "T03" || f.CountsVersions()) {
		r.at(f.GCPos, "misfit", what, r.t.Pattern, verdict.Reason, verdict.Instead)
	}
}
