package layout

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// farFuture is later than any event: the end of the year 9999.
var farFuture = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

// Request is a request that the generated reader sends, for made-up series values.
// That it does is a test of package generated.
type Request struct {
	Rows   []codec.Rows // ranges, or one list of keys
	Filter Filter
	Limit  int // of the rows that come back; 0 for none
	// Pages says that it is sent again for the rows that follow, until there are none.
	Pages bool
	// Looks says that it only looks which rows there are: one cell of each comes
	// back, without its value.
	Looks bool
}

// Filter is what a request lets through: what all of its parts do.
type Filter struct {
	// Columns are the names of the columns; nil for all.
	Columns []string
	// Present are the names of columns whose cells come too, without their values: they
	// tell which events there are.
	Present []string
	// Keys are patterns for the cells' row keys: of each list one that fits.
	Keys [][]KeyFilter
	// Cells are those that are read, by one or another. It is never empty.
	Cells []CellFilter
	// Newest is how many cells of a column come back, of those that the windows
	// let through; 0 for all.
	Newest int
}

// KeyFilter is a pattern that row keys match.
type KeyFilter struct {
	Form   codec.KeyPieces
	Regexp string // the same, as it is sent
	// Begin and End are the range of the names of the columns that are read where
	// it does, the end without; empty for no bound.
	Begin, End string
}

// CellFilter is which cells of which families are read, in a range of column names
// as in KeyFilter.
type CellFilter struct {
	Families   []FamilyFilter
	Begin, End string
}

// FamilyFilter is the windows of cells that are read of some families.
type FamilyFilter struct {
	Families []string
	// Windows are nil where every cell is let through.
	Windows []codec.Window
}

// Requests returns what the reader asks for to answer the query for a range of
// time, at a time, for made-up series values. Columns are indices of the columns
// to fetch; nil for all.
func (q *Query) Requests(l *Layout, now, from, to time.Time, columns []int) []Request {
	t := q.Table
	if since, bounded := t.since(now); bounded && since.After(from) {
		from = since
	}
	if !from.Before(to) {
		return nil
	}
	var out []Request
	spans, present := q.exampleSpans(l), t.present(l, columns)
	for _, p := range q.parts(l, from, to) {
		f, alive := q.partFilter(l, p, now)
		if !alive {
			return out
		}
		f.Columns, f.Present = t.columnNames(columns), t.columnNames(present)
		asked := make([][]Request, len(spans))
		for i, span := range spans {
			if t.Metrics() && columns != nil && !slices.Contains(columns, i) && !slices.Contains(present, i) {
				continue // the row of a field that is not fetched
			}
			asked[i] = q.spanRequests(span, p, f)
		}
		if one, ok := q.gathered(l, asked); ok {
			out = append(out, one...)
			continue
		}
		for _, requests := range asked {
			if len(spans) > codec.MaxStreams {
				requests = t.paged(requests)
			}
			out = append(out, requests...)
		}
	}
	return out
}

// Gathers reports whether the rows of several salts or fields are asked for in one
// request, as long as they are few.
func (q *Query) Gathers(l *Layout) bool {
	spans, several := q.exampleSpans(l), len(q.By) < len(l.Series)
	return codec.Apart(spans) && len(spans) > 1 && len(spans) <= codec.MaxStreams && q.Table.Ties(l) == 0 && (q.Table.inOrder() || !several)
}

// gathered makes one request of those for several spans; false if it cannot.
func (q *Query) gathered(l *Layout, asked [][]Request) ([]Request, bool) {
	if !q.Gathers(l) {
		return nil, false
	}
	var of Request
	rows := make([][]codec.Rows, len(asked))
	for i, requests := range asked {
		for _, r := range requests {
			if r.Looks {
				return nil, false
			}
			rows[i], of = append(rows[i], r.Rows...), r
		}
	}
	var ok bool
	of.Rows, ok = codec.Gather(rows)
	return []Request{of}, ok
}

// paged makes requests for so many rows each that others get their turn.
func (t *Table) paged(requests []Request) []Request {
	for i := range requests {
		r := &requests[i]
		switch {
		case r.Looks: // takes no turns
		case t.Pattern.Bucketed():
			r.Limit, r.Pages = codec.PageRows, true
		default:
			r.Limit, r.Pages = codec.PageEvents, true
		}
	}
	return requests
}

