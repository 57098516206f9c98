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
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Reader reads the events of one table. It is safe for use by several goroutines.
type Reader[E any] struct {
	options Options
	layout  *Layout[E]
	shape   scan.Table // of the layout
	id      string
	api     bigtable.TableAPI
	// wire says that rows may come straight from the wire.
	wire     bool
	whole    Query[E]  // for all events of a series
	memories sync.Pool // of reads that are over
	gathered int       // how many bytes of rows of several spans may be held
}

// NewReader returns a Reader for a layout.
func NewReader[E any](client Client, layout *Layout[E], opts ...Options) *Reader[E] {
	o := merge(opts)
	id := o.TablePrefix + layout.Table.ID
	return &Reader[E]{
		options: o, layout: layout, shape: layout.shape(), id: id, api: client.OpenTable(id), wire: wireAllowed(client),
		whole: Query[E]{Name: "Read", Spans: layout.Spans}, gathered: maxGathered,
	}
}

// Query says which rows a read asks for.
type Query[E any] struct {
	Name string // for hooks
	// Spans returns where the rows are of the event's series, as far as they are
	// given: for new columns one span for each of Columns; else one, or one for
	// each salt.
	Spans func(e *E) ([]codec.Span, error)
	// AllTimes, MultiSeries and Contiguous are as in [scan.Read].
	AllTimes    bool
	MultiSeries bool
	Contiguous  bool
	// Keys returns a pattern for the keys of rows that have the values which are
	// given, where those of the spans may have others, or where their time is to be
	// looked for in the keys; else nil.
	Keys func(given *E) (*codec.KeyPattern, error)
	// Match reports whether a row's series, in e, has the values that are given, as
	// Keys says it for most rows; nil if all rows of the spans have.
	Match func(e, given *E) bool
}

// ReadOptions say how events are read. Where several are given, the fields that are
// not zero in a later one win.
type ReadOptions struct {
	// NewestFirst turns the order round: the last event comes first.
	NewestFirst bool
	// Limit is how many events are yielded at most; 0 for no limit. No more rows
	// are asked for, unless TimeOrder or LatestOnly has to see them.
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
	// Fields are the fields to fetch; nil for all, and an empty slice for none, which
	// leaves the series and the time. The others stay zero. Fields do not choose
	// events: one that lacks all of them is yielded too, with their defaults. To know
	// of it, a read of fields none of which every event must have asks for one more
	// cell of each event, without its value; or for all of them, if there is no field
	// that every event must have. In a table of new columns there are as many events
	// of one time as the fetched field with the most values has. Where an event is
	// stored as one value, all fields are fetched unless there are none. A name that
	// is none of the table's is ErrNoField.
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
// order of time, and holds no more than one bucket in memory; of several salts or
// fields up to 4 MiB of their rows as well. A zero from is before
// all events; a from after to, or a zero to, is a *RangeError. An event that
// cannot be decoded is yielded as far as it was understood, with a
// *DecodeError; the caller may go on. Any other error is the last thing yielded.
func (r *Reader[E]) Read(ctx context.Context, base E, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error] {
	return r.Query(ctx, &r.whole, base, from, to, opts...)
}

// Query yields the events that a query finds with from <= time < to, as Read does:
// in the order of the row keys, and within a row in the order of time. What the
// query gives is set in base.
func (r *Reader[E]) Query(ctx context.Context, q *Query[E], base E, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		read := r.begin(ctx, q, base, from, to, opts)
		read.run(func(e *E, err error) bool { return yield(*e, err) })
	}
}

// reading is one read of a query. Its route is, step by step:
//
//	plan     which requests it takes: package scan
//	part     the requests of a part of the range of time, and the rows that they return
//	         (OneSpan: spanRows; Merged: together; Skipping: skip)
//	events   the events that the assembler makes of the rows
//	ordered  the events in the order that the caller wants
//	count    up to the limit that the caller wants
type reading[E any] struct {
	*Reader[E]
	ctx       context.Context
	q         *Query[E]
	given     E // what the query gives
	options   ReadOptions
	op        Operation
	asked     scan.Read // what is planned
	assembler assembler[E]
	yield     yielder[E]
	more      bool  // whether the caller wants more of a part
	failed    error // the last error
}

