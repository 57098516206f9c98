package store

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// A Part describes one part of an event of type E: its series, its time or one of its
// fields. It defines where the event and its columnar form C contain the part and, if
// there is one, the column of the table that stores it.
//
// The functions that return parts take of, which returns a pointer to the part of an
// event, and in, which returns a pointer to the slice of its columnar form.
type Part[E, C any] struct {
	untypedPart
	mapping func(l *Mapping[E]) // sets the location of the part in the mapping; may be nil
}

// untypedPart is a Part without its type parameters; e is a *E, and c a *C.
type untypedPart struct {
	own func(e event) // clones what copies of an event share; may be nil

	// For the slice.
	length   func(c any) int
	truncate func(c any, n int)
	add      func(c any, e event)
	addAll   func(c any, events list)
	extend   func(c any, e event, events eventData) // for parts without a column

	// For a number in a protobuf message; else nil.
	number  func(to *codec.ProtoNumbers) bool // adds the field
	numbers func(c any, values []uint64)      // appends the bits of numbers to the slice

	// For the column.
	column  Column // has no name if there is no column
	order   codec.Order
	bound   func(e event) error // rejects a value that cannot be stored, in an end of a range
	has     func(e event) bool
	encode  func(dst []byte, e event) []byte
	set     func(e event, datum []byte) error
	missing func(e event) error
	decode  func(c any, data eventData) error
	older   []olderColumn // where older events have the field, newest first
}

// olderColumn is a column in which older events have a field. New events lack it.
type olderColumn struct {
	column Column // without a family if it is that of the field
	moved  bool   // the column has a family
	set    func(e event, datum []byte) error
	decode func(c any, data eventData) error
}

// Older is a column that older events have in place of another one. See [Was].
type Older[T any] struct {
	column Column
	moved  bool
	coding codec.Coding[T]
}

// Was returns a column that contains a field of older events, which were written when the
// field had another name, type or encoding. coding decodes its values. Readers use it for
// events that lack the field's own column, and writers delete its cells when they rewrite
// an event.
func Was[T any](name string, coding codec.Coding[T]) Older[T] {
	return Older[T]{column: Column{Name: name}, coding: coding}
}

// In moves the column to the family with the given index. The default is that of the
// field's own column.
func (o Older[T]) In(family int) Older[T] {
	o.column.Family, o.moved = family, true
	return o
}

// In moves the column to the family with the given index. The default is the first
// family.
func (p Part[E, C]) In(family int) Part[E, C] {
	p.column.Family = family
	return p
}

// If makes the column optional: an event for which has returns false lacks it. missing makes it so.
func (p Part[E, C]) If(has func(e *E) bool, missing func(e *E)) Part[E, C] {
	p.has = func(e event) bool { return has(e.pointer.(*E)) }
	p.missing = func(e event) error { missing(e.pointer.(*E)); return nil }
	return p
}

// newPart returns a part with a slice.
func newPart[E, C, T any](of func(e *E) *T, in func(c *C) *[]T) (p Part[E, C]) {
	p.length = func(c any) int { return len(*in(c.(*C))) }
	p.truncate = func(c any, n int) {
		slice := in(c.(*C))
		*slice = (*slice)[:n]
	}
	p.add = func(c any, e event) {
		slice := in(c.(*C))
		*slice = append(*slice, *of(e.pointer.(*E)))
	}
	p.addAll = func(c any, all list) {
		slice, events := in(c.(*C)), all.(*listOf[E]).events
		n := len(*slice)
		*slice = slices.Grow(*slice, len(events))[:n+len(events)]
		added := (*slice)[n:]
		for i := range added {
			added[i] = *of(&events[i])
		}
	}
	return p
}

// extending returns a part whose slice add extends.
func extending[E, C, T any](of func(e *E) *T, in func(c *C) *[]T, add func(dst []T, e *E, events eventData) []T) Part[E, C] {
	p := newPart(of, in)
	p.extend = func(c any, e event, events eventData) {
		slice := in(c.(*C))
		*slice = add(*slice, e.pointer.(*E), events)
	}
	return p
}

