package store

import (
	"iter"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Readers and writers have no type parameter inside: with one, the compiler would compile all of
// them again for each type of events, which took it a second and 300 KB of machine code.

// event refers to an event of any type E. It contains a *E.
type event struct{ pointer any }

// mapping is a [Mapping] without its type parameter.
type mapping struct {
	events // of the type of events

	Table     Table
	Pattern   codec.Pattern
	Key       codec.Key
	Columns   []Column
	Fields    []Field
	Precision time.Duration
	Since     time.Time
	Older     []*mapping
	State     *mapping
	Rollup    *codec.Rollup

	// What follows from the parts of events; see setParts.
	Time         func(e event) *time.Time
	TTLFields    func(e event) TTLFields
	Check        func(e event) error
	Put          func(e event, cells *Cells)
	Same         func(a, b event) bool
	Own          func(e event)
	Sequence     func(e event) *uint32
	Set          func(e event, column int, datum []byte) error
	Missing      func(e event, column int) error
	series       func(e event) any             // a pointer to the series
	values       func(e event, to []any) []any // appends pointers to its values; see codec.KeyValues
	assignSeries func(e event, from []any)     // sets the series to what parsing has set; nil if the pointers point into the event

	// What follows from the key; see setKeys.
	Spans       func(e event) ([]codec.Span, error)               // of all rows of a series
	parser      func(e event) func(row string) (time.Time, error) // parses row keys into e; see parse
	appendKey   func(dst []byte, e event, metric string, c *keyContent) ([]byte, error)
	fill        func(c *keyContent, e event) *codec.KeyValues // the content of the key of an event
	ties        int                                           // codec.Key.Ties
	metrics     []string                                      // names of the columns that have rows of their own; nil if there are none
	byTimestamp bool                                          // scan.Table.ByTimestamp

	sequence func(e event) *uint32
	bound    func(e event, column int) (datum []byte, order codec.Order, err error)

	until  time.Time  // where the next mapping begins; zero in the newest
	others []*mapping // the other mappings of the events
	layout *columns   // of NewMapping
}

// untyped returns the mapping and its earlier ones without their type parameters.
func (l *Mapping[E]) untyped() *mapping {
	m := l.alone()
	for _, older := range l.Older {
		m.Older = append(m.Older, older.alone())
	}
	if l.State != nil {
		m.State = l.State.untyped()
	}
	m.joinPeriods()
	return m
}

// alone returns the mapping without its type parameter, and without earlier ones.
func (l *Mapping[E]) alone() *mapping {
	m := &mapping{
		events: eventsOf[E]{},
		Table:  l.Table, Pattern: l.Pattern, Key: l.Key, Columns: l.Columns, Fields: l.Fields, Precision: l.Precision, Since: l.Since, Rollup: l.Rollup,
		Check:  func(e event) error { return l.Check(e.pointer.(*E)) },
		layout: l.columns,
	}
	switch {
	case l.columns != nil:
		m.setParts(l.SequenceInColumns)
	case l.Time != nil:
		l.setFunctions(m)
	default: // a zero value
		m.Time = func(event) *time.Time { return new(time.Time) }
		m.values = func(_ event, to []any) []any { return to }
	}
	l.setOthers(m)
	m.setKeys()
	if l.adjust != nil {
		l.adjust(m)
	}
	return m
}

// setParts sets the functions of the mapping that follow from the parts of events. sequence is Mapping.SequenceInColumns.
func (m *mapping) setParts(sequence bool) {
	cs := m.layout
	m.Put = m.put
	m.setRoles(sequence)
	if own := cs.own(); own != nil {
		m.Own = func(e event) { own(e.pointer) }
	}
	m.Set = cs.take
	m.Missing = func(e event, column int) error { return cs.stored[column].missing(cs.value(e, cs.places[column])) }
	m.bound = func(e event, column int) ([]byte, codec.Order, error) {
		p := &cs.stored[column]
		v := cs.value(e, p.index)
		if !cs.holds(e, column) || p.bound == nil {
			return nil, p.order, ErrBounds
		}
		return p.encode([]byte{}, v), p.order, p.bound(v)
	}
}

// setFunctions sets the functions of a mapping without [NewMapping].
func (l *Mapping[E]) setFunctions(m *mapping) {
	m.Time = func(e event) *time.Time { return l.Time(e.pointer.(*E)) }
	m.values = func(e event, to []any) []any { return l.series.of(e.pointer.(*E), to) }
	m.series = func(e event) any { return l.series.ptr(e.pointer.(*E)) }
	m.Sequence, m.sequence = unlessNil(l.Sequence), unlessNil(l.Sequence)
	m.Missing = func(e event, column int) error { return l.Missing(e.pointer.(*E), column) }
}

// setOthers sets functions that a mapping has in place of what follows from the parts of events.
func (l *Mapping[E]) setOthers(m *mapping) {
	if l.Put != nil {
		m.Put = func(e event, cells *Cells) { l.Put(e.pointer.(*E), cells) }
	}
	if l.Set != nil {
		m.Set = func(e event, column int, datum []byte) error { return l.Set(e.pointer.(*E), column, datum) }
	}
	if l.Same != nil {
		m.Same = func(a, b event) bool { return l.Same(a.pointer.(*E), b.pointer.(*E)) }
	}
	if l.TTLFields != nil {
		m.TTLFields = unlessNil(l.TTLFields)
	}
}

// unlessNil returns a function of events without its type parameter; nil if it is nil.
func unlessNil[E, T any](f func(e *E) T) func(e event) T {
	if f == nil {
		return nil
	}
	return func(e event) T { return f(e.pointer.(*E)) }
}

// setRoles sets the functions that follow from the parts that are no fields.
func (m *mapping) setRoles(sequence bool) {
	cs := m.layout
	var all [roles]*Part
	for i := range cs.parts {
		all[cs.parts[i].role] = &cs.parts[i]
	}
	series, of := all[seriesRole], all[timeRole].index
	m.Time = func(e event) *time.Time { return cs.at(e.pointer, of).(*time.Time) }
	m.series = func(e event) any { return cs.at(e.pointer, series.index) }
	m.values = func(e event, to []any) []any { return series.values(m.series(e), to) }
	if series.assign != nil {
		m.assignSeries = func(e event, from []any) { series.assign(m.series(e), from) }
	}
	if m.Pattern.Bucketed() && !m.Key.Has(codec.SequenceSegment) { // else, each event has a row
		m.Same = func(a, b event) bool { return series.same(m.series(a), m.series(b)) }
	}
	if p := all[sequenceRole]; p != nil {
		m.sequence = func(e event) *uint32 { return cs.at(e.pointer, p.index).(*uint32) }
	}
	if sequence || m.Key.Has(codec.SequenceSegment) {
		m.Sequence = m.sequence
	}
	m.TTLFields = ttlFields(cs, &all)
}

// ttlFields returns the function for what events specify about their time to live; nil if they specify nothing.
func ttlFields(cs *columns, all *[roles]*Part) func(e event) TTLFields {
	if all[classRole] == nil && all[ttlRole] == nil && all[expiresAtRole] == nil && all[writtenAtRole] == nil {
		return nil
	}
	return func(e event) (c TTLFields) {
		if p := all[classRole]; p != nil {
			c.Class = cs.at(e.pointer, p.index).(*int)
		}
		if p := all[ttlRole]; p != nil {
			c.TTL = cs.at(e.pointer, p.index).(*time.Duration)
		}
		if p := all[expiresAtRole]; p != nil {
			c.ExpiresAt = cs.at(e.pointer, p.index).(*time.Time)
		}
		if p := all[writtenAtRole]; p != nil {
			c.WrittenAt = cs.at(e.pointer, p.index).(*time.Time)
		}
		return c
	}
}

// untypedAll is untyped for all mappings of a schema.
func untypedAll[E any](mappings []*Mapping[E]) []*mapping {
	out := make([]*mapping, len(mappings))
	for i, l := range mappings {
		out[i] = l.untyped()
	}
	return out
}

// exists reports whether e refers to an event.
func (e event) exists() bool { return e.pointer != nil }

// events makes and copies events of one type.
type events interface {
	new() event             // a zero event
	assign(to, from event)  // copies an event
	value(e event) any      // an E
	list(capacity int) list // an empty list
}

// clone returns a copy of an event.
func (l *mapping) clone(e event) event {
	c := l.new()
	l.assign(c, e)
	return c
}

// assignAt copies an event, which gets another time.
func (l *mapping) assignAt(to, from event, at time.Time) {
	l.assign(to, from)
	*l.Time(to) = at
}

// eventsOf implements events for type E.
type eventsOf[E any] struct{}

func (eventsOf[E]) new() event             { return event{new(E)} }
func (eventsOf[E]) assign(to, from event)  { *to.pointer.(*E) = *from.pointer.(*E) }
func (eventsOf[E]) value(e event) any      { return *e.pointer.(*E) }
func (eventsOf[E]) list(capacity int) list { return &listOf[E]{make([]E, 0, capacity)} }

// list is a slice of events.
type list interface {
	len() int
	at(i int) event
	add(e event)    // appends a copy
	truncate(n int) // removes all but the first n events, and keeps the memory
	zero(n int)     // replaces the events by n zero events
}

// listOf implements list for type E.
type listOf[E any] struct{ events []E }

func (l *listOf[E]) len() int       { return len(l.events) }
func (l *listOf[E]) at(i int) event { return event{&l.events[i]} }
func (l *listOf[E]) add(e event)    { l.events = append(l.events, *e.pointer.(*E)) }

func (l *listOf[E]) truncate(n int) {
	clear(l.events[n:])
	l.events = l.events[:n]
}

func (l *listOf[E]) zero(n int) {
	l.events = slices.Grow(l.events[:0], n)[:n]
	clear(l.events)
}

// each returns references to events.
func each[E any](all []E) []event {
	out := make([]event, len(all))
	for i := range all {
		out[i] = event{&all[i]}
	}
	return out
}

// typed returns what a read yields, which begins when the caller iterates over it.
//
//go:noinline
func typed[E any](read func(yield yielder)) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		read(func(e event, err error) bool { return yield(valueOf[E](e), err) })
	}
}

// valueOf returns an event, or the zero E if there is none, as with most errors.
func valueOf[E any](e event) (out E) {
	if e.exists() {
		out = *e.pointer.(*E)
	}
	return out
}
