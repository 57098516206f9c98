package model

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// toll is the minimum and maximum traffic of a read.
type toll struct {
	least, most Counts
	apart       int // maximum number of requests if the row keys of all streams do not fit into one
}

// only returns a filter for a single series.
func only(series Series) func(Series) bool { return func(s Series) bool { return s == series } }

// streams returns the number of streams of an access path for some fields.
func (s *Schema) streams(p AccessPath, fields []int) int {
	if p.Gathered {
		return 1
	}
	if s.newColumns() && fields != nil {
		return len(fields)
	}
	return p.Streams
}

// timed reports whether a time range is a row range in all layouts.
func (p AccessPath) timed() bool {
	return p.Timed && !slices.ContainsFunc(p.Earlier, func(e AccessPath) bool { return !e.timed() })
}

// apart returns the access path with one request per stream.
func (p AccessPath) apart() AccessPath {
	p.Gathered = false
	return p
}

// expected returns the toll of a read of a time range: the cells of its events, and
// otherwise only the rest of a bucket.
func (r *run) expected(p AccessPath, wanted func(Series) bool, from, to time.Time, fields []int) toll {
	t := r.table.period.expected(p, r.now, wanted, from, to, fields)
	for i, older := range r.table.older {
		o := older.expected(p.Earlier[i], r.now, wanted, from, to, fields)
		t = toll{t.least.needed().plus(o.least.needed()), t.most.plus(o.most), t.apart + o.apart}
	}
	return t
}

// expected returns the toll of a read of one layout.
func (m *period) expected(p AccessPath, now time.Time, wanted func(Series) bool, from, to time.Time, fields []int) toll {
	s := m.schema
	if from, to = m.clip(from, to); from.After(to) {
		return toll{}
	}
	fields = s.asks(fields)
	requests := s.streams(p, fields) * s.requests(p, from, to)
	needed := sum(m.rows(now, wanted, from, to, fields, false))
	since, _ := s.cut(from, to)
	most := sum(m.rows(now, wanted, since, s.rest(now, from, to), fields, false))
	apart := s.streams(p.apart(), fields) * s.requests(p, from, to)
	return toll{Counts{Requests: requests, Cells: needed}, Counts{Requests: requests, Cells: most}, apart}
}

// cut returns the beginning of the range of timestamps that a read of [from, to) requests, if only timestamps contain the
// times of events, and whether the range cuts a millisecond: such a read receives all cells of it.
func (s *Schema) cut(from, to time.Time) (since time.Time, cuts bool) {
	if !s.eventTimed() {
		return from, false
	}
	since = from.Truncate(time.Millisecond)
	return since, !since.Equal(from) || !to.Truncate(time.Millisecond).Equal(to)
}

// needed returns the counts of a read that need not request what does not exist.
func (c Counts) needed() Counts {
	if c.Cells == 0 {
		return Counts{}
	}
	return c
}

// plus returns the sum of the requests and the cells.
func (c Counts) plus(other Counts) Counts {
	return Counts{Requests: c.Requests + other.Requests, Cells: c.Cells + other.Cells}
}

// uncounted reports whether the table has earlier layouts, which a read of the newest
// events continues with as needed. It then checks only that no stream failed.
func (r *run) uncounted(what string) bool {
	if r.table.older == nil {
		return false
	}
	if _, err := r.driver.Traffic.Take(); err != nil {
		r.Fatalf("%s: a stream failed: %v", what, err)
	}
	return true
}

// crossed compares the traffic of a read of a time range with its toll.
func (r *run) crossed(what string, p AccessPath, wanted func(Series) bool, from, to time.Time, fields []int) {
	r.within(fmt.Sprintf("%s from %v to %v", what, from, to), r.expected(p, wanted, from, to, fields))
}

// crossedNewest is crossed for a read of the newest events. With a limit, it reads only
// that many rows and the rest of the last of them. It reads more rows only if
// everything in a row may belong to that rest.
func (r *run) crossedNewest(series Series, from, to time.Time, limit int) {
	if r.uncounted("the newest") {
		return
	}
	path := r.driver.Paths["Read"]
	if limit > 0 {
		path = path.apart()
	}
	t := r.expected(path, only(series), from, to, nil)
	if limit > 0 {
		rows := r.table.rows(r.now, only(series), from, to, nil, false)
		t.least = Counts{Cells: r.table.newestRows(rows, 1)}
		if _, cuts := r.schema.cut(from, to); r.schema.rest(r.now, from, to).Equal(to) && !r.schema.points() && !cuts {
			t.most.Cells = r.table.newestRows(rows, limit)
		} else {
			t.most.Requests *= 2
		}
		if r.schema.ties() {
			t.least = r.table.tied(rows, limit)
			t.most = t.least
		}
	}
	r.within(fmt.Sprintf("the newest %d from %v to %v", limit, from, to), t)
}