// since returns the time of the oldest event that can be alive; false if there is
// no bound.
func (t *Table) since(now time.Time) (oldest time.Time, bounded bool) {
	return codec.Oldest(now, t.Families, func(f *Family) codec.Lifetime { return f.Life })
}

// parts cuts a range at the buckets that are not whole in it, where the times of
// events stand in qualifiers alone.
func (q *Query) parts(l *Layout, from, to time.Time) []codec.Part {
	t := q.Table
	if t.Pattern != BucketOffsets || !q.Plan.Timed || t.Stamped() {
		return []codec.Part{{From: from, To: to}}
	}
	return t.Offset(l).CutBuckets(from, to)
}

// Stamped reports whether a range of time is asked for as one of timestamps of cells:
// where nothing else says when events are, and in the columns of a bucket if garbage
// collection goes by it too.
func (t *Table) Stamped() bool {
	if t.Pattern == BucketOffsets {
		return !slices.ContainsFunc(t.Families, func(f Family) bool { return !f.Life.Dated() })
	}
	return t.Pattern.Bucketed()
}

// partFilter returns the filter of a part; false if nothing can be alive.
func (q *Query) partFilter(l *Layout, p codec.Part, now time.Time) (Filter, bool) {
	cells := q.timeFilters(l, p, now)
	for i := range cells {
		if p.Begin != "" || p.End != "" {
			cells[i].Begin, cells[i].End = p.Begin, p.End
		}
	}
	f := Filter{Cells: cells}
	if !q.ByKeys() {
		return f, len(cells) > 0
	}
	keys := q.keyFilters(l, p)
	f.Keys = append(f.Keys, keys)
	return f, len(cells) > 0 && len(keys) > 0
}

// timeFilters returns which cells of a part are read by their timestamps, each of
// them by one filter; none if no cell can be alive.
func (q *Query) timeFilters(l *Layout, p codec.Part, now time.Time) []CellFilter {
	t := q.Table
	switch {
	case !t.Stamped():
		return t.filters(now, time.Time{}, codec.Endless) // rows and columns say when
	case l.Precision%time.Millisecond == 0:
		return t.filters(now, p.From, p.To)
	}
	var out []CellFilter
	for _, m := range t.Offset(l).CutMilliseconds(p.From, p.To) {
		for _, f := range t.filters(now, codec.Truncate(m.From, time.Millisecond), m.To) {
			f.Begin, f.End = m.Begin, m.End
			out = append(out, f)
		}
	}
	return out
}

// filters returns the filter of a read of the cells in [from, to): of each family
// those that garbage collection would have left; none if none can be alive.
func (t *Table) filters(now, from, to time.Time) []CellFilter {
	var out []FamilyFilter
	for _, f := range t.Families {
		windows := f.Life.Windows(now, from, t.rest(f, now, from, to))
		if len(windows) == 0 {
			continue
		}
		if slices.Contains(windows, codec.Window{}) {
			windows = nil
		}
		same := slices.IndexFunc(out, func(g FamilyFilter) bool { return slices.Equal(g.Windows, windows) })
		if same >= 0 {
			out[same].Families = append(out[same].Families, f.Name)
			continue
		}
		out = append(out, FamilyFilter{[]string{f.Name}, windows})
	}
	if out == nil {
		return nil
	}
	return []CellFilter{{Families: out}}
}

// rest returns until when the cells of a family are read for a range up to a time:
// in buckets, those that count for the rank of others.
func (t *Table) rest(f Family, now, from, to time.Time) time.Time {
	if t.Pattern != BucketNewCells && t.Pattern != BucketSerialized {
		return to
	}
	return f.Life.Retention.Rest(t.Bucket, now, from, to)
}

