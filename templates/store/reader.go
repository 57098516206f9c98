package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/templates/codec"
)

// maxRowSet is the size in bytes that the listed row keys of one request are
// kept under; Bigtable takes 512 KiB.
const maxRowSet = 384 << 10

// longRead is how long the ranks that a read has seen are good for.
const longRead = time.Hour

// maxListed is how many buckets are read key by key without looking first which
// of them there are.
const maxListed = 1000

// Reader reads the events of one table. It is safe for use by several goroutines.
type Reader[E any] struct {
	options Options
	layout  *Layout[E]
	id      string
	api     bigtable.TableAPI
}

// NewReader returns a Reader for a layout.
func NewReader[E any](client Client, layout *Layout[E], opts ...Options) *Reader[E] {
	o := merge(opts)
	id := o.TablePrefix + layout.Table.ID
	return &Reader[E]{options: o, layout: layout, id: id, api: client.OpenTable(id)}
}

// Query says which rows a read asks for.
type Query[E any] struct {
	Name string // for hooks
	// Spans returns where the rows are of the event's series, as far as they are
	// given: for BucketColumns one span for each of Columns; else one, or one for
	// each salt.
	Spans func(e *E) ([]codec.Span, error)
	// Untimed says that series values which are not given follow the prefix of a
	// span, and not the time: the rows of all times are asked for.
	Untimed bool
	// Several says that the rows are those of several series.
	Several bool
	// Keys returns a pattern for the keys of rows that have the values which are
	// given, where those of the spans may have others; else nil.
	Keys func(given *E) (string, error)
	// Match reports whether a row's series, in e, has the values that are given, as
	// Keys says it for most rows; nil if all rows of the spans have.
	Match func(e, given *E) bool
}

// KeyPattern makes a regular expression for row keys, segment by segment.
type KeyPattern struct {
	delimiter string
	text      strings.Builder
	segments  int
	err       error
}

// NewKeyPattern returns a pattern for keys with a delimiter.
func NewKeyPattern(delimiter string) *KeyPattern { return &KeyPattern{delimiter: delimiter} }

// Any takes a segment of any value.
func (p *KeyPattern) Any() { p.add(`\C*`) }

// Known takes a segment of the value that write writes.
func (p *KeyPattern) Known(write func(w *codec.KeyWriter)) {
	w := codec.NewKeyWriter(nil, p.delimiter)
	write(&w)
	segment, err := w.Key()
	if p.err == nil {
		p.err = err
	}
	p.add(quoteKey(string(segment)))
}

// add appends a segment and the delimiter before it.
func (p *KeyPattern) add(pattern string) {
	if p.segments > 0 {
		p.text.WriteString(quoteKey(p.delimiter))
	}
	p.text.WriteString(pattern)
	p.segments++
}

// Pattern returns the regular expression, or the first error of a value.
func (p *KeyPattern) Pattern() (string, error) { return p.text.String(), p.err }

// ReadOptions say how events are read. Where several are given, the fields that are
// not zero in a later one win.
type ReadOptions struct {
	// NewestFirst turns the order round: the last event comes first.
	NewestFirst bool
	// Limit is how many events are yielded at most; 0 for no limit.
	Limit int
	// TimeOrder makes a query of several series yield events in the order of time
	// alone, where it would come by bucket and series: it then holds a bucket of
	// all of them in memory. Where the time does not follow what the query gives
	// it is ErrOrder.
	TimeOrder bool
	// LatestOnly yields the newest event of each series alone, in no particular
	// order. Where the time comes last in the keys, it asks for one row of each
	// series; else it looks through the rows of the range, and holds the series
	// that it has seen in memory.
	LatestOnly bool
	// Fields are the fields to fetch; nil for all. The others stay zero, and an
	// event that has none of them is left out. Where an event is stored as one
	// value, all fields are fetched.
	Fields []Field
}

// mergeReads returns the options of one read.
func mergeReads(opts []ReadOptions) ReadOptions {
	var out ReadOptions
	for _, o := range opts {
		out.NewestFirst = out.NewestFirst || o.NewestFirst
		out.TimeOrder = out.TimeOrder || o.TimeOrder
		out.LatestOnly = out.LatestOnly || o.LatestOnly
		if o.Limit > 0 {
			out.Limit = o.Limit
		}
		if o.Fields != nil {
			out.Fields = o.Fields
		}
	}
	return out
}

