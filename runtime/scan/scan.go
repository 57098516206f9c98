// Package scan plans reads: given the shape of a table and what is to be read, it returns
// the row ranges and the filter of every request. A plan is plain data. Package store
// sends it, and btgen explain prints it, so that both have it from one place. The package
// knows keys, buckets and times to live, and neither the Bigtable client nor events.
package scan

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Table is the shape of a table, as far as reads depend on it.
type Table struct {
	Pattern codec.Pattern
	Offset  codec.Offset     // the buckets, if the pattern has them, and the precision of event times
	TimeKey codec.TimeFormat // for rows of single events, how the time is written in row keys
	// Ties says, for rows of single events, that the time is reversed in row keys and a sequence
	// number follows it: the rows of one instant then sort against all others.
	Ties     bool
	Families []Family
	Columns  []Column
}

// Family is a column family.
type Family struct {
	Name string
	Life codec.Lifetime // which cells are alive by their timestamps
	// Class is the TTL class of its events, counted from 1; 0 if events have none.
	Class int
}

// Column is a column or, for new columns, what the rows of a field have in their keys.
type Column struct {
	Name      string
	Required  bool // every event has it
	WrittenAt bool // it holds the write time, which is not part of the event
	Whole     bool // it holds all fields of an event in one value
}

// Read says which events to read.
type Read struct {
	// Spans are where the rows are: one span, one for each salt or, for new columns,
	// one for each column.
	Spans []codec.Span
	// AllTimes says that series values which are not given follow the prefix of a span:
	// the rows of all times are read, and their keys or cells say which are in the range.
	AllTimes bool
	// MultiSeries says that the rows are those of several series.
	MultiSeries bool
	// Contiguous says, if AllTimes is set, that the rows of a series follow one another.
	Contiguous bool
	// Keys is the pattern of the row keys that are wanted, where the spans have others
	// or where the keys say which times are in the range; else nil.
	Keys *codec.KeyPattern
	// From and To are the range of time, To excluded.
	From, To time.Time
	// NewestFirst reverses the order of events.
	NewestFirst bool
	// TimeOrder orders the events of several series by time.
	TimeOrder bool
	// LatestOnly reads the newest event of each series. It requires NewestFirst.
	LatestOnly bool
	// Limit is how many events are wanted; 0 for all.
	Limit int
	// Projection is what to read of each column; nil for everything.
	Projection Projection
}

// Request is one request to Bigtable.
type Request struct {
	Rows   []codec.Rows // all in one direction; never empty
	Filter Filter
	Limit  int // of the rows that come back; 0 for none
	// Paginated says that the request is repeated, Limit rows at a time, until there
	// are no more.
	Paginated bool
	// KeysOnly says that the request only finds out which rows exist: the requests that
	// follow name them.
	KeysOnly bool
}

// InOrder reports whether the rows of a series are in ascending or descending order of
// time.
func (t *Table) InOrder() bool { return !t.Pattern.Bucketed() || t.Offset.Bucket.Sorted() }

// Descending reports whether the newest row of a series comes first.
func (t *Table) Descending() bool {
	if !t.Pattern.Bucketed() {
		return t.TimeKey.Reverse
	}
	return t.Offset.Bucket.Descending()
}

// ByTimestamp reports whether a range of time is read as one of cell timestamps: where
// nothing else says when events are, and in the columns of a bucket if garbage collection
// goes by timestamps too. Elsewhere cells may have any timestamp, such as those that
// other programs write.
func (t *Table) ByTimestamp() bool {
	switch {
	case !t.Pattern.Bucketed():
		return false
	case t.Pattern == codec.BucketOffsets:
		return !slices.ContainsFunc(t.Families, func(f Family) bool { return !f.Life.Dated() })
	}
	return true
}

// Since returns the time of the oldest event that can be alive; false if there is no
// bound.
func (t *Table) Since(now time.Time) (oldest time.Time, bounded bool) {
	return codec.Oldest(now, t.Families, func(f *Family) codec.Lifetime { return f.Life })
}

// keyTimes is how times are written in row keys.
func (t *Table) keyTimes() codec.KeyTimes {
	if !t.Pattern.Bucketed() {
		return t.TimeKey
	}
	return t.Offset.Bucket
}

// rowsFor returns how many rows to request so as to get the first n events that have a
// row each: where rows of one instant sort against all others, one more tells whether the
// last instant is complete.
func (t *Table) rowsFor(n int) int {
	if t.Ties {
		n++
	}
	return n
}