// SeriesPart returns the part for the series of an event. values appends pointers to the series
// values, in their order; see [codec.KeyValues].
func SeriesPart[E, C any, S comparable](of func(e *E) *S, in func(c *C) *[]S, values func(s *S, to []any) []any) Part[E, C] {
	return seriesPart(of, in, func(a, b *E) bool { return *of(a) == *of(b) }, seriesValues[E]{
		of: func(e *E, to []any) []any { return values(of(e), to) },
	})
}

// BytesSeriesPart is [SeriesPart] for a series that contains slices.
func BytesSeriesPart[E, C, S any](of func(e *E) *S, in func(c *C) *[]S, values func(s *S, to []any) []any) Part[E, C] {
	buffers := sync.Pool{New: func() any { return new([2][]any) }}
	same := func(a, b *E) bool {
		buffer := buffers.Get().(*[2][]any)
		defer buffers.Put(buffer)
		buffer[0], buffer[1] = values(of(a), buffer[0][:0]), values(of(b), buffer[1][:0])
		return slices.EqualFunc(buffer[0], buffer[1], codec.SameSeriesValue)
	}
	p := seriesPart(of, in, same, seriesValues[E]{of: func(e *E, to []any) []any { return values(of(e), to) }})
	p.own = func(e event) {
		for _, v := range values(of(e.pointer.(*E)), nil) {
			if b, ok := v.(*[]byte); ok {
				*b = bytes.Clone(*b)
			}
		}
	}
	return p
}

// AnySeriesPart is [SeriesPart] for a series that is a list of values of any types. values appends
// pointers to copies of them or, for missing ones, to zeros of their types, set sets the series to
// what such pointers point to, same reports whether two series are equal, and own clones what an
// event shares with its copies.
func AnySeriesPart[E, C any](of func(e *E) *[]any, in func(c *C) *[][]any, values func(s []any, to []any) []any, set func(s *[]any, from []any), same func(a, b []any) bool, own func(e *E)) Part[E, C] {
	p := seriesPart(of, in, func(a, b *E) bool { return same(*of(a), *of(b)) }, seriesValues[E]{
		of:  func(e *E, to []any) []any { return values(*of(e), to) },
		set: func(e *E, from []any) { set(of(e), from) },
	})
	p.own = func(e event) { own(e.pointer.(*E)) }
	return p
}

// seriesPart returns the part for a series. same reports whether two events have the same one.
func seriesPart[E, C, S any](of func(e *E) *S, in func(c *C) *[]S, same func(a, b *E) bool, values seriesValues[E]) Part[E, C] {
	p := extending(of, in, func(dst []S, e *E, events eventData) []S { return appendSame(dst, events, *of(e)) })
	p.mapping = func(l *Mapping[E]) { l.Same, l.seriesOf, l.series = same, of, values }
	return p
}

// TimePart returns the part for the time of an event.
func TimePart[E, C any](of func(e *E) *time.Time, in func(c *C) *[]time.Time) Part[E, C] {
	p := extending(of, in, func(dst []time.Time, _ *E, events eventData) []time.Time { return appendTimes(dst, events) })
	p.mapping = func(l *Mapping[E]) { l.Time = of }
	return p
}

// SequencePart returns the part for the sequence number, which distinguishes events of the same
// time.
func SequencePart[E, C any](of func(e *E) *uint32, in func(c *C) *[]uint32) Part[E, C] {
	p := extending(of, in, func(dst []uint32, e *E, events eventData) []uint32 { return appendSequences(dst, events, *of(e)) })
	p.mapping = func(l *Mapping[E]) { l.sequence = of }
	return p
}

// ClassPart returns the part for the TTL class of an event, counting from 1.
func ClassPart[E, C any, T ~int](of func(e *E) *int, in func(c *C) *[]T) Part[E, C] {
	p := newPart(func(e *E) *T {
		class := T(*of(e))
		return &class
	}, in)
	p.extend = func(c any, _ event, events eventData) {
		slice := in(c.(*C))
		*slice = appendClasses(*slice, events)
	}
	p.mapping = ttlField(func(e *E, c *TTLFields) { c.Class = of(e) })
	return p
}

// TTLPart returns the part for the time that an event lives after its write. It is unknown when the
// event is read.
func TTLPart[E, C any](of func(e *E) *time.Duration, in func(c *C) *[]time.Duration) Part[E, C] {
	p := extending(of, in, func(dst []time.Duration, _ *E, events eventData) []time.Duration { return appendSame(dst, events, 0) })
	p.mapping = ttlField(func(e *E, c *TTLFields) { c.TTL = of(e) })
	return p
}

