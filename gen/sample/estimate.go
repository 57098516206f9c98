package sample

import (
	"math"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Bounds are the bounds of a size in bytes. Bigtable publishes neither the overhead of
// a cell nor the compression ratio.
type Bounds struct {
	// Lower counts the timestamp and value of each cell, and the key once per row.
	Lower float64 `json:"lower"`
	// Upper also counts the key, the family and the qualifier for each cell.
	Upper float64 `json:"upper"`
}

// Estimate is the estimated size of a table under a load, for events with all fields.
type Estimate struct {
	Load          layout.Load
	KeyBytes      int64   // of the example key
	RowsPerEvent  int64   // rows per event
	CellsPerEvent int64   // cells per event, in all rows
	EventsPerRow  float64 // in a full bucket or, if it is endless, in the row of a series
	CellsPerRow   float64
	Values        float64       // size of an event's values
	Cell          float64       // size of the largest cell value
	Datum         float64       // size of the largest datum in a qualifier
	Event         Bounds        // size of an event in a full bucket
	Row           Bounds        // size of a full row
	BytesADay     Bounds        // for all series
	Retention     time.Duration // of the family that keeps data longest; 0 if one keeps it forever
	Shortest      time.Duration // of the family that keeps data shortest, if none keeps it forever
	// Table is the size of the table once garbage collection keeps pace with writes.
	// The lower bound includes only live data, the upper one also what expired within
	// the last week. It is 0 if any data is kept forever.
	Table Bounds
	// Rows is the number of rows of a series at that point; 0 if nothing is
	// garbage-collected.
	Rows float64
}

// EventsIn returns the number of events of a series in a duration.
func (e *Estimate) EventsIn(d time.Duration) float64 { return e.Load.Rate * d.Seconds() }

// collectionLag is the maximum delay of garbage collection. Source:
// https://cloud.google.com/bigtable/docs/garbage-collection
const collectionLag = 7 * 24 * time.Hour

// timestampBytes is the size of a cell timestamp.
const timestampBytes = 8

// EstimateOf estimates the size of a table under the load of its schema.
func EstimateOf(l *layout.Layout, t *layout.Table) Estimate {
	e := Estimate{Load: l.Load(), RowsPerEvent: int64(t.RowsPerEvent()), EventsPerRow: 1}
	if !t.Complete() {
		return e // the layout has an error
	}
	e.KeyBytes = int64(len(Key(l, t)))
	if t.Pattern.Bucketed() {
		e.EventsPerRow = max(1, min(e.Load.Rate*t.Bucket.Widest().Seconds(), float64(t.Slots)))
		if t.Endless() {
			e.EventsPerRow = max(1, kept(t, e.Load.Rate))
		}
	}
	var event Bounds   // without the key, which a row has once
	var longer float64 // total by which the row keys of an event exceed the example key
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

// assumedGrowth is how long a row is assumed to grow that keeps its events forever.
const assumedGrowth = 10 * 365 * 24 * time.Hour

// kept returns how many events of a series are in its only row: those that are live, and those that
// expired within the last week.
func kept(t *layout.Table, rate float64) float64 {
	most := 0.0
	for i := range t.Families {
		live := 0.0
		for _, term := range t.Families[i].Life.Retention {
			events := rate * assumedGrowth.Seconds()
			if term.MaxAge > 0 {
				events = rate * term.MaxAge.Seconds()
			}
			if term.Versions > 0 {
				events = min(events, float64(term.Versions))
			}
			live = max(live, events)
		}
		if t.Families[i].Life.Forever() {
			live = rate * assumedGrowth.Seconds()
		}
		most = max(most, live+rate*collectionLag.Seconds())
	}
	return most
}

// stored returns the size of the table once garbage collection keeps pace with writes.
func (e *Estimate) stored(cells []cellSize) Bounds {
	events := e.Load.Rate * float64(e.Load.Series) // per second
	var out Bounds
	for _, c := range cells {
		bytes := c.bytes(e.KeyBytes)
		out.Lower += events * c.shortest.Seconds() * bytes.Lower
		out.Upper += events * (c.longest + collectionLag).Seconds() * bytes.Upper
	}
	return out
}

// Limits of moderate rows: half of the limits of the lint rules.
const (
	moderateCells = 50_000
	moderateBytes = 50_000_000
)

// Moderate reports whether full rows are small enough to be held in memory during a
// read, with room to grow.
func (e *Estimate) Moderate() bool {
	return e.CellsPerRow <= moderateCells && e.Row.Upper <= moderateBytes
}

// cellSize is the size of one cell of an event, in bytes.
type cellSize struct {
	family, qualifier int64
	datum             int64 // the part of the qualifier that is data
	value             int64
	key               int64 // by how much the row key exceeds the example key

	shortest, longest time.Duration // retention; the two differ between TTL classes
}

// bytes returns the size of the cell in a row with the example key, which a row has
// once.
func (c cellSize) bytes(key int64) Bounds {
	value := timestampBytes + float64(c.value)
	return Bounds{value + float64(c.datum), value + float64(c.family+c.qualifier) + float64(key+c.key)}
}

// cellsOf returns the sizes of the cells of an event with all fields.
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
			cell.value = valueBytes(&l.Fields[c.Field], c.Values, load)
		}
		switch {
		case c.Field == layout.WrittenAt:
		case t.Metrics():
			cell.qualifier, cell.datum, cell.value = cell.value, cell.value, 0
			cell.key = int64(len(c.Qualifier) - len(t.Columns[0].Qualifier)) // the key contains the metric
		case t.Pattern == codec.BucketOffsets:
			cell.qualifier = offsetBytes(l, t)
			cell.datum = cell.qualifier
		}
		out = append(out, cell)
	}
	return out
}

