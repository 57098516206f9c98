package dynamic

import (
	"bytes"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// part is a part of an event, and of a table's columns.
type part = store.Part[Event, Columns]

// columns describes the parts of an event, and the columns of a table that contain them.
func (s *Schema) columns(t *layout.Table) *store.Columns[Event, Columns] {
	parts := []part{
		store.AnySeriesPart(
			func(e *Event) *[]any { return &e.Series }, func(c *Columns) *[][]any { return &c.Series },
			func(series, to []any) []any { return value.Pointers(s.layout, series, to) },
			func(series *[]any, from []any) { *series = value.FromPointers(s.layout, from) },
			sameSeries, ownValues),
		store.TimePart(func(e *Event) *time.Time { return &e.Time }, func(c *Columns) *[]time.Time { return &c.Time }),
	}
	if s.layout.Sequence {
		parts = append(parts, store.SequencePart(func(e *Event) *uint32 { return &e.Sequence }, func(c *Columns) *[]uint32 { return &c.Sequence }))
	}
	parts = append(parts, s.choices(t)...)
	for _, c := range t.Columns {
		parts = append(parts, s.column(t, c).In(c.Family))
	}
	return store.NewColumns(parts...)
}

// choices are what an event specifies about its time to live.
func (s *Schema) choices(t *layout.Table) []part {
	var parts []part
	l := s.layout
	if len(l.Classes) > 0 {
		parts = append(parts, store.ClassPart(func(e *Event) *int { return &e.Class }, func(c *Columns) *[]int { return &c.Class }))
	}
	if l.MayExpire() {
		parts = append(parts, store.TTLPart(func(e *Event) *time.Duration { return &e.TTL }, func(c *Columns) *[]time.Duration { return &c.TTL }))
	}
	if l.MayExpire() || l.MustExpire() {
		parts = append(parts, store.ExpiresAtPart(func(e *Event) *time.Time { return &e.ExpiresAt }, func(c *Columns) *[]time.Time { return &c.ExpiresAt }))
	}
	if l.KeepsWrittenAt() && !t.KeepsWrittenAt() {
		parts = append(parts, store.WrittenAtPart(writtenAt, writtenAts))
	}
	return parts
}

func writtenAt(e *Event) *time.Time { return &e.WrittenAt }

func writtenAts(c *Columns) *[]time.Time { return &c.WrittenAt }

// column describes a column of a table.
func (s *Schema) column(t *layout.Table, c layout.Column) part {
	switch c.Field {
	case layout.WholeEvent:
		return s.eventColumn(t, c)
	case layout.WrittenAt:
		coding := codec.Binary.Timestamp
		if c.Values.Text() {
			coding = codec.Text.Timestamp
		}
		return store.WrittenAtColumn(c.Qualifier, coding, writtenAt, writtenAts)
	}
	f := &s.layout.Fields[c.Field]
	coding, of, in := value.Coding(f, c.Values), s.valueOf(c.Field), s.valuesOf(c.Field)
	var older []store.Older[any]
	for _, o := range c.Older {
		older = append(older, store.Was(o.Qualifier, value.OlderCoding(f, o.Was, o.Values)).In(o.Family))
	}
	if f.Default != nil && !f.Optional {
		return store.DefaultColumn(c.Qualifier, coding, f.Default, of, in, older...)
	}
	p := store.RequiredColumn(c.Qualifier, coding, of, in, older...)
	if f.Optional {
		p = p.If(func(e *Event) bool { return *of(e) != nil }, func(e *Event) { *of(e) = nil })
	}
	return p
}

// eventColumn describes a column with all fields of an event.
func (s *Schema) eventColumn(t *layout.Table, c layout.Column) part {
	blob := value.NewBlob(s.layout.Fields, t.Blob)
	var fields []part
	for i := range s.layout.Fields {
		fields = append(fields, store.FieldPart(s.valueOf(i), s.valuesOf(i)))
	}
	return store.EventColumn(c.Qualifier,
		func(dst []byte, e *Event) []byte { return blob.Append(dst, s.sized(e.Values)) },
		func(e *Event, datum []byte) error {
			e.Values = make([]any, len(s.layout.Fields)) // a copy of the event may share the old ones
			return blob.Parse(e.Values, datum)
		},
		fields...)
}

// valueOf returns the location of a field in an event.
func (s *Schema) valueOf(field int) func(e *Event) *any {
	return func(e *Event) *any {
		if len(e.Values) <= field {
			e.Values = append(e.Values, make([]any, len(s.layout.Fields)-len(e.Values))...)
		}
		return &e.Values[field]
	}
}

// valuesOf returns the slice of a field.
func (s *Schema) valuesOf(field int) func(c *Columns) *[]any {
	return func(c *Columns) *[]any {
		if len(c.Values) <= field {
			c.Values = append(c.Values, make([][]any, len(s.layout.Fields)-len(c.Values))...)
		}
		return &c.Values[field]
	}
}

// sameSeries reports whether two series are the same.
func sameSeries(a, b []any) bool { return slices.EqualFunc(a, b, value.Equal) }

// ownValues clones what an event shares with its copies.
func ownValues(e *Event) {
	e.Series, e.Values = clone(e.Series), clone(e.Values)
}

// clone copies values, and the bytes among them.
func clone(values []any) []any {
	out := slices.Clone(values)
	for i, v := range out {
		if b, ok := v.([]byte); ok {
			out[i] = bytes.Clone(b)
		}
	}
	return out
}

// Reset removes all events.
func (c *Columns) Reset() { *c = Columns{} }

// Events returns the events of columns that were read with all fields.
func (c *Columns) Events() []Event {
	out := make([]Event, len(c.Time))
	for i := range out {
		e := Event{Series: c.Series[i], Time: c.Time[i], Values: make([]any, len(c.Values))}
		for field, values := range c.Values {
			e.Values[field] = values[i]
		}
		set(c.Sequence, i, &e.Sequence)
		set(c.Class, i, &e.Class)
		set(c.TTL, i, &e.TTL)
		set(c.ExpiresAt, i, &e.ExpiresAt)
		set(c.WrittenAt, i, &e.WrittenAt)
		out[i] = e
	}
	return out
}

// set sets a part of an event, if events of the schema have it.
func set[T any](values []T, i int, to *T) {
	if len(values) > 0 {
		*to = values[i]
	}
}
