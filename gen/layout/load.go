package layout

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Assumptions about an undeclared load.
const (
	assumedSeries     = 1000
	assumedRate       = 1.0 // per second
	assumedValueBytes = 16
)

// Load is the load for estimates: as declared or, for undeclared values, as assumed.
type Load struct {
	schema.Expect
	AssumedSeries, AssumedRate, AssumedValueBytes bool
}

// Load returns the load of the schema. The default rate is one event per step of the
// precision and at most one per second, because a finer precision serves to distinguish
// events.
func (l *Layout) Load() Load {
	load := Load{Expect: l.Expect}
	load.Arrival = cmp.Or(load.Arrival, schema.Steady)
	if load.Series == 0 {
		load.Series, load.AssumedSeries = assumedSeries, true
		if most := l.mostSeries(); most > 0 {
			load.Series = min(assumedSeries, most)
		}
	}
	if load.Rate == 0 {
		load.Rate, load.AssumedRate = min(assumedRate, 1/l.Precision.Seconds()), true
	}
	if load.ValueBytes == 0 {
		load.ValueBytes, load.AssumedValueBytes = assumedValueBytes, true
	}
	return load
}

// Peaks of the arrival patterns; our judgment, as in the manual.
const (
	burstPeak = 6 // the events of a minute within ten seconds
	dailyPeak = 2 // a sine wave from 0 to twice the average
)

// Peak returns the highest rate of events, as a multiple of the average.
func (load *Load) Peak() float64 {
	switch load.Arrival {
	case schema.Bursts:
		return burstPeak
	case schema.Daily:
		return dailyPeak
	}
	return 1
}

// Busiest returns the share of the busiest series in all events, from 0 to 1.
func (load *Load) Busiest() float64 { return 1 / Harmonic(load.Series, load.Skew) }

// Harmonic returns the sum of 1/k^s for k from 1 to n: the weight of all n series if that of
// the busiest is 1. Beyond the first summed terms, it is the Euler–Maclaurin formula, whose
// relative error is below 1e-9.
func Harmonic(n int64, s float64) float64 {
	if s == 0 {
		return float64(n)
	}
	const summed = 1000
	total := 0.0
	for k := int64(1); k <= min(n, summed); k++ {
		total += math.Pow(float64(k), -s)
	}
	if n <= summed {
		return total
	}
	a, b := float64(summed), float64(n)
	integral := math.Log(b / a)
	if s != 1 {
		integral = (math.Pow(b, 1-s) - math.Pow(a, 1-s)) / (1 - s)
	}
	return total + integral + (math.Pow(b, -s)-math.Pow(a, -s))/2 - s/12*(math.Pow(b, -s-1)-math.Pow(a, -s-1))
}

// mostSeries returns the maximum number of series, from the cardinalities of all series
// values; 0 if one is unknown.
func (l *Layout) mostSeries() int64 {
	most := int64(1)
	for _, f := range l.Series {
		if f.Cardinality == 0 || most > math.MaxInt64/f.Cardinality {
			return 0
		}
		most *= f.Cardinality
	}
	return most
}

// Complete reports whether the table has what its pattern requires: columns, families,
// and a time or a valid bucket in the key, unless it needs none. If not, there was an error.
func (t *Table) Complete() bool {
	if len(t.Columns) == 0 || len(t.Families) == 0 || t.TimeIndex() < 0 || t.Unknown {
		return false
	}
	if t.Endless() {
		return CheckBucket(t.Bucket) == nil && !t.Has(codec.BucketSegment) && !t.Has(codec.TimeSegment)
	}
	bucketed := t.Segments[t.TimeIndex()].Kind == codec.BucketSegment
	return bucketed == t.Pattern.Bucketed() && (!bucketed || CheckBucket(t.Bucket) == nil)
}

// Ages returns the shortest and the longest maximum age of the families; 0 if a family
// keeps data forever or its age depends on the events.
func (t *Table) Ages() (shortest, longest time.Duration) { return spans(t.Families, (*Family).Age) }

// spans returns the shortest and the longest of the spans of families; 0 if one of them is.
func spans(families []Family, of func(*Family) time.Duration) (shortest, longest time.Duration) {
	for i := range families {
		span := of(&families[i])
		if span == 0 {
			return 0, 0
		}
		if i == 0 || span < shortest {
			shortest = span
		}
		longest = max(longest, span)
	}
	return shortest, longest
}

// ColumnHorizons returns how long the data of a column lives: two ages if that depends on
// the TTL class of the event. It is for storage at a rate of events per second and series: in the
// only row of a series, a limit of n versions keeps the newest n events, and thus those of the
// time in which n events arrive. In other tables, it limits nothing but rewritten events.
func (t *Table) ColumnHorizons(c Column, rate float64) (shortest, longest time.Duration) {
	families := t.Families
	if !t.HasClasses() {
		families = families[c.Family : c.Family+1]
	}
	return spans(families, func(f *Family) time.Duration {
		if t.Endless() {
			return f.horizon(rate)
		}
		return f.Age()
	})
}

// longestHorizon is longer than any table lives.
const longestHorizon = 250 * 365 * 24 * time.Hour

// horizon is age, shortened by limits of versions in the row of a series.
func (f *Family) horizon(rate float64) time.Duration {
	if len(f.Life.Retention) == 0 {
		return f.Age()
	}
	longest := time.Duration(0)
	for _, term := range f.Life.Retention {
		horizon := term.MaxAge
		if term.Versions > 0 {
			of := time.Duration(min(float64(longestHorizon), math.Ceil(float64(term.Versions)/rate*float64(time.Second))))
			if horizon == 0 || of < horizon {
				horizon = of
			}
		}
		if horizon == 0 {
			return 0
		}
		longest = max(longest, horizon)
	}
	return longest
}

// Age returns the maximum age of the family's data; 0 if it is kept forever or its age
// depends on the events.
func (f *Family) Age() time.Duration {
	if terms := f.Life.Retention; len(terms) > 0 {
		return terms[len(terms)-1].MaxAge // sorted; 0 means any age and is last
	}
	return f.Life.Default
}

// widths are the usual bucket widths, widest first.
var widths = []time.Duration{
	365 * 24 * time.Hour, 30 * 24 * time.Hour, 7 * 24 * time.Hour, 24 * time.Hour, 12 * time.Hour, 6 * time.Hour, 4 * time.Hour,
	3 * time.Hour, 2 * time.Hour, time.Hour, 30 * time.Minute, 15 * time.Minute, 10 * time.Minute, 5 * time.Minute, time.Minute,
}

// WithBucket returns a copy of the table with buckets of another width and default
// labels. If the table has none, they are at the end of the key.
func (t *Table) WithBucket(l *Layout, width time.Duration) *Table {
	out := *t
	out.Bucket = codec.Bucket{Every: width}
	out.Bucket.Label, _ = ParseLabel(defaultLabel(out.Bucket, t.Delimiter)) // default labels are valid
	out.Slots = int64(width / l.Precision)
	if t.Endless() {
		out.Segments = append(slices.Clip(t.Segments), codec.Segment{Kind: codec.BucketSegment})
	}
	return &out
}

// Narrower returns the usual bucket widths that are narrower than the table's, widest
// first.
func (t *Table) Narrower() []time.Duration {
	return slices.DeleteFunc(slices.Clone(widths), func(w time.Duration) bool { return w >= t.Bucket.Widest() })
}
