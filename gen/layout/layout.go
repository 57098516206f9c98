// Package layout decides how a schema is stored in Bigtable: key segments and their
// encodings, buckets, families, columns, the meaning of cell timestamps, garbage
// collection rules and the cells that they keep.
//
// A [Layout] is plain data and fully resolved. Lint rules, code generation,
// explanations and setup read it and decide nothing themselves. The package knows
// neither YAML nor Go source; it carries positions only for messages.
package layout

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Layout describes how one schema is stored in Bigtable.
type Layout struct {
	File      string
	Source    string // the file that generated code names; its base name if empty
	Project   string // the btgen.yaml that lists it; empty if none does
	Beam      bool   // code for Apache Beam pipelines is generated, too
	Package   string // Go package of the generated code
	Name      string // prefix of the generated names
	NamePos   diag.Pos
	Doc       string
	Series    []Field       // the values that identify a series
	Fields    []Field       // the values of an event
	Precision time.Duration // event times are truncated to it
	Expect    schema.Expect // the declared load
	Sequence  bool          // events have a sequence number
	Classes   []string      // TTL classes of events; nil if there are none
	Tables    []*Table      // every event is written to all of them
	Read      *Table        // reads of a single series use it
	State     *Table        // has the newest event of each series; nil if there is none
	Queries   []Query       // other reads, in the order of the schema
}

// Field is a series value or a field of the event.
type Field struct {
	Pos  diag.Pos
	Name string
	Type schema.Type
	schema.Options
	Enum    codec.Enum // the values of an enum
	EnumPos []diag.Pos // of each value of an enum
	Number  int        // protobuf field number; 0 if there is none
	Was     []Was      // where older events have the field, newest first
}

// Table is one table of a layout.
type Table struct {
	Pos        diag.Pos
	ID         string
	Doc        string
	Pattern    codec.Pattern
	PatternPos diag.Pos
	codec.Key       // of its rows
	Unknown    bool // the key has another segment that is invalid
	KeyPos     diag.Pos
	BucketPos  diag.Pos      // position of the bucket's label, or of the bucket
	WidthPos   diag.Pos      // position of the bucket's width
	Sequence   bool          // the sequence follows the time in the qualifier, if that is where times are
	Families   []Family      // one per element of Layout.Classes, in order, if events have classes
	Columns    []Column      // in the order of the fields, or of a serialized event; then those of the write time
	Blob       Format        // of a serialized event
	Rollup     *codec.Rollup // nil if there is none
	RollupPos  diag.Pos
	// RollupFamily is the family of the rollup, which Families does not have; nil without a rollup.
	RollupFamily *Family
	// Slots is the maximum number of events of a series in a bucket: one per instant at
	// the schema's precision.
	Slots int64
	// MaxCells is the maximum number of cells in a column of a row.
	MaxCells int64
	Splits   []string // split keys of a new table, sorted
	// KeyFields are the fields of the row key schema, one per segment; nil unless the
	// schema requests one.
	KeyFields []codec.KeyField
	// Protected says whether the table is protected from deletion; nil if the schema
	// does not specify it.
	Protected *bool
	Tier      codec.Tier // 0 if the schema does not specify it
	TierPos   diag.Pos
	Bundle    schema.Bundle // without an ID if the schema does not specify it; only in the newest
	// Views are the continuous materialized views; only in the newest.
	Views []MaterializedView
	// Draft reports that nothing is stored yet, so the layout may change freely.
	Draft bool
	// WriteOnly reports whether the table is only written: reads and queries do not use it yet.
	WriteOnly    bool
	WriteOnlyPos diag.Pos
	Allow        []schema.Allow
	// Since and Until bound the times of events with this layout; Until is exclusive.
	// Since is zero in the oldest layout, Until in the newest. Both are bucket boundaries.
	Since, Until time.Time
	SincePos     diag.Pos
	Older        []*Table // the earlier layouts, newest first; only in the newest

	sources map[string]Source // of the segments, by idOf
}

// Periods returns the layouts of the table, newest first.
func (t *Table) Periods() []*Table { return append([]*Table{t}, t.Older...) }

// Rolled reports whether the table, or an earlier layout of it, has a rollup.
func (t *Table) Rolled() bool {
	return slices.ContainsFunc(t.Periods(), func(p *Table) bool { return p.Rollup != nil })
}

// AllPeriods returns the layouts of all tables, those of a table newest first.
func (l *Layout) AllPeriods() []*Table {
	var out []*Table
	for _, t := range l.Tables {
		out = append(out, t.Periods()...)
	}
	return out
}

