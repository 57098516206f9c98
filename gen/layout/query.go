package layout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Query is a way to read events: those of all series with given values.
type Query struct {
	Pos     diag.Pos
	Name    string
	Doc     string
	Inputs  []Input // what callers give
	By      []int   // the series values of Inputs of which they give whole values
	Series  bool    // the reader can list the series of the query
	Scan    string  // why a full scan is allowed; empty if it is not
	ScanPos diag.Pos
	Allow   []schema.Allow // exceptions to rules about queries
	Table   *Table         // the table that the schema names or, if it names none, the best one
	Named   diag.Pos       // where the schema names the table, if it does
	// The rows of Table that the query reads.
	*codec.Selection
	// FilteredBy are the names of the series values by which rows are filtered, because
	// the row ranges contain rows with other values.
	FilteredBy []string
	Older      []Query // the same query of each of Table.Older
	// Deletes are, if events can be deleted by the query, the same query of each of
	// Layout.Tables or, with conditions, of Table alone: its events are deleted from all. Other is
	// set in those of other tables than Table.
	Deletes   []Query
	DeletePos diag.Pos
	Other     bool
}

// of returns the query of another table, without those of its earlier layouts.
func (q *Query) of(l *Layout, t *Table) *Query {
	out := *q
	out.Table, out.Selection, out.Older = t, t.Select(q.Selects()), nil
	out.FilteredBy = out.filteredBy(l)
	return &out
}

// resolve returns the query of another table, with those of its earlier layouts.
func (q *Query) resolve(l *Layout, t *Table) *Query {
	out := q.of(l, t)
	for _, older := range t.Older {
		out.Older = append(out.Older, *q.resolve(l, older))
	}
	return out
}

// Known returns the segments before and after the time that readers know, as [codec.Path] counts
// them.
func (q *Query) Known() (before, after []codec.Segment) {
	return q.Table.Segments[:q.Before], q.Table.AfterTime()[:q.After]
}

// Selects returns the series values of which the caller gives all or a part.
func (q *Query) Selects() codec.Given {
	g := codec.Given{Series: slices.Clone(q.By)}
	if part := q.Part(); part != nil {
		g.Series, g.Last = append(g.Series, part.Index), part.Form
	}
	return g
}

// Definition returns the query as package store needs it.
func (q *Query) Definition(l *Layout) codec.Query {
	out := codec.Query{Name: q.Name}
	if given := q.Selects(); len(given.Series) > 0 {
		out.Given = given
	}
	for _, w := range q.Where() {
		out.Conditions = append(out.Conditions, codec.Condition{Field: q.Table.ColumnOf(w.Index).Qualifier, Equal: w.Form == codec.GivenValue})
	}
	if q.Table != l.Tables[0] && out.Conditions != nil && q.Deletes != nil {
		out.Table = q.Table.ID
	}
	return out
}

// refused returns why the rows of the table cannot be selected by a prefix or a range, or by
// conditions, and what to write instead; empty if they can.
func (q *Query) refused(l *Layout) (why, instead string) {
	const key = "add a table whose key has it right after the other values, before the time, in a form that sorts: escaped strings, padded numbers"
	t := q.Table
	if why := q.Selection.Refused(); why != "" {
		return why, key
	}
	for _, w := range q.Where() {
		if why, instead := t.refusesWhere(l, &w); why != "" {
			return why, instead
		}
	}
	return "", ""
}

// hasSeries reports whether segments contain a series value.
func hasSeries(segments []codec.Segment, series int) bool {
	return slices.ContainsFunc(segments, func(g codec.Segment) bool { return g.Kind == codec.SeriesSegment && g.Series == series })
}

// hasKind reports whether segments contain one of the given kind.
func hasKind(segments []codec.Segment, kind codec.SegmentKind) bool {
	return slices.ContainsFunc(segments, func(g codec.Segment) bool { return g.Kind == kind })
}

