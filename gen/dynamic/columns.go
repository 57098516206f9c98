package dynamic

import (
	"bytes"
	"slices"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// columns describes the parts of an event, and the columns of a table that contain them.
func (s *Schema) columns(t *layout.Table) *store.Columns {
	parts := []store.Part{
		store.AnySeriesPart(seriesIndex,
			func(series, to []any) []any { return value.Pointers(s.layout, series, to) },
			func(series *[]any, from []any) { *series = value.FromPointers(s.layout, from) },
			sameSeries),
		store.TimePart(timeIndex),
	}
	if s.layout.Sequence {
		parts = append(parts, store.SequencePart(sequenceIndex))
	}
	parts = append(parts, s.choices(t)...)
	for _, c := range t.Columns {
		parts = append(parts, s.column(t, c).In(c.Family))
	}
	return store.NewColumnsOf[Event, Columns](s.part, s.slices, ownValues, parts...)
}

// choices are what an event specifies about its time to live.
func (s *Schema) choices(t *layout.Table) []store.Part {
	var parts []store.Part
	l := s.layout
	if len(l.Classes) > 0 {
		parts = append(parts, store.ClassPart[int](classIndex))
	}
	if l.MayExpire() {
		parts = append(parts, store.TTLPart(ttlIndex))
	}
	if l.MayExpire() || l.MustExpire() {
		parts = append(parts, store.ExpiresAtPart(expiresAtIndex))
	}
	if l.KeepsWrittenAt() && !t.KeepsWrittenAt() {
		parts = append(parts, store.WrittenAtPart(writtenAtIndex))
	}
	return parts
}

// column describes a column of a table.
func (s *Schema) column(t *layout.Table, c layout.Column) store.Part {
	switch c.Field {
	case layout.WholeEvent:
		return s.eventColumn(t, c)
	case layout.WrittenAt:
		coding := codec.Binary.Timestamp
		if c.Values.Text() {
			coding = codec.Text.Timestamp
		}
		return store.WrittenAtColumn(writtenAtIndex, c.Qualifier, coding)
	}
	f, index := &s.layout.Fields[c.Field], valueIndex+c.Field
	coding := value.Coding(f, c.Values)
	var older []store.Older[any]
	for _, o := range c.Older {
		older = append(older, store.Was(o.Qualifier, value.OlderCoding(f, o.Was, o.Values)).In(o.Family))
	}
	p := store.RequiredColumn(index, c.Qualifier, coding, older...)
	if !f.Required() {
		p = p.If(func(v any) bool { return *v.(*any) != nil }, func(v any) { *v.(*any) = f.Default })
	}
	return p
}

// eventColumn describes a column with all fields of an event.
func (s *Schema) eventColumn(t *layout.Table, c layout.Column) store.Part {
	blob := value.NewBlob(s.layout.Fields, t.Blob)
	var fields []store.Part
	for i := range s.layout.Fields {
		fields = append(fields, store.FieldPart[any](valueIndex+i))
	}
	return store.EventColumn(c.Qualifier,
		func(dst []byte, e *Event) []byte { return blob.Append(dst, s.sized(e.Values)) },
		func(e *Event, datum []byte) error {
			e.Values = make([]any, len(s.layout.Fields)) // a copy of the event may share the old ones
			return blob.Parse(e.Values, datum)
		},
		fields...)
}

// part returns a pointer to the part of an event with an index.
func (s *Schema) part(e any, index int) any {
	of := e.(*Event)
	switch index {
	case seriesIndex:
		return &of.Series
	case timeIndex:
		return &of.Time
	case sequenceIndex:
		return &of.Sequence
	case classIndex:
		return &of.Class
	case ttlIndex:
		return &of.TTL
	case expiresAtIndex:
		return &of.ExpiresAt
	case writtenAtIndex:
		return &of.WrittenAt
	}
	of.Values = s.sized(of.Values)
	return &of.Values[index-valueIndex]
}

// slices returns pointers to the slices of columns.
func (s *Schema) slices(c any) []any {
	of := c.(*Columns)
	if n := len(s.layout.Fields); len(of.Values) < n {
		of.Values = append(of.Values, make([][]any, n-len(of.Values))...)
	}
	out := []any{&of.Series, &of.Time, &of.Sequence, &of.Class, &of.TTL, &of.ExpiresAt, &of.WrittenAt}
	for i := range of.Values {
		out = append(out, &of.Values[i])
	}
	return out
}

// sameSeries reports whether two series are the same.
func sameSeries(a, b []any) bool { return slices.EqualFunc(a, b, value.Equal) }

// ownValues clones what an event shares with its copies.
func ownValues(e any) {
	of := e.(*Event)
	of.Series, of.Values = clone(of.Series), clone(of.Values)
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
