package scan

import (
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Search is what the look for the newest event of a series requests.
type Search struct {
	// Requests has one request for each span: for its first row that can have a living
	// event or, where labels do not sort, a lookup of the rows that exist.
	Requests []Request
	Filter   Filter // of the rows that a lookup finds
}

// Search plans the look for the newest event of the series that spans are of; false if
// no event can be alive.
func (t *Table) Search(spans []codec.Span, now time.Time) (Search, bool) {
	s := Search{Filter: t.newest(now)}
	if s.Filter == nil {
		return s, false
	}
	s.Requests = make([]Request, len(spans))
	for i, span := range spans {
		if !t.InOrder() { // the newest row is not the last
			s.Requests[i] = t.lookup(span, s.Filter)
			continue
		}
		s.Requests[i] = Request{Rows: []codec.Rows{t.living(span, now)}, Filter: t.matching(span, s.Filter), Limit: t.rowsFor(1)}
	}
	return s, true
}

// RequestOf returns the request for a row that a lookup found.
func (s *Search) RequestOf(key string) Request {
	return Request{Rows: []codec.Rows{{Keys: []string{key}}}, Filter: s.Filter}
}

// Recent returns the request for the rows of the bucket of now and of those after it, of
// all spans; false where one request finds the newest event anyway, where these rows
// cannot be requested at once, or if no event can be alive.
func (t *Table) Recent(spans []codec.Span, now time.Time) (Request, bool) {
	if !t.Pattern.Bucketed() || t.InOrder() && len(spans) == 1 || !apart(spans) {
		return Request{}, false
	}
	filter := t.newest(now)
	if filter == nil {
		return Request{}, false
	}
	all := make([][]codec.Rows, len(spans))
	for i, span := range spans {
		rows, form, ok := span.Recent(t.Offset.Bucket, now)
		if !ok {
			return Request{}, false
		}
		all[i] = []codec.Rows{rows}
		if i == 0 && form != nil { // the same for all
			filter = chain(Keys{form}, filter)
		}
	}
	rows, ok := gather(all)
	return Request{Rows: rows, Filter: filter}, ok
}

// newest returns the filter of the newest cells of each column or, where cells do not
// tell, of all that are alive; nil if none can be.
func (t *Table) newest(now time.Time) Filter {
	if t.Pattern.EventTimed() {
		return t.alive(now, time.Time{}, MaxTime, 1)
	}
	return t.alive(now, time.Time{}, codec.Endless, 0)
}

// living returns the range of the rows of a span that can have a living event, to be read
// from the newest.
func (t *Table) living(span codec.Span, now time.Time) codec.Rows {
	rows := codec.PrefixRows(span.Prefix)
	rows.Reverse = !t.Descending()
	since, _ := t.Since(now)
	span.Newest, span.Whole, span.Suffix = true, span.Whole && span.Suffix == "", ""
	if !t.Pattern.Bucketed() {
		if within, ok := span.Times(t.TimeKey, since, MaxTime); ok {
			return within
		}
		return rows
	}
	if within, ok := span.One(t.Offset.Bucket, since, MaxTime); ok {
		return within
	}
	return rows
}
