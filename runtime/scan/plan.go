package scan

import (
	"iter"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// MaxTime is the end of the year 9999, later than any event.
var MaxTime = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

// ReadPlan contains everything that a read requests.
type ReadPlan struct {
	// From and To are the part of the time range that can have live events; To is excluded.
	From, To time.Time
	// RanksEnd is the time until which the ranks of cells that the read sees are valid.
	RanksEnd time.Time
	// Beyond is set if the read may receive rows without an event in the range: because the
	// ranks of cells depend on others after To, or because cells have events of several times.
	Beyond bool
	// Cut is set if rows may have no other events than in the rest of a millisecond that the
	// range cuts; see [Part.RowsOnly].
	Cut bool
	// Parts are read one after the other. There are none if no event can be live.
	Parts []Part
}

// Route defines how the rows of a part's spans become one sequence.
type Route int

const (
	// OneSpan reads the rows of one span in their order.
	OneSpan Route = iota
	// Merged merges the rows of several spans.
	Merged
	// Skipping reads one row at a time and skips the remaining rows of a series once it has found an event.
	Skipping
	// KeyOrder reads the rows of several spans in the order of row keys.
	KeyOrder
)

// Part is a part of the time range of a read. Within it, all spans are read with the same filter.
type Part struct {
	timePart
	Route  Route
	Filter Filter // of all requests; those of a span may add to it
	// Limit is the number of rows that suffice; 0 for all. The sender subtracts the rows that earlier parts returned.
	Limit int

	table *Table
	read  *Read
}

// Plan plans a read at time now. It keeps a reference to r.
func (t *Table) Plan(r *Read, now time.Time) ReadPlan {
	p := ReadPlan{From: r.From, To: r.To}
	since, bounded := t.Since(now)
	if bounded && r.Runs != NoRuns && t.Rollup != nil {
		if ofRuns, runsBounded := t.sinceRuns(now); !runsBounded || ofRuns.Before(since) {
			since, bounded = ofRuns, runsBounded
		}
	}
	if bounded && since.After(p.From) {
		p.From = since
	}
	if !t.End.IsZero() && t.End.Before(p.To) {
		p.To = t.End
	}
	if !p.From.Before(p.To) {
		return p
	}
	p.Cut = t.cuts(p.From, p.To)
	p.RanksEnd = t.ranksEnd(now, p.From, p.To)
	p.Beyond = slices.ContainsFunc(t.Families, func(f Family) bool { return t.rest(&f, now, p.From, p.To).After(p.To) })
	part := Part{Route: t.route(r), table: t, read: r}
	if t.endsByRows(r) {
		part.Limit = r.Limit
	}
	for _, part.timePart = range t.parts(r, p.From, p.To) {
		if part.Filter = t.partFilter(r, part.timePart, now); part.Filter == nil {
			break
		}
		if r.WithoutValues {
			part.Filter = chain(part.Filter, StripValues{})
		}
		p.Parts = append(p.Parts, part)
	}
	return p
}

// Cuts reports whether reads of row ranges cut the time range into parts, which are read one after the
// other: if only qualifiers contain event times, partial buckets take other filters.
func (t *Table) Cuts() bool {
	return t.Pattern.Naming() == codec.NamedByTime && !t.ByTimestamp()
}

// parts splits the time range at partial buckets, if reads cut it. The parts are in reading order.
func (t *Table) parts(r *Read, from, to time.Time) []timePart {
	if r.AllTimes || !t.Cuts() {
		return []timePart{{From: from, To: to}}
	}
	parts := cutBuckets(t.Offset, from, to)
	if r.NewestFirst {
		slices.Reverse(parts)
	}
	return parts
}

// route returns how the rows of the spans become one sequence.
func (t *Table) route(r *Read) Route {
	switch {
	case r.Listed:
		return KeyOrder
	case r.LatestOnly && r.Contiguous && t.InOrder() && !t.Pattern.RowPerField() && !t.Endless():
		return Skipping
	case len(r.Spans) > 1 || t.Pattern.RowPerField():
		return Merged
	}
	return OneSpan
}

// endsByRows reports whether a read with a limit may stop after that many rows, because
// each of them has an event. It may not if it sorts or skips events of several rows.
func (t *Table) endsByRows(r *Read) bool {
	sorted := r.TimeOrder && r.MultiSeries && t.Pattern.Bucketed()
	return r.Limit > 0 && (!r.LatestOnly || !r.MultiSeries) && !sorted
}

// Requests returns all requests of a plan on the assumption that every row exists. A
// lookup is followed by requests for all rows that it could find.
func (p *ReadPlan) Requests() []Request {
	var out []Request
	for i := range p.Parts {
		part := &p.Parts[i]
		if part.Route == KeyOrder {
			out = slices.AppendSeq(out, part.Listed())
			continue
		}
		if one, ok := part.Gathered(); ok {
			if one.Rows != nil {
				out = append(out, one)
			}
			continue
		}
		for span := range part.read.Spans {
			if lookup, ok := part.Lookup(span); ok {
				out = append(out, lookup)
			}
			out = slices.AppendSeq(out, part.Requests(span))
		}
	}
	return out
}

// Reads reports whether the read needs the rows of a span. It does not need those of a
// column that is not in the projection.
func (p *Part) Reads(span int) bool {
	return !p.table.Pattern.RowPerField() || !p.read.Projection.Omits(span)
}

// Lookup returns the request that lists the rows of a span; false if the read does not need one.
func (p *Part) Lookup(span int) (Request, bool) {
	q, needed := p.lookup(span)
	if needed {
		q.Filter, q.KeysOnly = p.RowsOnly(q.Filter), true
	}
	return q, needed
}

// lookup is Lookup with all cells of the rows.
func (p *Part) lookup(span int) (Request, bool) {
	if p.read.AllTimes || !p.table.Pattern.Bucketed() || !p.Reads(span) || p.listing(span) != listStored {
		return Request{}, false
	}
	s := p.read.Spans[span]
	return Request{Rows: []codec.Rows{codec.PrefixRows(s.Prefix)}, Filter: p.table.matching(s, p.Filter)}, true
}

// Found yields requests for the rows of a span, found by lookups if the read needs them, with the cells of the part.
func (p *Part) Found(span int) iter.Seq[Request] {
	if q, needed := p.lookup(span); needed {
		return func(yield func(Request) bool) { yield(q) }
	}
	return p.Requests(span)
}

// Requests yields the requests for the rows of a span in reading order.
func (p *Part) Requests(span int) iter.Seq[Request] {
	if one, ok := p.Request(span); ok {
		return func(yield func(Request) bool) { yield(one) }
	}
	if !p.Reads(span) || p.read.AllTimes || !p.table.Pattern.Bucketed() {
		return func(func(Request) bool) {}
	}
	s, f := p.span(span)
	return p.batches(s.Buckets(p.table.Offset.Bucket, p.From, p.To), f)
}

// Request returns the request for the rows of a span; false unless there is exactly one.
func (p *Part) Request(span int) (q Request, one bool) {
	if !p.Reads(span) {
		return q, false
	}
	var rows codec.Rows
	s, f := p.span(span)
	switch {
	case p.read.AllTimes:
		rows, one = s.All(), true
		rows.Reverse = s.Newest != p.table.Descending()
	case !p.table.Pattern.Bucketed():
		rows, one = s.Times(p.table.TimeKey, p.From, p.To)
	default:
		rows, one = s.One(p.table.Offset.Bucket, p.From, p.To)
	}
	if !one {
		return q, false
	}
	return p.request([]codec.Rows{rows}, f), true
}

// span returns span i as it is read, and the filter for its rows. If it reads one range
// that contains rows of other series, the filter selects the suffix of the span.
func (p *Part) span(i int) (codec.Span, Filter) {
	s, t := p.read.Spans[i], p.table
	s.Newest = p.read.NewestFirst
	switch {
	case p.read.AllTimes:
	case !t.Pattern.Bucketed():
		return s, t.matching(s, p.Filter)
	case p.listing(i) == listRange:
		f := t.matching(s, p.Filter)
		s.Suffix, s.Whole = "", false
		return s, f
	case s.Rest > 0: // a range may contain rows of other series
		return s, t.matching(s, p.Filter)
	}
	return s, p.Filter
}

// Stored is an existing row. Start is the start of its bucket.
type Stored struct {
	Start time.Time
	Key   string
}

// RequestsOf yields the requests for those rows of a lookup whose buckets overlap the
// part. rows must be in ascending order of time.
func (p *Part) RequestsOf(rows []Stored) iter.Seq[Request] {
	b, newestFirst := p.table.Offset.Bucket, p.read.NewestFirst
	all := slices.Values(rows)
	if newestFirst {
		all = func(yield func(Stored) bool) {
			for _, row := range slices.Backward(rows) {
				if !yield(row) {
					return
				}
			}
		}
	}
	keys := func(yield func(string) bool) {
		for row := range all {
			if row.Start.Before(p.To) && b.End(row.Start).After(p.From) && !yield(row.Key) {
				return
			}
		}
	}
	return p.batches(codec.KeyLists(keys, newestFirst != p.table.Descending(), codec.MaxRowSet), p.Filter)
}

// batches yields the fewest requests for the rows that Bigtable's size limit allows.
func (p *Part) batches(all iter.Seq[codec.Rows], f Filter) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		for rows := range Batches(all) {
			if !yield(p.request(rows, f)) {
				return
			}
		}
	}
}