// begin returns a read.
func (r *Reader[E]) begin(ctx context.Context, q *Query[E], given E, from, to time.Time, opts []ReadOptions) reading[E] {
	o := mergeReads(opts)
	o.NewestFirst = o.NewestFirst || o.LatestOnly
	if o.LatestOnly && !q.MultiSeries {
		o.Limit = 1
	}
	return reading[E]{
		Reader: r, ctx: ctx, q: q, given: given, options: o, op: Operation{Name: q.Name, Table: r.id},
		assembler: assembler[E]{
			layout: r.layout, shape: &r.shape, table: r.id, base: given, from: from, to: to,
			newestFirst: o.NewestFirst, latestOnly: o.LatestOnly, now: r.options.Now,
		},
	}
}

// run yields the events, see reading.
func (r *reading[E]) run(yield yielder[E]) {
	r.ctx = r.Reader.options.Hooks.start(r.ctx, &r.op)
	defer func() { r.Reader.options.Hooks.end(r.ctx, &r.op, r.failed) }()
	r.yield = yield
	if from, to := r.assembler.from, r.assembler.to; to.IsZero() || from.After(to) {
		var none E
		r.count(&none, &RangeError{From: from, To: to})
		return
	}
	r.ordered(r.events)(r.count)
}

// plan plans the requests, and tells the assembler what it has to know of them.
func (r *reading[E]) plan() (scan.ReadPlan, error) {
	spans, err := r.q.Spans(&r.given)
	if err != nil {
		return scan.ReadPlan{}, err
	}
	a, o := &r.assembler, &r.options
	r.asked = scan.Read{
		Spans: spans, AllTimes: r.q.AllTimes, Contiguous: r.q.Contiguous, MultiSeries: r.q.MultiSeries,
		From: a.from, To: a.to, NewestFirst: o.NewestFirst, TimeOrder: o.TimeOrder, LatestOnly: o.LatestOnly, Limit: o.Limit,
	}
	if a.fetched, err = r.project(o.Fields); err != nil {
		return scan.ReadPlan{}, err
	}
	r.asked.Projection = a.fetched
	if r.q.Match != nil {
		a.match = func(e *E) bool { return r.q.Match(e, &r.given) }
	}
	if r.q.Keys != nil {
		if r.asked.Keys, err = r.q.Keys(&r.given); err != nil {
			return scan.ReadPlan{}, err
		}
	}
	plan := r.shape.Plan(&r.asked, r.Reader.options.Now())
	a.from, a.ranksEnd = plan.From, plan.RanksEnd
	return plan, nil
}

// ErrNoField says that ReadOptions.Fields names a field that the table does not have.
var ErrNoField = errors.New("no such field")

// project returns what is read of each column for some fields; nil for all of them.
func (r *Reader[E]) project(fields []Field) (scan.Projection, error) {
	if fields == nil {
		return nil, nil
	}
	columns := make([]int, 0, len(fields))
	for _, f := range fields {
		i := slices.IndexFunc(r.layout.Columns, func(c Column) bool { return c.Name == string(f) })
		if i < 0 && !r.shape.OneValue() {
			return nil, fmt.Errorf("table %s, field %q: %w", r.layout.Table.ID, f, ErrNoField)
		}
		columns = append(columns, i)
	}
	return r.shape.Project(columns), nil
}

// events yields the events in the order of their rows.
func (r *reading[E]) events(yield yielder[E]) {
	plan, err := r.plan()
	if err != nil {
		var none E
		yield(&none, err)
		return
	}
	a := &r.assembler
	a.memory = r.borrow()
	defer r.release(a.memory)
	for i := range plan.Parts {
		p := &plan.Parts[i]
		if p.Limit > 0 {
			p.Limit -= r.op.Events
		}
		if !r.part(p, yield) {
			return
		}
	}
}

