package lint

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
)

// unreadRollup is K28.
func unreadRollup(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Rollup == nil || t.Rollup.Idle || t.WriteOnly || l.Read == t || slices.ContainsFunc(l.Queries, func(q layout.Query) bool { return q.Table == t }) {
		return
	}
	report.at(t.RollupPos, "unread", t.ID)
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
		report.at(t.Families[0].GCPos, "brief", t.ID, (least + spareTime + day - 1).Truncate(day))
	}
}
