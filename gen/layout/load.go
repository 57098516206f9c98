package layout

import (
	"math"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Expect is the load that a schema declares. What is zero it does not say.
type Expect struct {
	Pos        diag.Pos
	Series     int64         // how many there are
	Rate       float64       // events a second and series
	ValueBytes int64         // of a string, of bytes or of a JSON value, on average
	Lateness   time.Duration // how long after its time an event may come
	Clusters   int64         // that the instance has: data is replicated between several
}

// What is assumed of a load that is not declared.
const (
	assumedSeries     = 1000
	assumedRate       = 1.0 // a second
	assumedValueBytes = 16
)

// Load is what is written: as declared or, so that there is something to count
// with, as assumed.
type Load struct {
	Series     int64
	Rate       float64 // events a second and series
	ValueBytes int64

	AssumedSeries, AssumedRate, AssumedValueBytes bool
}

// Load returns the load of the schema. A rate that is not declared is an event for
// each step of the precision, and at most one a second: a finer precision says how
// events are told apart, not how many there are.
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

// mostSeries returns how many series there can be, where it is known how many values
// each series value has; 0 if it is not.
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

// Complete reports whether the table has what its pattern needs: columns, families,
// and a time or a valid bucket in the key. Where it has not, an error was found.
func (t *Table) Complete() bool {
	if len(t.Columns) == 0 || len(t.Families) == 0 || t.timeIndex() < 0 || t.Unknown {
		return false
	}
	bucketed := t.Segments[t.timeIndex()].Kind == BucketSegment
	return bucketed == t.Pattern.Bucketed() && (!bucketed || t.Bucket.Validate() == nil)
}

// Ages returns how long the families live that keep data shortest and longest; 0 if
// one keeps them for ever, or that depends on the events.
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

// ColumnAges returns how long what is in a column lives: two ages where that depends
// on the TTL class of the event.
func (t *Table) ColumnAges(c Column) (shortest, longest time.Duration) {
	if t.HasClasses() {
		return t.Ages()
	}
	age := t.Families[c.Family].age()
	return age, age
}

// age returns how old data of the family becomes; 0 if it is kept for ever, or
// its age depends on the events.
func (f *Family) age() time.Duration {
	if terms := f.Life.Retention; len(terms) > 0 {
		return terms[len(terms)-1].MaxAge // sorted, with any age as 0 at the end
	}
	return f.Life.Default
}

// widths are the usual widths of buckets, the widest first.
var widths = []time.Duration{
	365 * 24 * time.Hour, 30 * 24 * time.Hour, 7 * 24 * time.Hour, 24 * time.Hour, 12 * time.Hour, 6 * time.Hour, 4 * time.Hour,
	3 * time.Hour, 2 * time.Hour, time.Hour, 30 * time.Minute, 15 * time.Minute, 10 * time.Minute, 5 * time.Minute, time.Minute,
}

// WithBucket returns the table with buckets of another width, named by their start.
func (t *Table) WithBucket(l *Layout, width time.Duration) *Table {
	out := *t
	out.Bucket = codec.Bucket{Every: width}
	out.Bucket.Label, _ = codec.ParseLabel(defaultLabel(out.Bucket, t.Delimiter)) // it is one
	out.Slots = int64(width / l.Precision)
	return &out
}

// Narrower returns the usual widths of buckets that are narrower than the table's
// the widest first.
func (t *Table) Narrower() []time.Duration {
	return slices.DeleteFunc(slices.Clone(widths), func(w time.Duration) bool { return w >= t.Bucket.Widest() })
}