// Read yields the events of the series of base with from <= time < to, in the
// order of time, and holds no more than one bucket in memory. An event that
// cannot be decoded is yielded as far as it was understood, with a
// *DecodeError; the caller may go on. Any other error is the last thing yielded.
func (r *Reader[E]) Read(ctx context.Context, base E, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error] {
	return r.Query(ctx, &Query[E]{Name: "Read", Spans: r.layout.Spans}, base, from, to, opts...)
}

// Query yields the events that a query finds with from <= time < to, as Read does:
// in the order of the row keys, and within a row in the order of time. What the
// query gives is set in base.
func (r *Reader[E]) Query(ctx context.Context, q *Query[E], base E, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error] {
	o := mergeReads(opts)
	return func(yield func(E, error) bool) {
		op := Operation{Name: q.Name, Table: r.id}
		ctx := r.options.Hooks.start(ctx, &op)
		var failed error
		defer func() { r.options.Hooks.end(ctx, &op, failed) }()
		o.NewestFirst = o.NewestFirst || o.LatestOnly
		events := r.scan(ctx, &op, q, base, from, to, o)
		switch {
		case o.LatestOnly:
			events = r.firstOfEach(events)
		case o.TimeOrder && q.Several:
			events = r.byTime(q, events, o.NewestFirst)
		}
		for event, err := range events {
			if err != nil {
				failed = err
			} else {
				op.Events++
			}
			if !yield(event, err) || o.Limit > 0 && op.Events == o.Limit {
				return
			}
		}
	}
}

// Latest returns the newest event of the series of base, or ErrNotFound.
func (r *Reader[E]) Latest(ctx context.Context, base E) (event E, err error) {
	op := Operation{Name: "Latest", Table: r.id}
	ctx = r.options.Hooks.start(ctx, &op)
	defer func() { r.options.Hooks.end(ctx, &op, err) }()
	spans, err := r.layout.Spans(&base)
	if err != nil {
		return event, err
	}
	event, err = r.latest(ctx, &op, base, spans)
	if err == nil {
		op.Events = 1
	}
	return event, err
}

// ErrOrder says that a query cannot yield its events in the order of time.
var ErrOrder = errors.New("the rows of the query are not in the order of time")

// byTime sorts events that come by bucket, a bucket at a time.
func (r *Reader[E]) byTime(q *Query[E], events iter.Seq2[E, error], newestFirst bool) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		if q.Untimed || !r.layout.sorted() {
			var none E
			yield(none, ErrOrder)
			return
		}
		if r.layout.Kind == SingleRows {
			events(yield)
			return
		}
		var bucket []E
		var start time.Time
		flush := func() bool {
			slices.SortStableFunc(bucket, func(a, b E) int {
				order := r.layout.Time(&a).Compare(*r.layout.Time(&b))
				if newestFirst {
					return -order
				}
				return order
			})
			for _, e := range bucket {
				if !yield(e, nil) {
					return false
				}
			}
			bucket = bucket[:0]
			return true
		}
		for event, err := range events {
			if err != nil {
				if !yield(event, err) {
					return
				}
				continue
			}
			if s := r.layout.Bucket.Start(*r.layout.Time(&event)); !s.Equal(start) {
				if !flush() {
					return
				}
				start = s
			}
			bucket = append(bucket, event)
		}
		flush()
	}
}

// scan is Query without its hooks.
func (r *Reader[E]) scan(ctx context.Context, op *Operation, q *Query[E], base E, from, to time.Time, o ReadOptions) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		spans, err := q.Spans(&base)
		fetch, failed := r.layout.fetched(o.Fields)
		keys := ""
		if q.Keys != nil && err == nil {
			keys, err = q.Keys(&base)
		}
		if err = errors.Join(err, failed); err != nil {
			var none E
			yield(none, err)
			return
		}
		now := r.options.Now()
		if since, bounded := r.layout.Table.since(now); bounded {
			from = later(from, since)
		}
		if !from.Before(to) {
			return
		}
		a := &assembler[E]{
			layout: r.layout, table: r.id, base: base, from: from, to: to, newestFirst: o.NewestFirst, latestOnly: o.LatestOnly, fetch: fetch,
			now: r.options.Now, ranksEnd: r.ranksEnd(now, from, to),
		}
		if q.Match != nil {
			a.match = func(e *E) bool { return q.Match(e, &base) }
		}
		parts := r.parts(q, from, to)
		if o.NewestFirst {
			slices.Reverse(parts)
		}
		for _, part := range parts {
			filter, alive := r.partFilter(q, part, now, o)
			if !alive {
				return
			}
			if keys != "" {
				filter = bigtable.ChainFilters(bigtable.RowKeyFilter(keys), filter)
			}
			if fields := r.layout.columnsFilter(fetch); fields != nil {
				filter = bigtable.ChainFilters(fields, filter)
			}
			if !r.part(ctx, op, q, a, spans, part, filter, yield) {
				return
			}
		}
	}
}

