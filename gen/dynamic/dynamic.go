// Package dynamic writes and reads the events of a schema without generated code, for tools
// that read the schema at run time. Like generated code, it describes a resolved layout to
// package store; series and fields are values of package value. It makes no decisions about
// a table, which belong in the layout.
package dynamic

import (
	"fmt"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/protofile"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Event is an event of any schema. Values have the types that package value lists.
type Event struct {
	Series   []any // one for each of Layout.Series
	Time     time.Time
	Sequence uint32
	Values   []any // one for each of Layout.Fields; nil for fields that the event lacks, which are read as their defaults
	// Class, TTL, ExpiresAt and WrittenAt have the same meaning as in generated events; zero
	// if those of the schema lack them.
	Class     int
	TTL       time.Duration
	ExpiresAt time.Time
	WrittenAt time.Time
}

// Columns holds events column by column. The zero value is empty.
type Columns struct {
	Series    [][]any
	Time      []time.Time
	Sequence  []uint32
	Class     []int
	TTL       []time.Duration
	ExpiresAt []time.Time
	WrittenAt []time.Time
	Values    [][]any // one slice for each of Layout.Fields
}

// The indexes of the parts of an Event, and of the slices of Columns.
const (
	seriesIndex = iota
	timeIndex
	sequenceIndex
	classIndex
	ttlIndex
	expiresAtIndex
	writtenAtIndex
	valueIndex // of the first field
)

// Schema is a schema whose events can be written and read. It is immutable.
type Schema struct {
	layout  *layout.Layout
	tables  map[*layout.Table]*table
	queries map[string]*query
	windows *window.Spec
}

// table is a table as described to the store.
type table struct {
	of      *layout.Table
	columns *store.Columns
	layout  *store.Mapping
}

// query is a query as described to the store.
type query struct {
	of    *layout.Query
	table *table
	query *store.Query
}

// New returns the schema of a layout without errors.
func New(l *layout.Layout) *Schema {
	s := &Schema{layout: l, tables: map[*layout.Table]*table{}, queries: map[string]*query{}, windows: windows(l)}
	if l.State != nil {
		s.tables[l.State] = s.table(l.State)
	}
	for _, t := range l.Tables {
		if t != l.State {
			s.tables[t] = s.table(t)
		}
	}
	for i := range l.Queries {
		q := &l.Queries[i]
		of := store.Query(q.Definition(l))
		s.queries[q.Name] = &query{of: q, table: s.tables[q.Table], query: &of}
	}
	return s
}

// Layout returns the layout of the schema.
func (s *Schema) Layout() *layout.Layout { return s.layout }

// Mappings returns how events are stored in the tables of the schema, for functions of
// package store.
func (s *Schema) Mappings() []*store.Mapping {
	var out []*store.Mapping
	for _, t := range s.layout.Tables {
		out = append(out, s.tables[t].layout)
	}
	return out
}

// Tables returns what setup needs to know of the tables of all layouts by time.
func (s *Schema) Tables() []store.Table { return store.Tables(s.Mappings()) }

// tableOf returns what setup needs to know of a table.
func tableOf(l *layout.Layout, t *layout.Table) store.Table {
	out := store.Table{ID: t.ID, Splits: t.Splits, Tier: t.Tier, Draft: t.Draft, WriteOnly: t.WriteOnly, Layout: lock.Record(l, t)}
	for _, f := range t.Families {
		out.Families = append(out.Families, store.Family{Name: f.Name, GC: f.GC, Life: f.Life, Class: f.Class})
	}
	if t.KeyFields != nil {
		out.KeySchema = &store.KeySchema{Delimiter: t.Delimiter, Fields: t.KeyFields}
	}
	if t.Protected != nil {
		out.DeletionProtection = map[bool]bigtable.DeletionProtection{true: bigtable.Protected, false: bigtable.Unprotected}[*t.Protected]
	}
	switch b := t.Bundle; {
	case b.Drop:
		out.Bundle = &store.SchemaBundle{ID: b.ID, Drop: true}
	case b.ID != "":
		out.Bundle = &store.SchemaBundle{ID: b.ID, Descriptors: protofile.Of(l, names.Of(l)).Descriptors()}
	}
	return out
}

// table describes a table to the store.
func (s *Schema) table(t *layout.Table) *table {
	l := store.Mapping{Table: tableOf(s.layout, t), Pattern: t.Pattern, Key: t.Key, Precision: s.layout.Precision, Check: s.check, Rollup: t.Rollup, SequenceInColumns: t.Sequence}
	if t.Pattern.OneValue() {
		for i := range s.layout.Fields {
			l.Fields = append(l.Fields, store.Field(s.layout.FieldName(&s.layout.Fields[i])))
		}
	}
	if t.CountsCells() {
		l.MaxCells = t.MaxCells
	}
	l.Since = t.Since
	for _, older := range t.Older {
		l.Older = append(l.Older, s.table(older).layout)
	}
	if s.layout.HasState(t) {
		l.State = s.tables[s.layout.State].layout
	}
	columns := s.columns(t)
	return &table{t, columns, store.NewMapping(columns, l)}
}

// sized returns values with one for each field. Events that were read may lack the last
// ones.
func (s *Schema) sized(values []any) []any {
	if n := len(s.layout.Fields) - len(values); n > 0 {
		return append(values[:len(values):len(values)], make([]any, n)...)
	}
	return values
}

// check rejects an event that no table can store, or whose values do not have the Go types
// of the schema.
func (s *Schema) check(event any) error {
	e := event.(*Event)
	if len(e.Series) != len(s.layout.Series) || len(e.Values) > len(s.layout.Fields) {
		return fmt.Errorf("%w: an event has %d series values and %d fields, not %d and %d",
			codec.ErrValue, len(s.layout.Series), len(s.layout.Fields), len(e.Series), len(e.Values))
	}
	var c codec.Checker
	c.Time("time", e.Time)
	if err := c.Err(); err != nil {
		return err
	}
	for i := range e.Series {
		if err := s.checkValue(&s.layout.Series[i], e.Series[i]); err != nil {
			return err
		}
	}
	for i, v := range s.sized(e.Values) {
		f := &s.layout.Fields[i]
		if !f.Required() && v == nil {
			continue
		}
		if err := s.checkValue(f, v); err != nil {
			return err
		}
	}
	return nil
}

// checkBound rejects a value of another Go type. Unlike an event, a range may end with NaN, which
// the store rejects.
func (s *Schema) checkBound(f *layout.Field, v any) error {
	if v == nil {
		return codec.MissingField(f.Name)
	}
	return value.Check(f, v, layout.AllFloats)
}

// checkValue rejects a value that no table can store.
func (s *Schema) checkValue(f *layout.Field, v any) error {
	if v == nil {
		return codec.MissingField(f.Name)
	}
	return value.Check(f, v, s.layout.Floats())
}
