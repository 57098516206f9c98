package sample

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Order says in words in which order the events of the query come.
func Order(l *layout.Layout, q *layout.Query) string {
	switch {
	case len(q.By) == len(l.Series):
		return "in the order of time"
	case !q.Plan.Timed:
		return "by series in the order of their row keys, and then by time"
	case q.Table.Pattern.Bucketed():
		return "by bucket, then by series in the order of their row keys, and then by time"
	}
	return "in the order of time"
}

// Ranges says in words which rows are asked for.
func Ranges(q *layout.Query) string {
	text := "one range of rows"
	switch {
	case q.Unbounded():
		text = Extent(q)
	case q.Plan.Timed && q.Table.Pattern.Bucketed() && q.Plan.Whole && (len(q.Plan.After) > 0 || !q.Table.Bucket.Sorted()):
		text = "the rows of the buckets, by their keys"
	case q.Plan.Timed && q.Table.Pattern.Bucketed() && len(q.Plan.After) > 0:
		text = "a range of rows for each bucket"
	}
	switch n := q.Plan.Salts; {
	case n > scan.MaxStreams:
		text += fmt.Sprintf(" for each of %d salts, read a few rows at a time, %d salts at once, and brought together", n, scan.MaxStreams)
	case n > 1:
		text += fmt.Sprintf(" for each of %d salts, read at once and brought together", n)
	case q.Table.Metrics():
		text += " for each field"
	}
	if len(q.FilteredBy) > 0 {
		text += ", passing over those with another " + strings.Join(q.FilteredBy, " or ")
	}
	return text
}

// Extent says in words what a query reads whose values do not narrow the rows down.
func Extent(q *layout.Query) string {
	i := slices.IndexFunc(q.Plan.Before, func(g layout.Segment) bool { return g.Kind == layout.SaltSegment })
	switch salted := i >= 0 && q.Plan.Salts == 1; {
	case salted && q.Plan.Timed:
		return fmt.Sprintf("the rows of all series of one of %d salts in the range of time", q.Plan.Before[i].Buckets)
	case salted:
		return fmt.Sprintf("the rows of one of %d salts", q.Plan.Before[i].Buckets)
	case q.Plan.Timed:
		return "the rows of all series in the range of time"
	}
	return "the whole table"
}

// Notes says in sentences what else a reader should know of the query.
func Notes(l *layout.Layout, q *layout.Query) []string {
	var out []string
	if !q.Plan.Timed {
		out = append(out, "The server walks the rows of all times, and drops what is not in the range.")
	}
	if q.Table != l.Read && !q.Table.Outlives(l.Read) {
		out = append(out, fmt.Sprintf("Events may expire earlier in table %s than in table %s, which Read reads.", q.Table.ID, l.Read.ID))
	}
	return out
}
