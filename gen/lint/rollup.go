package lint

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// unreadRollup is K28.
func unreadRollup(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Rollup == nil || t.Rollup.Idle || t.WriteOnly || l.Read == t || slices.ContainsFunc(l.Queries, func(q layout.Query) bool { return q.Table == t }) {
		return
	}
	report.at(t.RollupPos, "give the rollup to the table that serves the reads", "no read or query uses table %q, and so its rollup", t.ID)
}

// spareTime is how long nothing may summarize a table; our judgment.
const spareTime = 3 * 24 * time.Hour

// briefRollup is T23: fewer than three days between the first time at which a bucket can be summarized and the last.
func briefRollup(_ *layout.Layout, t *layout.Table, report reporter) {
	age := t.Age()
	if t.Rollup == nil || age == 0 {
		return
	}
	least := t.Rollup.Least(t.Bucket)
	if age >= least && age < least+spareTime {
		const day = 24 * time.Hour
		enough := schema.FormatDuration((least + spareTime + day - 1).Truncate(day))
		report.at(t.Families[0].GCPos, "keep them for longer: "+diag.Code("ttl: {max_age: "+enough+"}"), "a bucket of table %q can be summarized for less than three days before its events begin to expire", t.ID)
	}
}