// part reads a part of the range of time. It reports whether the caller wants more.
func (r *Reader[E]) part(ctx context.Context, op *Operation, q *Query[E], a *assembler[E], spans []codec.Span, p part, filter bigtable.Filter, yield func(E, error) bool) bool {
	for i := range spans {
		spans[i].Newest = a.newestFirst
	}
	if a.latestOnly && q.Untimed && r.layout.sorted() && r.layout.Kind != BucketColumns {
		return r.skip(ctx, op, a, spans, filter, yield)
	}
	if len(spans) > 1 || r.layout.Kind == BucketColumns {
		return r.together(ctx, op, q, a, spans, p, filter, yield)
	}
	for row, err := range r.spanRows(ctx, op, q, spans[0], p, filter) {
		if err != nil {
			yield(a.base, err)
			return false
		}
		if !a.row(row, yield) {
			return false
		}
	}
	return true
}

// skip yields the newest events of each series, a row at a time: once a series has
// one, its other rows are skipped.
func (r *Reader[E]) skip(ctx context.Context, op *Operation, a *assembler[E], spans []codec.Span, filter bigtable.Filter, yield func(E, error) bool) bool {
	for _, span := range spans {
		rest := codec.PrefixRows(span.Prefix)
		rest.Reverse = !r.layout.descending()
		for {
			row, err := r.one(ctx, op, rest, filter, bigtable.LimitRows(1))
			if row == nil || err != nil {
				if err != nil {
					yield(a.base, err)
					return false
				}
				break
			}
			found := false
			more := a.row(row, func(e E, err error) bool {
				found = found || err == nil
				return yield(e, err)
			})
			if !more {
				return false
			}
			if rest, more = r.without(rest, row, a, found); !more {
				break
			}
		}
	}
	return true
}

// without cuts a row off a range and, if it had an event, all of its series; false
// if nothing is left.
func (r *Reader[E]) without(rest codec.Rows, row bigtable.Row, a *assembler[E], found bool) (codec.Rows, bool) {
	gone := codec.Rows{Start: row.Key(), End: row.Key() + "\x00"}
	if spans, err := r.layout.Spans(&a.base); found && err == nil {
		gone = codec.PrefixRows(spans[0].Prefix)
	}
	if rest.Reverse {
		rest.End = gone.Start
	} else {
		rest.Start = gone.End
	}
	return rest, rest.Reverse || gone.End != ""
}

