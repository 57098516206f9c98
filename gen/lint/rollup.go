package lint

import (
	"slices"
	"time"
)

// rollupChecks are about rollups.
var rollupChecks = checks{
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
}

// spareTime is how long nothing may summarize a table; our judgment.
const spareTime = 3 * 24 * time.Hour