// request returns a request for rows.
func (p *Part) request(rows []codec.Rows, f Filter) Request {
	q := Request{Rows: rows, Filter: f}
	switch {
	case p.Route == KeyOrder && p.table.Ties: // rows of one instant may be in several requests
	case p.Route != KeyOrder && len(p.read.Spans) > MaxStreams: // more than can be read concurrently
		q.Paginated, q.Limit = true, PageRows
		if !p.table.Pattern.Bucketed() {
			q.Limit = PageEvents
		}
	case p.Limit > 0:
		q.Limit = p.table.rowsFor(p.Limit)
	}
	return q
}

// Gathers reports whether one request can read the rows of several spans, provided that they are few.
func (t *Table) Gathers(r *Read) bool {
	n := len(r.Spans)
	return n > 1 && n <= MaxStreams && !t.Ties && r.Spans[0].Rest == 0 && (t.InOrder() || !r.MultiSeries) && apart(r.Spans)
}

// Gathered returns one request for the rows of all spans, in key order; false if they
// need several. The request has no rows if no span has any.
func (p *Part) Gathered() (Request, bool) {
	t, r := p.table, p.read
	if p.Route != Merged || p.Limit > 0 || !t.Gathers(r) {
		return Request{}, false
	}
	all := make([][]codec.Rows, len(r.Spans))
	for i, span := range r.Spans {
		switch {
		case !p.Reads(i):
		case r.AllTimes:
			all[i] = []codec.Rows{span.All()}
		case !t.Pattern.Bucketed():
			if rows, some := span.Times(t.TimeKey, p.From, p.To); some {
				all[i] = []codec.Rows{rows}
			}
		case p.listing(i) != listBuckets:
			return Request{}, false
		default:
			all[i] = slices.Collect(span.Buckets(t.Offset.Bucket, p.From, p.To))
		}
	}
	rows, ok := gather(all)
	return Request{Rows: rows, Filter: p.Filter}, ok
}

// First returns the request for the first row of a span, for parts whose Route is [Skipping].
func (p *Part) First(span int) Request {
	rows := p.read.Spans[span].All()
	rows.Reverse = !p.table.Descending()
	return Request{Rows: []codec.Rows{rows}, Filter: p.Filter, Limit: p.table.rowsFor(1)}
}
