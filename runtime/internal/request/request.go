// Package request sends the requests of reads, and yields their rows: in order, also those of several ranges that are read together,
// again after errors that pass, and with a limit, no more than are wanted. It knows plans of package scan, and neither events nor
// applications.
package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// errIdle is the cause of a read that ends because nothing arrives.
var errIdle = fmt.Errorf("no row arrived within the timeout, and no sign of progress: %w", context.DeadlineExceeded)

// ErrReversed is the error of a server that returns rows in ascending order if it is asked for the reverse.
var ErrReversed = errors.New("rows in ascending order instead of the reverse")

// ErrForeign is the error for a row that belongs to another mapping of the events.
var ErrForeign = errors.New("the row belongs to another layout")

// Table requests the rows of a table with the events of one mapping.
type Table struct {
	ID      string                // with its prefix
	Fail    func(err error) error // converts the error of a request
	API     bigtable.TableAPI
	Wire    bool          // rows may be decoded directly from the wire
	Timeout time.Duration // for the next row
	Shape   *scan.Table
	Ties    int  // codec.Key.Ties
	Shared  bool // other mappings may have rows between those of this one
	Filters Filters
	// Keys returns a function that parses row keys: it returns the time of the event or the
	// start of its bucket, and whether the mapping covers it. It is not safe for concurrent use.
	Keys func() func(key string) (start time.Time, covered bool, err error)
}

// Part is a part of a read in progress.
type Part struct {
	*scan.Part
	Read     string        // rows up to this key, in key order, were read
	Complete bool          // all rows were read
	Begin    string        // what the key of the first row of a page begins with, as far as the rows of spans have it in common
	Within   Range         // the keys to read; the zero Range for all
	Turns    chan struct{} // one element per request in progress, if they are paginated
}

// SpanRows yields the rows of a span. wanted blocks until the caller wants more rows
// than are expected to suffice; it returns false if the caller never does.
func (t *Table) SpanRows(ctx context.Context, op *Operation, p Part, span int, wanted func() bool) iter.Seq2[wire.Row, error] {
	if q, one := p.Request(span); one {
		return t.enough(ctx, op, p, q, wanted)
	}
	lookup, needed := p.Lookup(span)
	if !needed {
		return t.Requested(ctx, op, p, p.Requests(span), wanted)
	}
	return func(yield func(wire.Row, error) bool) {
		stored, err := t.stored(ctx, op, lookup)
		if err != nil {
			yield(wire.Row{}, err)
			return
		}
		t.Requested(ctx, op, p, p.RequestsOf(stored), wanted)(yield)
	}
}

// Requested yields the rows of requests, one after the other.
func (t *Table) Requested(ctx context.Context, op *Operation, p Part, requests iter.Seq[scan.Request], wanted func() bool) iter.Seq2[wire.Row, error] {
	return func(yield func(wire.Row, error) bool) {
		for q := range requests {
			if !pass(t.enough(ctx, op, p, q, wanted), yield) {
				return
			}
		}
	}
}

// pass yields rows up to an error, and reports whether the caller wants more.
func pass(rows iter.Seq2[wire.Row, error], yield func(wire.Row, error) bool) bool {
	for row, err := range rows {
		if !yield(row, err) || err != nil {
			return false
		}
	}
	return true
}