// ExpiresAtPart returns the part for the time at which an event expires.
func ExpiresAtPart[E, C any](of func(e *E) *time.Time, in func(c *C) *[]time.Time) Part[E, C] {
	p := extending(of, in, func(dst []time.Time, _ *E, events eventData) []time.Time { return appendExpiries(dst, events) })
	p.mapping = ttlField(func(e *E, c *TTLFields) { c.ExpiresAt = of(e) })
	return p
}

// WrittenAtPart returns the part for the write time of an event, for a table that does not store it.
func WrittenAtPart[E, C any](of func(e *E) *time.Time, in func(c *C) *[]time.Time) Part[E, C] {
	p := extending(of, in, func(dst []time.Time, _ *E, events eventData) []time.Time { return appendSame(dst, events, time.Time{}) })
	p.mapping = ttlField(func(e *E, c *TTLFields) { c.WrittenAt = of(e) })
	return p
}

// ttlField returns a function that sets, in a mapping, where events specify their time to live.
func ttlField[E any](place func(e *E, c *TTLFields)) func(l *Mapping[E]) {
	return func(l *Mapping[E]) {
		others := l.TTLFields
		l.TTLFields = func(e *E) (c TTLFields) {
			if others != nil {
				c = others(e)
			}
			place(e, &c)
			return c
		}
	}
}

// WrittenAtColumn returns the part for the write time of an event, stored in a column.
func WrittenAtColumn[E, C any](name string, coding codec.Coding[time.Time], of func(e *E) *time.Time, in func(c *C) *[]time.Time) Part[E, C] {
	p := RequiredColumn(name, coding, of, in)
	p.column.WrittenAt = true
	p.mapping = ttlField(func(e *E, c *TTLFields) { c.WrittenAt = of(e) })
	return p
}

// ownPointer returns the function that gives a copy of an event its own value of a pointer.
func ownPointer[E, T any](of func(e *E) **T) func(e event) {
	return func(e event) {
		p := of(e.pointer.(*E))
		*p = codec.Clone(*p)
	}
}

// ownBytes is like [ownPointer] for a slice.
func ownBytes[E any, T ~[]byte](of func(e *E) *T) func(e event) {
	return func(e event) {
		p := of(e.pointer.(*E))
		*p = bytes.Clone(*p)
	}
}

// RequiredColumn returns the part for a field that every event has, in the column or in
// one of the older ones, which are listed newest first.
func RequiredColumn[E, C, T any](name string, coding codec.Coding[T], of func(e *E) *T, in func(c *C) *[]T, older ...Older[T]) Part[E, C] {
	p := newPart(of, in)
	p.column.Name, p.order = name, coding.Order
	p.encode = func(dst []byte, e event) []byte { return coding.Append(dst, *of(e.pointer.(*E))) }
	p.bound = func(e event) error { return storable(*of(e.pointer.(*E))) }
	p.set, p.decode = setter(coding, of), appender(coding, in)
	p.missing = func(event) error { return codec.ErrMissing }
	for _, o := range older {
		p.older = append(p.older, olderColumn{o.column, o.moved, setter(o.coding, of), appender(o.coding, in)})
	}
	return p
}

// storable rejects a timestamp that no cell can store.
func storable(v any) error {
	var c codec.Checker
	switch v := v.(type) {
	case time.Time:
		c.Timestamp("", v)
	case *time.Time:
		c.Timestamp("", *v)
	}
	return c.Err()
}

// setter returns the function that sets a field of an event to a datum.
func setter[E, T any](coding codec.Coding[T], of func(e *E) *T) func(e event, datum []byte) error {
	return func(e event, datum []byte) (err error) {
		*of(e.pointer.(*E)), err = coding.Decode(datum)
		return err
	}
}

// appender returns the function that appends the data of a column to a slice.
func appender[C, T any](coding codec.Coding[T], in func(c *C) *[]T) func(c any, data eventData) error {
	return func(c any, data eventData) (err error) {
		slice := in(c.(*C))
		*slice, err = appendDecoded(*slice, data, &coding)
		return err
	}
}