// firstOfEach yields the first event of each series.
func (r *Reader[E]) firstOfEach(events iter.Seq2[E, error]) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		seen := map[string]bool{}
		for event, err := range events {
			if err == nil {
				spans, failed := r.layout.Spans(&event)
				if failed != nil {
					yield(event, failed)
					return
				}
				series := spans[0].Prefix + "\x00" + spans[0].Suffix
				if seen[series] {
					continue
				}
				seen[series] = true
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// spanRows yields the rows of a span.
func (r *Reader[E]) spanRows(ctx context.Context, op *Operation, q *Query[E], span codec.Span, p part, filter bigtable.Filter) iter.Seq2[bigtable.Row, error] {
	switch {
	case q.Untimed:
		rows := codec.PrefixRows(span.Prefix)
		rows.Reverse = span.Newest != r.layout.descending()
		return r.rows(ctx, op, rows, filter)
	case r.layout.Kind != SingleRows:
		return r.bucketRows(ctx, op, span, p.from, p.to, filter)
	}
	rows, ok := span.Times(r.layout.TimeKey, p.from, p.to)
	if !ok {
		return func(func(bigtable.Row, error) bool) {}
	}
	return r.rows(ctx, op, rows, matching(span, filter))
}

// fetched returns which columns have the fields; nil for all of them.
func (l *Layout[E]) fetched(fields []Field) ([]bool, error) {
	if fields == nil || l.Kind == BucketOffsets || slices.ContainsFunc(l.Columns, func(c Column) bool { return c.Whole }) {
		return nil, nil
	}
	fetch := make([]bool, len(l.Columns))
	for _, f := range fields {
		i := slices.IndexFunc(l.Columns, func(c Column) bool { return c.Name == string(f) })
		if i < 0 {
			return nil, fmt.Errorf("table %s has no field %q", l.Table.ID, f)
		}
		fetch[i] = true
	}
	return fetch, nil
}

// columnsFilter returns the filter of the columns to fetch; nil for all of them.
func (l *Layout[E]) columnsFilter(fetch []bool) bigtable.Filter {
	if fetch == nil || l.Kind == BucketColumns {
		return nil
	}
	var names []string
	for i, c := range l.Columns {
		if fetch[i] {
			names = append(names, quoteKey(c.Name))
		}
	}
	if names == nil {
		return bigtable.BlockAllFilter()
	}
	return bigtable.ColumnFilter(strings.Join(names, "|"))
}

// partFilter returns the filter of a part; false if no cell can be alive.
func (r *Reader[E]) partFilter(q *Query[E], p part, now time.Time, o ReadOptions) (bigtable.Filter, bool) {
	from, to := p.from, p.to
	switch {
	case r.layout.Kind == SingleRows && !q.Untimed:
		from, to = time.Time{}, farFuture // the range of rows is as good
	case r.layout.Kind == SingleRows, r.layout.Kind == BucketOffsets:
		// A cell's timestamp is its event's time rounded down.
		from = codec.Truncate(from, time.Millisecond)
	}
	perColumn := 0
	if o.LatestOnly && r.layout.Kind == BucketCells && !r.layout.ranked() {
		perColumn = 1
	}
	filter, alive := r.filter(now, from, to, perColumn)
	if alive && (p.begin != "" || p.end != "") {
		filter = bigtable.ChainFilters(filter, bigtable.ColumnRangeFilter(r.layout.Table.Families[0].Name, p.begin, p.end))
	}
	return filter, alive
}

// part is a range of time within which the same columns are asked for: from begin
// up to but without end, empty for all of them.
type part struct {
	from, to   time.Time
	begin, end string
}

// parts cuts a range at the buckets that are not whole in it, where the times of
// events stand in qualifiers alone: the first and the last bucket are asked for by
// themselves, with the columns that are in the range.
func (r *Reader[E]) parts(q *Query[E], from, to time.Time) []part {
	if r.layout.Kind != BucketOffsets || q.Untimed || r.layout.Table.Families[0].Life.EventTimed() {
		return []part{{from: from, to: to}}
	}
	b := r.layout.Bucket
	from, to = later(from, b.Min()), earlier(to, b.Max())
	if !from.Before(to) {
		return nil
	}
	var parts []part
	first, last := b.Start(from), b.Start(to.Add(-1))
	for _, start := range []time.Time{first, last} {
		end := b.End(start)
		if begin, stop, all := r.layout.offset().Range(start, from, to); !all {
			parts = append(parts, part{later(start, from), earlier(end, to), begin, stop})
		}
		if start.Equal(last) {
			break
		}
	}
	return joinParts(parts, from, to)
}

// joinParts puts what lies between the parts, whole buckets, among them.
func joinParts(parts []part, from, to time.Time) []part {
	var out []part
	for _, p := range parts {
		if from.Before(p.from) {
			out = append(out, part{from: from, to: p.from})
		}
		out, from = append(out, p), p.to
	}
	if from.Before(to) {
		out = append(out, part{from: from, to: to})
	}
	return out
}

// bucketRows yields the rows of the buckets that overlap [from, to), in the
// order of time.
func (r *Reader[E]) bucketRows(ctx context.Context, op *Operation, span codec.Span, from, to time.Time, filter bigtable.Filter) iter.Seq2[bigtable.Row, error] {
	return func(yield func(bigtable.Row, error) bool) {
		b := r.layout.Bucket
		many := b.Count(from, to) > maxListed
		if many && b.Sorted() && span.Suffix != "" {
			// One range, of which the server passes on what has the suffix.
			filter = matching(span, filter)
			span.Suffix, span.Whole = "", false
		}
		if many && !b.Sorted() {
			stored, err := r.stored(ctx, op, span, filter)
			if err != nil {
				yield(nil, err)
				return
			}
			if stored.newestKey == "" {
				return
			}
			from, to = later(from, stored.oldest), earlier(to, b.End(stored.newest))
		}
		for rows := range span.Buckets(b, from, to) {
			for row, err := range r.rows(ctx, op, rows, filter) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// matching adds to a filter that the key has the suffix of a span, for rows that
// are asked for by a range of time: among them are those of other series.
func matching(span codec.Span, filter bigtable.Filter) bigtable.Filter {
	if span.Suffix == "" {
		return filter
	}
	pattern := quoteKey(span.Prefix) + `\C*` + quoteKey(span.Delimiter+span.Suffix)
	if !span.Whole {
		pattern += `\C*`
	}
	return bigtable.ChainFilters(bigtable.RowKeyFilter(pattern), filter)
}

// quoteKey makes a regular expression of a part of a key, which may have any bytes.
func quoteKey(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// together reads several spans at once and brings their rows together: those of
// the metrics of a bucket, or those of all salts in the order of their keys.
func (r *Reader[E]) together(ctx context.Context, op *Operation, q *Query[E], a *assembler[E], spans []codec.Span, p part, filter bigtable.Filter, yield func(E, error) bool) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	streams := make([]*stream, len(spans))
	for i, span := range spans {
		streams[i] = startStream(ctx, func(op *Operation) iter.Seq2[bigtable.Row, error] {
			if r.layout.Kind == BucketColumns && a.skips(i) {
				return func(func(bigtable.Row, error) bool) {}
			}
			return r.spanRows(ctx, op, q, span, p, filter)
		})
	}
	defer func() {
		cancel()
		for _, s := range streams {
			s.wait(op)
		}
	}()
	for {
		rows, err := nextRows(streams, func(i int, row bigtable.Row) (position, error) { return a.position(q, spans[i], row) })
		switch {
		case err != nil:
			if !yield(a.base, err) || !isDecodeError(err) {
				return false
			}
		case rows == nil:
			return true
		case !a.rows(rows, yield):
			return false
		}
	}
}

// filter returns the filter of a read of [from, to): of each family the cells
// that garbage collection would have left. The time range comes first and a
// limit to the newest cells last, since the other way round loses cells. It
// reports false if no cell can be alive.
func (r *Reader[E]) filter(now, from, to time.Time, newest int) (bigtable.Filter, bool) {
	var names []string
	var windows [][]codec.Window
	for _, f := range r.layout.Table.Families {
		end := to
		if f.Life.Retention.Turns(now, from, to, longRead) {
			end = farFuture
		}
		w := f.Life.Windows(now, from, end)
		same := slices.IndexFunc(windows, func(other []codec.Window) bool { return slices.Equal(w, other) })
		switch {
		case len(w) == 0:
		case same >= 0:
			names[same] += "|" + quote(f.Name)
		default:
			names, windows = append(names, quote(f.Name)), append(windows, w)
		}
	}
	if len(names) == 0 {
		return nil, false
	}
	branches := make([]bigtable.Filter, len(names))
	for i := range names {
		branches[i] = chain(bigtable.FamilyFilter(names[i]), windowsFilter(windows[i]))
	}
	out := interleave(branches...)
	if newest > 0 {
		out = chain(out, bigtable.LatestNFilter(newest))
	}
	return out, true
}

// ranksEnd returns until when the ranks that a read of [from, to) sees are good.
// What grows too old during the read is alive by its rank, if at all: where that
// may be within an hour, the cells after the range are read too, to be counted.
func (r *Reader[E]) ranksEnd(now, from, to time.Time) time.Time {
	for _, f := range r.layout.Table.Families {
		if len(f.Life.Retention) > 1 && !f.Life.Retention.Turns(now, from, to, longRead) {
			return now.Add(longRead)
		}
	}
	return farFuture
}

// windowsFilter returns the filter for the windows of a family; nil if they do
// not limit anything.
func windowsFilter(windows []codec.Window) bigtable.Filter {
	branches := make([]bigtable.Filter, len(windows))
	for i, w := range windows {
		branch, limits := windowFilter(w)
		if !limits {
			return nil
		}
		branches[i] = branch
	}
	return interleave(branches...)
}

// chain applies filters one after the other; a nil filter passes all. The server
// refuses a chain of one.
func chain(a, b bigtable.Filter) bigtable.Filter {
	if b == nil {
		return a
	}
	return bigtable.ChainFilters(a, b)
}

// interleave passes what any of the filters passes. The server refuses to
// interleave one.
func interleave(filters ...bigtable.Filter) bigtable.Filter {
	if len(filters) == 1 {
		return filters[0]
	}
	return bigtable.InterleaveFilters(filters...)
}

// windowFilter returns the filter for one window, and whether it limits
// anything. The newest cells of a column are counted before the time range is
// cut out, for that is how garbage collection counts them.
func windowFilter(w codec.Window) (bigtable.Filter, bool) {
	times := bigtable.TimestampRangeFilterMicros(bigtable.Timestamp(w.From), bigtable.Timestamp(w.To))
	bounded := w.From > 0 || w.To > 0
	switch {
	case w.Versions > 0 && bounded:
		return bigtable.ChainFilters(bigtable.LatestNFilter(w.Versions), times), true
	case w.Versions > 0:
		return bigtable.LatestNFilter(w.Versions), true
	default:
		return times, bounded
	}
}

// quote escapes a family name for the filter, which is a regular expression:
// of the characters that Bigtable allows in a name only the dot means something.
func quote(family string) string {
	out := make([]byte, 0, len(family)+4)
	for i := range len(family) {
		if family[i] == '.' {
			out = append(out, '\\')
		}
		out = append(out, family[i])
	}
	return string(out)
}

// farFuture is later than any event: the end of the year 9999.
var farFuture = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

// latest finds the newest event. What expires between the request and the look
// at the clock may hide an older one that lives on: then it asks again. So may a
// row without any column that the layout knows: then it asks for those before it.
func (r *Reader[E]) latest(ctx context.Context, op *Operation, base E, spans []codec.Span) (E, error) {
	ranges := make([]codec.Rows, len(spans))
	for i, span := range spans {
		ranges[i] = r.living(span)
	}
	var asked time.Time
	for {
		a := &assembler[E]{layout: r.layout, table: r.id, base: base, to: farFuture, now: r.options.Now, ranksEnd: farFuture}
		now := r.options.Now()
		stands := now.Equal(asked)
		asked = now
		rows, err := r.newestRows(ctx, op, a, now, spans, ranges)
		if err != nil {
			return base, err
		}
		event, err := a.last(rows)
		switch {
		case !errors.Is(err, ErrNotFound) || rows == nil:
			return event, err
		case a.expired && !stands: // a clock that stands still would have it go on for ever
		case !r.before(ranges, rows):
			return event, err
		}
	}
}

// living returns the range of the rows of a span that may have something alive, to
// be read from the newest.
func (r *Reader[E]) living(span codec.Span) codec.Rows {
	rows := codec.PrefixRows(span.Prefix)
	rows.Reverse = !r.layout.descending()
	if !r.layout.sorted() {
		return rows
	}
	since, _ := r.layout.Table.since(r.options.Now())
	span.Newest, span.Whole, span.Suffix = true, span.Whole && span.Suffix == "", ""
	if r.layout.Kind == SingleRows {
		if within, ok := span.Times(r.layout.TimeKey, since, farFuture); ok {
			return within
		}
		return rows
	}
	for within := range span.Buckets(r.layout.Bucket, since, farFuture) {
		rows = within // there is one
	}
	return rows
}

// before cuts the ranges at the rows, so that the next look is at those before
// them in time; false if there is nothing before them, or no telling what is.
func (r *Reader[E]) before(ranges []codec.Rows, rows []bigtable.Row) bool {
	if len(rows) > 1 || rows[0] == nil || !r.layout.sorted() {
		return false
	}
	if ranges[0].Reverse {
		ranges[0].End = rows[0].Key()
	} else {
		ranges[0].Start = rows[0].Key() + "\x00"
	}
	return true
}

// newestRows returns the rows of the newest bucket, or of the newest event, of
// each span; nil if no cell can be alive.
func (r *Reader[E]) newestRows(ctx context.Context, op *Operation, a *assembler[E], now time.Time, spans []codec.Span, ranges []codec.Rows) ([]bigtable.Row, error) {
	perColumn := 0
	if r.layout.Kind == BucketCells {
		perColumn = 1
	}
	filter, alive := r.filter(now, time.Time{}, farFuture, perColumn)
	if !alive {
		return nil, nil
	}
	rows := make([]bigtable.Row, len(spans))
	for i := range spans {
		row, err := r.newestRow(ctx, op, spans[i], ranges[i], filter)
		if err != nil {
			return nil, err
		}
		rows[i] = row
	}
	if r.layout.Kind != BucketColumns {
		return rows, nil
	}
	return rows, keepNewest(rows, a.timeOf)
}

// newestRow returns the row of the newest bucket or event of a span in a range
// that has a cell which passes the filter; nil if there is none.
func (r *Reader[E]) newestRow(ctx context.Context, op *Operation, span codec.Span, in codec.Rows, filter bigtable.Filter) (bigtable.Row, error) {
	if r.layout.sorted() {
		return r.one(ctx, op, in, matching(span, filter), bigtable.LimitRows(1))
	}
	// The labels do not sort as time does, so that the newest is not the last.
	stored, err := r.stored(ctx, op, span, filter)
	if err != nil || stored.newestKey == "" {
		return nil, err
	}
	return r.one(ctx, op, codec.Rows{Keys: []string{stored.newestKey}}, filter)
}

// extent is the oldest and the newest bucket that there are of a series.
type extent struct {
	oldest, newest time.Time // starts
	newestKey      string    // empty if there is none
}

// stored looks which buckets there are of a span, one cell of each without its
// value, for tables whose labels do not sort.
func (r *Reader[E]) stored(ctx context.Context, op *Operation, span codec.Span, filter bigtable.Filter) (extent, error) {
	probe := bigtable.ChainFilters(matching(span, filter), bigtable.CellsPerRowLimitFilter(1), bigtable.StripValueFilter())
	var out extent
	var event E
	for row, err := range r.rows(ctx, op, codec.PrefixRows(span.Prefix), probe) {
		if err != nil {
			return extent{}, err
		}
		start, err := r.layout.Key(row.Key(), &event)
		if err != nil {
			continue // of somebody else
		}
		if out.newestKey == "" || start.After(out.newest) {
			out.newest, out.newestKey = start, row.Key()
		}
		if out.oldest.IsZero() || start.Before(out.oldest) {
			out.oldest = start
		}
	}
	return out, nil
}

// later and earlier return one of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// one returns the first row, or nil if there is none.
func (r *Reader[E]) one(ctx context.Context, op *Operation, rows codec.Rows, filter bigtable.Filter, opts ...bigtable.ReadOption) (bigtable.Row, error) {
	for row, err := range r.rows(ctx, op, rows, filter, opts...) {
		return row, err
	}
	return nil, nil
}

// rows sends one request and yields its rows. It gives up when no row comes
// within the time-out; the time that the caller takes does not count.
func (r *Reader[E]) rows(ctx context.Context, op *Operation, rows codec.Rows, filter bigtable.Filter, opts ...bigtable.ReadOption) iter.Seq2[bigtable.Row, error] {
	opts = append(opts, bigtable.RowFilter(filter))
	if rows.Reverse {
		opts = append(opts, bigtable.ReverseScan())
	}
	return func(yield func(bigtable.Row, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		idle := r.options.Timeout
		if idle <= 0 {
			idle = math.MaxInt64
		}
		timer := time.AfterFunc(idle, func() { cancel(errIdle) })
		defer timer.Stop()
		op.Requests++
		stopped := false
		err := r.api.ReadRows(ctx, rowSet(rows), func(row bigtable.Row) bool {
			timer.Stop()
			op.Rows++
			stopped = !yield(row, nil)
			timer.Reset(idle)
			return !stopped
		}, opts...)
		if err != nil && !stopped {
			yield(nil, explain(ctx, err))
		}
	}
}

// rowSet turns rows into what the client takes.
func rowSet(rows codec.Rows) bigtable.RowSet {
	if rows.Keys != nil {
		return bigtable.RowList(rows.Keys)
	}
	return bigtable.NewRange(rows.Start, rows.End)
}

// Collect calls take with each event. An event that does not decode is left out,
// and the first *DecodeError returned when all others are taken; any other error
// ends it.
func Collect[E any](events iter.Seq2[E, error], take func(e *E)) error {
	var first error
	for event, err := range events {
		switch {
		case err == nil:
			take(&event)
		case !isDecodeError(err):
			return err
		case first == nil:
			first = err
		}
	}
	return first
}
