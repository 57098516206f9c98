package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Reader reads the events of one table. It is safe for concurrent use.
type Reader struct {
	options  ReaderOptions
	mapping  *mapping
	shape    scan.Table // derived from the mapping
	table    *request.Table
	whole    query     // all events of a series
	memories sync.Pool // of completed reads
	gathered int       // maximum bytes of rows of several spans in memory
	alone    int       // number of events that a read of windows reads before it is split
	older    []*Reader // readers of the earlier mappings, newest first
	state    *Reader   // of the table of states; nil if there is none
}

// NewReader returns a Reader for a mapping.
func NewReader(client Client, mapping *Mapping, opts ...ReaderOptions) *Reader {
	return newReader(client, mapping.complete(), readerOptions(opts))
}

// newReader is NewReader with complete options.
func newReader(client Client, mapping *mapping, o ReaderOptions) *Reader {
	id := o.TablePrefix + mapping.Table.ID
	r := mapping.reader(o, id, OpenTable(client, id), wireAllowed(client), mapping.shape())
	all := []*query{&r.whole}
	for _, older := range mapping.Older {
		r.older = append(r.older, newReader(client, older, o))
		all = append(all, &r.older[len(r.older)-1].whole)
	}
	joinLayouts(all)
	if s := mapping.State; s != nil && !s.Table.WriteOnly {
		r.state = newReader(client, s, o)
	}
	return r
}

// reader returns a Reader of a table with one mapping, as if it had the given shape.
func (l *mapping) reader(o ReaderOptions, id string, api bigtable.TableAPI, wire bool, shape scan.Table) *Reader {
	r := &Reader{options: o, mapping: l, shape: shape, whole: l.wholeQuery("Read"), gathered: maxGathered, alone: aloneEvents}
	r.table = &request.Table{
		ID: id, Fail: readError(id), API: api, Wire: wire, Timeout: o.Timeout, Shape: &r.shape, Ties: l.ties, Shared: len(l.others) > 0, Keys: l.startsOf,
	}
	return r
}

// ReadOptions specify how to read events. If several are passed, the last one replaces
// the others.
type ReadOptions struct {
	// NewestFirst yields events in reverse order, newest first.
	NewestFirst bool
	// Limit is the maximum number of events; 0 for no limit, and an *OptionsError below that. The
	// read requests no more rows than that, unless TimeOrder or LatestOnly requires them.
	Limit int
	// TimeOrder yields the events of a query of several series in order of time, rather
	// than by bucket and series. The read then holds one bucket of all series in
	// memory. If the segments that the query specifies do not precede the time in row
	// keys, the error is ErrOrder.
	TimeOrder bool
	// LatestOnly yields only the newest event of each series, in no particular order, whatever
	// TimeOrder says. If the schema has a table of codec.Latest whose keys begin with the given
	// values, and the range ends at most a minute ago, the read takes one row per series from it.
	// Otherwise, if the time comes last in row keys, the read requests one row per series; if not,
	// it reads all rows of the range and keeps the series that it has seen in memory.
	LatestOnly bool
	// Fields are the fields to read; nil for all, and an empty slice for only the series and the
	// time. The other fields are zero. Fields does not select events: an event without any of
	// them is yielded, too, with their defaults. To find it, a read without a required field also
	// reads one cell per event, without its value, or all other cells if no field is required. In
	// bucket_new_columns, the number of events at a time is the largest number of values that any
	// requested field has at that time. If events are stored as one value, the read fetches all
	// fields unless the slice is empty. The fields by which a query selects events are always read.
	// An unknown field causes ErrNoField.
	Fields []Field
	// Page limits the read to one page; nil for no limit.
	Page *Page
}

