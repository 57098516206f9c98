package store

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/frame"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Columns lists the parts of events of type E, each with its slice in C and its column
// in a table. See [NewColumns].
// The columnar form of events is a list of pointers to slices.
type Columns struct {
	events events
	at     accessor
	slices func(c any) []any // of the columnar form, given a pointer to it
	empty  func() any        // a pointer to an empty one
	clone  func(e any)       // clones what copies of an event share beyond its parts; nil if there is nothing
	parts  []Part
	stored []Part // parts with a column

	// Of stored, adjacent because they are used for each event.
	places []int // indexes
	has    []func(v any) bool
	encode []func(dst []byte, v any) []byte

	// Per column of the mapping, with older ones.
	set    []func(v any, datum []byte) error
	of     []int // index of the part
	decode []func(c []any, data eventData) error
}

// NewColumns returns the parts of events of type E. at returns a pointer to the part of an event with an index, given a
// pointer to the event, and C is a struct of slices, in the order of these indexes. Parts with a column must be in the
// order of the table's columns.
func NewColumns[E, C any](at func(e any, index int) any, parts ...Part) *Columns {
	return NewColumnsOf[E, C](at, func(c any) []any { return window.SlicesOf(c) }, nil, parts...)
}

// NewColumnsOf is [NewColumns] for a columnar form that is no struct of slices: slices returns pointers to them, given
// a *C. own clones what copies of an event share beyond its parts, given a pointer to one; nil if there is nothing.
func NewColumnsOf[E, C any](at func(e any, index int) any, slices func(c any) []any, own func(e any), parts ...Part) *Columns {
	cs := newColumns(parts)
	cs.reach(at)
	cs.events, cs.slices, cs.empty, cs.clone = eventsOf[E]{}, slices, func() any { return new(C) }, own
	return &cs
}

// newColumns returns columns that do not know yet where events have their parts.
func newColumns(parts []Part) (cs Columns) {
	cs.parts = slices.Clone(parts)
	written := false
	for i, p := range cs.parts {
		if p.set != nil && p.column.WrittenAt {
			if written {
				p = again(p)
				cs.parts[i] = p
			}
			written = true
		}
		if p.set != nil {
			cs.stored, cs.has, cs.encode, cs.places = append(cs.stored, p), append(cs.has, p.has), append(cs.encode, p.encode), append(cs.places, p.index)
			cs.decode, cs.set, cs.of = append(cs.decode, p.decode), append(cs.set, p.set), append(cs.of, p.index)
		}
	}
	for i := range cs.stored {
		for _, o := range cs.stored[i].older {
			cs.decode, cs.set, cs.of = append(cs.decode, o.decode), append(cs.set, o.set), append(cs.of, cs.stored[i].index)
		}
	}
	return cs
}

// reach says where events have the parts.
func (cs *Columns) reach(at accessor) {
	cs.at = at
	for i := range cs.parts {
		if fields := cs.parts[i].fields; fields != nil {
			fields.reach(at)
		}
	}
}

// value returns a pointer to the part of an event with an index.
func (cs *Columns) value(e event, index int) any {
	if index == wholeEvent {
		return e.pointer
	}
	return cs.at(e.pointer, index)
}

// again returns the part of another column with the same slice, which has a value of each
// event already: several families may store the write time.
func again(p Part) Part {
	decode := p.decode
	p.add, p.addAll = func([]any, any) {}, func([]any, list, accessor) {}
	p.decode = func(c []any, data eventData) error {
		if data.column.Holes > 0 {
			return nil // not fetched
		}
		p.truncate(c, p.length(c)-data.Len())
		return decode(c, data)
	}
	return p
}

// Reset empties the slices of c and keeps their memory.
func (cs *Columns) Reset(c any) { cs.truncate(cs.slicesOf(c), 0) }

// Append appends an event to the slices of c.
func (cs *Columns) Append(c, e any) { cs.add(cs.slicesOf(c), event{e}) }

// slicesOf returns pointers to the slices of c; none for columns that NewColumns did not make.
func (cs *Columns) slicesOf(c any) []any {
	if cs.slices == nil {
		return nil
	}
	return cs.slices(c)
}

// add appends an event to slices.
func (cs *Columns) add(c []any, e event) {
	for i := range cs.parts {
		p := &cs.parts[i]
		p.add(c, cs.value(e, p.index))
	}
}

// appendAll appends events to the slices of c, one slice after the other.
func (cs *Columns) appendAll(c []any, events list) {
	for i := range cs.parts {
		cs.parts[i].addAll(c, events, cs.at)
	}
}

// length returns the length of the slices of c.
func (cs *Columns) length(c []any) int {
	if len(cs.parts) == 0 {
		return 0
	}
	return cs.parts[0].length(c)
}

// truncate truncates all slices of c to n events.
func (cs *Columns) truncate(c []any, n int) {
	for i := range cs.parts {
		cs.parts[i].truncate(c, n)
	}
}

// extend appends what events have besides the data of their columns: the series of e,
// their times, and what timestamps determine. It returns the previous number of events.
func (cs *Columns) extend(c []any, e event, events eventData) int {
	n := cs.length(c)
	for i := range cs.parts {
		if p := &cs.parts[i]; p.extend != nil {
			p.extend(c, cs.value(e, p.index), events)
		}
	}
	return n
}

