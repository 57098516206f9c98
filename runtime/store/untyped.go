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

	Time      func(e event) *time.Time
	TTLFields func(e event) TTLFields
	Check     func(e event) error
	Put       func(e event, cells *Cells)
	Same      func(a, b event) bool
	Own       func(e event)
	Sequence  func(e event) *uint32
	Set       func(e event, column int, datum []byte) error
	set       []func(e event, datum []byte) error
	Missing   func(e event, column int) error

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
	seriesOf any // func(e *E) *S

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
	if l.Time == nil { // a zero value
		l = &Mapping[E]{Time: func(*E) *time.Time { return new(time.Time) }, series: seriesValues[E]{of: func(_ *E, to []any) []any { return to }}}
	}
	m := &mapping{
		events: eventsOf[E]{l.Time},
		Table:  l.Table, Pattern: l.Pattern, Key: l.Key, Columns: l.Columns, Fields: l.Fields, Precision: l.Precision, Since: l.Since, Rollup: l.Rollup,
		Time:      func(e event) *time.Time { return l.Time(e.pointer.(*E)) },
		Check:     func(e event) error { return l.Check(e.pointer.(*E)) },
		Set:       func(e event, column int, datum []byte) error { return l.Set(e.pointer.(*E), column, datum) },
		Missing:   func(e event, column int) error { return l.Missing(e.pointer.(*E), column) },
		TTLFields: unlessNil(l.TTLFields), Sequence: unlessNil(l.Sequence), sequence: unlessNil(l.sequence),
		set: l.set, seriesOf: l.seriesOf, layout: l.columns,
	}
	if l.Same != nil {
		m.Same = func(a, b event) bool { return l.Same(a.pointer.(*E), b.pointer.(*E)) }
	}
	if m.Put = m.put; l.Put != nil {
		m.Put = func(e event, cells *Cells) { l.Put(e.pointer.(*E), cells) }
	}
	var set func(e event, from []any)
	if l.series.set != nil {
		set = func(e event, from []any) { l.series.set(e.pointer.(*E), from) }
	}
	m.setKeys(func(e event, to []any) []any { return l.series.of(e.pointer.(*E), to) }, set)
	if l.adjust != nil {
		l.adjust(m)
	}
	if l.Own != nil {
		m.Own = func(e event) { l.Own(e.pointer.(*E)) }
	}
	if l.bound != nil {
		m.bound = func(e event, column int) ([]byte, codec.Order, error) { return l.bound(e.pointer.(*E), column) }
	}
	return m
}

// unlessNil returns a function of events without its type parameter; nil if it is nil.
func unlessNil[E, T any](f func(e *E) T) func(e event) T {
	if f == nil {
		return nil
	}
	return func(e event) T { return f(e.pointer.(*E)) }
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
	new() event                            // a zero event
	assign(to, from event)                 // copies an event
	assignAt(to, from event, at time.Time) // copies an event, which gets another time
	value(e event) any                     // an E
	list(capacity int) list                // an empty list
}

// clone returns a copy of an event.
func (l *mapping) clone(e event) event {
	c := l.new()
	l.assign(c, e)
	return c
}

// eventsOf implements events for type E.
type eventsOf[E any] struct{ time func(e *E) *time.Time }

func (eventsOf[E]) new() event            { return event{new(E)} }
func (eventsOf[E]) assign(to, from event) { *to.pointer.(*E) = *from.pointer.(*E) }

func (k eventsOf[E]) assignAt(to, from event, at time.Time) {
	e := to.pointer.(*E)
	*e = *from.pointer.(*E)
	*k.time(e) = at
}

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
