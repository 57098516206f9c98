package layout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/templates/codec"
)

// Query is one way that events are read: of all series that have some values.
type Query struct {
	Pos   diag.Pos
	Name  string
	Doc   string
	By    []int  // the series values that are given, in the order of the schema's list
	Scan  string // why a full scan is allowed; empty if it is not
	Table *Table // the one that answers it best
	Plan  Plan
}

// Plan is how a table answers a query: which rows are asked for.
type Plan struct {
	// Before are the segments in front of the time that are known: all of them, if
	// Timed is set, or those in front of the first that is not.
	Before []Segment
	// After are the segments right behind the time that are known.
	After []Segment
	// Timed says that the time follows what is known, so that a range of time is
	// a range of rows. If not, the server walks all times of what it finds.
	Timed bool
	// Whole says that nothing follows After: the rows are those of one series.
	Whole bool
	// Salts is how many salts there are, each a range of its own, where the values
	// that the salt is made from are not all given; else 1.
	Salts int
}

// plan returns how a table answers a query by some series values.
func (t *Table) plan(by []int) Plan {
	p := Plan{Salts: 1}
	known := func(g Segment) bool {
		switch g.Kind {
		case SeriesSegment:
			return slices.Contains(by, g.Series)
		case SequenceSegment:
			return false
		}
		return true
	}
	for _, g := range t.BeforeTime() {
		if g.Kind == SaltSegment && slices.ContainsFunc(g.Salted, func(i int) bool { return !slices.Contains(by, i) }) {
			p.Salts = g.Buckets
		}
		if !known(g) {
			return p.unsalted()
		}
		p.Before = append(p.Before, g)
	}
	p.Timed = true
	after := t.AfterTime()
	for _, g := range after {
		if !known(g) {
			return p
		}
		p.After = append(p.After, g)
	}
	p.Whole = true
	return p
}

// Checked returns the series values that a query gives and that are not among the
// segments of its plan: of the rows that it finds, those with others are passed over.
func (q *Query) Checked() []int {
	return slices.DeleteFunc(slices.Clone(q.By), func(i int) bool {
		return slices.ContainsFunc(slices.Concat(q.Plan.Before, q.Plan.After), func(g Segment) bool { return g.Kind == SeriesSegment && g.Series == i })
	})
}

// unsalted leaves the salt of a plan out if nothing behind it is known: all salts
// are then one range.
func (p Plan) unsalted() Plan {
	i := slices.IndexFunc(p.Before, func(g Segment) bool { return g.Kind == SaltSegment })
	if i >= 0 && i == len(p.Before)-1 && p.Salts > 1 {
		p.Before, p.Salts = p.Before[:i], 1
	}
	return p
}

// Scans reports whether nothing that a query gives narrows the rows down.
func (p Plan) Scans() bool {
	return !slices.ContainsFunc(p.Before, func(g Segment) bool { return g.Kind == SeriesSegment })
}

// Unbound returns the series value in front of the time that is not given; false
// if there is none.
func (p Plan) Unbound(t *Table) (series int, found bool) {
	if p.Timed {
		return 0, false
	}
	rest := t.BeforeTime()[len(p.Before):]
	i := slices.IndexFunc(rest, func(g Segment) bool { return g.Kind == SeriesSegment })
	return rest[max(0, i)].Series, true
}

// serves reports whether a table can answer a query by its plan.
func (t *Table) serves(p Plan) bool {
	metric := slices.ContainsFunc(p.Before, func(g Segment) bool { return g.Kind == MetricSegment })
	sorted := !t.Pattern.Bucketed() || t.Bucket.Sorted() || p.Timed && p.Whole
	return sorted && (!t.Metrics() || metric && p.Salts == 1)
}

// cost ranks plans: whole tables last, then what walks all times, then by ranges.
func (t *Table) cost(p Plan) int {
	cost := p.Salts * t.RowsPerEvent()
	switch {
	case p.Scans():
		cost += 1_000_000
	case !p.Timed:
		cost += 100_000
	case len(p.After) > 0 && !t.Pattern.Bucketed():
		cost += 10_000 // rows of others are passed over
	case len(p.After) > 0:
		cost += 100 // a row or a range for each bucket
	}
	if t.Pattern.Bucketed() && !t.Bucket.Sorted() {
		cost += 1000
	}
	return cost
}

// bestFor returns the table that answers a query by some series values best, and
// how; nil if none can.
func bestFor(tables []*Table, by []int) (best *Table, plan Plan) {
	for _, t := range tables {
		p := t.plan(by)
		if t.serves(p) && (best == nil || t.cost(p) < best.cost(plan)) {
			best, plan = t, p
		}
	}
	return best, plan
}

