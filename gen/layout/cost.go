package layout

import (
	"math"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// The time range for which queries are compared: a read of one day or, for tables that
// keep events forever, ten years of them.
const (
	usualRead = 24 * time.Hour
	forever   = 10 * 365 * 24 * time.Hour
)

// rangeCost is the number of events that cost as much as one more row range. Our
// estimate.
const rangeCost = 10

// sameCost is the factor within which two tables answer a query at about the same cost,
// because the estimates are not more precise. Our judgment.
const sameCost = 4

// cost estimates the cost of the query for a read of usual length, from the number
// of events that the server skips or sends and the number of row ranges. It compares
// tables by their keys alone: it assumes that all keep events for the horizon, and
// counts an event of any pattern as one, because the best pattern depends on the use.
func (q *Query) cost(l *Layout, horizon time.Duration) float64 {
	span := horizon
	if q.Timed {
		span = usualRead
	}
	events := l.Load().Rate * span.Seconds() * q.seriesFound(l)
	ranges := float64(q.Salts)
	if t := q.Table; t.Pattern.Bucketed() && q.Timed && (q.After > 0 || !t.Bucket.Sorted()) {
		ranges *= math.Ceil(usualRead.Seconds() / t.Bucket.Widest().Seconds())
	}
	return events + rangeCost*ranges
}

// seriesFound estimates the number of series in the rows of the query: those with
// the values that restrict the rows.
func (q *Query) seriesFound(l *Layout) float64 {
	narrowing, after := q.Known()
	if q.Table.Pattern.Bucketed() {
		narrowing = slices.Concat(narrowing, after)
	}
	found := float64(l.Load().Series)
	for i := range l.Series {
		if hasSeries(narrowing, i) {
			found /= l.valuesOf(i)
		}
	}
	if i := slices.IndexFunc(narrowing, func(g codec.Segment) bool { return g.Kind == codec.SaltSegment }); i >= 0 && q.Salts == 1 {
		rest := 1.0
		for _, of := range narrowing[i].Salted {
			if !hasSeries(narrowing, of) {
				rest *= l.valuesOf(of)
			}
		}
		found /= min(rest, float64(narrowing[i].Buckets)) // the series of one salt
	}
	return max(1, found)
}

// valuesOf estimates the number of values of a series value: as declared, or evenly
// divided among the undeclared ones.
func (l *Layout) valuesOf(series int) float64 {
	if n := l.Series[series].Cardinality; n > 0 {
		return float64(n)
	}
	rest, unknown := float64(l.Load().Series), 0.0
	for _, f := range l.Series {
		if f.Cardinality > 0 {
			rest /= float64(f.Cardinality)
		} else {
			unknown++
		}
	}
	return math.Pow(max(1, rest), 1/unknown)
}

// horizonOf returns how long the table that keeps events longest keeps them.
func horizonOf(tables []*Table) time.Duration {
	var out time.Duration
	for _, t := range tables {
		_, age := t.Ages()
		if age == 0 {
			return forever
		}
		out = max(out, age)
	}
	return out
}
