// Package schema reads the schema language: what a YAML file says, every value
// with its line and column. It knows YAML and the words of the language. It
// knows nothing of what they mean on Bigtable: that is package layout.
package schema

import (
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
)

// Value is something that the file says, with the place where it says it. The
// zero Value is something that the file does not say.
type Value[T any] struct {
	V   T
	Pos diag.Pos
}

// IsSet reports whether the file has the value.
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

// Time is how finely events are timed.
type Time struct {
	Precision Value[time.Duration] // 1ms where the file does not say
}

// Type is the type of a series value or a field.
type Type int

// The types of the language. Invalid is a type that could not be read.
const (
	Invalid Type = iota
	String
	Bytes
	Bool
	Int32
	Int64
	Uint32
	Uint64
	Float32
	Float64
	Timestamp
	Duration
	UUID
	Enum
	JSON
)

// Field is a series value or a field of the event.
type Field struct {
	Name     Value[string]
	Type     Value[Type]
	Doc      string
	Unit     string
	Optional Value[bool]
	Default  Value[any]    // of Go type string, []byte, bool, int64, uint64, float64, time.Time, time.Duration; see Type
	Example  Value[any]    // for drawings and example events; typed as Default
	Column   Value[string] // column qualifier, where it is not the name
	Family   Value[string]
	Values   Value[string] // "binary" or "text"
	Number   Value[int]    // protobuf field number
	Of       []EnumValue   // the values of an Enum, in the order of the file
	// Cardinality is about how many values a series value has.
	Cardinality Value[int64]
}

// EnumValue is one value of an enum.
type EnumValue struct {
	Name   Value[string]
	Number Value[int] // from 1; counted up where the file does not say
}

// Table is one table that the events are written to.
type Table struct {
	Name      Value[string] // the table id
	Doc       string
	Pattern   Value[string]
	Delimiter Value[string]
	Key       diag.Pos // of the key block
	Segments  []Segment
	Bucket    Bucket
	Family    Value[string]
	Families  []Family
	Values    Value[string] // "binary" or "text"
	Blob      Blob
	TTL       *TTL // nil where the file has none
	Splits    []Value[string]
	// RowKeySchema says whether GoogleSQL can read the segments of the key.
	RowKeySchema Value[bool]
	// DeletionProtection says whether the table may not be deleted; nothing where it is
	// not set.
	DeletionProtection Value[bool]
	Allow              []Allow
}

// Bucket is how wide a row is in time, and how it is named in the key.
type Bucket struct {
	Pos    diag.Pos // of the bucket block
	Every  Value[Span]
	Origin Value[time.Time] // UTC
	Label  Value[string]
}

// Span is the width of a bucket: a fixed duration, or calendar months (12 for
// a year). Just one of the two is not zero.
type Span struct {
	Fixed  time.Duration
	Months int
}

// SegmentKind says what stands in a segment of the row key.
type SegmentKind int

// The kinds of key segments.
const (
	SegmentName     SegmentKind = iota // a series value, or "metric": see Segment.Name
	SegmentBucket                      // the bucket
	SegmentTime                        // the event's time
	SegmentConst                       // fixed text
	SegmentHash                        // a salt from series values
	SegmentSequence                    // a tie-breaker
)

// Segment is one part of the row key.
type Segment struct {
	Pos      diag.Pos
	Kind     SegmentKind
	Name     Value[string] // SegmentName
	Encoding Value[string] // SegmentName
	Pad      Value[int]    // SegmentName
	Escape   Value[bool]   // SegmentName
	Reverse  Value[bool]   // SegmentName, SegmentBucket, SegmentTime
	Format   Value[string] // SegmentBucket, SegmentTime: as written after "bucket:" or "time:"
	Const    Value[string] // SegmentConst
	Hash     []Value[string]
	Buckets  Value[int] // SegmentHash
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

// TTLKind is a strategy for the time to live.
type TTLKind int

// The strategies of the language.
const (
	MaxAge TTLKind = iota
	MaxVersions
	AnyOf
	AllOf
	OneSecond
	DefaultExpiration
	Classes
	KeepForever
)

// TTL is when stored data expires.
type TTL struct {
	Pos       diag.Pos
	Kind      TTLKind
	Age       Value[time.Duration] // MaxAge, DefaultExpiration
	From      Value[string]        // MaxAge: "event" or "write"
	Versions  Value[int]           // MaxVersions
	Rules     []TTL                // AnyOf, AllOf
	WrittenAt Value[string]        // OneSecond, DefaultExpiration: a column
	Classes   []Class              // Classes
}

// Class is one TTL class.
type Class struct {
	Name Value[string]
	Age  Value[time.Duration]
}

// Allow excuses one rule for one table or query, with a reason.
type Allow struct {
	Rule   Value[string]
	Reason Value[string]
}

// Query is one way the events are read.
type Query struct {
	Name  Value[string]
	By    []Value[string] // none for all series
	Table Value[string]   // the table that answers it, where the file says so
	Scan  Value[string]   // the reason, where a full scan is allowed
	Doc   string
	Allow []Allow
}

// Expect is the load that the tables are meant for.
type Expect struct {
	Pos        diag.Pos       // of the block
	Series     Value[int64]   // number of series
	Rate       Value[float64] // events a second and series
	ValueBytes Value[int64]   // average length of a string, of bytes or of JSON
	Clusters   Value[int64]   // number of clusters of the instance
	// Lateness is how long after its time an event may come.
	Lateness Value[time.Duration]
}
