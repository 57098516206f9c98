package estimate

import (
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Work is the expected cost of a read of one series under the load of the schema, for
// events with all fields.
type Work struct {
	Requests int `json:"requests"`
	// Pages is the number of rows per page of paginated requests; 0 if there are none.
	// Each full page takes one more request.
	Pages  int     `json:"rows_a_page,omitempty"`
	Rows   float64 `json:"rows"` // rows returned
	Cells  float64 `json:"cells"`
	Events float64 `json:"events"`
	// Walked is the number of rows that the server scans but does not return.
	Walked float64 `json:"rows_walked,omitempty"`
}

// WorkOf returns the expected cost of a read of a time range, per series that it finds.
func WorkOf(l *layout.Layout, q *layout.Query, now, from, to time.Time, columns []int) Work {
	t, e := q.Table, Of(l, q.Table)
	requests := sample.Requests(l, q, now, from, to, columns)
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
	t := l.LatestQuery().Table
	e := Of(l, t)
	w := Work{Requests: len(sample.LatestRequests(l, now)), Rows: float64(e.RowsPerEvent), Cells: float64(e.CellsPerEvent), Events: 1}
	if t.Pattern.Naming() != codec.NamedByField {
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
