package store

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

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

// errForeign is the error for a row that belongs to another mapping of the events.
var errForeign = errors.New("the row belongs to another layout")

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