// part yields the events of a part of the range of time. It reports whether the caller
// wants more.
func (r *reading[E]) part(p *scan.Part, yield yielder[E]) bool {
	switch p.Route {
	case scan.Skipping:
		return r.skip(p, yield)
	case scan.Merged:
		return r.together(p, yield)
	}
	a := &r.assembler
	if span := &r.asked.Spans[0]; !r.layout.Pattern.Bucketed() && !r.q.MultiSeries && span.Whole && span.Suffix == "" {
		a.prefix, a.times = span.Prefix, codec.NewTimeReader(r.layout.TimeKey)
	}
	r.more = true
	r.spanRows(r.ctx, &r.op, part{Part: p}, 0, always)(func(row wire.Row, err error) bool {
		if err != nil {
			if a.flush(yield) {
				yield(&a.base, err)
			}
			r.more = false
			return false
		}
		r.more = a.row(row, yield)
		return r.more
	})
	return r.more && a.flush(yield)
}

// always is a function wanted of [Reader.spanRows] that does not wait.
func always() bool { return true }

// streams reports whether events are yielded as they come.
func (r *reading[E]) streams() bool {
	return !r.options.LatestOnly && !(r.options.TimeOrder && r.q.MultiSeries)
}

// ordered returns events in the order that the caller wants.
func (r *reading[E]) ordered(events func(yielder[E])) func(yielder[E]) {
	switch {
	case r.options.LatestOnly:
		return r.firstOfEach(events)
	case !r.streams():
		return r.byTime(r.q, events, r.options.NewestFirst)
	}
	return events
}

// count counts what is yielded.
func (r *reading[E]) count(event *E, err error) bool {
	if err != nil {
		r.failed = err
	} else {
		r.op.Events++
	}
	return r.yield(event, err) && (r.options.Limit == 0 || r.op.Events < r.options.Limit)
}

// ErrOrder says that a query cannot yield its events in the order of time.
var ErrOrder = errors.New("the rows of the query are not in the order of time")

// byTime sorts events that come by bucket, a bucket at a time, and those that come by
// their time by their tie-breakers.
func (r *Reader[E]) byTime(q *Query[E], events func(yielder[E]), newestFirst bool) func(yielder[E]) {
	return func(yield yielder[E]) {
		if q.AllTimes || !r.shape.InOrder() {
			var none E
			yield(&none, ErrOrder)
			return
		}
		if !r.layout.Pattern.Bucketed() && r.layout.Sequence == nil {
			events(yield)
			return
		}
		var bucket []E
		var start time.Time
		flush := func() bool {
			slices.SortStableFunc(bucket, func(a, b E) int {
				order := r.layout.compare(&a, &b)
				if newestFirst {
					return -order
				}
				return order
			})
			for i := range bucket {
				if !yield(&bucket[i], nil) {
					return false
				}
			}
			bucket = bucket[:0]
			return true
		}
		for event, err := range events {
			switch {
			case err != nil && !isDecodeError(err):
				if flush() {
					yield(event, err) // the last thing
				}
				return
			case err != nil && !yield(event, err):
				return
			case err != nil:
				continue
			}
			if s := r.layout.start(event); !s.Equal(start) {
				if !flush() {
					return
				}
				start = s
			}
			bucket = append(bucket, *event)
		}
		flush()
	}
}

// compare orders events by their times and their tie-breakers.
func (l *Layout[E]) compare(a, b *E) int {
	order := l.Time(a).Compare(*l.Time(b))
	if order == 0 && l.Sequence != nil {
		order = cmp.Compare(*l.Sequence(a), *l.Sequence(b))
	}
	return order
}

// start returns the start of the bucket of an event, or its time if it has a row.
func (l *Layout[E]) start(e *E) time.Time {
	if !l.Pattern.Bucketed() {
		return *l.Time(e)
	}
	return l.Bucket.Start(*l.Time(e))
}

// borrow returns memory for a read, which release gives back.
func (r *Reader[E]) borrow() *memory {
	if m, ok := r.memories.Get().(*memory); ok {
		return m
	}
	return r.layout.newMemory()
}

func (r *Reader[E]) release(m *memory) {
	m.empty(wire.Row{}) // without what is the rows'
	m.frame.reset(len(m.frame.columns))
	r.memories.Put(m)
}
