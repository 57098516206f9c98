package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// fullScan is K06: the query gives no prefix of the key. Its scan entry allows it.
func fullScan(l *layout.Layout, q *layout.Query, report reporter) {
	if !q.Scans() || q.Scan != "" {
		return
	}
	switch reads, why := prose.Extent(q), noPrefix(l, q); {
	case q.Other:
		report.at(q.DeletePos, "deletes", q.Name, reads, why)
	case earlier(q):
		report.at(q.Pos, "earlier", q.Name, reads, prose.Period(q.Table), why)
	case len(q.By) == 0 && q.Table.Metrics():
		report.at(q.Pos, "metrics", q.Name, reads, why)
	case len(q.By) == 0:
		report.at(q.Pos, "all", q.Name, reads, why, report.newTable(l, q))
	default:
		report.at(q.Pos, "one", q.Name, reads, given(l, q), why, given(l, q), report.newTable(l, q))
	}
}

// earlier reports whether a query is that of an earlier layout, which cannot change.
func earlier(q *layout.Query) bool { return !q.Table.Until.IsZero() }

// noPrefix explains why the query gives no prefix of the key.
func noPrefix(l *layout.Layout, q *layout.Query) string {
	if len(q.By) == 0 {
		return fmt.Sprintf("in the row keys of table %q, the series precedes the time", q.Table.ID)
	}
	return fmt.Sprintf("row keys of table %q do not begin with %s", q.Table.ID, given(l, q))
}

// given lists the series values that a query gives.
func given(l *layout.Layout, q *layout.Query) string {
	return strings.Join(layout.NamesOf(l.Series, q.By), " and ")
}

// walksTimes is K18: the time range filters cells instead of selecting rows.
func walksTimes(l *layout.Layout, q *layout.Query, report reporter) {
	series, found := q.Unbound()
	if !found || q.Scans() || q.Table.Endless() { // whose rows contain all times, whatever the query
		return
	}
	from, to, now := sample.Day(q.Table)
	gives := "does not give"
	if q.Partial && q.Table.Segments[q.Before].Series == series {
		gives = "gives only a part of"
	}
	reads := "it reads the rows of all times"
	if w := estimate.WorkOf(l, q, now, from, to, nil); w.Walked > 0 {
		reads = fmt.Sprintf("a day takes %s rows per series instead of %s", number(w.Walked+w.Rows), number(w.Rows))
	}
	if earlier(q) {
		report.at(q.Pos, "earlier", prose.Period(q.Table), q.Name, gives, l.Series[series].Name, q.Table.ID, reads)
		return
	}
	report.at(q.Pos, "walks", q.Name, gives, l.Series[series].Name, q.Table.ID, reads, given(l, q), report.newTable(l, q))
}

// wideSalt is the highest number of salt buckets that keeps keys in a useful order; our
// judgment.
const wideSalt = 100

// hashedKey is K08: over wideSalt ranges per read.
func hashedKey(l *layout.Layout, q *layout.Query, report reporter) {
	switch {
	case q.Salts <= wideSalt:
	case earlier(q):
		report.at(q.Pos, "earlier", prose.Period(q.Table), q.Name, q.Salts)
	default:
		report.at(q.Pos, "ranges", q.Name, q.Salts, wideSalt, report.ownSalt(l, q))
	}
}

// saltedQuery is K09: one range per salt bucket.
func saltedQuery(l *layout.Layout, q *layout.Query, report reporter) {
	switch {
	case q.Salts <= 1 || q.Salts > wideSalt || len(q.By) == 0:
	case earlier(q):
		report.at(q.Pos, "earlier", prose.Period(q.Table), q.Name, q.Salts)
	default:
		report.at(q.Pos, "ranges", q.Name, q.Salts, report.ownSalt(l, q))
	}
}

// ownSalt proposes a salt computed from the values that a query gives or, if it gives
// none, a salt with fewer buckets.
func (r reporter) ownSalt(l *layout.Layout, q *layout.Query) block {
	texts := segmentsOf(q.Table)
	i := slices.IndexFunc(q.Table.Segments, func(g codec.Segment) bool { return g.Kind == codec.SaltSegment })
	of, buckets := q.Table.Segments[i].Salted, min(q.Table.Segments[i].Buckets, wideSalt)
	if len(q.By) > 0 {
		of = slices.DeleteFunc(slices.Clone(of), func(i int) bool { return !slices.Contains(q.By, i) })
	} else {
		buckets = layout.UsualSalt
	}
	if len(of) == 0 {
		of = q.By
	}
	texts[i] = l.SaltText(of, buckets)
	return inTable(q.Table.ID, r.keyEntry(q.Table, texts))
}
