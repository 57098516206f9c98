package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// AccessPath describes how the layout answers a query, as far as requests can be
// counted.
type AccessPath struct {
	// Streams is the number of ranges that are read concurrently: one per salt or, in
	// new columns, per field.
	Streams int
	// Gathered is set if one request reads them, unless rows are limited.
	Gathered bool
	// Timed is set if a time range is a row range. If not, the reader requests rows of
	// all times.
	Timed bool
	// Contiguous is set, unless Timed is, if the rows of a series are adjacent, and the
	// reader finds the next series by skipping them.
	Contiguous bool
	// Single is set if the rows belong to one series.
	Single bool
	// Edges is set if the reader requests partial buckets separately.
	Edges bool
	// Earlier describes the earlier layouts of the table, newest first.
	Earlier []AccessPath
}

// requests returns the number of requests per stream of an access path for a time
// range: one, plus one for each end of a bucket that is requested separately. The range
// begins with the first possible event.
func (s *Schema) requests(p AccessPath, from, to time.Time) int {
	if !from.Before(to) {
		return 0
	}
	ends := map[time.Time]bool{}
	if p.Edges {
		from, to = s.next(from), s.next(to)
		if end := s.bucketEnd(from); s.cuts(from) && end.Before(to) {
			ends[end] = true
		}
		if start := s.bucketStart(to); s.cuts(to) && from.Before(start) {
			ends[start] = true
		}
	}
	return 1 + len(ends)
}

// next returns the first possible event time at or after t.
func (s *Schema) next(t time.Time) time.Time {
	if t.Before(time.Unix(0, 0)) {
		t = time.Unix(0, 0)
	}
	return t.UTC().Add(s.Precision - 1).Truncate(s.Precision)
}

// cuts reports whether t is inside a bucket.
func (s *Schema) cuts(t time.Time) bool { return !t.Equal(s.bucketStart(t)) }

// rest returns the end of the cells that a read up to to requests: the end of the
// bucket if the rank of cells that are about to exceed their age depends on the rest of
// it.
func (s *Schema) rest(now, from, to time.Time) time.Time {
	if !s.eventTimed() || s.newColumns() || !s.cuts(to) {
		return to
	}
	cut := s.bucketStart(to)
	if cut.Before(from) {
		cut = from
	}
	for _, f := range s.Families {
		for _, age := range f.TTL.turns() {
			if passed := now.Add(-age); passed.Before(to) && cut.Before(passed.Add(time.Hour)) {
				return s.bucketEnd(to)
			}
		}
	}
	return to
}

// turns returns the ages after which a cell may be live because of its rank.
func (t TTL) turns() []time.Duration {
	var ages []time.Duration
	ranked := slices.ContainsFunc(t.Rules, func(r TTL) bool { return r.Kind == "max_versions" })
	for _, r := range t.Rules {
		if t.Kind == "all_of" && ranked && r.Kind == "max_age" {
			ages = append(ages, r.Age)
		}
		ages = append(ages, r.turns()...)
	}
	return ages
}

// row is the row of a cell.
type row struct {
	Series
	start    time.Time // start of the bucket, or time of the event
	sequence uint32
	metric   int // new columns: index of the field
}

// rowOf returns the row of a cell.
func (m *period) rowOf(c column) row {
	r := row{Series: Series{c.host, c.shard}, start: c.start, sequence: c.sequence, metric: whole}
	if m.schema.bucketed() {
		r.start, r.sequence = m.schema.bucketStart(c.start), 0
	}
	if m.schema.newColumns() {
		r.metric = c.field
	}
	return r
}

// compareRows compares rows of the same series and metric by time.
func (m *period) compareRows(a, b row) int {
	return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.sequence, b.sequence))
}

// rows counts the cells per row that make up the events of some series in a time range,
// or only the newest of each column.
func (m *period) rows(now time.Time, wanted func(Series) bool, from, to time.Time, fields []int, newest bool) map[row]int {
	out := map[row]int{}
	if m.schema.points() && from.Before(to) { // a cell may have the events of an hour
		from, to = m.schema.bucketStart(from), m.schema.bucketEnd(to.Add(-1))
	}
	for _, s := range allSeries {
		if !wanted(s) {
			continue
		}
		seen := map[column]bool{}
		for c := range m.living(now, s, from, to, fields) {
			if newest && seen[c] {
				continue
			}
			seen[c] = true
			out[m.rowOf(c)]++
		}
	}
	return out
}

// sum returns the total number of cells in rows.
func sum(rows map[row]int) int {
	n := 0
	for _, cells := range rows {
		n += cells
	}
	return n
}

// newestRows returns the number of cells in the newest rows, up to limit per series and
// metric.
func (m *period) newestRows(rows map[row]int, limit int) int {
	type group struct {
		Series
		metric int
	}
	taken := map[group]int{}
	n := 0
	for _, r := range slices.SortedFunc(maps.Keys(rows), func(a, b row) int { return -m.compareRows(a, b) }) {
		if g := (group{r.Series, r.metric}); taken[g] < limit {
			taken[g]++
			n += rows[r]
		}
	}
	return n
}

// ties reports whether row keys sort events of the same instant in the opposite order,
// so that a reader must determine which is first.
func (s *Schema) ties() bool {
	return s.Sequence && !s.bucketed() && strings.Contains(s.TimeKey, "reverse")
}

// tied returns the cost of finding the newest limit rows of a series with ties: one
// more row, to see whether the last of them has the same instant and, if so, the rows
// of that instant from the other end.
func (m *period) tied(rows map[row]int, limit int) Counts {
	stored := slices.SortedFunc(maps.Keys(rows), func(a, b row) int { // in key order
		return cmp.Or(b.start.Compare(a.start), cmp.Compare(a.sequence, b.sequence))
	})
	c := Counts{Requests: 1}
	for _, r := range stored[:min(limit+1, len(stored))] {
		c.Cells += rows[r]
	}
	if len(stored) <= limit {
		return c
	}
	cut := stored[limit].start
	older := slices.IndexFunc(stored, func(r row) bool { return r.start.Equal(cut) })
	if older == limit {
		return c
	}
	c.Requests++
	last := slices.DeleteFunc(stored, func(r row) bool { return !r.start.Equal(cut) })
	for _, r := range last[max(0, len(last)-(limit-older)):] {
		c.Cells += rows[r]
	}
	return c
}