// olderAs returns older columns with the values of their codings converted.
func olderAs[A, B any](older []Older[A], coding func(codec.Coding[A]) codec.Coding[B]) []Older[B] {
	var out []Older[B]
	for _, o := range older {
		out = append(out, Older[B]{o.column, o.moved, coding(o.coding)})
	}
	return out
}

// DefaultColumn returns the part for a field that has the value missing if a stored event lacks it.
func DefaultColumn[E, C, T any](name string, coding codec.Coding[T], missing T, of func(e *E) *T, in func(c *C) *[]T, older ...Older[T]) Part[E, C] {
	p := RequiredColumn(name, coding, of, in, older...)
	p.missing = func(e event) error {
		*of(e.pointer.(*E)) = missing
		return nil
	}
	return p
}

// OptionalColumn returns the part for a field that is nil if an event lacks it.
func OptionalColumn[E, C, T any](name string, coding codec.Coding[T], of func(e *E) **T, in func(c *C) *[]*T, older ...Older[T]) Part[E, C] {
	pointers := func(coding codec.Coding[T]) codec.Coding[*T] {
		return codec.Coding[*T]{
			Append: func(dst []byte, v *T) []byte { return coding.Append(dst, *v) },
			Decode: func(datum []byte) (*T, error) { return codec.Optional(coding.Decode(datum)) },
			Order:  coding.Order,
		}
	}
	p := RequiredColumn(name, pointers(coding), of, in, olderAs(older, pointers)...)
	p.has = func(e event) bool { return *of(e.pointer.(*E)) != nil }
	p.missing = func(e event) error { *of(e.pointer.(*E)) = nil; return nil }
	p.own = ownPointer(of)
	return p
}

// BytesColumn returns the part for a slice field that every event has.
func BytesColumn[E, C any, T ~[]byte](name string, coding codec.Coding[T], of func(e *E) *T, in func(c *C) *[]T, older ...Older[T]) Part[E, C] {
	p := RequiredColumn(name, coding, of, in, older...)
	p.own = ownBytes(of)
	return p
}

// DefaultBytesColumn returns the part for a slice field that has the value missing if a stored event
// lacks it.
func DefaultBytesColumn[E, C any, T ~[]byte](name string, coding codec.Coding[T], missing string, of func(e *E) *T, in func(c *C) *[]T, older ...Older[T]) Part[E, C] {
	p := BytesColumn(name, coding, of, in, older...)
	p.missing = func(e event) error {
		*of(e.pointer.(*E)) = T(missing)
		return nil
	}
	return p
}

// OptionalBytesColumn returns the part for a slice field that is nil if an event lacks it.
func OptionalBytesColumn[E, C any, T ~[]byte](name string, coding codec.Coding[T], of func(e *E) *T, in func(c *C) *[]T, older ...Older[T]) Part[E, C] {
	present := func(coding codec.Coding[T]) codec.Coding[T] {
		return codec.Coding[T]{
			Append: coding.Append,
			Decode: func(datum []byte) (T, error) { return codec.Present(coding.Decode(datum)) },
			Order:  coding.Order,
		}
	}
	p := BytesColumn(name, present(coding), of, in, olderAs(older, present)...)
	p.has = func(e event) bool { return *of(e.pointer.(*E)) != nil }
	p.missing = func(e event) error { *of(e.pointer.(*E)) = nil; return nil }
	return p
}

// maxParsed is the number of events that are parsed before their fields are appended to the
// slices, one slice after the other.
const maxParsed = 32

// EventColumn stores the given fields of an event in one column. serialize appends them
// to dst, and parse sets them.
func EventColumn[E, C any](name string, serialize func(dst []byte, e *E) []byte, parse func(e *E, blob []byte) error, fields ...Part[E, C]) Part[E, C] {
	all := NewColumns(fields...)
	b := wholeEvents{columns: &all.columns, numbers: numbersOf(all.parts), kind: eventsOf[E]{}, parse: func(e event, blob []byte) error { return parse(e.pointer.(*E), blob) }}
	return Part[E, C]{untypedPart: untypedPart{
		own:      all.own(),
		length:   all.length,
		truncate: all.truncate,
		add:      all.add,
		addAll:   all.appendAll,
		column:   Column{Name: name, Whole: true},
		encode:   func(dst []byte, e event) []byte { return serialize(dst, e.pointer.(*E)) },
		set:      b.parse,
		missing:  func(event) error { return codec.ErrMissing },
		decode:   b.decode,
	}}
}

