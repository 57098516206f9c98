// Package layout decides what a schema means on Bigtable: key segments and
// their encodings, bucket arithmetic, families, columns, what a cell's
// timestamp stands for, the garbage collection rule and what it leaves alive.
// A Layout is plain data, fully resolved. Rules, emitted code, explanations and
// set-up read it, and work nothing out for themselves. It knows nothing of YAML
// or of Go source; positions are carried along for messages alone.
package layout

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Layout is one schema on Bigtable.
type Layout struct {
	File      string
	Source    string // the file as generated code records it; its base name if empty
	Project   string // the btgen.yaml that names it, likewise; empty without one
	Package   string // Go package of the generated code
	Name      string // prefix of the generated names
	NamePos   diag.Pos
	Doc       string
	Series    []Field       // what tells one series from another
	Fields    []Field       // what an event carries
	Precision time.Duration // what event times are truncated to
	Expect    Expect        // the load that is declared
	Sequence  bool          // events carry a tie-breaker
	Classes   []string      // TTL classes that an event chooses from; nil if there are none
	Tables    []*Table      // every event goes to each of them
	Read      *Table        // the table that a single series is read from
	Queries   []Query       // what else is read, in the order of the schema
}

// Field is a series value or a field of the event.
type Field struct {
	Pos      diag.Pos
	Name     string
	Type     schema.Type
	Doc      string
	Unit     string
	Optional bool
	Default  any        // as in schema.Field; nil if there is none
	Enum     codec.Enum // the values of an enum
	EnumPos  []diag.Pos // of each value of an enum
	Number   int        // protobuf field number; 0 if there is none
	Example  any        // for drawings and example events, as Default; nil if there is none
	// Cardinality is about how many values a series value has; 0 if that is not known.
	Cardinality int64
}

// Table is one table of a layout.
type Table struct {
	Pos        diag.Pos
	ID         string
	Doc        string
	Pattern    codec.Pattern
	PatternPos diag.Pos
	Delimiter  string // between the segments of the row key
	Segments   []Segment
	Unknown    bool // whether the key has a segment besides that was not understood
	KeyPos     diag.Pos
	Bucket     codec.Bucket     // patterns with buckets
	BucketPos  diag.Pos         // of the bucket's label, or of the bucket
	WidthPos   diag.Pos         // of the bucket's width
	TimeKey    codec.TimeFormat // patterns with a row per event
	Sequence   bool             // bucket_offsets: the tie-breaker follows the time in the qualifier
	Families   []Family         // one for each of Layout.Classes, in their order, if events have classes
	Columns    []Column         // in the order of the fields, or of a serialized event; then those for the write time
	Blob       Format           // of a serialized event
	// Slots is how many events of a series a bucket can hold: one for every
	// instant at the schema's precision.
	Slots int64
	// MaxCells is the most cells that a column of a row can hold.
	MaxCells int64
	Splits   []string // row keys at which a new table is split, sorted
	// KeyFields is how GoogleSQL reads the segments of the key, one for each; nil
	// unless the schema wants it to.
	KeyFields []codec.KeyField
	// Protected says whether the table is protected from deletion; nil where the schema
	// leaves that to others.
	Protected *bool
	Allow     []Allowance
}

// Serialized reports whether an event is one value with all its fields.
func (t *Table) Serialized() bool { return t.Blob != "" }

// Offset is how the times of events stand in the qualifiers of bucket_offsets.
func (t *Table) Offset(l *Layout) codec.Offset {
	return codec.Offset{Bucket: t.Bucket, Precision: l.Precision, Sequence: t.Sequence}
}

// Finest returns the finest precision of times that the table can tell apart.
func (t *Table) Finest() time.Duration {
	switch {
	case t.Pattern == codec.BucketOffsets:
		return time.Microsecond
	case t.Pattern.Bucketed():
		return time.Millisecond
	}
	return t.TimeKey.Resolution()
}

// Metrics reports whether each field has a row of its own.
func (t *Table) Metrics() bool { return t.Pattern == codec.BucketNewColumns }

// RowsPerEvent returns how many rows an event with all fields is written to.
func (t *Table) RowsPerEvent() int {
	if t.Metrics() {
		return len(t.Columns)
	}
	return 1
}

// SegmentKind says what stands in a segment of the row key.
type SegmentKind int

// The kinds of key segments.
const (
	SeriesSegment   SegmentKind = iota // a series value
	MetricSegment                      // the column name of a field
	ConstSegment                       // fixed text
	BucketSegment                      // the label of the bucket
	TimeSegment                        // the time of the event
	SaltSegment                        // a hash of series values
	SequenceSegment                    // the tie-breaker of the event
)

// Segment is one part of the row key.
type Segment struct {
	Pos    diag.Pos
	Text   string // as the schema has it
	Kind   SegmentKind
	Series int           // SeriesSegment: index into Layout.Series
	Form   codec.KeyForm // SeriesSegment: how the value is written
	Const  string        // ConstSegment
	Salted []int         // SaltSegment: the series values that it is made from
	// Buckets is how many salts there are.
	Buckets int
}

// Family is a column family.
type Family struct {
	Pos   diag.Pos
	Name  string
	GC    codec.GCRule
	GCPos diag.Pos
	// HasGC is false where the schema says nothing of a time to live.
	HasGC     bool
	Strategy  Strategy
	Life      codec.Lifetime       // what the timestamps of cells are, and which are alive
	Class     int                  // the TTL class of its events, counted from 1; 0 if they have none
	WrittenAt schema.Value[string] // the column for the true write time, if there is one
}

// What is in a column that has no field.
const (
	WholeEvent = -1 // a serialized event
	WrittenAt  = -2 // the true write time
)

// Column is one column of a table, or one metric where data are qualifiers.
type Column struct {
	Pos       diag.Pos
	Qualifier string
	Field     int  // index into Layout.Fields, or WholeEvent or WrittenAt
	Family    int  // index into Table.Families; where events have classes, each family has every column
	Text      bool // the datum is text, not binary
}

// Format is how a serialized event is written.
type Format string

// The formats.
const (
	Protobuf Format = "protobuf"
	JSONText Format = "json"
)

// Allowance excuses a rule, with a reason.
type Allowance struct {
	Pos    diag.Pos
	Rule   string
	Reason string
}

// Allows reports whether the schema excuses the rule for t.
func (t *Table) Allows(rule string) bool { return allows(t.Allow, rule) }

// allows reports whether a rule is among those that are excused.
func allows(allowed []Allowance, rule string) bool {
	return slices.ContainsFunc(allowed, func(a Allowance) bool { return a.Rule == rule })
}

// HasVariable reports whether events have fields whose length varies, so that it
// must be known to tell their size.
func (l *Layout) HasVariable() bool {
	return slices.ContainsFunc(l.Fields, func(f Field) bool {
		return f.Type == schema.String || f.Type == schema.Bytes || f.Type == schema.JSON
	})
}

// Explicit reports whether protobuf writes the field even if it is zero: what
// lacks it is then known to be absent, and a UUID always has its 16 bytes.
func (f *Field) Explicit() bool {
	return f.Optional || f.Default != nil || f.Type == schema.Timestamp || f.Type == schema.Enum || f.Type == schema.UUID
}