// Periods returns the query and the same one of each earlier layout of the table.
func (q *Query) Periods() []*Query {
	out := []*Query{q}
	for i := range q.Older {
		out = append(out, &q.Older[i])
	}
	return out
}

// ByKeys reports whether the query filters row keys, because its ranges contain other
// rows or because the keys select the time.
func (q *Query) ByKeys(l *Layout) bool { return q.Filters(q.Table.Shape(l).ByTimestamp()) }

// Listed reports whether one request reads the rows of several values.
func (q *Query) Listed(l *Layout) bool { return q.Table.Shape(l).Lists(nil, false) }

// Unbounded reports whether the specified values do not restrict the rows, even if the
// query reads all series. Values after the time restrict them if reads name the rows of
// buckets; if each event has a row, the server scans the rows of all series.
func (q *Query) Unbounded() bool {
	before, after := q.Known()
	return !q.Partial && !hasKind(before, codec.SeriesSegment) && !(q.Table.Pattern.Bucketed() && hasKind(after, codec.SeriesSegment))
}

// Scans reports whether the query reads rows that it does not return, because no
// specified series value restricts them. A query of all series returns all rows in its
// time range.
func (q *Query) Scans() bool { return q.Unbounded() && !(len(q.By) == 0 && q.Timed) }

// filteredBy returns the names of the series values by which the query filters rows.
func (q *Query) filteredBy(l *Layout) []string {
	var names []string
	_, after := q.Known()
	for i, f := range l.Series {
		if slices.Contains(q.Filtered, i) || !q.Table.Pattern.Bucketed() && hasSeries(after, i) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Unbound returns the first series value before the time that the query does not
// specify; false if there is none.
func (q *Query) Unbound() (series int, found bool) {
	if q.Timed {
		return 0, false
	}
	rest := q.Table.BeforeTime()[q.Before:]
	i := slices.IndexFunc(rest, func(g codec.Segment) bool { return g.Kind == codec.SeriesSegment })
	return rest[max(0, i)].Series, true
}

// unserved returns why the table cannot answer the query; empty if it can.
func (q *Query) unserved(l *Layout) string {
	t := q.Table
	before, after := q.Known()
	if why, _ := q.refused(l); why != "" {
		return why
	}
	single := len(q.By) == len(l.Series)
	switch {
	case !single && !t.Shape(l).InOrder():
		return "its labels are not padded, so the rows of several series are not in time order"
	case !t.Metrics(), !t.Has(codec.MetricSegment): // the key has an error
		return ""
	case q.Salts > 1:
		return "the fields of an event are rows, with a salt of unspecified values"
	case !hasKind(before, codec.MetricSegment) && !hasKind(after, codec.MetricSegment):
		return fmt.Sprintf("the fields of an event are rows, and %s precedes the metric", q.unknown())
	case !single && !hasKind(before, codec.MetricSegment):
		return "the fields of an event are rows, and the metric follows the bucket"
	}
	return ""
}

// answering proposes how a table could answer a query that it cannot: with a padded
// label, or with another table and key.
func (t *Table) answering(s *schema.Schema, l *Layout, by []int) string {
	if len(by) < len(l.Series) && !t.Shape(l).InOrder() {
		label := t.Bucket.Label
		bucket := s.Tables[slices.Index(l.Tables, t)].Bucket
		bucket.Label = schema.Value[string]{V: label.Prefix + "%04d" + label.Suffix, Pos: bucket.Pos}
		return strings.Join([]string{"pad the label:", "tables:", "  " + schema.Quoted(t.ID) + ":", "    bucket: " + bucket.String()}, "\n")
	}
	return "add a table that can:\n" + strings.Join(t.NewTable(s, l, by), "\n")
}

// NewTable writes another table for a query as lines of the schema: like t, but with
// the key that the query requires.
func (t *Table) NewTable(s *schema.Schema, l *Layout, by []int) []string {
	name := strings.Join(append([]string{t.ID + "_by"}, NamesOf(l.Series, by)...), "_")
	if len(by) == 0 {
		name += "_time"
	}
	for slices.ContainsFunc(l.Tables, func(t *Table) bool { return t.ID == name }) {
		name += "_2"
	}
	lines := []string{"tables:"}
	for _, line := range s.Tables[slices.Index(l.Tables, t)].Lines(name, t.WantedSegments(l, by)) {
		lines = append(lines, "  "+line)
	}
	return lines
}

// unknown describes the first segment of the key that the query does not determine.
func (q *Query) unknown() string {
	open := func(series int) bool { return !slices.Contains(q.By, series) }
	for _, g := range q.Table.Segments {
		switch {
		case g.Kind == codec.SeriesSegment && open(g.Series):
			return "the unspecified " + g.Name
		case g.Kind == codec.SaltSegment && slices.ContainsFunc(g.Salted, open):
			return "a salt of unspecified values"
		}
	}
	return "an unspecified value"
}

// best returns the query of the table that answers it best; nil if none can. Among
// those with about the lowest cost, it prefers those that keep events longest, then
// those in which writing an event again replaces it, then the first.
func (q *Query) best(l *Layout, tables []*Table) *Query {
	of := map[*Table]*Query{}
	var serving []*Table
	for _, t := range tables {
		if of[t] = q.of(l, t); of[t].unserved(l) == "" {
			serving = append(serving, t)
		}
	}
	if len(serving) == 0 {
		return nil
	}
	horizon := horizonOf(serving)
	cost := func(t *Table) float64 { return of[t].cost(l, horizon) }
	byCost := func(a, b *Table) int { return cmp.Compare(cost(a), cost(b)) }
	least := cost(slices.MinFunc(serving, byCost))
	serving = slices.DeleteFunc(serving, func(t *Table) bool { return cost(t) > sameCost*least })
	serving = longest(serving)
	if replacing := slices.DeleteFunc(slices.Clone(serving), (*Table).Metrics); len(replacing) > 0 {
		serving = replacing
	}
	return of[slices.MinFunc(serving, byCost)]
}

// queries resolves the queries.
func (r *resolver) queries() {
	tables := r.layout.telling()
	if len(tables) == 0 {
		tables = r.layout.Tables // unknown tables are a separate error
	}
	for i := range r.schema.Queries {
		q := &r.schema.Queries[i]
		out := Query{Pos: q.Name.Pos, Name: q.Name.V, Doc: q.Doc, Series: q.Series.V, Scan: q.Scan.V, ScanPos: q.Scan.Pos, Allow: q.Allow, Named: q.Table.Pos}
		if q.Delete.V {
			out.DeletePos = q.Delete.Pos
		}
		var ok bool
		if out.Inputs, ok = r.inputs(q); !ok {
			continue // the schema has an error
		}
		for _, in := range out.Inputs {
			if !in.Where && in.Form == codec.GivenValue {
				out.By = append(out.By, in.Index)
			}
		}
		among := tables
		if q.Table.IsSet() {
			among = slices.DeleteFunc(slices.Clone(tables), func(t *Table) bool { return t.ID != q.Table.V })
		}
		if best := out.best(r.layout, among); best != nil {
			r.layout.Queries = append(r.layout.Queries, *best)
		} else {
			r.unanswered(&out, q.Table.V)
		}
	}
}

// deletes resolves how events are deleted by queries: in each table. It rejects those that a
// table cannot answer.
func (r *resolver) deletes() {
	for i := range r.layout.Queries {
		q := &r.layout.Queries[i]
		if !q.DeletePos.IsValid() {
			continue
		}
		for _, t := range r.layout.Tables {
			if len(q.Where()) > 0 && t != q.Table {
				continue // its events are those that Table has
			}
			d := *q
			d.Deletes, d.Other = nil, t != q.Table
			q.Deletes = append(q.Deletes, *d.resolve(r.layout, t))
		}
		for k := range q.Deletes {
			for _, d := range q.Deletes[k].Periods() {
				if why := d.unserved(r.layout); d.Other && why != "" {
					r.reject(q.DeletePos, "undeletable", d.Table.ID, q.Name, why)
				}
			}
		}
	}
}

// AllPeriods returns the query and, if events can be deleted by it, those of other tables,
// with those of earlier layouts.
func (q *Query) AllPeriods() []*Query {
	out := q.Periods()
	for i := range q.Deletes {
		if d := &q.Deletes[i]; d.Other {
			out = append(out, d.Periods()...)
		}
	}
	return out
}

// unanswered reports why each table, or the one that the query names, cannot answer a
// query.
func (r *resolver) unanswered(q *Query, named string) {
	var reasons []string
	var first string
	for _, t := range r.layout.Tables {
		if named != "" && t.ID != named {
			continue
		}
		of := q.of(r.layout, t)
		why, hint := of.unserved(r.layout), t.answering(r.schema, r.layout, q.By)
		refused, instead := of.refused(r.layout)
		switch {
		case refused != "":
			hint = instead
		case t.Pattern.NewestOnly():
			why, hint = "it has only the newest event of each series", "name a table with all events"
		case t.WriteOnly:
			why, hint = "it has `serves: false`", "remove it once all events are in the table"
		case !r.layout.tellsAll(t):
			why, hint = "it does not store everything that an event specifies about its time to live", "give the table the same ttl as the one that does, or split the schema in two"
		}
		if named == "" {
			why = fmt.Sprintf("in table %q %s", t.ID, why)
		}
		reasons = append(reasons, why)
		first = cmp.Or(first, hint)
	}
	pos, subject := q.Pos, "no table can answer "+q.Name
	if named != "" {
		pos, subject = q.Named, fmt.Sprintf("table %q cannot answer %s", named, q.Name)
		if best := q.best(r.layout, r.layout.telling()); best != nil {
			first = fmt.Sprintf("use table %s, which can: %s; or remove table", best.Table.ID, diag.Code("table: "+schema.Quoted(best.Table.ID)))
		}
	}
	r.reject(pos, "unanswered", subject, strings.Join(reasons, "; "), first)
}

// WantedSegments returns the key with which the table could answer a query by some
// series values: they come first, and the others follow the time. It keeps a salt of
// specified values.
func (t *Table) WantedSegments(l *Layout, by []int) []string {
	var first, metric, at, open, last, fixed []string
	given := make([]string, len(by))
	salt := ""
	for i, g := range t.Segments {
		source := t.Source(&g).Text
		switch n := slices.Index(by, g.Series); {
		case g.Kind == codec.ConstSegment && len(first) == i:
			first = append(first, source)
		case g.Kind == codec.ConstSegment:
			fixed = append(fixed, source)
		case g.Kind == codec.SaltSegment:
			salt = l.saltOf(g, by)
		case g.Kind == codec.MetricSegment:
			metric = append(metric, source)
		case g.Kind == codec.BucketSegment, g.Kind == codec.TimeSegment:
			at = append(at, source)
		case g.Kind == codec.SequenceSegment:
			last = append(last, source)
		case n >= 0:
			given[n] = source
		default:
			open = append(open, source)
		}
	}
	if t.Sequence {
		last = append(last, "{sequence: true}")
	}
	if len(by) == 0 && !t.Metrics() {
		salt = cmp.Or(salt, l.SaltText(l.AllSeries(), UsualSalt))
	}
	if salt != "" {
		first = append(first, salt)
	}
	if len(by) == 0 && t.Metrics() {
		at, open = open, at // a scan: the fields of an event could not be merged otherwise
	}
	return slices.Concat(first, given, metric, at, open, fixed, last)
}

// SegmentsText formats the segments of a key.
func SegmentsText(segments []string) string {
	return "segments: [" + strings.Join(segments, ", ") + "]"
}

// UsualSalt is the number of values of a salt that a message proposes.
const UsualSalt = 16

// saltOf formats a salt of the specified values among those of g; empty if there are
// none, or if the salt hashes all series values.
func (l *Layout) saltOf(g codec.Segment, by []int) string {
	salted := slices.DeleteFunc(slices.Clone(g.Salted), func(i int) bool { return !slices.Contains(by, i) })
	switch {
	case len(by) == 0:
		salted = g.Salted
	case len(salted) == 0:
		salted = by
	}
	return l.SaltText(salted, g.Buckets)
}

// SaltText formats a salt of some series values.
func (l *Layout) SaltText(salted []int, buckets int) string {
	return saltText(NamesOf(l.Series, salted), buckets)
}

// ReadQuery returns the read of a single series, which every reader has.
func (l *Layout) ReadQuery() Query {
	q := Query{Name: "Read", By: l.AllSeries()}
	for _, i := range q.By {
		q.Inputs = append(q.Inputs, Input{Index: i})
	}
	return *q.resolve(l, l.Read)
}

// Begin returns the query of the events whose series values begin, in the row keys of the table that is read, with those of the
// given indexes: whole values or, with prefix, a prefix of the last. It is nil if the rows of each layout of the table are not
// adjacent, except that there may be some for each salt.
func (l *Layout) Begin(series []int, prefix bool) *Query {
	q := &Query{Name: "Begin"}
	for i, index := range series {
		in := Input{Index: index}
		if prefix && i == len(series)-1 {
			in.Form = codec.GivenPrefix
		} else {
			q.By = append(q.By, index)
		}
		q.Inputs = append(q.Inputs, in)
	}
	q = q.resolve(l, l.Read)
	for _, of := range append([]Query{*q}, q.Older...) {
		if why, _ := of.refused(l); why != "" || len(of.Filtered) > 0 {
			return nil
		}
	}
	return q
}

// Lead is a series value at the beginning of row keys.
type Lead struct {
	Series int  // its index
	Prefix bool // the rows of a prefix of the value are adjacent, too
}

// Leads returns the series values at the beginning of the row keys of the table that is read, in their order: [Layout.Begin]
// returns a query for the first few of them.
func (l *Layout) Leads() []Lead {
	var out []Lead
	var series []int
	for i := range l.Read.BeforeTime() {
		if s := &l.Read.Segments[i]; s.Kind == codec.SeriesSegment {
			if series = append(series, s.Series); l.Begin(series, false) == nil {
				break
			}
			out = append(out, Lead{s.Series, l.Begin(series, true) != nil})
		}
	}
	return out
}

// AllSeries returns the indexes of all series values.
func (l *Layout) AllSeries() []int { return indexes(l.Series) }

// QueriedTables returns the tables that queries are answered from.
func (l *Layout) QueriedTables() []*Table {
	return slices.DeleteFunc(slices.Clone(l.Tables), func(t *Table) bool {
		return !slices.ContainsFunc(l.Queries, func(q Query) bool { return q.Table == t })
	})
}

// ReadTable returns the table that a method of the reader reads: a query, or Read and Latest.
func (l *Layout) ReadTable(method string) *Table {
	for i := range l.Queries {
		if l.Queries[i].Name == method {
			return l.Queries[i].Table
		}
	}
	return l.Read
}

// StateServes reports whether reads of the newest event of each series of a query take one row for each
// series from the table with the newest events, if the time range permits it: if its keys begin with
// the values of the query. A query of nil is that of single series.
func (l *Layout) StateServes(q *Query) bool {
	if l.State == nil || l.State.WriteOnly {
		return false
	}
	if q == nil {
		return true
	}
	of := q.of(l, l.State)
	return len(q.Where()) == 0 && of.unserved(l) == "" && !of.Filters(true) && len(of.Filtered) == 0
}
