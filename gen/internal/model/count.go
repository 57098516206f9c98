package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// AccessPath is how the layout has a query answered, as far as it can be counted.
type AccessPath struct {
	// Streams is how many ranges are asked for at once: one for each salt or, in
	// new columns, for each field.
	Streams int
	// Gathered says that these are asked for in one request, unless rows are limited.
	Gathered bool
	// Timed says that a range of time is a range of rows. If not, rows of all
	// times are asked for.
	Timed bool
	// Contiguous says, where it is not Timed, that the rows of a series follow one
	// another, and those of others are found by skipping them.
	Contiguous bool
	// Single says that the rows are those of one series.
	Single bool
	// Edges says that a bucket which the range cuts is asked for by itself.
	Edges bool
}

// requests returns how many requests each stream of an access path takes for a range of
// time: one, and one more wherever a bucket ends that is asked for by itself. There
// the range counts from the first event that can be in it.
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
		if start := to.Truncate(s.Bucket); s.cuts(to) && from.Before(start) {
			ends[start] = true
		}
	}
	return 1 + len(ends)
}

// next returns the first time from t on that an event can have.
func (s *Schema) next(t time.Time) time.Time {
	if t.Before(time.Unix(0, 0)) {
		t = time.Unix(0, 0)
	}
	return t.UTC().Add(s.Precision - 1).Truncate(s.Precision)
}

// bucketEnd returns the end of the bucket that holds t.
func (s *Schema) bucketEnd(t time.Time) time.Time { return t.UTC().Truncate(s.Bucket).Add(s.Bucket) }

// cuts reports whether t is within a bucket.
func (s *Schema) cuts(t time.Time) bool { return !t.Equal(t.Truncate(s.Bucket)) }

// rest returns until when cells come of a read up to a time: where the rank of
// some that are about to pass their age depends on the rest of a bucket, to its end.
func (s *Schema) rest(now, from, to time.Time) time.Time {
	if !s.eventTimed() || s.newColumns() || !s.cuts(to) {
		return to
	}
	cut := to.Truncate(s.Bucket)
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

// turns returns the ages after which a cell may be alive for its rank.
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
	start    time.Time // of the bucket, or the time of the event
	sequence uint32
	metric   int // new columns: the field
}

// rowOf returns the row of a cell.
func (m *Table) rowOf(c column) row {
	r := row{Series: Series{c.host, c.shard}, start: c.start, sequence: c.sequence, metric: whole}
	if m.schema.bucketed() {
		r.start, r.sequence = c.start.Truncate(m.schema.Bucket), 0
	}
	if m.schema.newColumns() {
		r.metric = c.field
	}
	return r
}

// compareRows compares rows of one series and metric by the times of their events.
func (m *Table) compareRows(a, b row) int {
	return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.sequence, b.sequence))
}

// rows counts in each row the cells that make up the events of some series in a
// range; or, of them, the newest of each column alone.
func (m *Table) rows(now time.Time, wanted func(Series) bool, from, to time.Time, fields []int, newest bool) map[row]int {
	out := map[row]int{}
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

// sum returns how many cells are in rows.
func sum(rows map[row]int) int {
	n := 0
	for _, cells := range rows {
		n += cells
	}
	return n
}

// newestRows returns how many cells are in the newest rows, so many of each series
// and metric.
func (m *Table) newestRows(rows map[row]int, limit int) int {
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

// ties reports whether the keys sort the events of an instant against the instants: a
// reader has to look which comes first.
func (s *Schema) ties() bool {
	return s.Sequence && !s.bucketed() && strings.Contains(s.TimeKey, "reverse")
}

// tied returns what it takes to find the newest rows of a series, so many of them,
// where there are ties: one more, to see if the last of them is of the same instant
// and, if it is, those of the instant from its other end.
func (m *Table) tied(rows map[row]int, limit int) Counts {
	stored := slices.SortedFunc(maps.Keys(rows), func(a, b row) int { // as the keys are
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
