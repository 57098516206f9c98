package store

import (
	"context"
	"slices"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// maxListedRows is the maximum number of rows that [Reader.ReadSeries] requests before it skips the
// rest of a series.
const maxListedRows = 1024

// ReadSeries returns the results of a read, for [ResultsOf] with the type of series. It yields the series with events that a selection has with from <= time < to, each
// once. It receives row keys and no values, except of the fields of conditions. If the series precedes the time in row
// keys, it skips the rows of a series once it has seen some, so that it receives at most eight rows
// per series; otherwise, it receives the keys of all rows in the range. The order is that of row
// keys, layout by layout, value by value and salt by salt. The keys of the series that it has seen
// are in memory, unless it skips rows, the table has one layout, and its pattern is not
// codec.BucketNewColumns.
//
// For a row key that cannot be decoded, it yields a *DecodeError, and the loop may continue; any
// other error is the last value. A series may be yielded whose last event expires in the
// meantime. S must be the type of the series in the [SeriesPart].
func (r *Reader) ReadSeries(ctx context.Context, of Selection, from, to time.Time, opts ...SeriesOptions) Results {
	if err := r.missingClient(); err != nil {
		return refused(err)
	}
	return Results{func(yield yielder) {
		s := of.resolve()
		r.series(ctx, s, r.query(s), from, to, scan.NoRuns, call.Last(opts).Page)(func(e event, err error) bool { return yield(event{r.mapping.series(e)}, err) })
	}}
}

// SeriesOptions specify which series to list. If several are passed, the last one replaces the others.
type SeriesOptions struct {
	// Page yields one page of the series; nil for all. Size is a number of series, and the time range of the next page may be
	// another one. If ReadSeries skips rows and needs no memory of the series that it has seen, the next page continues behind
	// the last series of this one in row keys: series that are stored throughout are returned once. Otherwise, it lists the
	// series from the beginning, and leaves out as many as earlier pages had.
	Page *Page
}

// series is [Reader.ReadSeries] for a query. With scan.BesideRuns, it yields the series with windows of a rollup, too.
func (r *Reader) series(ctx context.Context, s *selection, q *query, from, to time.Time, runs scan.Runs, page *Page) func(yielder) {
	return func(yield yielder) {
		read := r.beginSelected(ctx, s, q, from, to, []ReadOptions{{Fields: []Field{}}})
		read.op.Name, read.runs = q.Name+"Series", runs
		l := &listing{read: &read, newest: r.mapping, page: page}
		if len(r.older) > 0 || r.mapping.Pattern.RowPerField() || !q.Contiguous {
			l.seen = map[string]bool{}
		}
		read.runOf(l.series, yield)
	}
}

// listing is a read of series.
type listing struct {
	read    *reading
	newest  *mapping
	seen    map[string]bool // their mapping.seriesID; nil if no series is seen twice
	current codec.Span      // of the series of the last row; its prefix is empty if it is unknown
	last    string          // key of the last row
	beyond  bool            // rows may be received that have no event in the time range
	cut     bool            // scan.ReadPlan.Cut
	single  bool            // the only series of the values was found

	page   *Page // nil for all series
	hash   uint64
	after  *pagePlace // where the page continues, until a request has its rows; nil at the beginning
	listed int        // series so far, with those of earlier pages
	value  int        // index of the value that is being read
}

// series yields the series of all mappings, or those of a page.
func (l *listing) series() {
	if err := l.beginPage(); err != nil {
		l.failWith(err)
		return
	}
	if l.all() && l.page != nil {
		l.page.Next = ""
	}
}

// all yields the series of all mappings. It reports whether the caller wants more.
func (l *listing) all() bool {
	for _, p := range l.read.periods() {
		l.read.enter(p)
		values, err := l.read.values()
		if err != nil {
			return l.failWith(err)
		}
		for i, v := range values {
			l.read.enter(p)
			l.value = i
			if l.read.many != nil {
				l.read.many.some = []bound{v}
			}
			if l.single = false; !l.inPeriod() {
				return false
			}
		}
		if l.single && l.read.many == nil {
			break
		}
	}
	return true
}

// inPeriod yields the series of one mapping. It reports whether the caller wants more.
func (l *listing) inPeriod() bool {
	plan, err := l.read.plan()
	if err != nil {
		return l.failWith(err)
	}
	l.beyond, l.cut = plan.Beyond || l.read.assembler.conditions != nil, plan.Cut
	l.read.assembler.memory = l.read.reader.borrow()
	defer l.read.reader.release(l.read.assembler.memory)
	for i := range plan.Parts {
		p := &plan.Parts[i]
		for span, of := range l.read.asked.Spans {
			if span > 0 && of == l.read.asked.Spans[span-1] {
				continue // the rows of all fields
			}
			l.current = codec.Span{}
			for q := range p.Found(span) {
				filter := p.RowsOnly(q.Filter)
				switch {
				case l.read.assembler.conditions != nil:
					filter = q.Filter // values say which events there are
				case l.beyond:
					filter = scan.Chain{q.Filter, scan.StripValues{}}
				}
				if !l.inRows(l.left(q.Rows), l.read.reader.table.Filters.Of(filter)) {
					return false
				}
				if l.single {
					return true
				}
			}
		}
	}
	return true
}

// failWith yields an error that ends the read.
func (l *listing) failWith(err error) bool {
	l.read.count(l.read.given, err)
	return false
}

// inRows yields the series of the rows of a request.
func (l *listing) inRows(rows []codec.Rows, filter bigtable.Filter) bool {
	skips := l.read.q.Contiguous || !l.read.q.MultiSeries
	limit := 0
	if skips {
		limit = 1
	}
	for len(rows) > 0 {
		received, found := 0, 0
		for row, err := range l.read.reader.table.Rows(l.read.ctx, &l.read.op, rows, filter, limit) {
			if err != nil {
				return l.failWith(err)
			}
			received++
			isNew, more := l.row(row)
			if !more {
				return false
			}
			if isNew {
				found++
			}
		}
		switch {
		case !l.read.q.MultiSeries && found > 0:
			l.single = true
			return true
		case limit == 0 || received < limit:
			return true
		case l.current.Prefix == "" || !l.current.Has(l.last):
			rows = request.After(rows, l.last) // the last row is of no series, for example of another schema
		default:
			rows = request.Past(rows, l.current.All())
		}
		// A request costs more than a few rows: it asks for more rows while these have
		// few rows of each series.
		if 4*found >= received {
			limit = min(2*limit, maxListedRows)
		} else {
			limit = max(1, limit/2)
		}
	}
	return true
}

// overlaps reports whether the row of a time or bucket may have events in the time range.
func (a *rowAssembler) overlaps(at time.Time) bool {
	if !a.shape.Pattern.Bucketed() {
		return a.wanted(at)
	}
	return at.Before(a.to) && a.shape.Offset.Bucket.End(at).After(a.from)
}

// hasEvents reports whether a row has events in the time range.
func (a *assembler) hasEvents(at time.Time, row wire.Row) (found bool) {
	a.inRow(at, row, func(_ event, err error) bool {
		found = found || err == nil
		return !found
	})
	return found
}

// hasCells reports whether a row has a cell of an event in the time range, or of the rollup.
func (l *listing) hasCells(row wire.Row) bool {
	a := &l.read.assembler
	for _, c := range a.columnsOf(row) {
		if slices.ContainsFunc(row.Cells(c), func(cell wire.Cell) bool { return a.wanted(codec.FromMicros(cell.Micros)) }) {
			return true
		}
	}
	return l.read.runs != scan.NoRuns && slices.ContainsFunc(row.Columns(), func(c wire.Column) bool {
		return a.shape.Rollup != nil && string(row.Bytes(c.Family)) == a.shape.Rollup.Name
	})
}

// row yields the series of a row, unless it is that of the previous row or was yielded before. It
// reports whether the row is the first of its series in this mapping, and whether the caller wants
// more.
func (l *listing) row(row wire.Row) (isNew, more bool) {
	a := &l.read.assembler
	l.last = row.Key()
	defer row.Release()
	switch at, err := a.timeOf(row); {
	case err == request.ErrForeign:
		return false, true
	case err != nil:
		return false, l.read.count(l.read.given, err)
	case a.match != nil && !a.match(a.base), !a.overlaps(at), l.cut && !l.hasCells(row), l.beyond && !a.hasEvents(at, row):
		return false, true
	}
	spans, err := l.read.reader.mapping.Spans(a.base)
	if err != nil {
		return false, l.failWith(err)
	}
	if l.read.q.Contiguous {
		// If each field has its own row, the spans of a series are those of all columns.
		i := slices.IndexFunc(spans, func(s codec.Span) bool { return s.Has(l.last) })
		if i >= 0 && l.current.Prefix == spans[i].Prefix {
			return false, true
		}
		l.current = codec.Span{}
		if i >= 0 { // else another program wrote a wrong salt
			l.current = spans[i]
		}
	}
	if l.seen != nil {
		id := l.newest.seriesID(a.base)
		if l.seen[id] {
			return true, true
		}
		l.seen[id] = true
	}
	return true, l.yield(a.base)
}

// beginPage begins a page of series.
func (l *listing) beginPage() error {
	p := l.page
	if p == nil {
		return nil
	}
	if err := p.check(); err != nil {
		return err
	}
	p.Next = p.Token
	of := *l.read
	of.assembler.from, of.assembler.to = time.Time{}, time.Time{} // the order does not depend on them
	hash, err := of.pageHash()
	l.hash = ^hash // a page of events is another one
	if err != nil || p.Token == "" {
		return err
	}
	if l.after, err = parseToken(p.Token, l.hash); err != nil {
		return err
	}
	if at, known := l.after.rows(); known != l.ordered() || known && at.End != "" && at.End <= at.Start {
		return &TokenError{"it is damaged"}
	}
	return nil
}

// ordered reports whether the row keys of a series tell which series precede it.
func (l *listing) ordered() bool {
	return l.seen == nil && l.read.q.MultiSeries && l.read.q.AllTimes
}

// yield yields a series, unless it is that of an earlier page. It reports whether the caller wants more.
func (l *listing) yield(base event) (more bool) {
	p, n := l.page, l.read.op.Events
	if p == nil {
		return l.read.count(base, nil)
	}
	if l.listed++; l.after != nil && l.listed <= l.after.group {
		return true
	}
	before := p.Next
	p.Next = l.place().token(l.hash)
	more = l.read.count(base, nil)
	if l.read.op.Events == n { // the context has ended
		p.Next = before
	}
	return more && l.read.op.Events < p.Size
}

// place returns the place of the series of the last row.
func (l *listing) place() *pagePlace {
	if !l.ordered() {
		return &pagePlace{group: l.listed}
	}
	at := codec.Rows{Start: l.last, End: l.last + "\x00"} // another program wrote a wrong salt
	if l.current.Prefix != "" {
		at = l.current.All()
	}
	return &pagePlace{group: l.value, key: at.Start, mark: mark{open: true, data: []string{at.End}}}
}

// rows returns the rows of the series at a place; false if the place is a number of series.
func (p *pagePlace) rows() (at codec.Rows, known bool) {
	if len(p.data) != 1 {
		return at, false
	}
	return codec.Rows{Start: p.key, End: p.data[0]}, true
}

// left returns what a page needs of the rows of a request: none before those of the last series of the previous page.
func (l *listing) left(rows []codec.Rows) []codec.Rows {
	if l.after == nil || !l.ordered() {
		return rows
	}
	at, _ := l.after.rows()
	if l.value != l.after.group || !slices.ContainsFunc(rows, func(r codec.Rows) bool { return r.Start <= at.Start && (r.End == "" || at.Start < r.End) }) {
		return nil
	}
	l.after = nil
	return request.Past(rows, at)
}