// queries resolves the queries.
func (r *resolver) queries() {
	for i := range r.schema.Queries {
		q := &r.schema.Queries[i]
		out := Query{Pos: q.Name.Pos, Name: q.Name.V, Doc: q.Doc, Scan: q.Scan.V}
		for _, name := range q.By {
			out.By = append(out.By, slices.IndexFunc(r.layout.Series, func(f Field) bool { return f.Name == name.V }))
		}
		if slices.Contains(out.By, -1) {
			continue // the schema says so
		}
		out.Table, out.Plan = bestFor(r.layout.telling(), out.By)
		if out.Table == nil {
			r.errorf(q.Name.Pos, "add a table for it, with "+wantedKey(r.layout, out.By),
				"no table can answer %s: in bucket_new_columns the metric must stand before the series values that are not given, and unpadded labels are not in order", q.Name.V)
			continue
		}
		r.layout.Queries = append(r.layout.Queries, out)
	}
}

// wantedKey writes the key that would answer a query by some series values.
func wantedKey(l *Layout, by []int) string {
	var names []string
	for _, i := range by {
		names = append(names, l.Series[i].Name)
	}
	names = append(names, "bucket")
	for i, f := range l.Series {
		if !slices.Contains(by, i) {
			names = append(names, f.Name)
		}
	}
	return "segments: [" + strings.Join(names, ", ") + "]"
}

// WantedKey writes the key that would answer the query.
func (q *Query) WantedKey(l *Layout) string { return wantedKey(l, q.By) }

// Order says in words in which order the events of the query come.
func (q *Query) Order(l *Layout) string {
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
func (q *Query) Ranges() string {
	text := "one range of rows"
	switch {
	case q.Plan.Scans():
		text = "the whole table"
	case q.Plan.Timed && q.Table.Pattern.Bucketed() && q.Plan.Whole && (len(q.Plan.After) > 0 || !q.Table.Bucket.Sorted()):
		text = "the rows of the buckets, by their keys"
	case q.Plan.Timed && q.Table.Pattern.Bucketed() && len(q.Plan.After) > 0:
		text = "a range of rows for each bucket"
	}
	switch n := q.Plan.Salts; {
	case n > 1:
		text += fmt.Sprintf(" for each of %d salts, read at once and brought together", n)
	case q.Table.Metrics():
		text += " for each field"
	}
	return text
}

// ReadQuery is the read of a single series, which every reader has.
func (l *Layout) ReadQuery() Query {
	return Query{Name: "Read", By: l.allSeries(), Table: l.Read, Plan: l.SeriesPlan(l.Read)}
}

// allSeries lists the indices of all series values.
func (l *Layout) allSeries() []int {
	all := make([]int, len(l.Series))
	for i := range all {
		all[i] = i
	}
	return all
}

// SeriesPlan is how a table answers the read of a single series.
func (l *Layout) SeriesPlan(t *Table) Plan { return t.plan(l.allSeries()) }

// ExampleRows returns what the query asks for in a range of time, for made-up
// series values, by the code that real reads use: all ranges, in their order.
func (q *Query) ExampleRows(l *Layout, from, to time.Time) []codec.Rows {
	var out []codec.Rows
	for salt := range q.Plan.Salts {
		metrics := []string{""}
		if q.Table.Metrics() {
			metrics = nil
			for _, c := range q.Table.Columns {
				metrics = append(metrics, c.Qualifier)
			}
		}
		for _, metric := range metrics {
			out = append(out, q.exampleSpan(l, salt, metric, from, to)...)
		}
	}
	return out
}

// exampleSpan returns what the query asks for with a salt and a metric.
func (q *Query) exampleSpan(l *Layout, salt int, metric string, from, to time.Time) []codec.Rows {
	before, after := codec.NewKeyWriter(nil, q.Table.Delimiter), codec.NewKeyWriter(nil, q.Table.Delimiter)
	if q.Plan.Salts == 1 {
		salt = ownSalt
	}
	q.Table.writeExamples(l, &before, q.Plan.Before, salt, metric)
	q.Table.writeExamples(l, &after, q.Plan.After, salt, metric)
	prefix, _ := before.Prefix() // of made-up values that do
	suffix, _ := after.Prefix()
	if q.Plan.Whole {
		suffix, _ = after.Key()
	}
	span := codec.Span{Prefix: string(prefix), Delimiter: q.Table.Delimiter, Suffix: string(suffix), Whole: q.Plan.Whole}
	switch {
	case !q.Plan.Timed:
		return []codec.Rows{codec.PrefixRows(span.Prefix)}
	case q.Table.Pattern.Bucketed():
		return slices.Collect(span.Buckets(q.Table.Bucket, from, to))
	}
	rows, _ := span.Times(q.Table.TimeKey, from, to)
	return []codec.Rows{rows}
}
