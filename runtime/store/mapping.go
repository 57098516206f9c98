package store

import (
	"errors"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Nothing here has a type parameter for events: with one, the compiler would compile all of it again for each type, which took
// it a second and 300 KB of machine code. Events go in as pointers and lists, and come out as results, which generated code
// converts.

// event refers to an event of any type E. It contains a *E.
type event struct{ pointer any }

// mapping is a complete [Mapping]: with what follows from the parts of events and from the key.
type mapping struct {
	Mapping
	events // of the type of events

	Older []*mapping
	State *mapping

	// What follows from the parts of events; see setParts.
	Time         func(e event) *time.Time
	TTLFields    func(e event) TTLFields
	Put          func(e event, cells *eventCells)
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
}

// complete returns the complete mapping, with its earlier ones.
func (l *Mapping) complete() *mapping {
	m := l.alone()
	for _, older := range l.Older {
		m.Older = append(m.Older, older.alone())
	}
	if l.State != nil {
		m.State = l.State.complete()
	}
	m.joinPeriods()
	return m
}

// alone returns the complete mapping without earlier ones.
func (l *Mapping) alone() *mapping {
	m := &mapping{Mapping: *l}
	if l.columns != nil {
		m.events = l.columns.events
		m.setParts(l.SequenceInColumns)
	} else { // a zero value
		m.events = eventsOf[struct{}]{}
		m.Time = func(event) *time.Time { return new(time.Time) }
		m.values = func(_ event, to []any) []any { return to }
	}
	if l.replace != nil {
		l.replace(m)
	}
	m.setKeys()
	if l.adjust != nil {
		l.adjust(m)
	}
	return m
}

// setParts sets the functions of the mapping that follow from the parts of events. sequence is Mapping.SequenceInColumns.
func (m *mapping) setParts(sequence bool) {
	cs := m.columns
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

// setRoles sets the functions that follow from the parts that are no fields.
func (m *mapping) setRoles(sequence bool) {
	cs := m.columns
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
func ttlFields(cs *Columns, all *[roles]*Part) func(e event) TTLFields {
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

// completeAll completes all mappings of a schema.
func completeAll(mappings []*Mapping) []*mapping {
	out := make([]*mapping, len(mappings))
	for i, l := range mappings {
		out[i] = l.complete()
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

// list is a List that can grow.
type list interface {
	List
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

// List refers to a slice of events; see [ListOf].
type List interface {
	len() int
	at(i int) event
}

// ListOf refers to the events of a slice.
func ListOf[E any](events []E) List { return &listOf[E]{events} }

// eventList is a List of given events.
type eventList []event

func (l eventList) len() int       { return len(l) }
func (l eventList) at(i int) event { return l[i] }

// An event is a List of itself.
func (e event) len() int     { return 1 }
func (e event) at(int) event { return e }

// eventsAt returns references to events, given pointers to them.
func eventsAt(pointers []any) []event {
	out := make([]event, len(pointers))
	for i, p := range pointers {
		out[i] = event{p}
	}
	return out
}

// Each returns what a function makes of values: pointers to events, for selections of several values.
func Each[V any](values []V, of func(value V) any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = of(v)
	}
	return out
}

// Results are what a read yields. It begins when the caller iterates over [ResultsOf].
type Results struct {
	read func(yielder) // references to events or other results, which are valid until the next one
}

// ResultsOf returns the results of a read, which must have the type T: events, series, windows or charts. With most errors,
// the result is the zero T. It is not inlined, so that it is compiled once for each T.
//
//go:noinline
func ResultsOf[T any](r Results) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		r.read(func(result event, err error) bool { return yield(ResultOf[T](result.pointer, err)) })
	}
}

// ResultOf returns the only result of a read, such as [Reader.Latest].
func ResultOf[T any](result any, err error) (T, error) {
	if result == nil {
		var none T
		return none, err
	}
	return *result.(*T), err
}

// refused are the results of a read that fails.
func refused(err error) Results {
	return Results{func(yield yielder) { yield(event{}, err) }}
}

// FailedOf returns the function for [NewBatcher] that calls one with events of type E; nil if that is nil.
func FailedOf[E any](failed func(event E, err error)) func(event any, err error) {
	if failed == nil {
		return nil
	}
	return func(event any, err error) { failed(*event.(*E), err) }
}

// Periods returns l and its earlier mappings, newest first.
func (l *Mapping) Periods() []*Mapping { return append([]*Mapping{l}, l.Older...) }

// Periods is [Mapping.Periods].
func (l *mapping) Periods() []*mapping { return append([]*mapping{l}, l.Older...) }

// joinPeriods sets the end of each mapping of l, and links it to the others.
func (l *mapping) joinPeriods() {
	all := l.Periods()
	for i, p := range all[1:] {
		p.until = all[i].Since
	}
	if len(all) == 1 {
		return
	}
	for i, p := range all {
		p.others = slices.Delete(slices.Clone(all), i, i+1)
	}
}

// covers reports whether an event at a time, or in the bucket that begins then, has this mapping.
func (l *mapping) covers(at time.Time) bool {
	return !at.Before(l.Since) && (l.until.IsZero() || at.Before(l.until))
}

// foreign reports whether a row that does not belong to this mapping belongs to another one.
func (l *mapping) foreign(key string) bool {
	e := l.new()
	return slices.ContainsFunc(l.others, func(other *mapping) bool {
		at, err := other.parse(key, e)
		return err == nil && other.covers(at)
	})
}

// seriesID returns text that identifies the series of an event among those of all its layouts;
// empty if no layout can store the series.
func (l *mapping) seriesID(e event) string {
	for i, of := range append([]*mapping{l}, l.others...) {
		if key := of.seriesKey(e); key != "" {
			return strconv.Itoa(i) + " " + key
		}
	}
	return ""
}

// allPeriods returns the mappings and all their earlier ones.
func allPeriods(mappings []*mapping) []*mapping {
	var out []*mapping
	for _, l := range mappings {
		out = append(out, l.Periods()...)
	}
	return out
}

// ErrNoSequence is the reason for refusing an event with a sequence number at a time whose layout
// stores no sequence numbers: it could replace another event at the same time.
var ErrNoSequence = errors.New("the layout at this time stores no sequence number")

// checkSequence returns ErrNoSequence, in a *codec.FieldError, for such an event.
func (l *mapping) checkSequence(e event) error {
	if l.others == nil || l.Sequence != nil || l.sequence == nil || *l.sequence(e) == 0 {
		return nil
	}
	return &codec.FieldError{Field: "sequence", Value: strconv.Itoa(int(*l.sequence(e))), Err: ErrNoSequence}
}

// startsOf is request.Table.Keys.
func (l *mapping) startsOf() func(key string) (time.Time, bool, error) {
	parse := l.parser(l.new())
	return func(key string) (time.Time, bool, error) {
		start, err := parse(key)
		return start, err == nil && l.covers(start), err
	}
}

// NewMapping completes the mapping l of a table from its columns: how events are converted to cells
// and back. It derives the lifetime of each family from its rule.
func NewMapping(cs *Columns, l Mapping) *Mapping {
	d := &l
	for i := range cs.stored {
		d.Columns = append(d.Columns, cs.stored[i].column)
	}
	for i := range cs.stored {
		for _, o := range cs.stored[i].older {
			d.Columns = addOlder(d.Columns, i, o.column, o.moved)
		}
	}
	d.Table.Families = slices.Clone(d.Table.Families) // the caller may use them for another table
	for i := range d.Table.Families {
		f := &d.Table.Families[i]
		f.Life = f.Life.Under(f.GC, d.MaxCells)
	}
	d.columns = cs
	return d
}

// DataColumns returns the columns with which [NewMapping] has made the mapping.
func (l *Mapping) DataColumns() *Columns { return l.columns }

// SeriesIn returns the function that returns a pointer to the series of an event, given one to the event.
func (l *Mapping) SeriesIn() func(e any) any {
	of := l.alone()
	return func(e any) any { return of.series(event{e}) }
}

// TimeIn returns the function that returns a pointer to the time of an event, given one to the event.
func (l *Mapping) TimeIn() func(e any) *time.Time {
	of := l.alone()
	return func(e any) *time.Time { return of.Time(event{e}) }
}

// put sets the cells of an event in its row, or in one row per column.
func (l *mapping) put(e event, cells *eventCells) {
	cs := l.columns
	begin := func(n int, metric string) {
		if l.Same == nil || !cells.SameRow(n) {
			cells.Row(l.appendKey(cells.Buffer(), e, metric, &cells.content))
		}
	}
	perField := l.Pattern.RowPerField()
	if !perField {
		begin(0, "")
	}
	for i, has := range cs.has {
		v := cs.value(e, cs.places[i])
		if has != nil && !has(v) {
			continue
		}
		if perField {
			begin(i, cs.stored[i].column.Name)
		}
		cells.Set(i, cs.encode[i](cells.Cell(i), v))
	}
}
