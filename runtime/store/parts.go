package store

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// A Part describes one part of an event: its series, its time or one of its fields, and, if there is one, the column of
// a table that stores it. Its index says where an event and its columnar form have it; see [NewColumns].
//
// Parts have type parameters for the types of values alone, so that the compiler compiles them once for all types of
// events. They get a pointer v to the value in an event, a *T, and all slices c of the columnar form, of which that with
// the index is a *[]T.
type Part struct {
	index int
	role  role
	own   func(v any) // clones what copies of an event share; may be nil

	// For the slice.
	length   func(c []any) int
	truncate func(c []any, n int)
	add      func(c []any, v any)
	addAll   func(c []any, events list, at accessor)
	extend   func(c []any, v any, events eventData) // for parts without a column

	// For a number in a protobuf message; else nil.
	number  func(to *codec.ProtoNumbers) bool // adds the field
	numbers func(c []any, values []uint64)    // appends the bits of numbers to the slice

	// For the column.
	column  Column // has no name if there is no column
	order   codec.Order
	bound   func(v any) error // rejects a value that cannot be stored, in an end of a range
	has     func(v any) bool
	encode  func(dst []byte, v any) []byte
	set     func(v any, datum []byte) error
	missing func(v any) error
	decode  func(c []any, data eventData) error
	older   []olderColumn // where older events have the field, newest first

	// For the series.
	values func(v any, to []any) []any // appends pointers to its values
	assign func(v any, from []any)     // sets them to what such pointers point to; nil if values points to them
	same   func(a, b any) bool

	fields *Columns // of a column with all fields
}

// role is what a part is in an event, beyond a field.
type role uint8

const (
	fieldRole role = iota
	seriesRole
	timeRole
	sequenceRole
	classRole
	ttlRole
	expiresAtRole
	writtenAtRole
	roles
)

// accessor returns a pointer to the part of an event with an index. The event is a pointer.
type accessor = func(e any, index int) any

// wholeEvent is the index of a part that is the event itself.
const wholeEvent = -1

