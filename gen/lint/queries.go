package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// queryChecks are about queries.
var queryChecks = checks{
	"K06": func(r reporter) { // the query gives no prefix of the key; its scan entry allows it
		q := r.q
		if !q.Scans() || q.Scan != "" {
			return
		}
		switch reads, why := prose.Extent(q), r.noPrefix(); {
		case q.Other:
			r.at(q.DeletePos, "deletes", q.Name, reads, why)
		case len(q.By) == 0 && q.Table.Metrics():
			r.at(q.Pos, "metrics", q.Name, reads, why)
		case len(q.By) == 0:
			r.at(q.Pos, "all", q.Name, reads, why, r.newTable())
		default:
			r.at(q.Pos, "one", q.Name, reads, r.given(), why, r.given(), r.newTable())
		}
	},
	"K18": func(r reporter) { // the time range filters cells instead of selecting rows
		q := r.q
		series, found := q.Unbound()
		if !found || q.Scans() || q.Table.Endless() { // whose rows contain all times, whatever the query
			return
		}
		from, to, now := sample.Day(q.Table)
		omits := "omits"
		if q.Partial && q.Table.Segments[q.Before].Series == series {
			omits = "gives only a part of"
		}
		reads := "it reads the rows of all times"
		if w := estimate.WorkOf(r.l, q, now, from, to, nil); w.Walked > 0 {
			reads = fmt.Sprintf("a day takes %s rows per series instead of %s", words.Number(w.Walked+w.Rows), words.Number(w.Rows))
		}
		r.at(q.Pos, "walks", q.Name, omits, r.l.Series[series].Name, q.Table.ID, reads, r.given(), r.newTable())
	},
	"K08": func(r reporter) { // over wideSalt ranges per read
		if r.q.Salts > wideSalt {
			r.at(r.q.Pos, "ranges", r.q.Name, r.q.Salts, wideSalt, r.ownSalt())
		}
	},
	"K09": func(r reporter) { // one range per salt bucket
		if r.q.Salts > 1 && r.q.Salts <= wideSalt && len(r.q.By) > 0 {
			r.at(r.q.Pos, "ranges", r.q.Name, r.q.Salts, r.ownSalt())
		}
	},
}

// ofEarlier says which events a finding of a query is about if their layout is an earlier one, which cannot change.
func (r reporter) ofEarlier(says, way string) (string, string) {
	if r.q == nil || r.q.Table.Until.IsZero() || r.q.Other {
		return says, way
	}
	const reason = `"until the old events expire"`
	allow := code("allow: {%s: %s}", r.rule.ID, reason)
	if r.rule.HowToAllow != "" {
		allow = code("scan: %s", reason)
	}
	return "for " + prose.Period(r.q.Table) + ", " + says, "allow it until these events have expired: " + allow
}

// noPrefix explains why the query gives no prefix of the key.
func (r reporter) noPrefix() string {
	if len(r.q.By) == 0 {
		return fmt.Sprintf("in the row keys of table %q, the series precedes the time", r.q.Table.ID)
	}
	return fmt.Sprintf("row keys of table %q do not begin with %s", r.q.Table.ID, r.given())
}

// given lists the series values that a query gives.
func (r reporter) given() string {
	return strings.Join(layout.NamesOf(r.l.Series, r.q.By), " and ")
}

// wideSalt is the highest number of salt buckets that keeps keys in a useful order; our
// judgment.
const wideSalt = 100

// ownSalt proposes a salt computed from the values that a query gives or, if it gives
// none, a salt with fewer buckets.
func (r reporter) ownSalt() block {
	texts := r.t.SegmentTexts()
	i := slices.IndexFunc(r.t.Segments, func(g codec.Segment) bool { return g.Kind == codec.SaltSegment })
	salt := &r.t.Segments[i]
	of, buckets := salt.Salted, layout.UsualSalt
	if len(r.q.By) > 0 {
		of = slices.DeleteFunc(slices.Clone(of), func(i int) bool { return !slices.Contains(r.q.By, i) })
		buckets = min(salt.Buckets, wideSalt)
	}
	if len(of) == 0 {
		of = r.q.By
	}
	texts[i] = r.l.SaltText(of, buckets)
	return inTable(r.t.ID, r.keyEntry(r.t, texts))
}
