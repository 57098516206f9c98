package store

import (
	"iter"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Readers and writers have no type parameter inside. They handle an event as a pointer to it, of
// type *E, in an interface. Otherwise, the compiler would compile all of them again for each type
// of events: a second, and 300 KB of machine code.

// mapping is a [Mapping] without its type parameter.
type mapping struct {
	events // of the type of events

	Table     Table
	Pattern   codec.Pattern
	Bucket    codec.Bucket
	TimeKey   codec.TimeFormat
	Ties      int
	Columns   []Column
	Precision time.Duration
	Since     time.Time
	Older     []*mapping

	Time      func(e any) *time.Time
	TTLFields func(e any) TTLFields
	Check     func(e any) error
	Put       func(e any, cells *Cells)
	Same      func(a, b any) bool
	Own       func(e any)
	Spans     func(e any) ([]codec.Span, error)
	Key       func(row string, e any) (time.Time, error)
	Sequence  func(e any) *uint32
	Set       func(e any, column int, datum []byte) error
	set       []func(e any, datum []byte) error
	Missing   func(e any, column int) error

	rowKey   func(e any, metric string) ([]byte, error)
	sequence func(e any) *uint32
	bound    func(e any, column int) (datum []byte, order codec.Order, err error)
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
	m.joinPeriods()
	return m
}

// alone returns the mapping without its type parameter, and without earlier ones.
func (l *Mapping[E]) alone() *mapping {
	m := &mapping{
		events: eventsOf[E]{},
		Table:  l.Table, Pattern: l.Pattern, Bucket: l.Bucket, TimeKey: l.TimeKey, Ties: l.Ties, Columns: l.Columns, Precision: l.Precision, Since: l.Since,
		Time:      func(e any) *time.Time { return l.Time(e.(*E)) },
		Check:     func(e any) error { return l.Check(e.(*E)) },
		Put:       func(e any, cells *Cells) { l.Put(e.(*E), cells) },
		Spans:     func(e any) ([]codec.Span, error) { return l.Spans(e.(*E)) },
		Key:       func(row string, e any) (time.Time, error) { return l.Key(row, e.(*E)) },
		Set:       func(e any, column int, datum []byte) error { return l.Set(e.(*E), column, datum) },
		Missing:   func(e any, column int) error { return l.Missing(e.(*E), column) },
		TTLFields: unlessNil(l.TTLFields), Sequence: unlessNil(l.Sequence), sequence: unlessNil(l.sequence),
		set: l.set, seriesOf: l.seriesOf, layout: l.columns,
	}
	if l.Same != nil {
		m.Same = func(a, b any) bool { return l.Same(a.(*E), b.(*E)) }
	}
	if l.Own != nil {
		m.Own = func(e any) { l.Own(e.(*E)) }
	}
	if l.rowKey != nil {
		m.rowKey = func(e any, metric string) ([]byte, error) { return l.rowKey(e.(*E), metric) }
	}
	if l.bound != nil {
		m.bound = func(e any, column int) ([]byte, codec.Order, error) { return l.bound(e.(*E), column) }
	}
	return m
}

// unlessNil returns a function of events without its type parameter; nil if it is nil.
func unlessNil[E, T any](f func(e *E) T) func(e any) T {
	if f == nil {
		return nil
	}
	return func(e any) T { return f(e.(*E)) }
}

// untypedAll is untyped for all mappings of a schema.
func untypedAll[E any](mappings []*Mapping[E]) []*mapping {
	out := make([]*mapping, len(mappings))
	for i, l := range mappings {
		out[i] = l.untyped()
	}
	return out
}

// events makes and copies events of one type.
type events interface {
	new() any               // a pointer to a zero event
	assign(to, from any)    // copies an event
	value(e any) any        // the event that e points to
	list(capacity int) list // an empty list
}

// clone returns a copy of an event.
func (l *mapping) clone(e any) any {
	c := l.new()
	l.assign(c, e)
	return c
}

// eventsOf implements events for type E.
type eventsOf[E any] struct{}

func (eventsOf[E]) new() any               { return new(E) }
func (eventsOf[E]) assign(to, from any)    { *to.(*E) = *from.(*E) }
func (eventsOf[E]) value(e any) any        { return *e.(*E) }
func (eventsOf[E]) list(capacity int) list { return &listOf[E]{make([]E, 0, capacity)} }

// list is a slice of events.
type list interface {
	len() int
	at(i int) any   // a pointer to the i-th event
	add(e any)      // adds a copy
	truncate(n int) // removes all but the first n events
	zero(n int)     // replaces the events by n zero events
}

// listOf implements list for type E.
type listOf[E any] struct{ events []E }

func (l *listOf[E]) len() int     { return len(l.events) }
func (l *listOf[E]) at(i int) any { return &l.events[i] }
func (l *listOf[E]) add(e any)    { l.events = append(l.events, *e.(*E)) }
func (l *listOf[E]) truncate(n int) {
	clear(l.events[n:])
	l.events = l.events[:n]
}
func (l *listOf[E]) zero(n int) {
	l.events = slices.Grow(l.events[:0], n)[:n]
	clear(l.events)
}

// pointers returns pointers to events.
func pointers[E any](events []E) []any {
	out := make([]any, len(events))
	for i := range events {
		out[i] = &events[i]
	}
	return out
}

// typed returns what a read yields, which begins when the caller iterates over it.
//
//go:noinline
func typed[E any](read func(yield yielder)) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		read(func(e any, err error) bool { return yield(*e.(*E), err) })
	}
}
