package store

import (
	"slices"
	"time"
)

// period is the part of a read that uses one mapping.
type period struct {
	reader   *Reader
	query    *query
	from, to time.Time
}

// unordered reports whether the rows of a mapping are not in order of time.
func (p period) unordered() bool { return p.query.AllTimes || !p.reader.shape.InOrder() }

// mixed reports whether the events of several values cannot be sorted by time, because each of
// them has several rows.
func (p period) mixed() bool { return p.reader.mapping.Pattern.RowPerField() }

// periods splits a read by mapping, in the order of the read.
func (r *reading) periods() []period {
	var out []period
	add := func(reader *Reader, query *query) {
		p := period{reader, query, r.assembler.from, r.assembler.to}
		if p.from.Before(reader.mapping.Since) {
			p.from = reader.mapping.Since
		}
		if until := reader.mapping.until; !until.IsZero() && until.Before(p.to) {
			p.to = until
		}
		if p.from.Before(p.to) {
			out = append(out, p)
		}
	}
	add(r.reader, r.q)
	for i, older := range r.reader.older {
		add(older, r.q.older(older, i))
	}
	if !r.options.NewestFirst {
		slices.Reverse(out)
	}
	return out
}

// inPeriods yields the events of all mappings in the time range, one mapping after the other.
func (r *reading) inPeriods(yield yielder) {
	if !r.q.joins() {
		yield(r.reader.mapping.new(), ErrFieldRows) // instead of events with fields of others
		return
	}
	if len(r.reader.older) == 0 {
		r.inOrder(r.events)(yield)
		return
	}
	periods := r.periods()
	if r.sorts() && (slices.ContainsFunc(periods, period.unordered) || r.many != nil && slices.ContainsFunc(periods, period.mixed)) {
		yield(r.reader.mapping.new(), ErrOrder) // before the events of any mapping
		return
	}
	if err := r.sortable(periods); err != nil {
		yield(r.reader.mapping.new(), err)
		return
	}
	more := true
	for _, p := range periods {
		if r.page.skips(p.reader.mapping.Since, r.options.NewestFirst) {
			continue
		}
		r.enter(p)
		r.inOrder(r.events)(func(e event, err error) bool {
			more = yield(e, err) && (err == nil || isDecodeError(err))
			return more
		})
		if limit := r.options.Limit; !more || r.ended || limit > 0 && r.op.Events >= limit {
			return
		}
	}
}

// sortable returns the error of the first mapping whose events of several values cannot be sorted
// by time, or read in pages, if that is asked for.
func (r *reading) sortable(periods []period) error {
	if r.many == nil || !r.sorts() {
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
	*a = p.reader.newAssembler(r.given)
	a.delivery, a.newestFirst = kept, r.options.NewestFirst
	a.from, a.to = p.from, p.to
	if a.into != nil {
		a.into.enter(p.reader.mapping)
	}
}
