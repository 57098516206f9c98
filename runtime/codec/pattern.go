package codec

import (
	"fmt"
	"slices"
)

// Pattern is a way to store a time series in a table. It determines where the table
// stores the time of an event and its data.
type Pattern int

const (
	// BucketNewColumns has one row per bucket and field. Each datum is a column
	// qualifier, and the cell timestamp is the event time.
	BucketNewColumns Pattern = iota + 1
	// BucketNewCells has one row per bucket and one column per field. Each event is one
	// cell in each column, and the cell timestamp is the event time.
	BucketNewCells
	// BucketSerialized has one row per bucket. Each event is one cell with all fields,
	// and the cell timestamp is the event time.
	BucketSerialized
	// BucketOffsets has one row per bucket. Each event is a column whose qualifier is the event time within the bucket.
	BucketOffsets
	// SingleSerialized has one row per event, with the event time in the row key, and one cell with all fields.
	SingleSerialized
	// SingleUnserialized has one row per event, with the event time in the row key, and one column per field.
	SingleUnserialized
	// Latest has one row per series, with the newest event only: one column per field, whose
	// cells have the event time as timestamp. Other tables have all events.
	Latest
)

// PatternTraits are the facts about a pattern. Code that differs between patterns asks for
// one of them, or for what the methods of [Pattern] derive from them.
type PatternTraits struct {
	Name   string // in schemas
	Row    RowContent
	Naming ColumnNaming
	Cell   CellContent
	// EventTimed is set if only the timestamps of cells contain the event times. Otherwise,
	// timestamps are free for times to live.
	EventTimed bool
	// NewestOnly is set if a row contains only the newest event of its series.
	NewestOnly bool
}

// RowContent is what a row contains of a series.
type RowContent uint8

// The contents of rows.
const (
	BucketRow RowContent = iota // the events of a bucket
	FieldRow                    // one field of the events of a bucket
	EventRow                    // one event
)

// ColumnNaming is what the columns of events are named after.
type ColumnNaming uint8

// The ways to name columns.
const (
	NamedByField ColumnNaming = iota
	NamedByTime               // the time of the event within the bucket
	NamedByValue              // the datum of the event, whose cell is empty
)

// CellContent is what a cell, or the name of its column, contains of an event.
type CellContent uint8

// The contents of cells.
const (
	FieldCell      CellContent = iota // one field
	EventCell                         // the only field or, if events have several, all of them serialized
	SerializedCell                    // all fields, serialized
)

// patterns has the facts about each pattern.
var patterns = [...]PatternTraits{
	BucketNewColumns:   {Name: "bucket_new_columns", Row: FieldRow, Naming: NamedByValue, EventTimed: true},
	BucketNewCells:     {Name: "bucket_new_cells", EventTimed: true},
	BucketSerialized:   {Name: "bucket_serialized", Cell: SerializedCell, EventTimed: true},
	BucketOffsets:      {Name: "bucket_offsets", Naming: NamedByTime, Cell: EventCell},
	SingleSerialized:   {Name: "single_serialized", Row: EventRow, Cell: SerializedCell},
	SingleUnserialized: {Name: "single_unserialized", Row: EventRow},
	Latest:             {Name: "latest", EventTimed: true, NewestOnly: true},
}

// Patterns returns all patterns, those with buckets first and Latest last.
func Patterns() []Pattern {
	out := make([]Pattern, len(patterns)-1)
	for i := range out {
		out[i] = Pattern(i + 1)
	}
	return out
}

// ParsePattern returns the pattern with the given name in schemas, or the zero Pattern,
// which is invalid, if there is none.
func ParsePattern(name string) Pattern {
	return Pattern(max(0, slices.IndexFunc(patterns[:], func(t PatternTraits) bool { return t.Name == name })))
}

// String returns the name of the pattern in schemas.
func (p Pattern) String() string {
	if name := p.Traits().Name; name != "" {
		return name
	}
	return fmt.Sprintf("Pattern(%d)", int(p))
}

// Traits returns the facts about the pattern; the zero PatternTraits if it is invalid.
func (p Pattern) Traits() PatternTraits { return *p.traits() }

// traits is Traits without a copy.
func (p Pattern) traits() *PatternTraits {
	if uint(p) >= uint(len(patterns)) {
		p = 0
	}
	return &patterns[p]
}

// Naming returns what the columns of events are named after.
func (p Pattern) Naming() ColumnNaming { return p.traits().Naming }

// Bucketed reports whether a row contains the events of a bucket, rather than one event.
func (p Pattern) Bucketed() bool { return p.traits().Row != EventRow }

// RowPerField reports whether each field of an event has its own row, which the key names.
func (p Pattern) RowPerField() bool { return p.traits().Row == FieldRow }

// EventTimed reports whether only the timestamps of cells contain the event times.
func (p Pattern) EventTimed() bool { return p.traits().EventTimed }

// NewestOnly reports whether a row contains only the newest event of its series, so that a schema
// needs another table with all events.
func (p Pattern) NewestOnly() bool { return p.traits().NewestOnly }

// Versioned reports whether the events of a bucket are versions of the same columns:
// cells with the event time as timestamp.
func (p Pattern) Versioned() bool {
	t := p.traits()
	return t.EventTimed && t.Naming == NamedByField
}

// FieldColumns reports whether each field of an event is the value of its own column.
func (p Pattern) FieldColumns() bool {
	t := p.traits()
	return t.Naming == NamedByField && t.Cell == FieldCell
}

// Serialized reports whether every event is one value with all its fields. It is false if
// that depends on the number of fields.
func (p Pattern) Serialized() bool { return p.traits().Cell == SerializedCell }

// OneValue reports whether every event is one cell.
func (p Pattern) OneValue() bool { return p.traits().Cell != FieldCell }

// Appends reports whether a write keeps the data of an event of the same series and time
// with different data, because the data name the columns.
func (p Pattern) Appends() bool { return p.traits().Naming == NamedByValue }

// VersionsFamily returns the name of the family of a table of [Latest] that has the sums which tell whether an event was
// written with several values, given the name of that of the events.
func VersionsFamily(events string) string { return events + "-versions" }