// keyFilters returns the patterns for the keys of a part of a query; none if there
// are no such keys.
func (q *Query) keyFilters(l *Layout, p codec.Part) []KeyFilter {
	t, pattern := q.Table, q.keyPattern(l)
	if !q.timeInKeys() {
		return []KeyFilter{keyFilter(pattern.At(codec.AnyTime(t.keyTimes())))}
	}
	parts := []codec.Part{p}
	if t.Pattern == BucketOffsets {
		parts = t.Offset(l).CutBuckets(p.From, p.To)
	}
	var out []KeyFilter
	for _, p := range parts {
		if times, some := codec.TimesIn(t.keyTimes(), p.From, p.To); some {
			f := keyFilter(pattern.At(times))
			f.Begin, f.End = p.Begin, p.End
			out = append(out, f)
		}
	}
	return out
}

// keyFilter is the filter for keys with these pieces.
func keyFilter(form codec.KeyPieces) KeyFilter { return KeyFilter{Form: form, Regexp: form.Regexp()} }

// keyTimes is how times stand in the keys.
func (t *Table) keyTimes() codec.KeyTimes {
	if t.Pattern.Bucketed() {
		return t.Bucket
	}
	return t.TimeKey
}

// keyPattern returns the pattern for the keys of a query.
func (q *Query) keyPattern(l *Layout) *codec.KeyPattern {
	p := codec.NewKeyPattern(q.Table.Delimiter)
	for _, g := range q.Table.Segments {
		switch q.PatternPart(l, g) {
		case TimePart:
			p.Time()
		case KnownPart:
			p.Known(func(w *codec.KeyWriter) { q.Table.writeExamples(l, w, []Segment{g}, q.Table.exampleKey()) })
		case BytesPart:
			p.Bytes(q.Table.Width(l, g))
		case TerminatedPart:
			p.Terminated()
		case AnyPart:
			p.Any()
		}
	}
	return p
}

// matching adds to a filter that the key has the suffix of a span, for rows that
// are asked for by a range of time.
func (t *Table) matching(span codec.Span, f Filter) Filter {
	if span.Suffix == "" {
		return f
	}
	key := keyFilter(span.Pattern(codec.AnyTime(t.keyTimes())))
	f.Keys = slices.Concat([][]KeyFilter{{key}}, f.Keys)
	return f
}

// present returns the columns whose cells are read without their values where columns
// are fetched, nil for all, none of which every event has: one that every event has or,
// if there is none, all others.
func (t *Table) present(l *Layout, columns []int) []int {
	required := func(i int) bool {
		f := t.Columns[i].Field
		return f >= 0 && !l.Fields[f].Optional && l.Fields[f].Default == nil
	}
	if columns == nil || t.Pattern.OneValue() || slices.ContainsFunc(columns, required) {
		return nil
	}
	var others []int
	for i, c := range t.Columns {
		switch {
		case required(i):
			return []int{i}
		case c.Field >= 0 && !slices.Contains(columns, i):
			others = append(others, i)
		}
	}
	return others
}

// columnNames are the columns that a filter names; nil for all of them.
func (t *Table) columnNames(columns []int) []string {
	if columns == nil || t.Pattern.OneValue() || t.Metrics() {
		return nil
	}
	var names []string
	for _, i := range columns {
		names = append(names, t.Columns[i].Qualifier)
	}
	return names
}

// spanRequests returns the requests for the rows of a span.
func (q *Query) spanRequests(span codec.Span, p codec.Part, f Filter) []Request {
	t := q.Table
	switch {
	case !q.Plan.Timed:
		rows := codec.PrefixRows(span.Prefix)
		rows.Reverse = t.descending()
		return []Request{{Rows: []codec.Rows{rows}, Filter: f}}
	case t.Pattern.Bucketed():
		return t.bucketRequests(span, p.From, p.To, f)
	}
	rows, ok := span.Times(t.TimeKey, p.From, p.To)
	if !ok {
		return nil
	}
	return []Request{{Rows: []codec.Rows{rows}, Filter: t.matching(span, f)}}
}

// bucketRequests returns the requests for the buckets that overlap [from, to): where
// it looks first, as if there were all of them.
func (t *Table) bucketRequests(span codec.Span, from, to time.Time, f Filter) []Request {
	var out []Request
	switch span.Listing(t.Bucket, from, to) {
	case codec.ListStored:
		out = append(out, t.look(span, f))
	case codec.ListRange:
		f = t.matching(span, f)
		span.Suffix, span.Whole = "", false
	}
	for rows := range codec.Batches(span.Buckets(t.Bucket, from, to)) {
		out = append(out, Request{Rows: rows, Filter: f})
	}
	return out
}