// Read returns the results of a read, for [ResultsOf] with the type of events. It yields the events of a selection with from <= time < to: those of one series in order of
// time, others in the order of row keys and, within a row, in order of time.
// It holds at most one bucket in memory and, for several salts or fields, up to 4 MiB
// of their rows. A zero from precedes all events. If from is after to, or to is zero,
// the error is a *RangeError. For an event that cannot be decoded, Read yields the
// parts that could be, with a *DecodeError, and the caller may continue. Any other
// error is the last value yielded. If ctx ends before the last event is yielded, no further event
// is, and that error wraps the cause of ctx.
func (r *Reader) Read(ctx context.Context, of Selection, from, to time.Time, opts ...ReadOptions) Results {
	if err := r.missingClient(); err != nil {
		return refused(err)
	}
	s := of.resolve()
	return Results{func(yield yielder) {
		read := r.beginSelected(ctx, s, r.query(s), from, to, opts)
		read.run(yield)
	}}
}

// beginSelected returns a new reading of a selection with its query.
func (r *Reader) beginSelected(ctx context.Context, s *selection, q *query, from, to time.Time, opts []ReadOptions) reading {
	first := bound{low: r.mapping.new()}
	if !s.many {
		first = s.values[0]
	}
	read := r.begin(ctx, q, first.low, from, to, opts)
	if read.options.LatestOnly {
		read.stateQuery = r.stateQuery(s)
	}
	read.high, read.where = first.high, s.where
	if s.many {
		read.options.Limit = call.Last(opts).Limit // begin limits the newest event of one series
		read.many = &many{all: s.values, malformed: s.malformed}
	}
	return read
}

// reading is one read of a query. It has these steps:
//
//	plan     the requests of the read, from package scan
//	part     the requests of one part of the time range, and the rows that they return
//	         (OneSpan and KeyOrder: rowByRow; Merged: together; Skipping: skip)
//	events   the events that the assembler makes of the rows
//	ordered  the events in the order that the caller wants
//	count    up to the limit that the caller wants
type reading struct {
	reader    *Reader
	ctx       context.Context
	q         *query
	given     event   // the values that the query specifies
	many      *many   // if the query specifies several values; else nil
	high      event   // if the query specifies a range of values, whose start is in given, its end; else nil
	where     *bounds // the values of its conditions
	options   ReadOptions
	op        request.Operation
	asked     scan.Read // the input of the planner
	assembler assembler
	yield     yielder
	more      bool  // the caller wants more of a part
	ended     bool  // the taker wants no more, although nothing was yielded
	failed    error // the last error
	// withoutValues reads cells without their values.
	withoutValues bool
	page          *paging   // of a read of a page; else nil
	stateQuery    *query    // how the table of states answers the read; nil if it cannot
	runs          scan.Runs // which cells of the rollup to read
	// within is the range of what follows the prefix of its only span, or of each of several spans
	// that are merged, in the row keys to read.
	within request.Range
}

func (r *Reader) begin(ctx context.Context, q *query, given event, from, to time.Time, opts []ReadOptions) reading {
	o := call.Last(opts)
	o.NewestFirst = o.NewestFirst || o.LatestOnly
	if o.LatestOnly && !q.MultiSeries && o.Limit >= 0 {
		o.Limit = 1
	}
	read := reading{
		reader: r, ctx: ctx, q: q, given: given, options: o, op: request.Operation{Name: q.Name, Table: r.table.ID},
		assembler: r.newAssembler(given),
	}
	a := &read.assembler
	a.from, a.to, a.newestFirst, a.latestOnly = from, to, o.NewestFirst, o.LatestOnly
	return read
}

// run yields the events; see reading.
func (r *reading) run(yield yielder) {
	r.runOf(func() {
		if err := r.beginPage(); err != nil {
			r.count(r.given, err)
			return
		}
		ended := true
		r.ordered()(func(e event, err error) bool {
			more := r.count(e, err)
			ended = ended && more && (err == nil || isDecodeError(err))
			return more
		})
		if r.page != nil && ended {
			r.page.Next = ""
		}
	}, yield)
}

