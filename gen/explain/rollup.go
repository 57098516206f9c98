package explain

import (
	"fmt"
	"math"

	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// rollupWords explains the rollup of a table; empty if it has none.
func rollupWords(t *layout.Table, e *estimate.Estimate) string {
	r := t.Rollup
	if r == nil || e.Rollup == nil {
		return ""
	}
	every, run := schema.FormatDuration(r.Every), e.Rollup.Run.Bytes().Typical
	buckets, events := math.Ceil(e.Rollup.Buckets*oneYear.Seconds()), e.EventsIn(oneYear)
	text := fmt.Sprintf(`Each row also has the windows of its bucket, by %s: one cell in family %s with up to %s and about %s,
		from %s after the bucket has ended. Windows of a series over a year, by %s or any multiple of it, take %s with about
		%s. Without the rollup, they take %s of %s with about %s, which must still be there. Each mutation of events also sets
		a mark of %s, and rows with marks are read from their events until they are summarized.`,
		every, r.Family, count(e.Rollup.Windows, "window"), words.Size(run), schema.FormatDuration(r.After),
		every, count(buckets, "cell"), words.Size(buckets*run),
		count(events*float64(e.CellsPerEvent), "cell"), count(events, "event"), words.Size(events*e.Event.Typical),
		words.Size(e.Rollup.Mark.Bytes().Typical))
	if r.Idle {
		text += " Reads do not use it yet (serves: false)."
	}
	return text
}