// wholeEvents are the values of a column that contains all fields of an event.
type wholeEvents struct {
	columns *columns            // the fields
	numbers *codec.ProtoNumbers // see numbersOf
	kind    events
	parse   func(e event, blob []byte) error
}

// decode appends the fields of events to their slices.
func (v *wholeEvents) decode(c any, data eventData) error {
	cells := data.column.cells[data.begin:data.end]
	b := unparsed{row: data.column.row, cells: cells, turned: data.frame.turned, step: min(len(cells), maxParsed)}
	var events list
	for ; len(b.cells) > 0; b.next() {
		if b.numbers(v.numbers) {
			for i := range v.columns.parts {
				v.columns.parts[i].numbers(c, b.values[i*b.step:][:b.len()])
			}
			continue
		}
		if events == nil {
			events = v.kind.list(b.step)
		}
		events.zero(b.len())
		for i := range b.len() {
			if err := v.parse(events.at(i), b.at(i)); err != nil {
				return err
			}
		}
		v.columns.appendAll(c, events)
	}
	return nil
}

// numbersOf returns the decoder of messages with the given fields; nil if they are not all
// those of [NumberPart].
func numbersOf(fields []untypedPart) *codec.ProtoNumbers {
	numbers := new(codec.ProtoNumbers)
	for i := range fields {
		if number := fields[i].number; number == nil || !number(numbers) {
			return nil
		}
	}
	return numbers
}

// unparsed contains serialized events that were not parsed yet.
type unparsed struct {
	row    wire.Row
	cells  []wire.Cell
	turned bool     // the last event comes first
	step   int      // maximum number of events to parse together
	values []uint64 // the numbers of the next events, step for each field
}

// len returns the number of events to parse next.
func (b *unparsed) len() int { return min(len(b.cells), b.step) }

// at returns the i-th event.
func (b *unparsed) at(i int) []byte {
	if b.turned {
		i = len(b.cells) - 1 - i
	}
	return b.row.Bytes(b.cells[i].Value)
}

// next moves on.
func (b *unparsed) next() {
	if n := b.len(); b.turned {
		b.cells = b.cells[:len(b.cells)-n]
	} else {
		b.cells = b.cells[n:]
	}
}

// numbers decodes the numbers of the next events. It returns false if they must be parsed
// one by one.
func (b *unparsed) numbers(of *codec.ProtoNumbers) bool {
	if of == nil {
		return false
	}
	if b.values == nil {
		b.values = make([]uint64, of.Len()*b.step)
	}
	for i := range b.len() {
		if !of.Parse(b.at(i), b.values, i, b.step) {
			return false
		}
	}
	return true
}

// FieldPart returns the part for a field that is stored together with others; see [EventColumn].
func FieldPart[E, C, T any](of func(e *E) *T, in func(c *C) *[]T) Part[E, C] { return newPart(of, in) }

// NumberPart is like [FieldPart] for a field with the given number of a protobuf message. Events
// that lack it have zero.
func NumberPart[E, C any, T codec.ProtoNumber](number int, of func(e *E) *T, in func(c *C) *[]T) Part[E, C] {
	p := newPart(of, in)
	p.number = func(to *codec.ProtoNumbers) bool { return codec.AddProtoNumber[T](to, number) }
	p.numbers = func(c any, values []uint64) {
		slice := in(c.(*C))
		*slice = codec.AppendProtoNumbers(*slice, values)
	}
	return p
}

// OptionalPart is like [FieldPart] for a field that is nil if an event lacks it.
func OptionalPart[E, C, T any](of func(e *E) **T, in func(c *C) *[]*T) Part[E, C] {
	p := newPart(of, in)
	p.own = ownPointer(of)
	return p
}

// BytesPart is like [FieldPart] for a slice field.
func BytesPart[E, C any, T ~[]byte](of func(e *E) *T, in func(c *C) *[]T) Part[E, C] {
	p := newPart(of, in)
	p.own = ownBytes(of)
	return p
}
