package store

import (
	"context"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Columns is how generated code takes events into a struct of slices, of type C.
type Columns[E, C any] struct {
	// Append adds an event.
	Append func(c *C, e *E)
	// Truncate makes all slices n events long.
	Truncate func(c *C, n int)
	// Extend adds what events have apart from the data of their columns: the series of
	// e, their times and what follows from their timestamps. It returns how many events
	// there were before.
	Extend func(c *C, e *E, events Data) int
	// Decode adds the data of a column of the layout.
	Decode func(c *C, column int, data Data) error
}

// Data is the data of a column of some events, or what all their columns have in common.
type Data struct {
	frame      *frame
	column     *frameColumn
	begin, end int
	expiry     *frameColumn  // whose timestamps say when the events expire; nil if none do
	after      time.Duration // a timestamp that is
}

// Len returns the number of events.
func (d Data) Len() int { return d.end - d.begin }

// At returns the k-th datum, which is good until the columns are taken.
func (d Data) At(k int) []byte {
	if d.frame.turned {
		k = d.Len() - 1 - k
	}
	return d.column.row.Bytes(d.column.cells[d.begin+k].Value)
}

// Extend appends what decode makes of each datum, zeros if the column is not fetched. An
// error ends it.
func Extend[T any](dst []T, data Data, decode func([]byte) (T, error)) ([]T, error) {
	dst, added := grow(dst, data)
	if data.column.holes > 0 {
		clear(added)
		return dst, nil
	}
	row := data.column.row
	for i, cell := range data.column.cells[data.begin:data.end] {
		v, err := decode(row.Bytes(cell.Value))
		if err != nil {
			return dst, err
		}
		added[i] = v
	}
	turn(added, data)
	return dst, nil
}

// ExtendTimes appends the times of events.
func ExtendTimes(dst []time.Time, events Data) []time.Time {
	dst = append(dst, events.frame.times[events.begin:events.end]...)
	turn(dst[len(dst)-events.Len():], events)
	return dst
}

// ExtendSequences appends the tie-breakers of events; that of their row if the columns
// have none.
func ExtendSequences(dst []uint32, events Data, ofRow uint32) []uint32 {
	if len(events.frame.sequences) == 0 {
		return ExtendSame(dst, events, ofRow)
	}
	dst = append(dst, events.frame.sequences[events.begin:events.end]...)
	turn(dst[len(dst)-events.Len():], events)
	return dst
}

// ExtendClasses appends the classes of events.
func ExtendClasses[T ~int](dst []T, events Data) []T {
	dst, added := grow(dst, events)
	for i := range added {
		added[i] = T(events.frame.classOf(events.begin + i))
	}
	turn(added, events)
	return dst
}

// ExtendExpiries appends when events expire; zero times if their timestamps do not say it.
func ExtendExpiries(dst []time.Time, events Data) []time.Time {
	dst, added := grow(dst, events)
	if events.expiry == nil {
		clear(added)
		return dst
	}
	for i, cell := range events.expiry.cells[events.begin:events.end] {
		added[i] = codec.FromMicros(cell.Micros + events.after.Microseconds())
	}
	turn(added, events)
	return dst
}

// ExtendSame appends a value as often as there are events.
func ExtendSame[T any](dst []T, events Data, v T) []T {
	dst, added := grow(dst, events)
	for i := range added {
		added[i] = v
	}
	return dst
}

// grow makes a slice longer by a place for each event.
func grow[T any](dst []T, events Data) (all, added []T) {
	n := events.Len()
	all = slices.Grow(dst, n)[:len(dst)+n]
	return all, all[len(dst):]
}

// turn puts what was added for events into their order.
func turn[T any](added []T, events Data) {
	if events.frame.turned {
		slices.Reverse(added)
	}
}

// taker takes events by the column.
type taker[E any] interface {
	// take takes the events of the frame from begin up to end, and reports whether more
	// are wanted. It takes nothing where events have to be made one by one.
	take(a *assembler[E], begin, end int) (taken, more bool)
}

// columnsReading is a read whose events are taken into slices.
type columnsReading[E, C any] struct {
	reading[E]
	into    Columns[E, C]
	columns *C
	failed  error // what ends the read or, until then, the first event that does not decode
}

// one takes an event.
func (r *columnsReading[E, C]) one(e *E, err error) bool {
	switch {
	case err == nil:
		r.into.Append(r.columns, e)
	case r.failed == nil || !isDecodeError(err):
		r.failed = err
	}
	return true
}

// take takes events none of which lacks anything, or may have expired.
func (r *columnsReading[E, C]) take(a *assembler[E], begin, end int) (taken, more bool) {
	f, n, limit := &a.frame, end-begin, r.options.Limit
	if limit > 0 && r.op.Events+n > limit {
		return false, true
	}
	if now, stale := a.stale(); stale && !a.allAlive(now, begin, end) {
		return false, true
	}
	data := Data{frame: f, begin: begin, end: end}
	for i := range f.columns {
		switch {
		case a.fetched.Omits(i):
		case f.columns[i].holes > 0, !a.fetched.HasValues(i) && a.layout.Columns[i].Whole:
			return false, true // events may have a default there, or none
		default:
			if after, ok := a.layout.Table.Families[a.layout.Columns[i].Family].Life.Expires(); ok {
				data.expiry, data.after = &f.columns[i], after
			}
		}
	}
	before := r.into.Extend(r.columns, &a.base, data)
	for i := range f.columns {
		if data.column = &f.columns[i]; !a.fetched.HasValues(i) {
			data.column = &frameColumn{holes: n}
		}
		if err := r.into.Decode(r.columns, i, data); err != nil {
			r.into.Truncate(r.columns, before)
			return false, true // all but the one that does not decode are good
		}
	}
	r.op.Events += n
	return true, limit == 0 || r.op.Events < limit
}

// ReadColumns appends the events that a query finds to slices, with the options of
// [Reader.Query]; without a query, those of the series of base. An event that does
// not decode is left out, and the first *DecodeError returned when all others are
// taken; any other error ends it.
func ReadColumns[E, C any](ctx context.Context, of ReaderOf[E], into Columns[E, C], columns *C, q *Query[E], base E, from, to time.Time, opts ...ReadOptions) error {
	r := of.(*Reader[E])
	if q == nil {
		q = &r.whole
	}
	read := columnsReading[E, C]{reading: r.begin(ctx, q, base, from, to, opts), into: into, columns: columns}
	if read.streams() {
		read.assembler.into = &read
	}
	read.run(read.one)
	return read.failed
}