// crossedEach is crossed for the newest event of each series of a query: from each row, the
// newest cell of each column. If the rows of a series are adjacent, the reader skips the
// others: a request finds a series, or finds that there are no more. For a single series,
// it reads one row.
func (r *run) crossedEach(p AccessPath, wanted func(Series) bool, from, to time.Time) {
	if r.uncounted("the newest of each") {
		return
	}
	if p.Single || p.Contiguous {
		p = p.apart()
	}
	t := r.expected(p, wanted, from, to, nil)
	rest := r.schema.rest(r.now, from, to)
	since, cuts := r.schema.cut(from, to)
	exact := rest.Equal(to) && !r.schema.points() && !cuts
	rows := r.table.rows(r.now, wanted, from, to, nil, true)
	t.least.Cells = sum(rows)
	switch {
	case p.Single:
		t.least = Counts{Cells: r.table.newestRows(rows, 1)}
		t.most.Requests *= 2
		if exact {
			t.most.Cells = t.least.Cells
		}
		if r.schema.ties() {
			t.least = r.table.tied(rows, 1)
			t.most = t.least
		}
	case p.Contiguous && r.schema.ties():
		series := map[Series]int{}
		for row, cells := range rows {
			series[row.Series] = max(series[row.Series], cells)
		}
		t.least = Counts{Requests: t.least.Requests + len(series), Cells: r.table.newestRows(rows, 1)}
		t.most = Counts{Requests: t.most.Requests + 2*len(series)}
		for _, cells := range series {
			t.most.Cells += 3 * cells // two rows and, if they have the same instant, its last row
		}
	case p.Contiguous:
		series := map[Series]bool{}
		for row := range rows {
			series[row.Series] = true
		}
		t.least.Cells = r.table.newestRows(rows, 1)
		t.least.Requests += len(series)
		t.most.Requests += len(r.table.rows(r.now, wanted, since, rest, nil, true))
		fallthrough
	default:
		if exact {
			t.most = t.least
		}
	}
	r.within(fmt.Sprintf("the newest of each from %v to %v", from, to), t)
}

// crossedLatest is crossed for the newest event of a series: its newest row, or one per
// field in new columns, and of its columns the newest cell.
func (r *run) crossedLatest(series Series) {
	if r.uncounted("latest") {
		return
	}
	rows := r.table.rows(r.now, only(series), time.Time{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), nil, true)
	path := r.driver.Paths["Read"]
	counts := Counts{Requests: path.Streams, Cells: r.table.newestRows(rows, 1)}
	if path.Gathered { // the reader first requests the current bucket and later ones
		recent := maps.Clone(rows)
		maps.DeleteFunc(recent, func(row row, _ int) bool { return !r.schema.bucketEnd(row.start).After(r.now) })
		if counts.Requests++; len(recent) > 0 {
			counts = Counts{Requests: 1, Cells: sum(recent)}
		}
	}
	if r.schema.ties() {
		counts = r.table.tied(rows, 1)
	}
	r.within("latest", toll{least: counts, most: counts})
}

// within compares the traffic since the last call with a toll, unless labels of buckets do not sort. A read need not request
// what does not exist. Row keys that do not fit into one request fill it and continue
// in the next.
func (r *run) within(what string, t toll) {
	got, err := r.driver.Traffic.Take()
	if err != nil {
		r.Fatalf("%s: a stream failed: %v", what, err)
	}
	if r.schema.Unsorted {
		return // lookups and lists of keys precede rows
	}
	most := t.most.Requests
	if got.KeyBytes > fullRequest {
		most = max(most, t.apart)
	}
	asked := got.Requests >= t.least.Requests && got.Requests-got.Full <= most || got.Requests == 0 && t.least.Cells == 0
	if !asked || got.Cells < t.least.Cells || got.Cells > t.most.Cells {
		r.Fatalf("%s at %v: %+v crossed the wire, want %+v to %+v\nschema\n%s", what, r.now, got, t.least, t.most, r.schema.YAML())
	}
}
