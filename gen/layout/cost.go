package layout

import (
	"math"
	"slices"
	"time"
)

// What a query is weighed by: a read of a day; of a table that keeps events for ever,
// those of ten years.
const (
	usualRead = 24 * time.Hour
	forever   = 10 * 365 * 24 * time.Hour
)

// rangeCost is how many events are as much work as one more range of rows. Our
// judgement.
const rangeCost = 10

// sameCost is up to which factor two tables answer a query with about the same work:
// what is estimated is no better. Our judgement.
const sameCost = 4

// cost estimates the work of an access path for a read of usual length: how many events the
// server passes over or sends, and how many ranges of rows it looks for. So that tables
// are weighed by their keys alone, all are taken to keep events for the horizon, and
// an event of any pattern counts as one: which is best depends on what is done with it.
func (t *Table) cost(l *Layout, p AccessPath, horizon time.Duration) float64 {
	span := horizon
	if p.Timed {
		span = usualRead
	}
	events := l.Load().Rate * span.Seconds() * t.seriesFound(l, p)
	ranges := float64(p.Salts)
	if t.Pattern.Bucketed() && p.Timed && (len(p.After) > 0 || !t.Bucket.Sorted()) {
		ranges *= math.Ceil(usualRead.Seconds() / t.Bucket.Widest().Seconds())
	}
	return events + rangeCost*ranges
}

// seriesFound estimates how many series the rows of an access path are of: those that have the
// values which narrow the rows down.
func (t *Table) seriesFound(l *Layout, p AccessPath) float64 {
	narrowing := p.Before
	if t.Pattern.Bucketed() {
		narrowing = slices.Concat(p.Before, p.After)
	}
	found := float64(l.Load().Series)
	for i := range l.Series {
		if hasSeries(narrowing, i) {
			found /= l.valuesOf(i)
		}
	}
	if i := slices.IndexFunc(narrowing, func(g Segment) bool { return g.Kind == SaltSegment }); i >= 0 && p.Salts == 1 {
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

// valuesOf estimates how many values a series value has: as declared, or as many as
// the other undeclared ones.
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

// horizonOf returns how long the longest of some tables keeps events.
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
