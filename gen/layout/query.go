package layout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Query is one way that events are read: of all series that have some values.
type Query struct {
	Pos     diag.Pos
	Name    string
	Doc     string
	By      []int  // the series values that are given, in the order of the schema's list
	Scan    string // why a full scan is allowed; empty if it is not
	ScanPos diag.Pos
	Allow   []Allowance // of rules about queries
	Table   *Table      // the one that the schema names, or that answers it best
	Named   diag.Pos    // where the schema names the table; no place if it does not
	Path    AccessPath
	// FilteredBy are the names of the series values by which rows are filtered out: the
	// ranges hold some with other values.
	FilteredBy []string
}

// Allows reports whether the schema excuses the rule for q.
func (q *Query) Allows(rule string) bool { return allows(q.Allow, rule) }

// AccessPath is how a table answers a query: which rows are read.
type AccessPath struct {
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
	// that a salt in front of the time is made from are not all given; else 1.
	Salts int
	// Filtered are the series values that are given and stand in none of these
	// segments: of the rows that are found, those with others are passed over.
	Filtered []int
}

// path returns how a table answers a query by some series values.
func (t *Table) path(by []int) AccessPath {
	p := t.rowsOf(by)
	for _, i := range by {
		if !hasSeries(p.Before, i) && !hasSeries(p.After, i) {
			p.Filtered = append(p.Filtered, i)
		}
	}
	return p
}

// rowsOf is path without what is checked.
func (t *Table) rowsOf(by []int) AccessPath {
	p := AccessPath{Salts: 1}
	for _, g := range t.BeforeTime() {
		switch {
		case g.Kind == SaltSegment && !g.known(by):
			p.Salts = g.Buckets
		case !g.known(by):
			return p.unsalted()
		}
		p.Before = append(p.Before, g)
	}
	p.Timed = true
	for _, g := range t.AfterTime() {
		if !g.known(by) {
			return p.trimmed()
		}
		p.After = append(p.After, g)
	}
	p.Whole = true
	return p
}

// known reports whether a segment can be written where some series values are
// given. The metric can: a reader goes through the fields.
func (g Segment) known(by []int) bool {
	switch g.Kind {
	case SeriesSegment:
		return slices.Contains(by, g.Series)
	case SaltSegment:
		return !slices.ContainsFunc(g.Salted, func(i int) bool { return !slices.Contains(by, i) })
	case SequenceSegment:
		return false
	}
	return true
}

// hasSeries reports whether a series value is among segments.
func hasSeries(segments []Segment, series int) bool {
	return slices.ContainsFunc(segments, func(g Segment) bool { return g.Kind == SeriesSegment && g.Series == series })
}

// hasKind reports whether a segment of a kind is among segments.
func hasKind(segments []Segment, kind SegmentKind) bool {
	return slices.ContainsFunc(segments, func(g Segment) bool { return g.Kind == kind })
}

// Filtered returns the series values that a query gives and that are not among the
// segments of its access path: of the rows that it finds, those with others are passed over.
func (q *Query) Filtered() []int { return q.Path.Filtered }

// Contiguous reports whether the rows of all times are asked for, and those of a
// series follow one another.
func (q *Query) Contiguous() bool {
	return !q.Path.Timed && !slices.ContainsFunc(q.Table.AfterTime(), func(g Segment) bool { return g.Kind == SeriesSegment })
}

// ByKeys reports whether the rows of a query are found by a filter of their keys:
// where its ranges hold others, or where the time is looked for in the keys.
func (q *Query) ByKeys(l *Layout) bool { return len(q.Filtered()) > 0 || q.timeInKeys(l) }

// timeInKeys reports whether rows of all times are asked for and it is their keys that
// say when events are.
func (q *Query) timeInKeys(l *Layout) bool {
	return !q.Path.Timed && !q.Table.Shape(l).ByTimestamp()
}

// PatternPart is what a pattern for keys has for a segment.
type PatternPart int

const (
	AnyPart        PatternPart = iota // any value
	BytesPart                         // any value of the width of the segment
	TerminatedPart                    // any value of no fixed width in a binary key
	TimePart                          // the time or the bucket
	KnownPart                         // the value that is given
)