// Serialized reports whether an event is one value with all its fields.
func (t *Table) Serialized() bool { return t.Blob != "" }

// Offset returns the encoding of event times in qualifiers, for patterns that name columns after times.
func (t *Table) Offset(l *Layout) codec.Offset {
	return codec.Offset{Bucket: t.Bucket, Precision: l.Precision, Sequence: t.Sequence}
}

// Finest returns the finest precision at which the table can distinguish event times.
func (t *Table) Finest() time.Duration {
	switch {
	case t.Pattern.EventTimed():
		return time.Millisecond
	case t.Pattern.Bucketed():
		return time.Microsecond
	}
	return t.Time.Resolution()
}

// Metrics reports whether each field has its own row.
func (t *Table) Metrics() bool { return t.Pattern.RowPerField() }

// RowsPerEvent returns the number of rows of an event with all fields.
func (t *Table) RowsPerEvent() int {
	if t.Metrics() {
		return len(t.Columns)
	}
	return 1
}

// Family is a column family.
type Family struct {
	Pos   diag.Pos
	Name  string
	GC    codec.GCRule
	GCPos diag.Pos
	// HasGC is false if the schema does not specify a time to live.
	HasGC     bool
	Strategy  schema.Strategy      // or MaxAgeFromWrite
	Life      codec.Lifetime       // meaning of cell timestamps, and which cells are live
	Class     int                  // TTL class of its events, counting from 1; 0 if they have none
	WrittenAt schema.Value[string] // column of the write time, if there is one
	Sums      bool                 // cells are sums of integers, not parts of events
}

// Values of Column.Field for columns without a field.
const (
	WholeEvent = -1 // a serialized event
	WrittenAt  = -2 // the write time
)

// Column is one column of a table, or one metric if data are qualifiers.
type Column struct {
	Pos       diag.Pos
	Qualifier string
	Field     int          // index into Layout.Fields, or WholeEvent or WrittenAt
	Family    int          // index into Table.Families; if events have classes, each family has every column
	Values    codec.Values // how the datum is encoded
	// Older are the columns in which older events have the field, newest first.
	Older []Column
	// Was is the field as older events have it; nil for a column that new events have.
	Was *Field
}

// Format is the format of a serialized event.
type Format string

const (
	Protobuf Format = "protobuf"
	JSONText Format = "json"
)

// Allows reports whether the schema allows t to break the rule.
func (t *Table) Allows(rule string) bool {
	return slices.ContainsFunc(t.Allow, func(a schema.Allow) bool { return a.Rule.V == rule })
}

// Stores reports whether a table has events that are serialized in a format.
func (l *Layout) Stores(format Format) bool {
	return slices.ContainsFunc(l.AllPeriods(), func(t *Table) bool { return t.Blob == format })
}

// HasMetrics reports whether a table has data as column qualifiers.
func (l *Layout) HasMetrics() bool { return slices.ContainsFunc(l.AllPeriods(), (*Table).Metrics) }

// find returns the first of some values that satisfies is; nil if there is none.
func find[T any](all []T, is func(v *T) bool) *T {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// fieldNamed returns the index of the field with a name; -1 if there is none.
func fieldNamed(fields []Field, name string) int {
	return slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
}

// indexes returns the indexes of fields.
func indexes(fields []Field) []int {
	out := make([]int, len(fields))
	for i := range out {
		out[i] = i
	}
	return out
}

// NamesOf returns the names of some series values or fields.
func NamesOf(fields []Field, at []int) []string {
	var out []string
	for _, i := range at {
		out = append(out, fields[i].Name)
	}
	return out
}

// Enums returns the series values and the fields that are enums.
func (l *Layout) Enums() []*Field {
	var out []*Field
	for _, fields := range [][]Field{l.Series, l.Fields} {
		for i := range fields {
			if fields[i].Type == schema.Enum {
				out = append(out, &fields[i])
			}
		}
	}
	return out
}

// HasUndeclared reports whether events have fields of variable length without a declared size.
func (l *Layout) HasUndeclared() bool {
	return slices.ContainsFunc(l.Fields, func(f Field) bool {
		return l.Expect.Widths[f.Name] == 0 && f.Type.Traits().Variable
	})
}

// Explicit reports whether protobuf writes the field even if it is zero, so that an
// absent value is distinct.
func (f *Field) Explicit() bool {
	return f.Optional || f.Default != nil || f.Type.Traits().ProtoZero
}
