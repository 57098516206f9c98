package scan

import (
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Search contains the requests that find the newest event of a series.
type Search struct {
	// Requests has one request per span: for the first row that can have a live event
	// or, if labels do not sort, a lookup of the existing rows.
	Requests []Request
	Filter   Filter // for the rows that a lookup finds
}

// Search plans the search for the newest event of one series; false if no event can be live.
func (t *Table) Search(spans []codec.Span, now time.Time) (Search, bool) {
	s := Search{Filter: t.newest(now)}
	if s.Filter == nil {
		return s, false
	}
	s.Requests = make([]Request, len(spans))
	for i, span := range spans {
		if !t.InOrder() { // the newest row may be anywhere
			s.Requests[i] = Request{Rows: []codec.Rows{codec.PrefixRows(span.Prefix)}, Filter: KeysOnly(t.matching(span, s.Filter)), KeysOnly: true}
			continue
		}
		s.Requests[i] = Request{Rows: []codec.Rows{t.living(span, now)}, Filter: t.matching(span, s.Filter), Limit: t.rowsFor(1)}
	}
	return s, true
}

// States returns the requests for the rows of series in a table of [codec.Latest], with the newest
// cell of each column; none if no cell can be live.
func (t *Table) States(spans []codec.Span, now time.Time) []Request {
	filter := t.newest(now)
	if filter == nil {
		return nil
	}
	rows := make([]codec.Rows, len(spans))
	for i, span := range spans {
		rows[i] = span.All()
	}
	slices.SortFunc(rows, func(a, b codec.Rows) int { return strings.Compare(a.Start, b.Start) })
	var out []Request
	for batch := range Batches(slices.Values(rows)) {
		out = append(out, Request{Rows: batch, Filter: filter})
	}
	return out
}

// RequestOf returns the request for a row that a lookup found.
func (s *Search) RequestOf(key string) Request {
	return Request{Rows: []codec.Rows{{Keys: []string{key}}}, Filter: s.Filter}
}

// Recent returns one request for the rows of the current bucket and later ones, of all spans. It returns false if a
// single request of [Table.Search] suffices, if one request cannot read these rows, or if no event can be live.
func (t *Table) Recent(spans []codec.Span, now time.Time) (Request, bool) {
	if !t.Pattern.Bucketed() || t.InOrder() && len(spans) == 1 || spans[0].Rest > 0 || !apart(spans) {
		return Request{}, false
	}
	all, filter, ok := t.recent(spans, now)
	if !ok {
		return Request{}, false
	}
	rows, ok := gather(all)
	return Request{Rows: rows, Filter: filter}, ok
}

// RecentOf returns the requests for the rows of the current bucket and later ones, of the spans of several series. It
// returns false if requests cannot read just these rows, or if no event can be live.
func (t *Table) RecentOf(spans []codec.Span, now time.Time) ([]Request, bool) {
	if !t.Pattern.Bucketed() || !t.InOrder() || !apart(spans) {
		return nil, false
	}
	all, filter, ok := t.recent(spans, now)
	if !ok {
		return nil, false
	}
	rows := slices.Concat(all...)
	for i := range rows {
		rows[i].Reverse = false
	}
	slices.SortFunc(rows, func(a, b codec.Rows) int { return strings.Compare(a.Start, b.Start) })
	var out []Request
	for batch := range Batches(slices.Values(rows)) {
		out = append(out, Request{Rows: batch, Filter: filter})
	}
	return out, true
}

// recent returns the rows of the current bucket and later ones, of each span, and their filter.
func (t *Table) recent(spans []codec.Span, now time.Time) ([][]codec.Rows, Filter, bool) {
	filter := t.newest(now)
	if filter == nil {
		return nil, nil, false
	}
	all := make([][]codec.Rows, len(spans))
	for i, span := range spans {
		rows, form, ok := span.Recent(t.Offset.Bucket, now)
		if !ok {
			return nil, nil, false
		}
		all[i] = []codec.Rows{rows}
		if i == 0 && form != nil { // the same for all spans
			filter = chain(Keys{form}, filter)
		}
	}
	return all, filter, true
}

// newest returns the filter of the newest cells of each column or, if timestamps do not
// tell which are newest, of all live cells; nil if none can be live.
func (t *Table) newest(now time.Time) Filter {
	if t.Sums != "" {
		with := *t
		with.Families, with.Sums = append(slices.Clone(t.Families), Family{Name: t.Sums, Life: t.Families[0].Life}), ""
		return with.newest(now)
	}
	if t.Pattern.EventTimed() {
		return t.alive(now, t.ssd, MaxTime, 1)
	}
	return t.alive(now, t.ssd, codec.Forever, 0)
}

// living returns the row range of a span that can have live events, to be read newest first.
func (t *Table) living(span codec.Span, now time.Time) codec.Rows {
	rows := span.All()
	rows.Reverse = !t.Descending()
	since, _ := t.Since(now)
	since = codec.Later(since, t.ssd)
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
