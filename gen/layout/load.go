package layout

import (
	"math"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Expect is the load that a schema declares. Undeclared values are zero.
type Expect struct {
	Pos        diag.Pos
	Series     int64         // number of series
	Rate       float64       // events per second and series
	ValueBytes int64         // average length of a string, bytes or JSON value
	Lateness   time.Duration // how long after its time an event may arrive
	Clusters   int64         // clusters of the instance, between which data is replicated
}

// Assumptions about an undeclared load.
const (
	assumedSeries     = 1000
	assumedRate       = 1.0 // per second
	assumedValueBytes = 16
)

// Load is the load for estimates: as declared or, for undeclared values, as assumed.
type Load struct {
	Series     int64
	Rate       float64 // events per second and series
	ValueBytes int64

	AssumedSeries, AssumedRate, AssumedValueBytes bool
}

// Load returns the load of the schema. The default rate is one event per step of the
// precision and at most one per second, because a finer precision serves to distinguish
// events.
func (l *Layout) Load() Load {
	load := Load{Series: l.Expect.Series, Rate: l.Expect.Rate, ValueBytes: l.Expect.ValueBytes}
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
// and a time or a valid bucket in the key. If not, there was an error.
func (t *Table) Complete() bool {
	if len(t.Columns) == 0 || len(t.Families) == 0 || t.timeIndex() < 0 || t.Unknown {
		return false
	}
	bucketed := t.Segments[t.timeIndex()].Kind == BucketSegment
	return bucketed == t.Pattern.Bucketed() && (!bucketed || t.Bucket.Validate() == nil)
}

// Ages returns the shortest and the longest maximum age of the families; 0 if a family
// keeps data forever or its age depends on the events.
func (t *Table) Ages() (shortest, longest time.Duration) {
	for i := range t.Families {
		age := t.Families[i].age()
		if age == 0 {
			return 0, 0
		}
		if shortest == 0 || age < shortest {
			shortest = age
		}
		longest = max(longest, age)
	}
	return shortest, longest
}

// ColumnAges returns how long the data of a column lives: two ages if that depends on
// the TTL class of the event.
func (t *Table) ColumnAges(c Column) (shortest, longest time.Duration) {
	if t.HasClasses() {
		return t.Ages()
	}
	age := t.Families[c.Family].age()
	return age, age
}

// age returns the maximum age of the family's data; 0 if it is kept forever or its age
// depends on the events.
func (f *Family) age() time.Duration {
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
// labels.
func (t *Table) WithBucket(l *Layout, width time.Duration) *Table {
	out := *t
	out.Bucket = codec.Bucket{Every: width}
	out.Bucket.Label, _ = codec.ParseLabel(defaultLabel(out.Bucket, t.Delimiter)) // default labels are valid
	out.Slots = int64(width / l.Precision)
	return &out
}

// Narrower returns the usual bucket widths that are narrower than the table's, widest
// first.
func (t *Table) Narrower() []time.Duration {
	return slices.DeleteFunc(slices.Clone(widths), func(w time.Duration) bool { return w >= t.Bucket.Widest() })
}
