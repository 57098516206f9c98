// Package schema parses and formats the schema language, and describes it as a JSON
// Schema. Every parsed value has its line and column. The package knows the syntax only;
// package layout derives what a schema means on Bigtable.
package schema

import (
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
)

// Value is a value of the file with its position. The zero Value is one that the file
// omits.
type Value[T any] struct {
	V   T
	Pos diag.Pos
}

// IsSet reports whether the file contains the value.
func (v Value[T]) IsSet() bool { return v.Pos.IsValid() }

// Schema is one file: one kind of event and the tables that store it.
type Schema struct {
	File    string
	Package Value[string] // name of the generated package
	Name    Value[string] // prefix of the generated names
	Doc     string
	Series  []Field // in the order of the file
	Time    Time
	Fields  []Field // in the order of the file
	Tables  []Table // in the order of the file
	Queries []Query // in the order of the file
	Expect  Expect
}

// Time describes the times of events.
type Time struct {
	Precision Value[time.Duration] // divides a day evenly; 1ms by default
}

// Field is a series value or a field of the event.
type Field struct {
	Name Value[string]
	Type Value[Type]
	Options
	ExamplePos diag.Pos
	Column     Value[string] // column qualifier, if it differs from the name
	Family     Value[string]
	Values     Value[string] // "binary", "text", "big_endian" or "little_endian"
	Number     Value[int]    // protobuf field number
	Of         []EnumValue   // the values of an Enum, in the order of the file
	Was        []Was         // where older events have the field, newest first
}

// Options are the keys of a series value or a field that its layout has, too.
type Options struct {
	Doc      string
	Unit     string
	Optional bool
	// Default is a value of Go type string, []byte, bool, int64, uint64, float64, time.Time, time.Duration, by the Type; nil if
	// there is none.
	Default any
	Example any // for drawings and example events, like Default
	// Cardinality is the approximate number of distinct values of a series value; 0 if unknown.
	Cardinality int64
	Sketches    Sketches // of windows
}

// Was is where older events have a field, and how: what is not set is as the field has it.
type Was struct {
	Pos    diag.Pos
	Column Value[string] // a column, or a member of events in JSON
	Family Value[string]
	Values Value[string] // as in Field
	Number Value[int]    // a protobuf field number
	Type   Value[Type]
	Of     []EnumValue // the values of an Enum
}

// EnumValue is one value of an enum.
type EnumValue struct {
	Name   Value[string]
	Number Value[int] // numbered from 1, and not set, if the file has a list
}

// Table is one table that the events are written to.
type Table struct {
	Name      Value[string] // the table ID
	Doc       string
	Pattern   Value[string]
	Delimiter Value[string]
	Key       diag.Pos // of the key block
	Segments  []Segment
	Bucket    Bucket
	Family    Value[string]
	Families  []Family
	Values    Value[string] // as in Field
	Blob      Blob
	TTL       *TTL // nil if the file has none
	Rollup    Rollup
	Splits    []Value[string]
	// RowKeySchema is whether GoogleSQL can read the segments of the key as columns.
	RowKeySchema Value[bool]
	// DeletionProtection is whether Bigtable refuses to delete the table. If it is not set,
	// setup leaves the protection of a live table unchanged.
	DeletionProtection Value[bool]
	// Tier is where Bigtable keeps the cells. If it is not set, setup leaves the tiers of a live
	// table unchanged.
	Tier Tier
	// Bundle is the schema bundle for SQL. If it is not set, setup leaves those of a live table
	// unchanged.
	Bundle Bundle
	// Views are continuous materialized views of the table.
	Views []MaterializedView
	// Draft is whether nothing is stored yet, so that the layout may change freely.
	Draft Value[bool]
	Allow []Allow
	// Serves is false for a table that is written and not read: until it is filled.
	Serves Value[bool]
	// Since is the time of the first event with this layout; not set in the oldest.
	Since Value[time.Time]
	// Before are the earlier layouts, newest first. Each has only what differs from the
	// one above it; Periods returns them complete.
	Before []Table
}

// Bucket is the time span of a row, and its name in the key.
type Bucket struct {
	Pos    diag.Pos // of the bucket block
	Every  Value[Span]
	Origin Value[time.Time] // UTC
	Label  Value[string]
}

// Span is the width of a bucket: a fixed duration or a number of calendar months (12 for a
// year). Exactly one of the two is nonzero.
type Span struct {
	Fixed  time.Duration
	Months int
}

// SegmentKind is the kind of a row key segment.
type SegmentKind int

// The kinds of key segments.
const (
	SegmentName     SegmentKind = iota // a series value, or "metric": see Segment.Name
	SegmentBucket                      // the bucket
	SegmentTime                        // the time of the event
	SegmentConst                       // a constant string
	SegmentHash                        // a salt computed from series values
	SegmentSequence                    // a tie-breaker
)