// runOf calls read, which passes what it yields to count, unless the time range, the limit or a
// field is invalid.
func (r *reading) runOf(read func(), yield yielder) {
	r.ctx = r.reader.options.Hooks.start(r.ctx, &r.op)
	defer func() { r.reader.options.Hooks.end(r.ctx, &r.op, r.failed) }()
	r.yield = yield
	if from, to := r.assembler.from, r.assembler.to; to.IsZero() || from.After(to) {
		r.count(r.reader.mapping.new(), &RangeError{From: from, To: to})
		return
	}
	if err := refuse("ReadOptions", negative("Limit", r.options.Limit, "for all events")); err != nil {
		r.count(r.reader.mapping.new(), err)
		return
	}
	if _, err := r.reader.project(r.options.Fields); err != nil { // also if there is nothing to read
		r.count(r.reader.mapping.new(), err)
		return
	}
	read()
}

// plan plans the requests and configures the assembler for them.
func (r *reading) plan() (scan.ReadPlan, error) {
	spans, err := r.spans()
	if err != nil || len(spans) == 0 {
		return scan.ReadPlan{}, err
	}
	a, o := &r.assembler, &r.options
	r.asked = scan.Read{
		Spans: spans, AllTimes: r.q.AllTimes, Contiguous: r.q.Contiguous, MultiSeries: r.q.MultiSeries,
		From: a.from, To: a.to, NewestFirst: o.NewestFirst, TimeOrder: o.TimeOrder, LatestOnly: o.LatestOnly, Limit: r.left(),
		WithoutValues: r.withoutValues, Runs: r.runs,
	}
	if r.many != nil {
		r.asked.Listed, r.asked.MultiSeries = r.many.listed, r.q.MultiSeries || len(r.many.some) > 1
	}
	if a.fetched, err = r.reader.project(r.q.fetched(o.Fields)); err != nil {
		return scan.ReadPlan{}, err
	}
	r.asked.Projection = a.fetched
	if a.conditions, err = r.conditions(); err != nil || a.conditions.Never() {
		return scan.ReadPlan{}, err
	}
	if r.asked.Conditions = a.conditions; a.runs != nil && a.runs.uses(r.reader.mapping) {
		a.runs.ask(r.reader.mapping, &r.asked)
	}
	if r.q.matcher != nil {
		a.match = r.matcher()
	}
	if r.q.Keys != nil {
		switch r.asked.Keys, err = r.keys(); {
		case err != nil && r.many == nil && r.q.lacks(r.value(), err):
			return scan.ReadPlan{}, nil
		case err != nil:
			return scan.ReadPlan{}, err
		}
	}
	plan := r.reader.shape.Plan(&r.asked, r.reader.options.Now())
	a.from, a.to, a.ranksEnd = plan.From, plan.To, plan.RanksEnd
	return plan, nil
}

// ErrNoField is the error for a name in ReadOptions.Fields or WindowOptions.Fields that is not a field
// of the table.
var ErrNoField = errors.New("no such field")

// noField returns the error for a field that a table does not have.
func noField(l *mapping, f Field) error {
	return fmt.Errorf("table %s, field %q: %w", l.Table.ID, f, ErrNoField)
}

// project returns the projection on the given fields; nil for all fields.
func (r *Reader) project(fields []Field) (scan.Projection, error) {
	if fields == nil {
		return nil, nil
	}
	columns := make([]int, 0, len(fields))
	for _, f := range fields {
		i := slices.IndexFunc(r.mapping.Columns, func(c Column) bool { return c.Name == string(f) && !c.replaced })
		if of := r.mapping.Fields; of != nil {
			i = slices.Index(of, f)
		}
		if i < 0 {
			return nil, noField(r.mapping, f)
		}
		columns = append(columns, i)
	}
	return r.shape.Project(columns), nil
}

// left returns how many events the read may still yield; 0 for no limit.
func (r *reading) left() int {
	switch {
	case r.many != nil && r.options.LatestOnly && !r.q.MultiSeries:
		return 1 // of each value
	case r.options.Limit == 0:
		return 0
	case r.page != nil && r.page.after != nil:
		return r.options.Limit - r.op.Events + 1 // the last event of the previous page may come again
	}
	return r.options.Limit - r.op.Events
}

// events yields the events in the order of their rows.
func (r *reading) events(yield yielder) {
	if r.many != nil {
		r.ofMany(yield)
		return
	}
	r.planned(yield)
}