// olderColumn is a column in which older events have a field. New events lack it.
type olderColumn struct {
	column Column // without a family if it is that of the field
	moved  bool   // the column has a family
	set    func(v any, datum []byte) error
	decode func(c []any, data eventData) error
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
func (p Part) In(family int) Part {
	p.column.Family = family
	return p
}

// If makes the column optional: an event for which has returns false lacks it. missing makes it so. Both get a pointer to
// the value.
func (p Part) If(has func(v any) bool, missing func(v any)) Part {
	p.has = has
	p.missing = func(v any) error { missing(v); return nil }
	return p
}

// newPart returns a part with a slice.
func newPart[T any](index int) Part {
	in := func(c []any) *[]T { return c[index].(*[]T) }
	return Part{
		index:  index,
		length: func(c []any) int { return len(*in(c)) },
		truncate: func(c []any, n int) {
			slice := in(c)
			*slice = (*slice)[:n]
		},
		add: func(c []any, v any) {
			slice := in(c)
			*slice = append(*slice, *v.(*T))
		},
		addAll: func(c []any, events list, at accessor) {
			slice := in(c)
			n := len(*slice)
			*slice = slices.Grow(*slice, events.len())[:n+events.len()]
			added := (*slice)[n:]
			for i := range added {
				added[i] = *at(events.at(i).pointer, index).(*T)
			}
		},
	}
}

// extending returns a part whose slice add extends.
func extending[T any](index int, role role, add func(dst []T, v *T, events eventData) []T) Part {
	p := newPart[T](index)
	p.role = role
	p.extend = func(c []any, v any, events eventData) {
		slice := c[index].(*[]T)
		*slice = add(*slice, v.(*T), events)
	}
	return p
}

// SeriesPart returns the part for the series of an event. values appends pointers to the series
// values, in their order; see [codec.KeyValues].
func SeriesPart[S comparable](index int, values func(s *S, to []any) []any) Part {
	return seriesPart(index, values, func(a, b any) bool { return *a.(*S) == *b.(*S) })
}

// BytesSeriesPart is [SeriesPart] for a series that contains slices.
func BytesSeriesPart[S any](index int, values func(s *S, to []any) []any) Part {
	buffers := sync.Pool{New: func() any { return new([2][]any) }}
	p := seriesPart(index, values, func(a, b any) bool {
		buffer := buffers.Get().(*[2][]any)
		defer buffers.Put(buffer)
		buffer[0], buffer[1] = values(a.(*S), buffer[0][:0]), values(b.(*S), buffer[1][:0])
		return slices.EqualFunc(buffer[0], buffer[1], codec.SameSeriesValue)
	})
	p.own = func(v any) {
		for _, v := range values(v.(*S), nil) {
			if b, ok := v.(*[]byte); ok {
				*b = bytes.Clone(*b)
			}
		}
	}
	return p
}

// AnySeriesPart is [SeriesPart] for a series that is a list of values of any types. values appends
// pointers to copies of them or, for missing ones, to zeros of their types, set sets the series to
// what such pointers point to, and same reports whether two series are equal.
func AnySeriesPart(index int, values func(s []any, to []any) []any, set func(s *[]any, from []any), same func(a, b []any) bool) Part {
	p := seriesPart(index, func(s *[]any, to []any) []any { return values(*s, to) }, func(a, b any) bool { return same(*a.(*[]any), *b.(*[]any)) })
	p.assign = func(v any, from []any) { set(v.(*[]any), from) }
	return p
}

// seriesPart returns the part for a series. same reports whether two series are the same.
func seriesPart[S any](index int, values func(s *S, to []any) []any, same func(a, b any) bool) Part {
	p := extending(index, seriesRole, func(dst []S, s *S, events eventData) []S { return appendSame(dst, events, *s) })
	p.values = func(v any, to []any) []any { return values(v.(*S), to) }
	p.same = same
	return p
}

// TimePart returns the part for the time of an event.
func TimePart(index int) Part {
	return extending(index, timeRole, func(dst []time.Time, _ *time.Time, events eventData) []time.Time { return appendTimes(dst, events) })
}

// SequencePart returns the part for the sequence number, which distinguishes events of the same
// time.
func SequencePart(index int) Part {
	return extending(index, sequenceRole, func(dst []uint32, n *uint32, events eventData) []uint32 { return appendSequences(dst, events, *n) })
}

// ClassPart returns the part for the TTL class of an event, counting from 1: an *int in an event, and a *[]T in its
// columnar form.
func ClassPart[T ~int](index int) Part {
	p := newPart[T](index)
	p.role = classRole
	p.add = func(c []any, v any) {
		slice := c[index].(*[]T)
		*slice = append(*slice, T(*v.(*int)))
	}
	p.addAll = func(c []any, events list, at accessor) {
		for i := range events.len() {
			p.add(c, at(events.at(i).pointer, index))
		}
	}
	p.extend = func(c []any, _ any, events eventData) {
		slice := c[index].(*[]T)
		*slice = appendClasses(*slice, events)
	}
	return p
}

// TTLPart returns the part for the time that an event lives after its write. It is unknown when the
// event is read.
func TTLPart(index int) Part {
	return extending(index, ttlRole, func(dst []time.Duration, _ *time.Duration, events eventData) []time.Duration {
		return appendSame(dst, events, 0)
	})
}

// ExpiresAtPart returns the part for the time at which an event expires.
func ExpiresAtPart(index int) Part {
	return extending(index, expiresAtRole, func(dst []time.Time, _ *time.Time, events eventData) []time.Time { return appendExpiries(dst, events) })
}

// WrittenAtPart returns the part for the write time of an event, for a table that does not store it.
func WrittenAtPart(index int) Part {
	return extending(index, writtenAtRole, func(dst []time.Time, _ *time.Time, events eventData) []time.Time {
		return appendSame(dst, events, time.Time{})
	})
}

// WrittenAtColumn returns the part for the write time of an event, stored in a column.
func WrittenAtColumn(index int, name string, coding codec.Coding[time.Time]) Part {
	p := RequiredColumn(index, name, coding)
	p.column.WrittenAt = true
	p.role = writtenAtRole
	return p
}

// ownPointer gives a copy of an event its own value of a pointer.
func ownPointer[T any](v any) {
	p := v.(**T)
	*p = codec.Clone(*p)
}

// ownBytes is like [ownPointer] for a slice.
func ownBytes[T ~[]byte](v any) {
	p := v.(*T)
	*p = bytes.Clone(*p)
}

// RequiredColumn returns the part for a field that every event has, in the column or in
// one of the older ones, which are listed newest first.
func RequiredColumn[T any](index int, name string, coding codec.Coding[T], older ...Older[T]) Part {
	p := newPart[T](index)
	p.column.Name, p.order = name, coding.Order
	p.encode = func(dst []byte, v any) []byte { return coding.Append(dst, *v.(*T)) }
	p.bound = func(v any) error { return storable(*v.(*T)) }
	p.set, p.decode = setter(coding), appender(index, coding)
	p.missing = func(any) error { return codec.ErrMissing }
	for _, o := range older {
		p.older = append(p.older, olderColumn{o.column, o.moved, setter(o.coding), appender(index, o.coding)})
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
func setter[T any](coding codec.Coding[T]) func(v any, datum []byte) error {
	return func(v any, datum []byte) (err error) {
		*v.(*T), err = coding.Decode(datum)
		return err
	}
}

// appender returns the function that appends the data of a column to a slice.
func appender[T any](index int, coding codec.Coding[T]) func(c []any, data eventData) error {
	return func(c []any, data eventData) (err error) {
		slice := c[index].(*[]T)
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
func DefaultColumn[T any](index int, name string, coding codec.Coding[T], missing T, older ...Older[T]) Part {
	p := RequiredColumn(index, name, coding, older...)
	p.missing = func(v any) error {
		*v.(*T) = missing
		return nil
	}
	return p
}

// OptionalColumn returns the part for a field that is nil if an event lacks it: a *T.
func OptionalColumn[T any](index int, name string, coding codec.Coding[T], older ...Older[T]) Part {
	pointers := func(coding codec.Coding[T]) codec.Coding[*T] {
		return codec.Coding[*T]{
			Append: func(dst []byte, v *T) []byte { return coding.Append(dst, *v) },
			Decode: func(datum []byte) (*T, error) {
				v, err := coding.Decode(datum)
				if err != nil {
					return nil, err
				}
				return &v, nil
			},
			Order: coding.Order,
		}
	}
	p := RequiredColumn(index, name, pointers(coding), olderAs(older, pointers)...)
	p.has = func(v any) bool { return *v.(**T) != nil }
	p.missing = func(v any) error { *v.(**T) = nil; return nil }
	p.own = ownPointer[T]
	return p
}

// BytesColumn returns the part for a slice field that every event has.
func BytesColumn[T ~[]byte](index int, name string, coding codec.Coding[T], older ...Older[T]) Part {
	p := RequiredColumn(index, name, coding, older...)
	p.own = ownBytes[T]
	return p
}

// DefaultBytesColumn returns the part for a slice field that has the value missing if a stored event
// lacks it.
func DefaultBytesColumn[T ~[]byte](index int, name string, coding codec.Coding[T], missing string, older ...Older[T]) Part {
	p := BytesColumn(index, name, coding, older...)
	p.missing = func(v any) error {
		*v.(*T) = T(missing)
		return nil
	}
	return p
}

// OptionalBytesColumn returns the part for a slice field that is nil if an event lacks it.
func OptionalBytesColumn[T ~[]byte](index int, name string, coding codec.Coding[T], older ...Older[T]) Part {
	present := func(coding codec.Coding[T]) codec.Coding[T] {
		return codec.Coding[T]{
			Append: coding.Append,
			Decode: func(datum []byte) (T, error) {
				v, err := coding.Decode(datum)
				if v == nil && err == nil { // nil means absent
					v = T{}
				}
				return v, err
			},
			Order: coding.Order,
		}
	}
	p := BytesColumn(index, name, present(coding), olderAs(older, present)...)
	p.has = func(v any) bool { return *v.(*T) != nil }
	p.missing = func(v any) error { *v.(*T) = nil; return nil }
	return p
}

// maxParsed is the number of events that are parsed before their fields are appended to the
// slices, one slice after the other.
const maxParsed = 32

// EventColumn stores the given fields of an event in one column. serialize appends them
// to dst, and parse sets them.
func EventColumn[E any](name string, serialize func(dst []byte, e *E) []byte, parse func(e *E, blob []byte) error, fields ...Part) Part {
	all := newColumns(fields)
	set := func(v any, blob []byte) error { return parse(v.(*E), blob) }
	b := wholeEvents{columns: &all, numbers: numbersOf(all.parts), kind: eventsOf[E]{}, parse: set}
	return Part{
		index:    wholeEvent,
		fields:   &all,
		own:      all.own(),
		length:   all.length,
		truncate: all.truncate,
		add:      func(c []any, v any) { all.add(c, event{v}) },
		addAll:   func(c []any, events list, _ accessor) { all.appendAll(c, events) },
		column:   Column{Name: name, Whole: true},
		encode:   func(dst []byte, v any) []byte { return serialize(dst, v.(*E)) },
		set:      set,
		missing:  func(any) error { return codec.ErrMissing },
		decode:   b.decode,
	}
}

// wholeEvents are the values of a column that contains all fields of an event.
type wholeEvents struct {
	columns *Columns            // the fields
	numbers *codec.ProtoNumbers // see numbersOf
	kind    events
	parse   func(v any, blob []byte) error
}

// decode appends the fields of events to their slices.
func (v *wholeEvents) decode(c []any, data eventData) error {
	cells := data.column.Cells[data.begin:data.end]
	b := unparsed{row: data.column.Row, cells: cells, turned: data.frame.Turned, step: min(len(cells), maxParsed)}
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
			if err := v.parse(events.at(i).pointer, b.at(i)); err != nil {
				return err
			}
		}
		v.columns.appendAll(c, events)
	}
	return nil
}

// numbersOf returns the decoder of messages with the given fields; nil if they are not all
// those of [NumberPart].
func numbersOf(fields []Part) *codec.ProtoNumbers {
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
func FieldPart[T any](index int) Part { return newPart[T](index) }

// NumberPart is like [FieldPart] for a field with the given number of a protobuf message. Events
// that lack it have zero.
func NumberPart[T codec.ProtoNumber](index, number int) Part {
	p := newPart[T](index)
	p.number = func(to *codec.ProtoNumbers) bool { return codec.AddProtoNumber[T](to, number) }
	p.numbers = func(c []any, values []uint64) {
		slice := c[index].(*[]T)
		*slice = codec.AppendProtoNumbers(*slice, values)
	}
	return p
}

// OptionalPart is like [FieldPart] for a field that is nil if an event lacks it: a *T.
func OptionalPart[T any](index int) Part {
	p := newPart[*T](index)
	p.own = ownPointer[T]
	return p
}

// BytesPart is like [FieldPart] for a slice field.
func BytesPart[T ~[]byte](index int) Part {
	p := newPart[T](index)
	p.own = ownBytes[T]
	return p
}
