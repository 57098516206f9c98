package layout

import (
	"math"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
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

// Bounds are two bounds of a size in bytes. Bigtable publishes neither what a cell
// costs besides what it holds nor how well it compresses.
type Bounds struct {
	// Lower counts each cell's timestamp and value, and the key once for a row.
	Lower float64
	// Upper counts the key, the family and the qualifier again for each cell.
	Upper float64
}

// Estimate is the size of a table under a load. Events are counted with all their
// fields.
type Estimate struct {
	Load          Load
	KeyBytes      int64   // of the example key
	RowsPerEvent  int64   // rows that an event is written to
	CellsPerEvent int64   // cells, in all of them
	EventsPerRow  float64 // that a full bucket has
	CellsPerRow   float64
	Values        float64       // bytes of what an event carries
	Cell          float64       // bytes of the largest value of a cell
	Datum         float64       // bytes of the largest datum in a qualifier
	Event         Bounds        // bytes of an event in a bucket that is full
	Row           Bounds        // bytes of a full row
	BytesADay     Bounds        // of all series
	Retention     time.Duration // of the family that keeps data longest; 0 if that is for ever
	Shortest      time.Duration // of the one that keeps them shortest, if none does for ever
	// Table is the size of the table once as much is collected as is written: at
	// least what is alive, and at most what expired within the last week, too. It is 0
	// if something is kept for ever.
	Table Bounds
	// Rows is how many rows a series then has; 0 if nothing is collected.
	Rows float64
}

// EventsIn returns how many events a series has in a time.
func (e *Estimate) EventsIn(d time.Duration) float64 { return e.Load.Rate * d.Seconds() }

// collectionLag is how long garbage collection may take.
// Source: https://cloud.google.com/bigtable/docs/garbage-collection
const collectionLag = 7 * 24 * time.Hour

// timestampBytes is what a cell's timestamp takes.
const timestampBytes = 8

// Estimate returns the size of a table under the load of its schema.
func (t *Table) Estimate(l *Layout) Estimate {
	e := Estimate{Load: l.Load(), RowsPerEvent: int64(t.RowsPerEvent()), EventsPerRow: 1}
	if !t.Complete() {
		return e // an error says so
	}
	e.KeyBytes = int64(len(t.ExampleKey(l)))
	if t.Pattern.Bucketed() {
		e.EventsPerRow = max(1, min(e.Load.Rate*t.Bucket.Widest().Seconds(), float64(t.Slots)))
	}
	var event Bounds   // without the key that a row has once
	var longer float64 // keys of the rows of an event than the example key, in all
	cells := t.cells(l, e.Load)
	for _, c := range cells {
		e.CellsPerEvent++
		e.Values += float64(c.value + c.datum)
		e.Cell, e.Datum = max(e.Cell, float64(c.value)), max(e.Datum, float64(c.datum))
		bytes := c.bytes(e.KeyBytes)
		event.Lower += bytes.Lower
		event.Upper += bytes.Upper
		longer += float64(c.key)
	}
	rows := float64(e.RowsPerEvent)
	e.CellsPerRow = float64(e.CellsPerEvent) / rows * e.EventsPerRow
	e.Row = Bounds{event.Lower/rows*e.EventsPerRow + float64(e.KeyBytes) + longer/rows, event.Upper / rows * e.EventsPerRow}
	e.Event = Bounds{e.Row.Lower / e.EventsPerRow * rows, e.Row.Upper / e.EventsPerRow * rows}
	daily := e.Load.Rate * float64(e.Load.Series) * (24 * time.Hour).Seconds()
	e.BytesADay = Bounds{e.Event.Lower * daily, e.Event.Upper * daily}
	if e.Shortest, e.Retention = t.ages(); e.Retention > 0 {
		e.Table = e.stored(cells)
		e.Rows = math.Ceil(e.EventsIn(e.Retention+collectionLag)/e.EventsPerRow) * rows
	}
	return e
}

// stored returns the size of the table once as much is collected as is written.
func (e *Estimate) stored(cells []cellSize) Bounds {
	events := e.Load.Rate * float64(e.Load.Series) // a second
	var out Bounds
	for _, c := range cells {
		bytes := c.bytes(e.KeyBytes)
		out.Lower += events * c.shortest.Seconds() * bytes.Lower
		out.Upper += events * (c.longest + collectionLag).Seconds() * bytes.Upper
	}
	return out
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

// What a moderate row has at most: half of what the rules warn of.
const (
	moderateCells = 50_000
	moderateBytes = 50_000_000
)

// Moderate reports whether full rows are small enough to be held in memory while
// they are read, with room to grow.
func (e *Estimate) Moderate() bool {
	return e.CellsPerRow <= moderateCells && e.Row.Upper <= moderateBytes
}

// cellSize is the size of a cell of an event, in bytes.
type cellSize struct {
	family, qualifier int64
	datum             int64 // what of the qualifier is data
	value             int64
	key               int64 // what the key of its row is longer than the example key

	shortest, longest time.Duration // how long it is kept; the two differ between TTL classes
}

// bytes returns the size of the cell in a row with the example key, without the key
// that the row has once.
func (c cellSize) bytes(key int64) Bounds {
	value := timestampBytes + float64(c.value)
	return Bounds{value + float64(c.datum), value + float64(c.family+c.qualifier) + float64(key+c.key)}
}

// cells returns the sizes of the cells of an event with all its fields.
func (t *Table) cells(l *Layout, load Load) []cellSize {
	var out []cellSize
	for _, c := range t.Columns {
		cell := cellSize{family: int64(len(t.Families[c.Family].Name)), qualifier: int64(len(c.Qualifier))}
		cell.shortest, cell.longest = t.columnAges(c)
		switch {
		case c.Field == WrittenAt:
			cell.value = 8
		case c.Field == WholeEvent:
			cell.value = l.blobBytes(t.Blob, load)
		default:
			cell.value = valueBytes(&l.Fields[c.Field], c.Text, load)
		}
		switch {
		case c.Field == WrittenAt:
		case t.Metrics():
			cell.qualifier, cell.datum, cell.value = cell.value, cell.value, 0
			cell.key = int64(len(c.Qualifier) - len(t.Columns[0].Qualifier)) // the metric
		case t.Pattern == BucketOffsets:
			cell.qualifier = int64(len(t.Offset(l).Append(nil, t.ExampleTime(), 0)))
			cell.datum = cell.qualifier
		}
		out = append(out, cell)
	}
	return out
}

// valueBytes returns the bytes of a value of a field, as text or binary.
func valueBytes(f *Field, text bool, load Load) int64 {
	switch f.Type {
	case schema.String, schema.Bytes, schema.JSON:
		return load.ValueBytes
	case schema.Bool:
		if text {
			return 5
		}
		return 1
	case schema.UUID:
		if text {
			return 36
		}
		return 16
	case schema.Float32:
		if !text {
			return 4
		}
	case schema.Timestamp, schema.Duration:
		if text {
			return 19
		}
	case schema.Enum:
		if text {
			return averageName(f.Enum)
		}
	}
	return 8
}

// averageName returns the length of the names of an enum.
func averageName(e codec.Enum) int64 {
	total := 0
	for _, v := range e {
		total += len(v.Name)
	}
	return int64(total / max(1, len(e)))
}

// blobBytes returns the bytes of a serialized event: in protobuf a tag and the
// value of each field, whole numbers as varints of middling size; in JSON the name
// of each field, too.
func (l *Layout) blobBytes(format Format, load Load) int64 {
	var total int64
	for i := range l.Fields {
		f := &l.Fields[i]
		if format == JSONText {
			total += int64(len(f.Name)) + 4 + valueBytes(f, true, load) // "name":value,
			continue
		}
		total += 1 + protoBytes(f, load)
		if f.Number > 15 {
			total++
		}
	}
	return total
}

// protoBytes returns the bytes of a value in protobuf, without its tag.
func protoBytes(f *Field, load Load) int64 {
	switch f.Type {
	case schema.Float32, schema.Float64, schema.Bool:
		return valueBytes(f, false, load)
	case schema.String, schema.Bytes, schema.JSON, schema.UUID:
		return 1 + valueBytes(f, false, load)
	case schema.Timestamp, schema.Duration:
		return 9
	case schema.Enum:
		return 1
	}
	return 4
}

// ages returns how long the families live that keep data shortest and longest; 0 if
// one keeps them for ever, or that depends on the events.
func (t *Table) ages() (shortest, longest time.Duration) {
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

// columnAges returns how long what is in a column lives: two ages where that depends
// on the TTL class of the event.
func (t *Table) columnAges(c Column) (shortest, longest time.Duration) {
	if t.hasClasses() {
		return t.ages()
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
