package sample

import (
	"math"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

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
	Load          layout.Load
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

// EstimateOf returns the size of a table under the load of its schema.
func EstimateOf(l *layout.Layout, t *layout.Table) Estimate {
	e := Estimate{Load: l.Load(), RowsPerEvent: int64(t.RowsPerEvent()), EventsPerRow: 1}
	if !t.Complete() {
		return e // an error says so
	}
	e.KeyBytes = int64(len(Key(l, t)))
	if t.Pattern.Bucketed() {
		e.EventsPerRow = max(1, min(e.Load.Rate*t.Bucket.Widest().Seconds(), float64(t.Slots)))
	}
	var event Bounds   // without the key that a row has once
	var longer float64 // keys of the rows of an event than the example key, in all
	cells := cellsOf(l, t, e.Load)
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
	if e.Shortest, e.Retention = t.Ages(); e.Retention > 0 {
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

// cellsOf returns the sizes of the cells of an event with all its fields.
func cellsOf(l *layout.Layout, t *layout.Table, load layout.Load) []cellSize {
	var out []cellSize
	for _, c := range t.Columns {
		cell := cellSize{family: int64(len(t.Families[c.Family].Name)), qualifier: int64(len(c.Qualifier))}
		cell.shortest, cell.longest = t.ColumnAges(c)
		switch {
		case c.Field == layout.WrittenAt:
			cell.value = 8
		case c.Field == layout.WholeEvent:
			cell.value = blobBytes(l, t.Blob, load)
		default:
			cell.value = valueBytes(&l.Fields[c.Field], c.Text, load)
		}
		switch {
		case c.Field == layout.WrittenAt:
		case t.Metrics():
			cell.qualifier, cell.datum, cell.value = cell.value, cell.value, 0
			cell.key = int64(len(c.Qualifier) - len(t.Columns[0].Qualifier)) // the metric
		case t.Pattern == codec.BucketOffsets:
			cell.qualifier = int64(len(t.Offset(l).Append(nil, Time(t), 0)))
			cell.datum = cell.qualifier
		}
		out = append(out, cell)
	}
	return out
}

// valueBytes returns the bytes of a value of a field, as text or binary.
func valueBytes(f *layout.Field, text bool, load layout.Load) int64 {
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
func blobBytes(l *layout.Layout, format layout.Format, load layout.Load) int64 {
	var total int64
	for i := range l.Fields {
		f := &l.Fields[i]
		if format == layout.JSONText {
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
func protoBytes(f *layout.Field, load layout.Load) int64 {
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