// PatternPart returns what the pattern for the keys of the query has for a segment.
func (q *Query) PatternPart(l *Layout, g Segment) PatternPart {
	switch {
	case g.Kind == BucketSegment, g.Kind == TimeSegment:
		return TimePart
	case g.Kind == ConstSegment, g.Kind == SeriesSegment && slices.Contains(q.By, g.Series):
		return KnownPart
	case q.Table.Width(l, g) > 0:
		return BytesPart
	case q.Table.Delimiter == "":
		return TerminatedPart
	}
	return AnyPart
}

// unsalted leaves the salt of an access path out if nothing behind it narrows the rows
// down: all salts are then one range.
func (p AccessPath) unsalted() AccessPath {
	i := slices.IndexFunc(p.Before, func(g Segment) bool { return g.Kind == SaltSegment })
	if p.Salts > 1 && !hasKind(p.Before[i:], SeriesSegment) {
		p.Before, p.Salts = p.Before[:i], 1
	}
	return p
}

// trimmed leaves out the end of what is known behind the time where it says
// nothing: fixed text, and a salt of what stands before it.
func (p AccessPath) trimmed() AccessPath {
	for n := len(p.After); n > 0; n-- {
		g := p.After[n-1]
		known := slices.Concat(p.Before, p.After[:n-1])
		says := slices.ContainsFunc(g.Salted, func(i int) bool { return !hasSeries(known, i) })
		if g.Kind != ConstSegment && (g.Kind != SaltSegment || says) {
			break
		}
		p.After = p.After[:n-1]
	}
	return p
}

// scans reports whether no series value that a query gives narrows the rows down.
// Behind the time it does where the rows of buckets are named; where each event
// has a row, the server walks those of all series.
func (t *Table) scans(p AccessPath) bool {
	return !hasKind(p.Before, SeriesSegment) && !(t.Pattern.Bucketed() && hasKind(p.After, SeriesSegment))
}

// Unbounded reports whether the values that the query gives do not narrow the rows down,
// even where it asks for all series.
func (q *Query) Unbounded() bool { return q.Table.scans(q.Path) }

// Scans reports whether the query reads rows that it does not ask for, since no series
// value that it gives narrows them down. One of all series asks for all rows in its
// range of time.
func (q *Query) Scans() bool {
	return q.Table.scans(q.Path) && !(len(q.By) == 0 && q.Path.Timed)
}

