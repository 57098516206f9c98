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
	for _, w := range q.Where() {
		r.Conditions = append(r.Conditions, whereOf(l, q.Table, &w))
	}
	r.Listed = q.Several() != nil && q.Listed(l)
	if q.ByKeys(l) {
		r.Keys = keyPattern(l, q)
	}
	return r
}

// whereOf returns a condition with the value of the example event.
func whereOf(l *layout.Layout, t *layout.Table, w *layout.Input) scan.Where {
	f, c := w.Of(l), t.ColumnOf(w.Index)
	column := slices.IndexFunc(t.Columns, func(c layout.Column) bool { return c.Field == w.Index })
	v := Value(f, 0, Time(t))
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
	if l.StateServes(nil) {
		q := l.LatestQuery()
		return q.Table.Shape(l).States(spans(l, &q), now)
	}
	if recent, ok := LatestRecent(l, now); ok {
		return []scan.Request{recent}
	}
	if ssd, ok := l.Read.Shape(l).OnSSD(now); ok {
		return search(l, &ssd, now)
	}
	return LatestSearch(l, now)
}

// LatestRecent returns the request for the current bucket and later ones; false if the
// reader does not send it.
func LatestRecent(l *layout.Layout, now time.Time) (scan.Request, bool) {
	q := l.ReadQuery()
	shape := q.Table.Shape(l)
	if ssd, ok := shape.OnSSD(now); ok {
		shape = &ssd
	}
	return shape.Recent(spans(l, &q), now)
}

// search returns the requests that search a table for the newest event of the example series.
func search(l *layout.Layout, in *scan.Table, now time.Time) []scan.Request {
	q := l.ReadQuery()
	t, spans := q.Table, spans(l, &q)
	s, _ := in.Search(spans, now)
	var out []scan.Request
	for i, r := range s.Requests {
		out = append(out, r)
		if r.KeysOnly {
			spans[i].Newest = true
			found := slices.Collect(spans[i].Buckets(t.Bucket, Time(t), Time(t).Add(1)))
			out = append(out, scan.Request{Rows: found, Filter: s.Filter})
		}
	}
	return out
}

// LatestSearch returns the requests that follow if LatestRequests finds nothing, or
// that replace it.
func LatestSearch(l *layout.Layout, now time.Time) []scan.Request {
	q := l.ReadQuery()
	var out []scan.Request
	if ssd, ok := q.Table.Shape(l).OnSSD(now); ok {
		out = search(l, &ssd, now)
	}
	out = append(out, search(l, q.Table.Shape(l), now)...)
	for i := range q.Older {
		older := &q.Older[i]
		shape, since := older.Table.Shape(l), []time.Time{older.Table.Since}
		if after, moves := shape.Tier.After(); moves && shape.EventTimed() {
			if ssd := now.Add(-after); ssd.After(since[0]) && ssd.Before(older.Table.Until) {
				since = []time.Time{ssd, since[0]}
			}
		}
		for _, from := range since {
			read := readOf(l, older, from, older.Table.Until, nil)
			read.NewestFirst, read.LatestOnly, read.Limit = true, true, 1
			plan := shape.Plan(read, now)
			out = append(out, plan.Requests()...)
		}
	}
	return out
}

// Day returns one day of the example series, and the time of the read at its end.
func Day(t *layout.Table) (from, to, now time.Time) {
	from = codec.Truncate(Time(t), 24*time.Hour)
	to = from.Add(24 * time.Hour)
	return from, to, to
}

// spans returns the spans of a query with example values.
func spans(l *layout.Layout, q *layout.Query) []codec.Span {
	spans, _ := q.Spans(exampleValues(l, q.Table), q.Table.MetricNames()) // example values are valid
	return spans
}