// enough sends a request that may be limited to the rows that should suffice. Some rows
// may have nothing for the caller; if it wants more, enough requests the rest.
func (t *Table) enough(ctx context.Context, op *Operation, p Part, q scan.Request, wanted func() bool) iter.Seq2[wire.Row, error] {
	rows, filter, limit := q.Rows, t.Filters.Of(q.Filter), q.Limit
	if p.Read != "" {
		rows = eachRest(rows, func(r codec.Rows) (codec.Rows, bool) { return r.Behind(p.Read) })
	}
	if p.Begin != "" {
		rows = Since(rows, p.Begin)
	}
	if p.Within != (Range{}) {
		rows = Within(rows, p.Within)
	}
	if rows == nil {
		return func(func(wire.Row, error) bool) {}
	}
	switch {
	case q.Paginated:
		return t.turned(t.paged(ctx, op, rows, filter, limit, p.Turns))
	case limit == 0:
		return t.turned(t.Rows(ctx, op, rows, filter, 0))
	case t.Ties > 0:
		return t.turnedFirst(ctx, op, rows[0], filter, limit, wanted)
	}
	return func(yield func(wire.Row, error) bool) {
		n, last := 0, ""
		for row, err := range t.Rows(ctx, op, rows, filter, limit) {
			if err == nil {
				n, last = n+1, row.Key() // afterward the row belongs to the caller
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
		if n < limit || !wanted() {
			return
		}
		if rest := After(rows, last); rest != nil {
			pass(t.Rows(ctx, op, rest, filter, 0), yield)
		}
	}
}

// paged sends requests for limit rows each. It reads all rows of a page before it
// yields the first, so the page's stream ends while the caller waits for other streams.
func (t *Table) paged(ctx context.Context, op *Operation, rows []codec.Rows, filter bigtable.Filter, limit int, turns chan struct{}) iter.Seq2[wire.Row, error] {
	return func(yield func(wire.Row, error) bool) {
		for rows != nil {
			page, err := t.page(ctx, op, rows, filter, limit, turns)
			last := ""
			for _, row := range page {
				last = row.Key() // afterward the row belongs to the caller
				if !yield(row, nil) {
					return
				}
			}
			if err != nil {
				yield(wire.Row{}, err)
			}
			if err != nil || len(page) < limit {
				return
			}
			rows = After(rows, last)
		}
	}
}

// page reads one page when a slot is free.
func (t *Table) page(ctx context.Context, op *Operation, rows []codec.Rows, filter bigtable.Filter, limit int, turns chan struct{}) (page []wire.Row, err error) {
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for row, err := range t.Rows(ctx, op, rows, filter, limit) {
		if err != nil {
			return page, err
		}
		page = append(page, row)
	}
	return page, nil
}

// After returns the rows of a request that remain after the row with the given key, in
// reading order.
func After(rows []codec.Rows, key string) []codec.Rows {
	return eachRest(rows, func(r codec.Rows) (codec.Rows, bool) { return r.After(key) })
}

// Past returns the rows of a request that remain after gone, a range at their beginning.
func Past(rows []codec.Rows, gone codec.Rows) []codec.Rows {
	return eachRest(rows, func(r codec.Rows) (codec.Rows, bool) { return r.Past(gone) })
}

// eachRest returns what rest leaves of the ranges of a request.
func eachRest(rows []codec.Rows, rest func(codec.Rows) (codec.Rows, bool)) (left []codec.Rows) {
	for _, r := range rows {
		if some, more := rest(r); more {
			left = append(left, some)
		}
	}
	return left
}

// One returns the first row, if any. If there can be no other, it waits for the end of
// the stream, because that is cheaper than canceling it; errors after the row do not
// matter.
func (t *Table) One(ctx context.Context, op *Operation, rows codec.Rows, filter bigtable.Filter, limit int) (first wire.Row, err error) {
	for row, err := range t.Rows(ctx, op, []codec.Rows{rows}, filter, limit) {
		switch {
		case first.Exists():
			return first, nil
		case err != nil || limit != 1 && len(rows.Keys) != 1:
			return row, err
		}
		first = row
	}
	return first, nil
}

// Rows yields the rows of a request, up to limit unless it is 0. It gives up if no message arrives within the timeout, which does
// not include the time that the caller takes; a message without rows says that the server is scanning. After an error that is
// likely to pass, it continues behind what was scanned. If the client has [wire.ClientOptions], cells are decoded directly from the
// wire; otherwise, messages without rows do not count, because the client does not pass them on.
func (t *Table) Rows(ctx context.Context, op *Operation, rows []codec.Rows, filter bigtable.Filter, limit int) iter.Seq2[wire.Row, error] {
	return t.Scan(ctx, op, rows, filter, limit, nil)
}

// Scan is Rows. scanned, which may be nil, is told up to which row key the server has scanned rows, all of which were yielded.
func (t *Table) Scan(ctx context.Context, op *Operation, rows []codec.Rows, filter bigtable.Filter, limit int, scanned func(key string)) iter.Seq2[wire.Row, error] {
	return func(yield func(wire.Row, error) bool) {
		idle := 0 // requests since the last that got anywhere
		passing := func(err error) bool { return idle < maxIdleRequests && call.Passing(err) && ctx.Err() == nil }
		err := call.Resume(ctx, readPause, passing, func() (further bool, err error) {
			for rows != nil {
				q := request{op: op, yield: yield, scanned: scanned}
				err := t.send(ctx, &q, rows, filter, limit)
				if q.stopped || err == nil || limit > 0 && q.rows >= limit {
					return true, nil
				}
				again := idle > 0
				if at := q.position(rows[0].Reverse); at != "" {
					rows, limit, idle, again = After(rows, at), max(0, limit-q.rows), 0, false
				} else {
					idle++
				}
				if again || !resumedAtEnd(err) {
					return idle == 0, err
				}
			}
			return true, nil
		})
		if err != nil {
			yield(wire.Row{}, t.Fail(err))
		}
	}
}

// Reads that fail are repeated after a pause, a number of times without any progress: the client itself repeats those of an unavailable
// server, until the timeout.
const (
	maxIdleRequests = 4
	readPause       = 50 * time.Millisecond
)

// position returns the row key up to which rows were received or scanned, in reading order; empty if there is none.
func (q *request) position(reverse bool) string {
	last, scanned := string(q.last), string(q.sink.Scanned())
	switch {
	case last == "" || scanned == "":
		return last + scanned
	case reverse:
		return min(last, scanned)
	}
	return max(last, scanned)
}

// resumedAtEnd reports whether the server rejected a resumed read because of an empty
// range. After a broken stream, the client requests the rows after the last one. For
// the range of a single key, the rest is empty, and Bigtable rejects the request with
// all its ranges.
func resumedAtEnd(err error) bool {
	return status.Code(err) == codes.InvalidArgument && strings.Contains(err.Error(), "must be less than end_key")
}

// send sends a request and passes its rows on.
func (t *Table) send(ctx context.Context, q *request, rows []codec.Rows, filter bigtable.Filter, limit int) error {
	if rows[0].Reverse && call.Ascending(ctx, t.API) {
		return ErrReversed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.idle = startIdle(t.Timeout, cancel)
	defer q.idle.end()
	if t.Wire {
		q.sink.Arrived = q.arrived
		ctx = wire.WithSink(ctx, &q.sink)
	}
	q.op.Requests++
	err := t.API.ReadRows(ctx, rowSet(rows), q.take, q.optionsOf(rows, filter, limit)...)
	if !q.sink.Wired() {
		q.op.OrdinaryRequests++
	}
	if refused := q.sink.Refused(); refused != nil {
		return refused
	}
	if err = cmp.Or(q.lost, err); err == nil && !q.stopped {
		return q.sink.Close()
	}
	return call.Explain(ctx, err)
}

// arrived notes that a message has arrived.
func (q *request) arrived() {
	q.idle.arrived()
	if q.scanned == nil {
		return
	}
	if key := q.sink.Scanned(); len(key) > 0 {
		q.scanned(string(key))
	}
}

// request is a request in progress.
type request struct {
	op      *Operation
	yield   func(wire.Row, error) bool
	sink    wire.Sink
	scanned func(key string) // see Table.Scan
	options [3]bigtable.ReadOption
	idle    *idle
	rows    int    // number of rows received
	last    []byte // key of the last row
	stopped bool   // the caller wants no more
	lost    error  // why rows are missing
}

// take yields the rows that a row of the client stands for.
func (q *request) take(arrived bigtable.Row) bool {
	q.idle.pause()
	defer q.idle.resume()
	rows, err := q.sink.Rows(arrived)
	if err != nil {
		q.lost = err
		return false
	}
	q.rows, q.last = q.rows+rows.Len(), append(q.last[:0], rows.At(rows.Len()-1).KeyBytes()...)
	for i := range rows.Len() {
		row := rows.At(i)
		q.op.received(row)
		if q.stopped = !q.yield(row, nil); q.stopped {
			return false
		}
	}
	q.sink.Passed()
	return true
}

// idle cancels a request if no message arrives for some time. Its timer may expire too early, and is then set again: setting one
// for each request or message would wake a thread each time.
type idle struct {
	mu     sync.Mutex
	after  time.Duration           // 0 for never
	cancel context.CancelCauseFunc // cancels the request; nil if it is completed
	paused bool
	since  time.Time // when the last message arrived, or the caller last asked for one
	timer  *time.Timer
	due    time.Time // when the timer expires; zero if it is not set
}

// idles contains those of completed requests, with timers that may be set.
var idles = sync.Pool{New: func() any { return new(idle) }}

// startIdle begins to wait for the first message.
func startIdle(after time.Duration, cancel context.CancelCauseFunc) *idle {
	i := idles.Get().(*idle)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.after, i.cancel = max(0, after), cancel
	i.wait()
	return i
}

// wait begins to wait for the next message.
func (i *idle) wait() {
	i.paused, i.since = false, time.Now()
	i.set()
}

// set makes the timer expire when the time is over, or earlier.
func (i *idle) set() {
	due := i.since.Add(i.after)
	switch {
	case i.after == 0 || !i.due.IsZero() && !due.Before(i.due):
		return
	case i.timer == nil:
		i.timer = time.AfterFunc(time.Until(due), i.expired)
	default:
		i.timer.Reset(time.Until(due))
	}
	i.due = due
}

// expired cancels the request if nothing has arrived in time.
func (i *idle) expired() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.due = time.Time{}
	switch {
	case i.cancel == nil || i.paused || i.after == 0:
	case time.Since(i.since) < i.after:
		i.set()
	default:
		i.cancel(errIdle)
	}
}

// arrived begins to wait again, unless the caller is processing a row.
func (i *idle) arrived() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.paused {
		i.since = time.Now()
	}
}

// pause waits for nothing while the caller processes a row.
func (i *idle) pause() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.paused = true
}