// filteredBy returns the names of the series values by which an access path passes over rows.
func (t *Table) filteredBy(l *Layout, p AccessPath) []string {
	var names []string
	for i, f := range l.Series {
		if slices.Contains(p.Filtered, i) || !t.Pattern.Bucketed() && hasSeries(p.After, i) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Unbound returns the series value in front of the time that is not given; false
// if there is none.
func (p AccessPath) Unbound(t *Table) (series int, found bool) {
	if p.Timed {
		return 0, false
	}
	rest := t.BeforeTime()[len(p.Before):]
	i := slices.IndexFunc(rest, func(g Segment) bool { return g.Kind == SeriesSegment })
	return rest[max(0, i)].Series, true
}

// serves reports whether a table can answer a query by its access path.
func (t *Table) serves(l *Layout, p AccessPath, by []int) bool { return t.unserved(l, p, by) == "" }

// unserved says why a table cannot answer a query by its access path; nothing if it can.
func (t *Table) unserved(l *Layout, p AccessPath, by []int) string {
	single := len(by) == len(l.Series)
	switch {
	case t.Unordered() && !single:
		return "labels are not padded, so that rows of several series are in no order of time"
	case !t.Metrics(), !hasKind(t.Segments, MetricSegment): // an error of the key
		return ""
	case p.Salts > 1:
		return "the fields of an event are rows under a salt of values that are not given"
	case !hasKind(p.Before, MetricSegment) && !hasKind(p.After, MetricSegment):
		return fmt.Sprintf("the fields of an event are rows, and %s stands before the metric", t.unknown(l, by))
	case !single && !hasKind(p.Before, MetricSegment):
		return "the fields of an event are rows, and the metric stands behind the bucket"
	}
	return ""
}

// Unordered reports whether the labels of buckets do not sort.
func (t *Table) Unordered() bool { return t.Pattern.Bucketed() && !t.Bucket.Sorted() }

// answering proposes what lets a table answer a query that it cannot answer: a padded
// label, or one more table with another key.
func (t *Table) answering(s *schema.Schema, l *Layout, by []int) string {
	if t.Unordered() && len(by) < len(l.Series) {
		label := t.Bucket.Label
		bucket := s.Tables[slices.Index(l.Tables, t)].Bucket
		bucket.Label = schema.Value[string]{V: label.Prefix + "%04d" + label.Suffix, Pos: bucket.Pos}
		return strings.Join([]string{"pad the label:", "tables:", "  " + schema.Quoted(t.ID) + ":", "    bucket: " + bucket.String()}, "\n")
	}
	return "add a table that can:\n" + strings.Join(t.NewTable(s, l, by), "\n")
}

// NewTable writes one more table for a query, in lines from the top of the schema on:
// like t, but with the key that the query wants.
func (t *Table) NewTable(s *schema.Schema, l *Layout, by []int) []string {
	name := t.ID + "_by"
	for _, i := range by {
		name += "_" + l.Series[i].Name
	}
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

// unknown says what the first segment of the key is that cannot be written.
func (t *Table) unknown(l *Layout, by []int) string {
	i := slices.IndexFunc(t.Segments, func(g Segment) bool { return !g.known(by) })
	if g := t.Segments[i]; g.Kind == SeriesSegment {
		return l.Series[g.Series].Name + ", which is not given,"
	}
	return "a salt of values that are not given"
}

// bestFor returns the table that answers a query by some series values best, and
// how; nil if none can. Of those that do it with about the least work, it is one that
// keeps events longest, and in which an event that was written again is one event; of
// equals the first.
func bestFor(l *Layout, tables []*Table, by []int) (best *Table, path AccessPath) {
	serving := slices.DeleteFunc(slices.Clone(tables), func(t *Table) bool { return !t.serves(l, t.path(by), by) })
	if len(serving) == 0 {
		return nil, AccessPath{}
	}
	horizon := horizonOf(serving)
	cost := func(t *Table) float64 { return t.cost(l, t.path(by), horizon) }
	byCost := func(a, b *Table) int { return cmp.Compare(cost(a), cost(b)) }
	least := cost(slices.MinFunc(serving, byCost))
	serving = slices.DeleteFunc(serving, func(t *Table) bool { return cost(t) > sameCost*least })
	serving = longest(serving)
	if replacing := slices.DeleteFunc(slices.Clone(serving), (*Table).Metrics); len(replacing) > 0 {
		serving = replacing
	}
	best = slices.MinFunc(serving, byCost)
	return best, best.path(by)
}

// queries resolves the queries.
func (r *resolver) queries() {
	tables := r.layout.telling()
	if len(tables) == 0 {
		tables = r.layout.Tables // an error of its own
	}
	for i := range r.schema.Queries {
		q := &r.schema.Queries[i]
		out := Query{Pos: q.Name.Pos, Name: q.Name.V, Doc: q.Doc, Scan: q.Scan.V, ScanPos: q.Scan.Pos, Allow: allowances(q.Allow)}
		for _, name := range q.By {
			out.By = append(out.By, slices.IndexFunc(r.layout.Series, func(f Field) bool { return f.Name == name.V }))
		}
		if slices.Contains(out.By, -1) {
			continue // the schema says so
		}
		among := tables
		if q.Table.IsSet() {
			out.Named = q.Table.Pos
			among = slices.DeleteFunc(slices.Clone(tables), func(t *Table) bool { return t.ID != q.Table.V })
		}
		out.Table, out.Path = bestFor(r.layout, among, out.By)
		if out.Table == nil {
			r.unanswered(&out, q.Table.V)
			continue
		}
		out.FilteredBy = out.Table.filteredBy(r.layout, out.Path)
		r.layout.Queries = append(r.layout.Queries, out)
	}
}

// unanswered says of each table why it cannot answer a query, or of the one that the
// query names.
func (r *resolver) unanswered(q *Query, named string) {
	var reasons []string
	var first string
	for _, t := range r.layout.Tables {
		if named != "" && t.ID != named {
			continue
		}
		why, hint := t.unserved(r.layout, t.path(q.By), q.By), t.answering(r.schema, r.layout, q.By)
		if !r.layout.tellsAll(t) {
			why, hint = "it does not store all that an event says of its time to live", "give the table the same ttl as the one that does, or make it two schemas"
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
		tables := r.layout.telling()
		if best, _ := bestFor(r.layout, tables, q.By); best != nil {
			first = fmt.Sprintf("name table %s, which can: %s; or leave table out", best.ID, diag.Code("table: "+schema.Quoted(best.ID)))
		}
	}
	r.errorf(pos, first, "%s: %s", subject, strings.Join(reasons, "; "))
}

// WantedSegments returns the segments of the key that the table would have to answer a
// query by some series values: they come first, and what is not given follows the
// time. A salt stays, as far as it is made of what is given.
func (t *Table) WantedSegments(l *Layout, by []int) []string {
	var first, metric, at, open, last, fixed []string
	given := make([]string, len(by))
	salt := ""
	for i, g := range t.Segments {
		switch n := slices.Index(by, g.Series); {
		case g.Kind == ConstSegment && len(first) == i:
			first = append(first, g.Text)
		case g.Kind == ConstSegment:
			fixed = append(fixed, g.Text)
		case g.Kind == SaltSegment:
			salt = l.saltText(g, by)
		case g.Kind == MetricSegment:
			metric = append(metric, g.Text)
		case g.Kind == BucketSegment, g.Kind == TimeSegment:
			at = append(at, g.Text)
		case g.Kind == SequenceSegment:
			last = append(last, g.Text)
		case n >= 0:
			given[n] = g.Text
		default:
			open = append(open, g.Text)
		}
	}
	if t.Sequence {
		last = append(last, "{sequence: true}")
	}
	if len(by) == 0 && !t.Metrics() {
		salt = cmp.Or(salt, l.SaltText(l.allSeries(), usualSalt))
	}
	if salt != "" {
		first = append(first, salt)
	}
	if len(by) == 0 && t.Metrics() {
		at, open = open, at // a scan: the fields of an event could not be brought together
	}
	return slices.Concat(first, given, metric, at, open, fixed, last)
}

// WantedKey writes the key that would answer a query.
func (t *Table) WantedKey(l *Layout, by []int) string { return SegmentsText(t.WantedSegments(l, by)) }

// SegmentsText writes the segments of a key.
func SegmentsText(segments []string) string {
	return "segments: [" + strings.Join(segments, ", ") + "]"
}

// usualSalt is how many values a salt has that a message proposes.
const usualSalt = 16

// saltText writes a salt that is made of what is given; empty if nothing is, and if
// the salt is that of all series.
func (l *Layout) saltText(g Segment, by []int) string {
	salted := slices.DeleteFunc(slices.Clone(g.Salted), func(i int) bool { return !slices.Contains(by, i) })
	switch {
	case len(by) == 0:
		salted = g.Salted
	case len(salted) == 0:
		salted = by
	}
	return l.SaltText(salted, g.Buckets)
}

// SaltText writes a salt that is made of some series values.
func (l *Layout) SaltText(salted []int, buckets int) string {
	var names []string
	for _, i := range salted {
		names = append(names, l.Series[i].Name)
	}
	return fmt.Sprintf("{hash: [%s], buckets: %d}", strings.Join(names, ", "), buckets)
}

// ReadQuery is the read of a single series, which every reader has.
func (l *Layout) ReadQuery() Query {
	path := l.SeriesPath(l.Read)
	return Query{Name: "Read", By: l.allSeries(), Table: l.Read, Path: path, FilteredBy: l.Read.filteredBy(l, path)}
}

// allSeries lists the indices of all series values.
func (l *Layout) allSeries() []int {
	all := make([]int, len(l.Series))
	for i := range all {
		all[i] = i
	}
	return all
}

// SeriesPath is how a table answers the read of a single series.
func (l *Layout) SeriesPath(t *Table) AccessPath { return t.path(l.allSeries()) }