// Segment is one part of the row key.
type Segment struct {
	Pos      diag.Pos
	Kind     SegmentKind
	Name     Value[string]   // SegmentName
	Encoding Value[string]   // SegmentName
	Pad      Value[int]      // SegmentName
	Escape   Value[bool]     // SegmentName
	Joined   Value[bool]     // SegmentName, SegmentBucket, SegmentTime, SegmentConst
	Reverse  Value[bool]     // SegmentName, SegmentBucket, SegmentTime
	From     Value[string]   // SegmentBucket, SegmentTime: what a reversed time is subtracted from, if not the default
	Format   Value[string]   // SegmentBucket, SegmentTime: as written after "bucket:" or "time:"
	Const    Value[string]   // SegmentConst
	Tells    Value[bool]     // SegmentConst: rows with other text are those of other schemas
	Hash     []Value[string] // SegmentHash
	Buckets  Value[int]      // SegmentHash
}

// Family is one column family of a table with several.
type Family struct {
	Name Value[string]
	TTL  *TTL
}

// Blob is the column of a serialized event.
type Blob struct {
	Pos    diag.Pos
	Column Value[string]
	Format Value[string] // "protobuf" or "json"
}

// Strategy is a way to expire data.
type Strategy string

// The strategies, as written in schemas.
const (
	MaxAge            Strategy = "max_age"
	MaxVersions       Strategy = "max_versions"
	AnyOf             Strategy = "any_of"
	AllOf             Strategy = "all_of"
	OneSecond         Strategy = "one_second"
	DefaultExpiration Strategy = "default_expiration"
	Classes           Strategy = "classes"
	KeepForever       Strategy = "keep"
)

// TTL determines when stored data expires.
type TTL struct {
	Pos       diag.Pos
	Kind      Strategy
	Age       Value[time.Duration] // MaxAge, DefaultExpiration: positive
	From      Value[string]        // MaxAge, MaxVersions, KeepForever: "event" or "write"
	Versions  Value[int]           // MaxVersions
	Rules     []TTL                // AnyOf, AllOf
	WrittenAt Value[string]        // OneSecond, DefaultExpiration: a column
	Classes   []Class              // Classes
}

// Class is one TTL class.
type Class struct {
	Name Value[string]
	Age  Value[time.Duration] // positive
}

// Allow is a rule that a table or a query may break, and the reason.
type Allow struct {
	Rule   Value[string]
	Reason string
}

// Query is a read of more than one series.
type Query struct {
	Name Value[string]
	By   []Value[string] // series values that the caller gives; empty to scan all series
	Many Value[string]   // the one of By of which the caller gives several values
	// Prefix and Range are the one of By of which the caller gives a prefix, or a range.
	Prefix Value[string]
	Range  Value[string]
	Where  []Where       // conditions on fields
	Table  Value[string] // ID of the table to read, if the file names one
	Scan   Value[string] // the reason for a full scan, if one is allowed
	// Series is whether the reader has a method that lists the series of the query.
	Series Value[bool]
	// Delete is whether the writer has a method that deletes what the query finds.
	Delete Value[bool]
	Doc    string
	Allow  []Allow
}

// Where is a condition of a query: the caller gives a value of a field, or a range.
type Where struct {
	Field Value[string]
	Form  Value[string] // one of WhereForms
}

// EqualForm is the form of a condition for which the caller gives a value.
const EqualForm = "equal"

// WhereForms are the forms of conditions.
var WhereForms = []string{"range", EqualForm}

// Expect is the load that a schema declares. Undeclared values are zero.
type Expect struct {
	Pos        diag.Pos         // of the block
	Series     int64            // number of series
	SeriesPos  diag.Pos         // of Series
	Rate       float64          // events per second and series
	ValueBytes int64            // average size of a string, bytes or JSON value
	Widths     map[string]int64 // average sizes of single values in bytes, by name, instead of ValueBytes
	Clusters   int64            // clusters of the instance, between which data is replicated
	Lateness   time.Duration    // how long after its time an event may arrive
	Reads      []ExpectedRead
	Skew       float64 // exponent of the Zipf distribution of events among series, from 0
	Arrival    string  // one of Arrivals; empty for Steady
}

// ExpectedRead is how often a method of the reader is called.
type ExpectedRead struct {
	Method Value[string] // Read, Latest or a query
	Rate   float64       // calls per second, of all callers
	Range  time.Duration // time range of a call; 0 if it is not declared
}

// Methods that every reader has.
const (
	ReadMethod   = "Read"   // reads the events of a series
	LatestMethod = "Latest" // reads the newest event of a series
)

// Values of Expect.Arrival.
const (
	Steady = "steady" // events arrive at a constant rate
	Bursts = "bursts" // the events of a minute arrive at its start
	Daily  = "daily"  // the rate follows a daily wave
)

// Arrivals lists the values of Expect.Arrival.
var Arrivals = []string{Steady, Bursts, Daily}