// look is the request that looks which rows there are of a span.
func (t *Table) look(span codec.Span, f Filter) Request {
	return Request{Rows: []codec.Rows{codec.PrefixRows(span.Prefix)}, Filter: t.matching(span, f), Looks: true}
}

// descending reports whether the newest row of a series comes first.
func (t *Table) descending() bool {
	if t.Pattern.Bucketed() {
		return t.Bucket.Descending()
	}
	return t.TimeKey.Reverse
}

// LatestRequests returns what the reader asks for to find the newest event of a
// made-up series, if the first row that it finds has it and no other is of its time.
func (l *Layout) LatestRequests(now time.Time) []Request {
	if recent, ok := l.latestRecent(now); ok {
		return recent
	}
	return l.LatestSearch(now)
}

// latestFilter is the filter of the look for the newest event; false if nothing can be
// alive.
func (l *Layout) latestFilter(now time.Time) (Filter, bool) {
	t, perColumn, to := l.Read, 0, codec.Endless
	if t.Pattern.Bucketed() && t.Pattern != BucketOffsets {
		perColumn, to = 1, farFuture
	}
	f := Filter{Cells: t.filters(now, time.Time{}, to), Newest: perColumn}
	return f, f.Cells != nil
}

// latestRecent returns the request for the rows of the bucket of now and of those after
// it; false where it takes but one request anyway, or these cannot be asked for at once.
func (l *Layout) latestRecent(now time.Time) ([]Request, bool) {
	q := l.ReadQuery()
	t, spans := q.Table, q.exampleSpans(l)
	f, alive := l.latestFilter(now)
	if !alive || t.inOrder() && len(spans) == 1 || !codec.Apart(spans) {
		return nil, false
	}
	asked := make([][]codec.Rows, len(spans))
	for i, span := range spans {
		rows, form, ok := span.Recent(t.Bucket, now)
		if !ok {
			return nil, false
		}
		asked[i] = []codec.Rows{rows}
		if form != nil {
			f.Keys = [][]KeyFilter{{keyFilter(form)}}
		}
	}
	all, ok := codec.Gather(asked)
	return []Request{{Rows: all, Filter: f}}, ok
}

// LatestSearch returns what the reader asks for where LatestRequests finds nothing, or
// instead of it.
func (l *Layout) LatestSearch(now time.Time) []Request {
	q := l.ReadQuery()
	t := q.Table
	f, alive := l.latestFilter(now)
	if !alive {
		return nil
	}
	var out []Request
	for _, span := range q.exampleSpans(l) {
		if !t.inOrder() {
			span.Newest = true
			key := slices.Collect(span.Buckets(t.Bucket, t.ExampleTime(), t.ExampleTime().Add(1)))
			out = append(out, t.look(span, f), Request{Rows: key, Filter: f})
			continue
		}
		limit := 1
		if t.Ties(l) > 0 {
			limit = 2
		}
		out = append(out, Request{Rows: []codec.Rows{t.living(span, now)}, Filter: t.matching(span, f), Limit: limit})
	}
	return out
}

// LatestFinds says in words which rows the look for the newest event asks for.
func (l *Layout) LatestFinds() string {
	text := "the last row of the series"
	if l.Read.descending() {
		text = "the first row of the series"
	}
	if l.Read.Ties(l) > 0 {
		text = "the first two rows of the series and, if they are of one instant, its last"
	}
	if !l.Read.inOrder() {
		text = "which rows the series has, and then the newest of them"
	}
	if l.Read.Metrics() {
		text += ", for each field"
	}
	if _, recent := l.latestRecent(l.Read.ExampleTime()); recent {
		return "the rows from the bucket of the clock on; if there are none, " + text
	}
	return text
}

// inOrder reports whether the rows of a series are in the order of time, or
// against it.
func (t *Table) inOrder() bool { return !t.Pattern.Bucketed() || t.Bucket.Sorted() }