// offsetBytes returns the size of the name of a column of bucket_offsets.
func offsetBytes(l *layout.Layout, t *layout.Table) int64 {
	if t.HasPoints() {
		return int64(len(t.Offset(l).AppendPointForm(nil, Time(t).Add(l.Precision), 0)))
	}
	return int64(len(t.Offset(l).Append(nil, Time(t), 0)))
}

// pointBytes is the assumed size of a value of OpenTSDB.
const pointBytes = 4

// valueBytes returns the size of a field's value.
func valueBytes(f *layout.Field, as codec.Values, load layout.Load) int64 {
	if n := load.Widths[f.Name]; n > 0 && varies(f, as) {
		return n
	}
	if as == codec.OpenTSDBValues {
		return pointBytes
	}
	text, sized := as.Text(), as == codec.BigEndianValues || as == codec.LittleEndianValues
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
	case schema.Int32, schema.Uint32:
		if sized {
			return 4
		}
	case schema.Enum:
		if text {
			return averageName(f.Enum)
		}
		if sized {
			return 4
		}
	}
	return 8
}

// averageName returns the average length of an enum's names.
func averageName(e codec.Enum) int64 {
	total := 0
	for _, v := range e {
		total += len(v.Name)
	}
	return int64(total / max(1, len(e)))
}

// blobBytes returns the size of a serialized event: in protobuf a tag and a value per
// field, with integers as varints of medium size; in JSON also the field names.
func blobBytes(l *layout.Layout, format layout.Format, load layout.Load) int64 {
	var total int64
	for i := range l.Fields {
		f := &l.Fields[i]
		if format == layout.JSONText {
			total += int64(len(f.Name)) + 4 + valueBytes(f, codec.TextValues, load) // "name":value,
			continue
		}
		total += 1 + protoBytes(f, load)
		if f.Number > 15 {
			total++
		}
	}
	return total
}

// protoBytes returns the size of a value in protobuf, without its tag.
func protoBytes(f *layout.Field, load layout.Load) int64 {
	switch f.Type {
	case schema.Float32, schema.Float64, schema.Bool:
		return valueBytes(f, codec.BinaryValues, load)
	case schema.String, schema.Bytes, schema.JSON, schema.UUID:
		return 1 + valueBytes(f, codec.BinaryValues, load)
	case schema.Timestamp, schema.Duration:
		return 9
	case schema.Enum:
		return 1
	}
	if n := load.Widths[f.Name]; n > 0 {
		return int64(varintBytes(float64(n)))
	}
	return 4
}
