package codec

import (
	"fmt"
	"slices"
)

// Pattern is a way to store a time series in a table. It decides where the table keeps the
// time of an event and its data.
type Pattern int

const (
	// BucketNewColumns is a row per bucket and field: each datum is a column qualifier,
	// with the time of its event as the cell's timestamp.
	BucketNewColumns Pattern = iota + 1
	// BucketNewCells is a row per bucket: each event is a cell in the column of each field,
	// with its time as the timestamp.
	BucketNewCells
	// BucketSerialized is a row per bucket: each event is a cell with all fields, with its
	// time as the timestamp.
	BucketSerialized
	// BucketOffsets is a row per bucket: each event is a column whose qualifier is the time
	// within the bucket.
	BucketOffsets
	// SingleSerialized is a row per event, with its time in the row key, and one cell with
	// all fields.
	SingleSerialized
	// SingleUnserialized is a row per event, with its time in the row key, and a column per
	// field.
	SingleUnserialized
)

// patternNames are the patterns as schemas name them.
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

// ParsePattern returns the pattern that schemas give a name; the zero Pattern, which is none
// of them, if there is no such pattern.
func ParsePattern(name string) Pattern {
	return Pattern(max(0, slices.Index(patternNames[:], name)))
}

// String returns the name that schemas give the pattern.
func (p Pattern) String() string {
	if p <= 0 || int(p) >= len(patternNames) {
		return fmt.Sprintf("Pattern(%d)", int(p))
	}
	return patternNames[p]
}

// Bucketed reports whether a row has the events of a bucket, instead of just one.
func (p Pattern) Bucketed() bool { return p != SingleSerialized && p != SingleUnserialized }

// EventTimed reports whether the timestamps of cells are the times of their events, and
// nothing else says these.
func (p Pattern) EventTimed() bool { return p == BucketNewColumns || p.Versioned() }

// Versioned reports whether the events of a bucket are versions of the same columns: each is
// a cell of every column that it has, and its time is the timestamp.
func (p Pattern) Versioned() bool { return p == BucketNewCells || p == BucketSerialized }

// Serialized reports whether an event is always one value with all its fields. In
// BucketOffsets, that depends on how many fields there are.
func (p Pattern) Serialized() bool { return p == SingleSerialized || p == BucketSerialized }

// OneValue reports whether an event is one cell.
func (p Pattern) OneValue() bool { return p.Serialized() || p == BucketOffsets }