// resume waits for the next message.
func (i *idle) resume() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wait()
}

// end waits for nothing more.
func (i *idle) end() {
	i.mu.Lock()
	i.cancel = nil
	i.mu.Unlock()
	idles.Put(i)
}

func (q *request) optionsOf(rows []codec.Rows, filter bigtable.Filter, limit int) []bigtable.ReadOption {
	out := append(q.options[:0], bigtable.RowFilter(filter))
	if rows[0].Reverse {
		out = append(out, bigtable.ReverseScan())
	}
	if limit > 0 {
		out = append(out, bigtable.LimitRows(int64(limit)))
	}
	return out
}

// rowSet returns the rows of a request: a list, if it is for several keys in ascending
// order, and otherwise ranges, each with its start and without its end, including single
// keys. A list costs the client one allocation for each key, and a range seven. There are
// two lists that it must not get: if a reversed read of a list breaks off before the first
// row, the client loses the list, resumes with an empty one and reports no error; and it
// may send a list of one key, or a range that ends with its start key, over a session,
// which bypasses the wire decoder.
func rowSet(rows []codec.Rows) bigtable.RowSet {
	switch first := &rows[0]; {
	case len(rows) > 1:
	case first.Keys == nil:
		return bigtable.NewRange(first.Start, first.End)
	case len(first.Keys) > 1 && !first.Reverse:
		return bigtable.RowList(first.Keys)
	}
	ranges := make(bigtable.RowRangeList, 0, len(rows)-1+max(1, len(rows[0].Keys)))
	for _, r := range rows {
		if r.Keys == nil {
			ranges = append(ranges, bigtable.NewRange(r.Start, r.End))
		}
		for _, key := range r.Keys {
			ranges = append(ranges, bigtable.NewRange(key, key+"\x00"))
		}
	}
	return ranges
}