// living returns the range of the rows of a span that may have something alive, to
// be read from the newest.
func (t *Table) living(span codec.Span, now time.Time) codec.Rows {
	rows := codec.PrefixRows(span.Prefix)
	rows.Reverse = !t.descending()
	since, _ := t.since(now)
	span.Newest, span.Whole, span.Suffix = true, span.Whole && span.Suffix == "", ""
	if !t.Pattern.Bucketed() {
		if within, ok := span.Times(t.TimeKey, since, farFuture); ok {
			return within
		}
		return rows
	}
	for within := range span.Buckets(t.Bucket, since, farFuture) {
		rows = within // there is one
	}
	return rows
}

// Pickable returns the columns of a table that a reader can fetch without the
// others: none where an event is one value.
func (t *Table) Pickable() []int {
	if t.Pattern.OneValue() {
		return nil
	}
	var out []int
	for i, c := range t.Columns {
		if c.Field >= 0 {
			out = append(out, i)
		}
	}
	return out
}

// ExampleSpan is a day in the life of the example series of a table, and the time
// at which it is read: at its end.
func (t *Table) ExampleSpan() (from, to, now time.Time) {
	from = codec.Truncate(t.ExampleTime(), 24*time.Hour)
	to = from.Add(24 * time.Hour)
	return from, to, to
}

// Work is what a read is expected to ask for and to get, for one series under the
// load of the schema. Events are counted with all their fields.
type Work struct {
	Requests int
	// Pages is how many rows some of the requests ask for at a time; 0 if none does.
	// There is then one more of it for each page that is full.
	Pages  int
	Rows   float64 // that come back
	Cells  float64
	Events float64
	// Walked is how many rows the server looks at that it does not send; 0 if it
	// goes straight to what it sends.
	Walked float64
}

// Work returns what a read for a range of time is expected to cost, for each
// series that it finds.
func (q *Query) Work(l *Layout, now, from, to time.Time, columns []int) Work {
	t, e := q.Table, q.Table.Estimate(l)
	requests := q.Requests(l, now, from, to, columns)
	w := Work{Requests: len(requests)}
	for _, r := range requests {
		if r.Pages {
			w.Pages = r.Limit
		}
	}
	if w.Requests == 0 {
		return w
	}
	for _, c := range t.workColumns(l, columns) {
		since := t.columnSince(c, now, from)
		if !since.Before(to) {
			continue
		}
		events := e.EventsIn(to.Sub(since))
		rows := events
		if t.Pattern.Bucketed() {
			rows = min(rows, float64(t.Bucket.Count(since, to)))
		}
		w.Cells += events
		w.Events = max(w.Events, events)
		if t.Metrics() {
			w.Rows += rows
		} else {
			w.Rows = max(w.Rows, rows)
		}
	}
	if !q.Plan.Timed && e.Retention > 0 {
		w.Walked = max(0, e.Rows-w.Rows)
	}
	return w
}

// workColumns returns the columns of the cells that come back where columns are
// fetched; nil for all.
func (t *Table) workColumns(l *Layout, columns []int) []Column {
	if columns == nil || t.Pattern.OneValue() {
		return t.Columns
	}
	var out []Column
	for _, i := range slices.Concat(columns, t.present(l, columns)) {
		out = append(out, t.Columns[i])
	}
	return out
}

// columnSince returns the time of the first event from a time on whose cell in a
// column is alive. What is in the families of classes, each event in one of them,
// is taken to live as long as the class that lives longest.
func (t *Table) columnSince(c Column, now, from time.Time) time.Time {
	_, age := t.columnAges(c)
	if age == 0 {
		return from
	}
	return codec.Later(from, now.Add(-age))
}

// LatestWork returns what a look for the newest event of a series that still reports is
// expected to cost, at most.
func (l *Layout) LatestWork(now time.Time) Work {
	t := l.Read
	e := t.Estimate(l)
	w := Work{Requests: len(l.LatestRequests(now)), Rows: float64(e.RowsPerEvent), Cells: float64(e.CellsPerEvent), Events: 1}
	if t.Metrics() || t.Pattern == BucketOffsets {
		w.Cells = e.CellsPerRow * w.Rows // the bucket is read whole
	}
	if !t.inOrder() && e.Retention > 0 {
		w.Walked = max(0, e.Rows-w.Rows) // to see which there are
	}
	if t.Ties(l) > 0 {
		w.Rows, w.Cells = 2*w.Rows, 2*w.Cells
	}
	return w
}
