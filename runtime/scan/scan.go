// Package scan plans reads. Given the shape of a table and a read, it returns the row ranges and the filter of every
// request. A plan is plain data: package store sends its requests, and btgen explain prints them, so both show the
// same. The package deals with keys, buckets and times to live, but not with events or the Bigtable client. All its
// functions are pure.
package scan

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Table describes the parts of a table that reads depend on.
type Table struct {
	Pattern codec.Pattern
	Offset  codec.Offset     // the buckets, if the pattern has them, and the precision of event times
	TimeKey codec.TimeFormat // for tables with a row per event, the format of the time in row keys
	// Ties is set, for tables with a row per event, if the time is reversed in row keys and a sequence number follows
	// it. Rows of the same time then sort in the opposite order to all others.
	Ties     bool
	Families []Family
	Columns  []Column
	// Begin and End bound the times of the events that the table stores in this form;
	// End is exclusive, and zero means no bound. Both are bucket boundaries.
	Begin, End time.Time
	Rollup     *Family    // the family of the rollup, whose cells are timed by the ends of buckets; nil if there is none
	Sums       string     // the family that tells which rows had several versions of their event, in a table of [codec.Latest]
	Tier       codec.Tier // from which age on Bigtable keeps cells in the infrequent access tier
	ssd        time.Time  // searches for the newest event ignore older ones; see [Table.OnSSD]
}

// Family is a column family.
type Family struct {
	Name string
	Life codec.Lifetime // determines which cells are live
	// Class is the TTL class of the family's events, counting from 1; 0 if events have no class.
	Class int
}

// Column is a column or, if each field has its own row, the rows of one field.
type Column struct {
	Name      string
	Required  bool // every event has this column, or one of Older
	Family    int  // index of its family, if events have no classes
	WrittenAt bool // contains the write time, which is not part of the event
	// Older are the indexes of the columns that older events have in place of this one.
	Older []int
}

// Read describes the events to read.
type Read struct {
	// Spans contain the rows: one span, or one per salt or, if each field has its own row, one per column.
	Spans []codec.Span
	// AllTimes is set if unknown series values follow the prefix of a span. The requests then cover the rows of all
	// times, and keys or cells determine which events are in the range.
	AllTimes bool
	// MultiSeries is set if the rows belong to several series.
	MultiSeries bool
	// Listed is set if the spans are those of several values, whose rows are read in the
	// order of row keys. The table must be able to; see [Table.Lists].
	Listed bool
	// Contiguous is set, together with AllTimes, if the rows of each series are adjacent.
	Contiguous bool
	// Keys is the pattern of the row keys to read, if the spans contain other rows or
	// the keys determine which times are in the range; otherwise nil.
	Keys *codec.KeyPattern
	// From and To are the time range; To is excluded.
	From, To time.Time
	// NewestFirst reverses the order of events.
	NewestFirst bool
	// TimeOrder sorts the events of several series by time.
	TimeOrder bool
	// LatestOnly reads the newest event of each series. It requires NewestFirst.
	LatestOnly bool
	// Limit is the maximum number of events; 0 for all.
	Limit int
	// Projection selects what to read of each column; nil for everything.
	Projection Projection
	// WithoutValues reads cells without their values, unless these say which events they have.
	WithoutValues bool
	// Conditions select events. In tables with a row per event, a row is read as a whole or not at
	// all. Otherwise, the table must have a single column.
	Conditions Conditions
	// Runs selects the cells of the rollup.
	Runs Runs
	// Cut has the ends of buckets whose events InsteadOfEvents also reads if they have a run: the read cuts a window of
	// it.
	Cut []time.Time
}

// Runs says which cells of the rollup a read gets in addition to those of events.
type Runs int

const (
	NoRuns     Runs = iota
	BesideRuns      // all cells of the rollup
	// InsteadOfEvents also leaves out the events of rows with a run that has all changes. Events may be left
	// out of other rows, too, which change at the same time.
	InsteadOfEvents
)

// Request is one ReadRows request to Bigtable.
type Request struct {
	Rows   []codec.Rows // all read in the same direction; never empty
	Filter Filter
	Limit  int // maximum number of rows; 0 for all
	// Paginated is set if the request is repeated, with Limit rows per page, until no rows are left.
	Paginated bool
	// KeysOnly is set if the request only lists the rows that exist. The following requests then read these rows.
	KeysOnly bool
}

// AllCells returns the table as if its cells never expired, for reads of everything that
// is stored. Whether timestamps are those of writes remains known.
func (t Table) AllCells() Table {
	t.Families = slices.Clone(t.Families)
	for i := range t.Families {
		life := &t.Families[i].Life
		if *life = (codec.Lifetime{Timestamp: life.Timestamp}); life.Timestamp != codec.TimestampWrite {
			*life = codec.Lifetime{}
		}
	}
	if t.Rollup != nil {
		t.Rollup = &Family{Name: t.Rollup.Name}
	}
	return t
}

// InOrder reports whether the rows of a series are in ascending or descending order of time.
func (t *Table) InOrder() bool { return !t.Pattern.Bucketed() || t.Offset.Bucket.Sorted() }

// Endless reports whether each series has a single row, whose key does not contain the time.
func (t *Table) Endless() bool { return t.Pattern.Bucketed() && t.Offset.Bucket.Endless() }

// Descending reports whether the newest row of a series comes first.
func (t *Table) Descending() bool {
	if !t.Pattern.Bucketed() {
		return t.TimeKey.Reverse
	}
	return t.Offset.Bucket.Descending()
}

// ByTimestamp reports whether a read selects the time range by cell timestamps. This is the case if nothing else
// contains the event time, and if buckets have the time in qualifiers but garbage collection depends on timestamps as
// well. In other tables the timestamps are arbitrary, because other programs may write them.
func (t *Table) ByTimestamp() bool {
	switch {
	case !t.Pattern.Bucketed():
		return false
	case !t.Pattern.EventTimed():
		return !slices.ContainsFunc(t.Families, func(f Family) bool { return !f.Life.Dated() })
	}
	return true
}

// Since returns the time of the oldest event that can be live; false if there is no bound.
func (t *Table) Since(now time.Time) (oldest time.Time, bounded bool) {
	oldest, bounded = codec.Oldest(now, t.Families, func(f *Family) codec.Lifetime { return f.Life })
	if t.Begin.IsZero() || bounded && oldest.After(t.Begin) {
		return oldest, bounded
	}
	return t.Begin, true
}

// keyTimes returns the format of times in row keys.
func (t *Table) keyTimes() codec.KeyTimes {
	if !t.Pattern.Bucketed() {
		return t.TimeKey
	}
	return t.Offset.Bucket
}

// rowsFor returns how many rows to request to get the first n events, one per row. With
// Ties, one more row tells whether the last instant is complete.
func (t *Table) rowsFor(n int) int {
	if t.Ties {
		n++
	}
	return n
}
