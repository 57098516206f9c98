package store

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// period is the part of a read that uses one mapping.
type period struct {
	reader   *Reader
	query    *query
	from, to time.Time
}

// periods splits a read by mapping, in the order of the read.
func (r *reading) periods() []period {
	layouts := r.reader.layouts
	out := make([]period, 0, len(layouts))
	for i, of := range layouts {
		p := period{of, r.q.of(i), codec.Later(r.assembler.from, of.mapping.Since), r.assembler.to}
		if until := of.mapping.until; !until.IsZero() {
			p.to = codec.Earlier(p.to, until)
		}
		if len(layouts) == 1 || p.from.Before(p.to) {
			out = append(out, p)
		}
	}
	if !r.options.NewestFirst {
		slices.Reverse(out)
	}
	return out
}

// inPeriods yields the events of all mappings in the time range, one mapping after the other.
func (r *reading) inPeriods(yield yielder) {
	periods := r.periods()
	if err := r.refused(periods); err != nil {
		yield(r.reader.mapping.new(), err) // before the events of any mapping
		return
	}
	if len(r.reader.layouts) == 1 {
		r.inOrder(yield)
		return
	}
	more := true
	for _, p := range periods {
		if r.page.skips(p.reader.mapping.Since, r.options.NewestFirst) {
			continue
		}
		r.enter(p)
		r.inOrder(func(e event, err error) bool {
			more = yield(e, err) && (err == nil || isDecodeError(err))
			return more
		})
		if limit := r.options.Limit; !more || r.ended || limit > 0 && r.op.Events >= limit {
			return
		}
	}
}

// refused returns why the read cannot have the order that the caller wants, in some mapping.
func (r *reading) refused(periods []period) error {
	if !r.reader.joins(r.q) {
		return ErrFieldRows // instead of events with fields of others
	}
	if !r.sorts() {
		return nil
	}
	for _, p := range periods {
		// Each of several values may have several rows.
		if p.query.AllTimes || !p.reader.shape.InOrder() || r.many && p.reader.mapping.Pattern.RowPerField() {
			return ErrOrder
		}
	}
	if !r.many || len(r.reader.layouts) == 1 {
		return nil
	}
	for _, p := range periods {
		r.enter(p)
		if _, err := r.groups(); err != nil {
			return err
		}
	}
	return nil
}

// enter continues the read with another mapping.
func (r *reading) enter(p period) {
	a := &r.assembler
	r.reader, r.q = p.reader, p.query
	kept := a.delivery
	*a = p.reader.newAssembler(r.some[0].low)
	a.delivery, a.newestFirst = kept, r.options.NewestFirst
	a.from, a.to = p.from, p.to
	if a.into != nil {
		a.into.enter(p.reader.mapping)
	}
}
