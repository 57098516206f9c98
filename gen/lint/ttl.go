package lint

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/sample"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// someTTL proposes a ttl where there is none.
const someTTL = "add one, such as `ttl: {max_age: 30d}`, or say that data is to be kept: `ttl: {keep: forever}`"

// noGCRule is T01.
func noGCRule(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		switch {
		case f.HasGC:
		case len(t.Families) > 1:
			report.at(f.Pos, someTTL, "family %q of table %q has no ttl: Bigtable keeps every cell for ever", f.Name, t.ID)
		default:
			report.at(t.Pos, someTTL, "table %q has no ttl: Bigtable keeps every cell for ever", t.ID)
		}
	}
}

// fewVersions is T02: events that are alive by every age would be collected.
func fewVersions(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		verdict := layout.Fits(t.Pattern, f.Strategy)
		if most := fewestVersions(f.Life.Retention); most > 0 && verdict.Rule == "T02" {
			report.at(f.GCPos, verdict.Instead,
				"max_versions keeps %s of the %s events that a bucket can hold: %s", number(float64(most)), number(float64(t.MaxCells)), verdict.Reason)
		}
	}
}

// fewestVersions returns how many versions of a column are kept of those that
// are not kept for their age; 0 if that is no limit.
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

// versionsOnNewColumns is T03: the same value again is one more version of the
// same column, and an older event is deleted for it.
func versionsOnNewColumns(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		verdict := layout.Fits(t.Pattern, f.Strategy)
		if verdict.Rule != "T03" {
			continue
		}
		for rule := range allRules(f.GC) {
			if rule.Kind == codec.GCMaxVersions {
				report.at(f.GCPos, verdict.Instead, "max_versions on new columns: %s", verdict.Reason)
				break
			}
		}
	}
}

// stamped is T04, T05 and T07: a strategy that would take the cells' timestamps
// from the events.
func stamped(rule string) func(l *layout.Layout, t *layout.Table, report reporter) {
	return func(_ *layout.Layout, t *layout.Table, report reporter) {
		for _, f := range t.Families {
			strategy := f.Strategy
			if f.Life.Stamp == codec.StampWrite {
				strategy = layout.MaxAgeFromWrite // also where it stands within another rule
			}
			if verdict := layout.Fits(t.Pattern, strategy); verdict.Rule == rule {
				report.at(f.GCPos, verdict.Instead, "ttl %s does not fit pattern %s: %s", strategy, t.Pattern, verdict.Reason)
			}
		}
	}
}

// neverCollects is T08: a limit of versions that no column ever reaches.
func neverCollects(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		collects := f.GC.Normalize().Kind != codec.GCNone
		if collects && (f.Life.EventTimed() || f.Life.Stamp == codec.StampWrite) && keepsAll(f.Life.Retention, t.MaxCells) {
			report.at(f.GCPos, "use an age, such as `ttl: {max_age: 30d}`, or say that data is to be kept: `ttl: {keep: forever}`",
				"the rule %s collects nothing: it keeps %s cells a column and row, and there are no more", f.GC, number(float64(t.MaxCells)))
		}
	}
}

// keepsAll reports whether a retention keeps every cell of a column that holds
// no more than so many.
func keepsAll(r codec.Retention, cells int64) bool {
	return len(r) == 0 || slices.ContainsFunc(r, func(t codec.Term) bool { return t.MaxAge == 0 && int64(t.Versions) >= cells })
}

// lateEvents is T14: what comes late is refused, for garbage collection would
// take it at once.
func lateEvents(l *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		terms := f.Life.Retention
		if !f.Life.EventTimed() || l.Expect.Lateness == 0 || len(terms) == 0 {
			continue
		}
		if age := terms[len(terms)-1].MaxAge; age > 0 && l.Expect.Lateness >= age {
			report.at(f.GCPos, longerAge(t, f, l.Expect.Lateness+age, age), "events may come %s late and live for %s from their own time: the writer refuses those that are past it", schema.FormatDuration(l.Expect.Lateness), schema.FormatDuration(age))
		}
	}
}

// longerAge proposes a longer age, or one from the writing, for a family of one age.
func longerAge(t *layout.Table, f layout.Family, longer, age time.Duration) string {
	if f.Strategy != layout.MaxAge {
		return "use a longer age"
	}
	hint := "use a longer age: " + code("ttl: {max_age: %s}", schema.FormatDuration(longer))
	if layout.Fits(t.Pattern, layout.MaxAgeFromWrite).Rule == "" {
		hint += ", or let it run from the writing: " + code("ttl: {max_age: %s, from: write}", schema.FormatDuration(age))
	}
	return hint
}

// allRules yields a garbage collection rule and all the rules within it.
func allRules(r codec.GCRule) iter.Seq[codec.GCRule] {
	return func(yield func(codec.GCRule) bool) { visit(r, yield) }
}

// visit yields r and what is within it until yield has enough.
func visit(r codec.GCRule, yield func(codec.GCRule) bool) bool {
	if !yield(r) {
		return false
	}
	for _, sub := range r.Rules {
		if !visit(sub, yield) {
			return false
		}
	}
	return true
}

// shortLived is T15: most of a row is garbage. A bucket of up to twice the time to
// live is about as wide.
func shortLived(l *layout.Layout, t *layout.Table, report reporter) {
	e := sample.EstimateOf(l, t)
	if !t.Pattern.Bucketed() || e.Shortest == 0 || t.Bucket.Widest() <= 2*e.Shortest {
		return
	}
	hint := report.narrower(l, t)
	alive := e.EventsPerRow * e.Shortest.Seconds() / t.Bucket.Widest().Seconds()
	report.at(t.WidthPos, hint, "rows grow for %s and data live for %s: readers pass over all but %s of %s events a row (%s)",
		report.written(t).Bucket.Every.V, schema.FormatDuration(e.Shortest), number(max(1, alive)), number(e.EventsPerRow), basis(e.Load))
}

// replicatedVersions is T11: each cluster counts for itself what has arrived.
func replicatedVersions(l *layout.Layout, t *layout.Table, report reporter) {
	if l.Expect.Clusters < 2 {
		return
	}
	for _, f := range t.Families {
		for rule := range allRules(f.GC) {
			if rule.Kind == codec.GCMaxVersions {
				report.at(f.GCPos, fmt.Sprintf("use an age, such as %s, or allow it: %s", code("ttl: {max_age: 30d}"), allow("T11", "only one cluster is written to")),
					"max_versions with %d clusters: each collects by what it has received, so that they keep different versions for a while", l.Expect.Clusters)
				break
			}
		}
	}
}

// plannedStorage is T17: what has expired is still there for about a week.
func plannedStorage(l *layout.Layout, t *layout.Table, report reporter) {
	if l.Expect.Rate == 0 || l.Expect.Series == 0 {
		return
	}
	if e := sample.EstimateOf(l, t); e.Retention > 0 {
		kept := schema.FormatDuration(e.Retention)
		if e.Shortest < e.Retention {
			kept = schema.FormatDuration(e.Shortest) + " to " + kept
		}
		report.at(t.Pos, "plan for it, and watch the real size: neither bound counts compression",
			"%s to %s of storage: %s to %s a day, kept for %s and up to 7 days more",
			size(e.Table.Lower), size(e.Table.Upper), size(e.BytesADay.Lower), size(e.BytesADay.Upper), kept)
	}
}
