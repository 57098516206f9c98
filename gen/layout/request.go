package layout

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Kind returns where tables of a pattern keep an event's time and its data.
func (p Pattern) Kind() scan.Kind {
	switch p {
	case BucketNewColumns:
		return scan.BucketColumns
	case BucketOffsets:
		return scan.BucketOffsets
	case SingleSerialized, SingleUnserialized:
		return scan.SingleRows
	}
	return scan.BucketCells
}

// Shape returns the shape of a table, by which its reads are planned.
func (t *Table) Shape(l *Layout) *scan.Table {
	shape := &scan.Table{Kind: t.Pattern.Kind(), Offset: t.Offset(l), TimeKey: t.TimeKey, Ties: t.Ties(l) > 0}
	for _, f := range t.Families {
		shape.Families = append(shape.Families, scan.Family{Name: f.Name, Life: f.Life, Class: f.Class})
	}
	for _, c := range t.Columns {
		column := scan.Column{Name: c.Qualifier, Whole: c.Field == WholeEvent, WrittenAt: c.Field == WrittenAt}
		column.Required = column.Whole || c.Field >= 0 && !l.Fields[c.Field].Optional && l.Fields[c.Field].Default == nil
		shape.Columns = append(shape.Columns, column)
	}
	return shape
}

// read returns what the reader reads to answer the query for a range of time, for made-up
// series values. Columns are indices of the columns to fetch; nil for all.
func (q *Query) read(l *Layout, from, to time.Time, columns []int) *scan.Read {
	r := &scan.Read{
		Spans: q.exampleSpans(l), AllTimes: !q.Plan.Timed, Contiguous: q.Grouped(), MultiSeries: len(q.By) < len(l.Series),
		From: from, To: to, Projection: q.Table.Shape(l).Project(columns),
	}
	if q.ByKeys(l) {
		r.Keys = q.keyPattern(l)
	}
	return r
}

// Requests returns what the reader requests to answer the query for a range of time, at a
// time, for made-up series values. Columns are indices of the columns to fetch; nil for
// all. That the reader sends these requests is verified by TestExplainedRequests.
func (q *Query) Requests(l *Layout, now, from, to time.Time, columns []int) []scan.Request {
	plan := q.Table.Shape(l).Plan(q.read(l, from, to, columns), now)
	return plan.Requests()
}

// Gathers reports whether the rows of several salts or fields are read by one request, as
// long as they are few.
func (q *Query) Gathers(l *Layout) bool {
	return q.Table.Shape(l).Gathers(q.read(l, time.Time{}, time.Time{}, nil))
}

// keyPattern returns the pattern for the keys of a query.
func (q *Query) keyPattern(l *Layout) *codec.KeyPattern {
	p := codec.NewKeyPattern(q.Table.Delimiter)
	for _, g := range q.Table.Segments {
		switch q.PatternPart(l, g) {
		case TimePart:
			p.Time()
		case KnownPart:
			p.Known(func(w *codec.KeyWriter) { q.Table.writeExamples(l, w, []Segment{g}, q.Table.exampleKey()) })
		case BytesPart:
			p.Bytes(q.Table.Width(l, g))
		case TerminatedPart:
			p.Terminated()
		case AnyPart:
			p.Any()
		}
	}
	return p
}

// LatestRequests returns what the reader requests to find the newest event of a made-up
// series, if the first row that it finds has it and no other is of its time.
func (l *Layout) LatestRequests(now time.Time) []scan.Request {
	if recent, ok := l.latestRecent(now); ok {
		return []scan.Request{recent}
	}
	return l.LatestSearch(now)
}

// latestRecent returns the request for the rows of the bucket of now and of those after
// it; false if the reader does not send it.
func (l *Layout) latestRecent(now time.Time) (scan.Request, bool) {
	q := l.ReadQuery()
	return q.Table.Shape(l).Recent(q.exampleSpans(l), now)
}

// LatestSearch returns what the reader requests where LatestRequests finds nothing, or
// instead of it.
func (l *Layout) LatestSearch(now time.Time) []scan.Request {
	q := l.ReadQuery()
	t, spans := q.Table, q.exampleSpans(l)
	s, _ := t.Shape(l).Search(spans, now)
	var out []scan.Request
	for i, r := range s.Requests {
		out = append(out, r)
		if r.KeysOnly {
			spans[i].Newest = true
			found := slices.Collect(spans[i].Buckets(t.Bucket, t.ExampleTime(), t.ExampleTime().Add(1)))
			out = append(out, scan.Request{Rows: found, Filter: s.Filter})
		}
	}
	return out
}