// Since returns the rows of a request that a page which begins with the rows of a key prefix can
// have: those from there on, in reading order.
func Since(rows []codec.Rows, begin string) []codec.Rows {
	if len(rows) > 0 && rows[0].Reverse {
		return Within(rows, Range{End: codec.PrefixRows(begin).End})
	}
	return Within(rows, Range{Start: begin})
}

// Within returns the rows of a request that are in a range; nil if there are none.
func Within(rows []codec.Rows, in Range) []codec.Rows {
	return eachRest(rows, func(r codec.Rows) (codec.Rows, bool) {
		if r.Keys != nil {
			r.Keys = slices.DeleteFunc(slices.Clone(r.Keys), func(key string) bool { return !in.Contains(key) })
			return r, len(r.Keys) > 0
		}
		if r.Start = max(r.Start, in.Start); in.End != "" && (r.End == "" || in.End < r.End) {
			r.End = in.End
		}
		return r, r.End == "" || r.Start < r.End
	})
}

// Operation is a store.Operation: a call on one table, and what it has sent and received so far.
type Operation struct {
	Name                  string
	Table                 string
	Events                int
	Expired               int
	Rows                  int
	Requests              int
	Cells                 int
	Bytes                 int
	OrdinaryRequests      int
	Runs, Folded, Inexact int
}

// Add adds the statistics of a part of the operation.
func (o *Operation) Add(other *Operation) {
	o.Events += other.Events
	o.Rows += other.Rows
	o.Cells += other.Cells
	o.Bytes += other.Bytes
	o.Requests += other.Requests
	o.OrdinaryRequests += other.OrdinaryRequests
	o.Runs += other.Runs
	o.Folded += other.Folded
	o.Inexact += other.Inexact
}

// received counts a row that a reader received.
func (o *Operation) received(row wire.Row) {
	cells, bytes := row.Received()
	o.Rows++
	o.Cells += cells
	o.Bytes += bytes
}

// Range is a store.KeyRange: the range of row keys [Start, End).
type Range struct{ Start, End string }

// Of returns the range of row keys that consist of the prefix of a span and a key in r.
func (r Range) Of(span codec.Span) Range {
	if r == (Range{}) {
		return r
	}
	r.Start = span.Prefix + r.Start
	if r.End != "" {
		r.End = span.Prefix + r.End
	}
	return r
}

// Contains reports whether a row key is in the range.
func (r Range) Contains(key string) bool { return key >= r.Start && (r.End == "" || key < r.End) }