// planned yields the events of the rows of one plan.
func (r *reading) planned(yield yielder) {
	plan, err := r.plan()
	if err != nil {
		yield(r.reader.mapping.new(), err)
		return
	}
	a := &r.assembler
	a.memory = r.reader.borrow()
	defer r.reader.release(a.memory)
	before := r.op.Events
	for i := range plan.Parts {
		p := &plan.Parts[i]
		if p.Limit > 0 {
			p.Limit -= r.op.Events - before
		}
		begin, skipped := r.enterPart(p)
		own := request.Part{Part: p, Begin: begin, Within: r.within}
		if p.Route != scan.Merged {
			own.Within = r.within.Of(r.asked.Spans[0])
		}
		if !skipped && !r.part(own, yield) {
			return
		}
	}
}

// part yields the events of a part of the time range. It reports whether the caller
// wants more.
func (r *reading) part(p request.Part, yield yielder) bool {
	switch p.Route {
	case scan.Skipping:
		return r.skip(p.Part, yield)
	case scan.Merged:
		return r.together(p, yield)
	case scan.KeyOrder:
		r.assembler.expect(&codec.Span{}, true)
		return r.rowByRow(r.reader.table.Requested(r.ctx, &r.op, p, p.Listed(), always), yield)
	}
	r.assembler.expect(&r.asked.Spans[0], r.q.MultiSeries)
	return r.rowByRow(r.reader.table.SpanRows(r.ctx, &r.op, p, 0, always), yield)
}

// rowByRow yields the events of rows in their order. It reports whether the caller wants more.
func (r *reading) rowByRow(rows iter.Seq2[wire.Row, error], yield yielder) bool {
	a := &r.assembler
	r.more = true
	rows(func(row wire.Row, err error) bool {
		if err != nil {
			if a.flush(yield) {
				yield(a.base, err)
			}
			r.more = false
			return false
		}
		r.more = a.row(row, yield)
		return r.more
	})
	return r.more && a.flush(yield)
}

// always is a wanted function for [request.Table.SpanRows] that never blocks.
func always() bool { return true }

// streams reports whether events are yielded in the order in which they arrive.
func (r *reading) streams() bool {
	return !r.options.LatestOnly && !(r.options.TimeOrder && (r.q.MultiSeries || r.many != nil))
}

// sorts reports whether the events of several series are sorted by time.
func (r *reading) sorts() bool { return !r.options.LatestOnly && !r.streams() }

// ordered returns the events in the order that the caller wants.
func (r *reading) ordered() func(yielder) {
	if !r.options.LatestOnly {
		return r.inPeriods
	}
	if spans, tell := r.stateSpans(); tell {
		return func(yield yielder) { r.ofStates(spans, yield) }
	}
	return r.reader.firstOfEach(r.inPeriods)
}

// inOrder returns the events of one mapping in the order that the caller wants.
func (r *reading) inOrder(events func(yielder)) func(yielder) {
	if !r.sorts() {
		return events
	}
	if r.many != nil && r.reader.shape.Pattern.RowPerField() {
		return r.reader.fails(ErrOrder)
	}
	return func(yield yielder) { r.sorted(events, yield) }
}

// count counts an event and yields it. If the context of the read has ended, its error is
// yielded instead of the next event, which may be in memory already.
func (r *reading) count(event event, err error) bool {
	if ended := r.ctx.Err(); ended != nil && (err == nil || isDecodeError(err)) {
		r.failed = call.Explain(r.ctx, ended)
		r.yield(r.given, r.failed)
		return false
	}
	switch {
	case err != nil:
		r.failed = err
	case r.page != nil:
		return r.countPaged(event)
	default:
		r.op.Events++
	}
	return r.yield(event, err) && (r.options.Limit == 0 || r.op.Events < r.options.Limit)
}

// ErrOrder is the error for a query that cannot yield its events in order of time.
var ErrOrder = errors.New("the rows of the query are not in time order: read without this order, and sort the events, " +
	"or add a table whose keys have the time after the values of the query")

