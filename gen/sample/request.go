package sample

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// readOf returns the read that answers the query for a time range and example values.
// columns are indexes of the columns to fetch; nil for all.
func readOf(l *layout.Layout, q *layout.Query, from, to time.Time, columns []int) *scan.Read {
	r := &scan.Read{
		Spans: spans(l, q), AllTimes: !q.Timed, Contiguous: q.Contiguous(), MultiSeries: q.MultiSeries(),
		From: from, To: to, Projection: q.Table.Shape(l).Project(columns),
	}
	for _, w := range q.Where {
		r.Where = append(r.Where, whereOf(l, q.Table, w))
	}
	r.Listed = len(q.Many) > 0 && listed(l, q)
	if q.ByKeys(l) {
		r.Keys = keyPattern(l, q)
	}
	return r
}

// whereOf returns a condition with the value of the example event.
func whereOf(l *layout.Layout, t *layout.Table, w layout.Where) scan.Where {
	f, c := &l.Fields[w.Field], t.ColumnOf(w.Field)
	column := slices.IndexFunc(t.Columns, func(c layout.Column) bool { return c.Field == w.Field })
	v := exampleValue(f, 0, Time(t))
	datum := value.Coding(f, c.Values).Append(nil, v)
	return scan.Where{Column: column, Values: []codec.ValueRange{codec.OneValue(datum)}, Absent: f.Default != nil && value.Equal(f.Default, v)}
}

// Requests returns the requests that answer the query for a time range and example
// values at time now. columns are indexes of the columns to fetch; nil for all.
// TestExplainedRequests verifies that the reader sends these requests.
func Requests(l *layout.Layout, q *layout.Query, now, from, to time.Time, columns []int) []scan.Request {
	var out []scan.Request
	for _, q := range slices.Backward(q.Periods()) { // the oldest layout first
		plan := q.Table.Shape(l).Plan(readOf(l, q, from, to, columns), now)
		out = append(out, plan.Requests()...)
	}
	return out
}

// keyPattern returns the pattern for the row keys of a query with example values.
func keyPattern(l *layout.Layout, q *layout.Query) *codec.KeyPattern {
	p, _ := q.Pattern(exampleValues(l, q.Table)) // example values are valid
	return p
}

// LatestRequests returns the requests that find the newest event of the example series,
// if the first row contains it and no other event has the same time.
func LatestRequests(l *layout.Layout, now time.Time) []scan.Request {
	if recent, ok := latestRecent(l, now); ok {
		return []scan.Request{recent}
	}
	return LatestSearch(l, now)
}

// latestRecent returns the request for the current bucket and later ones; false if the
// reader does not send it.
func latestRecent(l *layout.Layout, now time.Time) (scan.Request, bool) {
	q := l.ReadQuery()
	return q.Table.Shape(l).Recent(spans(l, &q), now)
}

// LatestSearch returns the requests that follow if LatestRequests finds nothing, or
// that replace it.
func LatestSearch(l *layout.Layout, now time.Time) []scan.Request {
	q := l.ReadQuery()
	t, spans := q.Table, spans(l, &q)
	s, _ := t.Shape(l).Search(spans, now)
	var out []scan.Request
	for i, r := range s.Requests {
		out = append(out, r)
		if r.KeysOnly {
			spans[i].Newest = true
			found := slices.Collect(spans[i].Buckets(t.Bucket, Time(t), Time(t).Add(1)))
			out = append(out, scan.Request{Rows: found, Filter: s.Filter})
		}
	}
	for i := range q.Older {
		older := &q.Older[i]
		read := readOf(l, older, older.Table.Since, older.Table.Until, nil)
		read.NewestFirst, read.LatestOnly, read.Limit = true, true, 1
		plan := older.Table.Shape(l).Plan(read, now)
		out = append(out, plan.Requests()...)
	}
	return out
}

