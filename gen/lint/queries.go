package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
)

// fullScan is K06: no part of the key is known. The query itself says why it may.
func fullScan(l *layout.Layout, q *layout.Query, report reporter) {
	if !q.Scans() || q.Scan != "" {
		return
	}
	const why = "say why it may read so much, as in `scan: \"a nightly export\"`"
	if len(q.By) == 0 {
		hint := why
		if !q.Table.Metrics() {
			hint = report.newTable(l, q, why+", or add a table with the time behind a salt")
		}
		report.at(q.Pos, hint, "query %s reads %s: the row keys of table %q have the series before the time", q.Name, sample.Extent(q), q.Table.ID)
		return
	}
	report.at(q.Pos, report.newTable(l, q, fmt.Sprintf("%s, or add a table whose key begins with %s", why, given(l, q))),
		"query %s reads %s to find one %s: no row key of table %q begins with it", q.Name, sample.Extent(q), given(l, q), q.Table.ID)
}

// given names the series values that a query gives.
func given(l *layout.Layout, q *layout.Query) string {
	var names []string
	for _, i := range q.By {
		names = append(names, l.Series[i].Name)
	}
	return strings.Join(names, " and ")
}

// walksTimes is K18: the range of time is a filter of cells, not of rows.
func walksTimes(l *layout.Layout, q *layout.Query, report reporter) {
	series, found := q.Plan.Unbound(q.Table)
	if !found || q.Scans() {
		return
	}
	from, to, now := sample.Day(q.Table)
	reads := "it reads the rows of all times"
	if w := sample.WorkOf(l, q, now, from, to, nil); w.Walked > 0 {
		reads = fmt.Sprintf("for a day it reads %s rows a series instead of %s", number(w.Walked+w.Rows), number(w.Rows))
	}
	report.at(q.Pos, report.newTable(l, q, fmt.Sprintf("allow it, %s, or add a table with the time right after %s", allow("K18", "a few times a day"), given(l, q))),
		"query %s does not give %s, which stands before the time in %q: %s", q.Name, l.Series[series].Name, q.Table.ID, reads)
}

// wideSalt is from when on a salt is as good as a hash of the key: our judgement.
const wideSalt = 100

// hashedKey is K08: what is next to each other in order is nowhere near.
func hashedKey(l *layout.Layout, q *layout.Query, report reporter) {
	if q.Plan.Salts > wideSalt {
		report.at(q.Pos, report.ownSalt(l, q, "make the salt of what the query gives, or of fewer values"),
			"query %s reads %d ranges, one for each salt: with so many the key is a hash, in whose order nothing is found", q.Name, q.Plan.Salts)
	}
}

// saltedQuery is K09: a query that reads all salts.
func saltedQuery(l *layout.Layout, q *layout.Query, report reporter) {
	if 1 < q.Plan.Salts && q.Plan.Salts <= wideSalt && len(q.By) > 0 {
		report.at(q.Pos, report.ownSalt(l, q, "allow it, "+allow("K09", "a few times a day")+", or make the salt of what it gives, for one range"),
			"query %s does not give all that the salt is made of: each call reads %d ranges", q.Name, q.Plan.Salts)
	}
}

// ownSalt proposes a salt that is made of what a query gives or, if that is nothing, one
// with fewer values.
func (r reporter) ownSalt(l *layout.Layout, q *layout.Query, hint string) string {
	texts := segmentsOf(q.Table)
	i := slices.IndexFunc(q.Table.Segments, func(g layout.Segment) bool { return g.Kind == layout.SaltSegment })
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