// own returns a function that clones what copies of an event share, given a pointer to one; nil if they share
// nothing.
func (cs *Columns) own() func(v any) {
	if cs.clone != nil || !slices.ContainsFunc(cs.parts, func(p Part) bool { return p.own != nil }) {
		return cs.clone
	}
	return func(v any) {
		for i := range cs.parts {
			if p := &cs.parts[i]; p.own != nil {
				p.own(cs.value(event{v}, p.index))
			}
		}
	}
}

// holds reports whether an event has the field of a column.
func (cs *Columns) holds(e event, column int) bool {
	return cs.has[column] == nil || cs.has[column](cs.value(e, cs.places[column]))
}

// datum returns what an event has in a column, if it holds the field.
func (cs *Columns) datum(e event, column int) []byte {
	return cs.encode[column](nil, cs.value(e, cs.places[column]))
}

// take stores the datum of a column in an event.
func (cs *Columns) take(e event, column int, datum []byte) error {
	return cs.set[column](cs.value(e, cs.of[column]), datum)
}

// eventData contains the data of one column of some events, or what all of their
// columns have in common.
type eventData struct {
	frame      *frame.Frame
	column     *frame.FrameColumn
	begin, end int
	expiry     *frame.FrameColumn // its timestamps determine when events expire; nil if none do
	after      time.Duration      // time from the timestamp to the expiry
}

// Len returns the number of events.
func (d eventData) Len() int { return d.end - d.begin }

// appendDecoded appends the decoded data, or zeros if the column is not fetched. It
// stops at the first error.
func appendDecoded[T any](dst []T, data eventData, coding *codec.Coding[T]) ([]T, error) {
	dst, added := grow(dst, data)
	if data.column.Holes > 0 {
		clear(added)
		return dst, nil
	}
	row, cells := data.column.Row, data.column.Cells[data.begin:data.end]
	if decode := coding.Decode; !coding.Word || !decodeWords(added, row, cells) {
		for i := range cells {
			v, err := decode(row.Bytes(cells[i].Value))
			if err != nil {
				return dst, err
			}
			added[i] = v
		}
	}
	turn(added, data)
	return dst, nil
}

// decodeWords decodes numbers of 64 bits. It returns false if a cell has none.
func decodeWords[T any](added []T, row wire.Row, cells []wire.Cell) bool {
	switch added := any(added).(type) {
	case []int64:
		for i := range added {
			datum := row.Bytes(cells[i].Value)
			if len(datum) != 8 {
				return false
			}
			added[i] = int64(binary.BigEndian.Uint64(datum))
		}
	case []uint64:
		for i := range added {
			datum := row.Bytes(cells[i].Value)
			if len(datum) != 8 {
				return false
			}
			added[i] = binary.BigEndian.Uint64(datum)
		}
	case []float64:
		for i := range added {
			datum := row.Bytes(cells[i].Value)
			if len(datum) != 8 {
				return false
			}
			added[i] = math.Float64frombits(binary.BigEndian.Uint64(datum))
		}
	default:
		return false
	}
	return true
}

func appendTimes(dst []time.Time, events eventData) []time.Time {
	dst = append(dst, events.frame.Times[events.begin:events.end]...)
	turn(dst[len(dst)-events.Len():], events)
	return dst
}

// appendSequences appends the sequence numbers of events. ofRow is that of their row if
// the columns have none.
func appendSequences(dst []uint32, events eventData, ofRow uint32) []uint32 {
	if len(events.frame.Sequences) == 0 {
		return appendSame(dst, events, ofRow)
	}
	dst = append(dst, events.frame.Sequences[events.begin:events.end]...)
	turn(dst[len(dst)-events.Len():], events)
	return dst
}

func appendClasses[T ~int](dst []T, events eventData) []T {
	dst, added := grow(dst, events)
	for i := range added {
		added[i] = T(events.frame.ClassOf(events.begin + i))
	}
	turn(added, events)
	return dst
}

// appendExpiries appends the expiries of events, or zero times if timestamps do not
// determine them.
func appendExpiries(dst []time.Time, events eventData) []time.Time {
	dst, added := grow(dst, events)
	if events.expiry == nil {
		clear(added)
		return dst
	}
	after := events.after.Microseconds()
	for i, cell := range events.expiry.Cells[events.begin:events.end] {
		added[i] = time.UnixMicro(cell.Micros + after).UTC() // codec.FromMicros, inlined
	}
	turn(added, events)
	return dst
}

// appendSame appends a value once per event.
func appendSame[T any](dst []T, events eventData, v T) []T {
	dst, added := grow(dst, events)
	for i := range added {
		added[i] = v
	}
	return dst
}

// grow extends a slice by one element per event.
func grow[T any](dst []T, events eventData) (all, added []T) {
	n := events.Len()
	all = slices.Grow(dst, n)[:len(dst)+n]
	return all, all[len(dst):]
}

// turn reverses the appended elements if events are in reverse order.
func turn[T any](added []T, events eventData) {
	if events.frame.Turned {
		slices.Reverse(added)
	}
}

// taker consumes events in columnar form.
type taker interface {
	// take consumes events [begin, end) of the frame and reports whether the caller
	// wants more. It consumes nothing if the events must be made one by one.
	take(a *assembler, begin, end int) (taken, more bool)
	// most is the largest number of events that take consumes at a time.
	most() int
	// enter announces that the following events have another mapping.
	enter(l *mapping)
}