// LatestFinds describes the rows that a search for the newest event requests.
func LatestFinds(l *layout.Layout) string {
	shape := l.Read.Shape(l)
	text := "the last row of the series"
	if l.Read.Endless() {
		text = "the row of the series"
	}
	if shape.Descending() {
		text = "the first row of the series"
	}
	if shape.Ties {
		text = "the first two rows of the series and, if they have the same time, the last one"
	}
	if !shape.InOrder() {
		text = "the keys of the series' rows, then the newest row"
	}
	if l.Read.Metrics() {
		text += ", for each field"
	}
	if _, recent := latestRecent(l, Time(l.Read)); recent {
		return "the rows from the current bucket on; if there are none, " + text
	}
	return text
}

// Day returns one day of the example series, and the time of the read at its end.
func Day(t *layout.Table) (from, to, now time.Time) {
	from = codec.Truncate(Time(t), 24*time.Hour)
	to = from.Add(24 * time.Hour)
	return from, to, to
}

// Work is the expected cost of a read of one series under the load of the schema, for
// events with all fields.
type Work struct {
	Requests int
	// Pages is the number of rows per page of paginated requests; 0 if there are none.
	// Each full page takes one more request.
	Pages  int
	Rows   float64 // rows returned
	Cells  float64
	Events float64
	// Walked is the number of rows that the server scans but does not return.
	Walked float64
}

// WorkOf returns the expected cost of a read of a time range, per series that it finds.
func WorkOf(l *layout.Layout, q *layout.Query, now, from, to time.Time, columns []int) Work {
	t, e := q.Table, EstimateOf(l, q.Table)
	requests := Requests(l, q, now, from, to, columns)
	w := Work{Requests: len(requests)}
	for _, r := range requests {
		if r.Paginated {
			w.Pages = r.Limit
		}
	}
	if w.Requests == 0 {
		return w
	}
	for _, c := range workColumns(l, t, columns) {
		since := columnSince(t, c, e.Load.Rate, now, from)
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
	if !q.Timed && e.Horizon > 0 {
		w.Walked = max(0, e.Rows-w.Rows)
	}
	return w
}

// workColumns returns the columns of the returned cells if the given columns are
// fetched; nil for all.
func workColumns(l *layout.Layout, t *layout.Table, columns []int) []layout.Column {
	projection := t.Shape(l).Project(columns)
	var out []layout.Column
	for i, c := range t.Columns {
		if !projection.Omits(i) {
			out = append(out, c)
		}
	}
	return out
}

// columnSince returns the time of the first event after from whose cell in a column is
// live, at a rate of events per second. If each class has its own family, it uses the class that lives longest.
func columnSince(t *layout.Table, c layout.Column, rate float64, now, from time.Time) time.Time {
	_, age := t.ColumnHorizons(c, rate)
	if since := now.Add(-age); age > 0 && since.After(from) {
		return since
	}
	return from
}

// LatestWork returns the maximum expected cost of a search for the newest event of an
// active series.
func LatestWork(l *layout.Layout, now time.Time) Work {
	t := l.Read
	e := EstimateOf(l, t)
	w := Work{Requests: len(LatestRequests(l, now)), Rows: float64(e.RowsPerEvent), Cells: float64(e.CellsPerEvent), Events: 1}
	if t.Metrics() || t.Pattern == codec.BucketOffsets {
		w.Cells = e.CellsPerRow * w.Rows // the whole bucket is read
	}
	if !t.Shape(l).InOrder() && e.Horizon > 0 {
		w.Walked = max(0, e.Rows-w.Rows) // to list the existing ones
	}
	if t.Ties() > 0 {
		w.Rows, w.Cells = 2*w.Rows, 2*w.Cells
	}
	return w
}

// spans returns the spans of a query with example values.
func spans(l *layout.Layout, q *layout.Query) []codec.Span {
	spans, _ := q.Spans(exampleValues(l, q.Table), q.Table.MetricNames()) // example values are valid
	return spans
}
