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
	// BucketOffsets has one row per bucket. Each event is a column whose qualifier is
	// the event time within the bucket.
	BucketOffsets
	// SingleSerialized has one row per event, with the event time in the row key, and
	// one cell with all fields.
	SingleSerialized
	// SingleUnserialized has one row per event, with the event time in the row key, and
	// one column per field.
	SingleUnserialized
)

// patternNames contains the names of the patterns in schemas.
var patternNames = [...]string{
	BucketNewColumns: "bucket_new_columns", BucketNewCells: "bucket_new_cells", BucketSerialized: "bucket_serialized",
	BucketOffsets: "bucket_offsets", SingleSerialized: "single_serialized", SingleUnserialized: "single_unserialized",
}

// Patterns returns all patterns, those with buckets first.
func Patterns() []Pattern {
	out := make([]Pattern, 0, len(patternNames)-1)
	for p := BucketNewColumns; int(p) < len(patternNames); p++ {
		out = append(out, p)
	}
	return out
}

// ParsePattern returns the pattern with the given name in schemas, or the zero Pattern,
// which is invalid, if there is none.
func ParsePattern(name string) Pattern {
	return Pattern(max(0, slices.Index(patternNames[:], name)))
}

// String returns the name of the pattern in schemas.
func (p Pattern) String() string {
	if p <= 0 || int(p) >= len(patternNames) {
		return fmt.Sprintf("Pattern(%d)", int(p))
	}
	return patternNames[p]
}

// Bucketed reports whether a row contains the events of a bucket, rather than one
// event.
func (p Pattern) Bucketed() bool { return p != SingleSerialized && p != SingleUnserialized }

// EventTimed reports whether only the timestamps of cells contain the event times.
func (p Pattern) EventTimed() bool { return p == BucketNewColumns || p.Versioned() }

// Versioned reports whether the events of a bucket are versions of the same columns:
// cells with the event time as timestamp.
func (p Pattern) Versioned() bool { return p == BucketNewCells || p == BucketSerialized }

// Serialized reports whether every event is one value with all its fields. For
// BucketOffsets that depends on the number of fields, so it reports false.
func (p Pattern) Serialized() bool { return p == SingleSerialized || p == BucketSerialized }

// OneValue reports whether every event is one cell.
func (p Pattern) OneValue() bool { return p.Serialized() || p == BucketOffsets }
