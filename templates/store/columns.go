package store

import (
	"context"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/templates/codec"
)

// Columns is how generated code takes events into a struct of slices, of type C.
type Columns[E, C any] struct {
	// Append adds an event.
	Append func(c *C, e *E)
	// Truncate makes all slices n events long.
	Truncate func(c *C, n int)
	// Extend adds the series of e and the times of data, and returns how many events
	// there were before. It is nil where an event has more than these and its data.
	Extend func(c *C, e *E, times Data) int
	// Decode adds the data of a column of the layout. It is nil where one column
	// holds whole events.
	Decode func(c *C, column int, data Data) error
}

// Data is the data of a column of a bucket, one for each event.
type Data struct {
	column      *column
	begin, end  int
	newestFirst bool
}

// Extend appends what decode makes of each datum, zeros if the column has none. An
// error ends it.
func Extend[T any](dst []T, data Data, decode func([]byte) (T, error)) ([]T, error) {
	dst, added := grow(dst, data)
	if len(data.column.cells) == 0 {
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
	if data.newestFirst {
		slices.Reverse(added)
	}
	return dst, nil
}

// ExtendTimes appends the times of data.
func ExtendTimes(dst []time.Time, data Data) []time.Time {
	dst, added := grow(dst, data)
	for i, cell := range data.column.cells[data.begin:data.end] {
		added[i] = codec.FromMicros(cell.Micros)
	}
	if data.newestFirst {
		slices.Reverse(added)
	}
	return dst
}

// ExtendSeries appends a value as often as there are data.
func ExtendSeries[T any](dst []T, data Data, v T) []T {
	dst, added := grow(dst, data)
	for i := range added {
		added[i] = v
	}
	return dst
}

// grow makes a slice longer by a place for each datum.
func grow[T any](dst []T, data Data) (all, added []T) {
	n := data.end - data.begin
	all = slices.Grow(dst, n)[:len(dst)+n]
	return all, all[len(dst):]
}

// taker takes events by the column.
type taker[E any] interface {
	// take takes the data of a group whose columns agree, from begin up to end, and
	// reports whether more are wanted. It takes nothing where events have to be made
	// of them.
	take(a *assembler[E], g *group, begin, end int) (taken, more bool)
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

func (r *columnsReading[E, C]) take(a *assembler[E], g *group, begin, end int) (taken, more bool) {
	n, limit := end-begin, r.options.Limit
	if _, stale := a.stale(); stale || limit > 0 && r.op.Events+n > limit {
		return false, true
	}
	for i := range g.columns {
		if len(g.columns[i].cells) == 0 && !a.skips(i) {
			return false, true // events may have a default there, or none
		}
	}
	before := r.into.Extend(r.columns, &a.base, Data{g.lead(), begin, end, a.newestFirst})
	for i := range g.columns {
		if err := r.into.Decode(r.columns, i, Data{&g.columns[i], begin, end, a.newestFirst}); err != nil {
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
	if read.streams() && into.Extend != nil && into.Decode != nil {
		read.assembler.into = &read
	}
	read.run(read.one)
	return read.failed
}