// sorted yields events in order of time: it sorts events that arrive by bucket one bucket at a time,
// and those that arrive by time by their sequence numbers.
func (r *reading) sorted(events func(yielder), yield yielder) {
	l, newestFirst := r.reader.mapping, r.options.NewestFirst
	if r.q.AllTimes || !r.reader.shape.InOrder() {
		yield(l.new(), ErrOrder)
		return
	}
	if !l.Pattern.Bucketed() && l.Sequence == nil {
		events(yield)
		return
	}
	bucket := l.list(0)
	var marks []mark // of the events in bucket, for a page
	var order []int  // indexes in bucket; sorting them moves no events
	var start time.Time
	flush := func() bool {
		order = sortedIndexes(order[:0], bucket.len(), func(a, b int) int {
			if newestFirst {
				a, b = b, a
			}
			return l.compare(bucket.at(a), bucket.at(b))
		})
		for _, i := range order {
			if marks != nil {
				r.assembler.mark = marks[i]
			}
			if !yield(bucket.at(i), nil) {
				return false
			}
		}
		bucket.truncate(0)
		marks = marks[:0]
		return true
	}
	for event, err := range events {
		switch {
		case err != nil && !isDecodeError(err):
			if flush() {
				yield(event, err) // the last value
			}
			return
		case err != nil && !yield(event, err):
			return
		case err != nil:
			continue
		}
		of := r.assembler.mark
		if s := l.start(event); !s.Equal(start) {
			if !flush() {
				return
			}
			start = s
		}
		bucket.add(event)
		if r.page != nil {
			marks = append(marks, of)
		}
	}
	flush()
}

// sortedIndexes appends the numbers from 0 to n, exclusive, in stable order to dst.
func sortedIndexes(dst []int, n int, compare func(a, b int) int) []int {
	for i := range n {
		dst = append(dst, i)
	}
	slices.SortStableFunc(dst, compare)
	return dst
}

// compare orders events by time and sequence number.
func (l *mapping) compare(a, b event) int {
	order := l.Time(a).Compare(*l.Time(b))
	if order == 0 && l.Sequence != nil {
		order = cmp.Compare(*l.Sequence(a), *l.Sequence(b))
	}
	return order
}

// start returns the start of an event's bucket, or the time of an event with a row of
// its own.
func (l *mapping) start(e event) time.Time {
	if !l.Pattern.Bucketed() {
		return *l.Time(e)
	}
	return l.Key.Bucket.Start(*l.Time(e))
}

// borrow returns memory for a read. release returns it.
func (r *Reader) borrow() *memory {
	if m, ok := r.memories.Get().(*memory); ok {
		return m
	}
	return r.mapping.newMemory()
}

func (r *Reader) release(m *memory) {
	m.empty(wire.Row{}) // drop references to rows
	m.frame.Reset(len(m.frame.Columns))
	r.memories.Put(m)
}

// maxGathered is the maximum size of the rows of several spans that one request holds
// in memory, in bytes. The remaining rows are read span by span and held only until
// they are in order.
const maxGathered = 4 << 20

// together merges the rows of several spans: those of the metrics of a bucket, or of
// all salts in key order. It first reads all spans with one request; if there are too
// many rows, it then reads the spans concurrently.
func (r *reading) together(p request.Part, yield yielder) bool {
	a, s := &r.assembler, r.severalSpans(p)
	if err := s.Gather(r.reader.gathered); err != nil {
		yield(a.base, err)
		return false
	}
	return s.Merged(func(rows []wire.Row, err error) bool {
		if err != nil {
			return yield(a.base, err) && isDecodeError(err)
		}
		return a.rows(rows, yield)
	})
}

// severalSpans returns what merges the rows of the spans of a part.
func (r *reading) severalSpans(p request.Part) *request.Merger {
	return &request.Merger{
		Table: r.reader.table, Ctx: r.ctx, Op: &r.op, Part: p, Spans: r.asked.Spans,
		Position: func(i int, row wire.Row) (request.Position, error) {
			return r.assembler.position(r.q, r.asked.Spans[i], row)
		},
	}
}
