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
	const why = "if it may read that much, give a reason, as in `scan: \"a nightly export\"`"
	if q.Other {
		report.at(q.DeletePos, why+"; or remove delete, and delete each series with DeleteSeries",
			"to delete by query %s, the writer reads %s: %s", q.Name, prose.Extent(q), noPrefix(l, q))
		return
	}
	if earlier(q) {
		report.at(q.Pos, why, "query %s reads %s for %s: %s", q.Name, prose.Extent(q), prose.Period(q.Table), noPrefix(l, q))
		return
	}
	if len(q.By) == 0 {
		hint := why
		if !q.Table.Metrics() {
			hint = report.newTable(l, q, why+"; or add a table whose key begins with a salt and the time")
		}
		report.at(q.Pos, hint, "query %s reads %s: %s", q.Name, prose.Extent(q), noPrefix(l, q))
		return
	}
	report.at(q.Pos, report.newTable(l, q, fmt.Sprintf("%s; or add a table whose key begins with %s", why, given(l, q))),
		"query %s reads %s to find one %s: %s", q.Name, prose.Extent(q), given(l, q), noPrefix(l, q))
}

// earlier reports whether a query is that of an earlier layout, which cannot change.
func earlier(q *layout.Query) bool { return !q.Table.Until.IsZero() }

// whileRead proposes to allow a finding about an earlier layout.
func whileRead(rule string) string {
	return "allow it until these events have expired: " + allow(rule, "until the old events expire")
}

// noPrefix explains why the query gives no prefix of the key.
func noPrefix(l *layout.Layout, q *layout.Query) string {
	if len(q.By) == 0 {
		return fmt.Sprintf("in the row keys of table %q, the series precedes the time", q.Table.ID)
	}
	return fmt.Sprintf("row keys of table %q do not begin with %s", q.Table.ID, given(l, q))
}

// given lists the series values that a query gives.
func given(l *layout.Layout, q *layout.Query) string {
	var names []string
	for _, i := range q.By {
		names = append(names, l.Series[i].Name)
	}
	return strings.Join(names, " and ")
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
		report.at(q.Pos, whileRead("K18"), "for %s, query %s %s %s, which precedes the time in %q: %s", prose.Period(q.Table), q.Name, gives, l.Series[series].Name, q.Table.ID, reads)
		return
	}
	report.at(q.Pos, report.newTable(l, q, fmt.Sprintf("allow it: %s; or add a table with the time right after %s", allow("K18", "a few times a day"), given(l, q))),
		"query %s %s %s, which precedes the time in %q: %s", q.Name, gives, l.Series[series].Name, q.Table.ID, reads)
}

// wideSalt is the highest number of salt buckets that keeps keys in a useful order; our
// judgment.
const wideSalt = 100

// hashedKey is K08: over wideSalt ranges per read.
func hashedKey(l *layout.Layout, q *layout.Query, report reporter) {
	switch {
	case q.Salts <= wideSalt:
	case earlier(q):
		report.at(q.Pos, whileRead("K08"), "for %s, query %s reads %d key ranges, one per salt bucket", prose.Period(q.Table), q.Name, q.Salts)
	default:
		report.at(q.Pos, report.ownSalt(l, q, "compute the salt from values that the query gives, or use fewer salt buckets"),
			"query %s reads %d key ranges, one per salt bucket; with over %d, the key is in effect a hash", q.Name, q.Salts, wideSalt)
	}
}

// saltedQuery is K09: one range per salt bucket.
func saltedQuery(l *layout.Layout, q *layout.Query, report reporter) {
	switch {
	case q.Salts <= 1 || q.Salts > wideSalt || len(q.By) == 0:
	case earlier(q):
		report.at(q.Pos, whileRead("K09"), "for %s, query %s does not give every value in the salt: each call reads %d key ranges", prose.Period(q.Table), q.Name, q.Salts)
	default:
		report.at(q.Pos, report.ownSalt(l, q, "allow it: "+allow("K09", "a few times a day")+"; or compute the salt from values that it gives, to read one range"),
			"query %s does not give every value in the salt: each call reads %d key ranges", q.Name, q.Salts)
	}
}

// ownSalt proposes a salt computed from the values that a query gives or, if it gives
// none, a salt with fewer buckets.
func (r reporter) ownSalt(l *layout.Layout, q *layout.Query, hint string) string {
	texts := segmentsOf(q.Table)
	i := slices.IndexFunc(q.Table.Segments, func(g codec.Segment) bool { return g.Kind == codec.SaltSegment })
	of, buckets := q.Table.Segments[i].Salted, min(q.Table.Segments[i].Buckets, wideSalt)
	if len(q.By) > 0 {
		of = slices.DeleteFunc(slices.Clone(of), func(i int) bool { return !slices.Contains(q.By, i) })
	} else {
		buckets = usualSalt
	}
	if len(of) == 0 {
		of = q.By
	}
	texts[i] = l.SaltText(of, buckets)
	return block(hint, inTable(q.Table.ID, r.keyEntry(q.Table, texts))...)
}
