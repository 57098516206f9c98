package store

import (
	"context"
	"errors"
	"math"
	"reflect"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/frame"
)

// columnsReading is a read that appends events to slices.
type columnsReading struct {
	reading reading
	into    *Columns
	columns []any
	failed  error // the error that ends the read or, until then, that of the first undecodable event
}

// enter continues with the columns of another mapping.
func (r *columnsReading) enter(l *mapping) { r.into = l.columns }

// one consumes an event.
func (r *columnsReading) one(e event, err error) bool {
	switch {
	case err == nil:
		r.into.add(r.columns, e)
	case r.failed == nil || !isDecodeError(err):
		r.failed = err
	}
	return true
}

// most does not limit how many events are appended at a time.
func (r *columnsReading) most() int { return math.MaxInt }

// take consumes events, unless one lacks data or may have expired.
func (r *columnsReading) take(a *assembler, begin, end int) (taken, more bool) {
	f, n, limit := &a.frame, end-begin, r.reading.options.Limit
	if limit > 0 && r.reading.op.Events+n > limit {
		return false, true
	}
	if now, stale := a.stale(); stale && !a.allAlive(now, begin, end) {
		return false, true
	}
	data := eventData{frame: f, begin: begin, end: end}
	for i := range r.into.stored {
		if a.fetched.Omits(i) {
			continue
		}
		from, complete := a.complete(i)
		if !complete || !a.fetched.HasValues(i) && a.mapping.Columns[i].Whole {
			return false, true // these events may need defaults
		}
		if after, ok := a.families[a.columns[from].Family].Life.Expires(); ok {
			data.expiry, data.after = &f.Columns[from], after
		}
	}
	before := r.into.extend(r.columns, a.base, data)
	for i := range r.into.stored {
		from, _ := a.complete(i)
		if data.column = &f.Columns[from]; !a.fetched.HasValues(i) {
			data.column = &frame.FrameColumn{Holes: n}
		}
		if err := r.into.decode[from](r.columns, data); err != nil {
			r.into.truncate(r.columns, before)
			return false, true // only one of them is undecodable
		}
	}
	r.reading.op.Events += n
	return true, limit == 0 || r.reading.op.Events < limit
}

// ErrNoColumns is the error of [Reader.ReadColumns] without columns to append to.
var ErrNoColumns = errors.New("the columns are nil, so nothing was read: pass a pointer to columns, such as new(BalloonColumns)")

// ReadColumns appends the events of a selection to slices, with the options of [Reader.Read]. It
// leaves out undecodable events and returns the first *DecodeError after it has read all others; any
// other error ends the read.
func (r *Reader) ReadColumns(ctx context.Context, into *Columns, columns any, of Selection, from, to time.Time, opts ...ReadOptions) error {
	if err := r.missingClient(); err != nil {
		return err
	}
	if v := reflect.ValueOf(columns); into == nil || !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return ErrNoColumns
	}
	s := of.resolve()
	read := columnsReading{reading: r.beginSelected(ctx, s, r.query(s), from, to, opts), into: into, columns: into.slicesOf(columns)}
	return read.all()
}

// all reads all events.
func (r *columnsReading) all() error {
	if r.reading.streams() && r.reading.options.Page == nil {
		r.reading.assembler.into = r
	}
	r.reading.run(r.one)
	return r.failed
}