// LatestFinds says in words which rows the look for the newest event asks for.
func (l *Layout) LatestFinds() string {
	shape := l.Read.Shape(l)
	text := "the last row of the series"
	if shape.Descending() {
		text = "the first row of the series"
	}
	if shape.Ties {
		text = "the first two rows of the series and, if they are of one instant, its last"
	}
	if !shape.InOrder() {
		text = "which rows the series has, and then the newest of them"
	}
	if l.Read.Metrics() {
		text += ", for each field"
	}
	if _, recent := l.latestRecent(l.Read.ExampleTime()); recent {
		return "the rows from the bucket of the clock on; if there are none, " + text
	}
	return text
}

// Pickable returns the columns of a table that a reader can fetch without the
// others: none where an event is one value.
func (t *Table) Pickable() []int {
	if t.Pattern.OneValue() {
		return nil
	}
	var out []int
	for i, c := range t.Columns {
		if c.Field >= 0 {
			out = append(out, i)
		}
	}
	return out
}

// ExampleSpan is a day in the life of the example series of a table, and the time
// at which it is read: at its end.
func (t *Table) ExampleSpan() (from, to, now time.Time) {
	from = codec.Truncate(t.ExampleTime(), 24*time.Hour)
	to = from.Add(24 * time.Hour)
	return from, to, to
}

// Work is what a read is expected to ask for and to get, for one series under the
// load of the schema. Events are counted with all their fields.
type Work struct {
	Requests int
	// Pages is how many rows some of the requests ask for at a time; 0 if none does.
	// There is then one more of it for each page that is full.
	Pages  int
	Rows   float64 // that come back
	Cells  float64
	Events float64
	// Walked is how many rows the server looks at that it does not send; 0 if it
	// goes straight to what it sends.
	Walked float64
}

// Work returns what a read for a range of time is expected to cost, for each
// series that it finds.
func (q *Query) Work(l *Layout, now, from, to time.Time, columns []int) Work {
	t, e := q.Table, q.Table.Estimate(l)
	requests := q.Requests(l, now, from, to, columns)
	w := Work{Requests: len(requests)}
	for _, r := range requests {
		if r.Paginated {
			w.Pages = r.Limit
		}
	}
	if w.Requests == 0 {
		return w
	}
	for _, c := range t.workColumns(l, columns) {
		since := t.columnSince(c, now, from)
		if !since.Before(to) {
			continue
		}
		events := e.EventsIn(to.Sub(since))
		rows := events
		if t.Pattern.Bucketed() {
			rows = min(rows, float64(t.Bucket.Count(since, to)))
		}
		w.Cells += events
		w.Events = max(w.Events, events)
		if t.Metrics() {
			w.Rows += rows
		} else {
			w.Rows = max(w.Rows, rows)
		}
	}
	if !q.Plan.Timed && e.Retention > 0 {
		w.Walked = max(0, e.Rows-w.Rows)
	}
	return w
}

// workColumns returns the columns of the cells that come back where columns are
// fetched; nil for all.
func (t *Table) workColumns(l *Layout, columns []int) []Column {
	projection := t.Shape(l).Project(columns)
	var out []Column
	for i, c := range t.Columns {
		if !projection.Omits(i) {
			out = append(out, c)
		}
	}
	return out
}

// columnSince returns the time of the first event from a time on whose cell in a
// column is alive. What is in the families of classes, each event in one of them,
// is taken to live as long as the class that lives longest.
func (t *Table) columnSince(c Column, now, from time.Time) time.Time {
	_, age := t.columnAges(c)
	if age == 0 {
		return from
	}
	return codec.Later(from, now.Add(-age))
}

// LatestWork returns what a look for the newest event of a series that still reports is
// expected to cost, at most.
func (l *Layout) LatestWork(now time.Time) Work {
	t := l.Read
	e := t.Estimate(l)
	w := Work{Requests: len(l.LatestRequests(now)), Rows: float64(e.RowsPerEvent), Cells: float64(e.CellsPerEvent), Events: 1}
	if t.Metrics() || t.Pattern == BucketOffsets {
		w.Cells = e.CellsPerRow * w.Rows // the bucket is read whole
	}
	if t.unordered() && e.Retention > 0 {
		w.Walked = max(0, e.Rows-w.Rows) // to see which there are
	}
	if t.Ties(l) > 0 {
		w.Rows, w.Cells = 2*w.Rows, 2*w.Cells
	}
	return w
}
