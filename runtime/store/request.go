package store

import (
	"cmp"
	"context"
	"iter"
	"math"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// part is a part of a read that is under way.
type part struct {
	*scan.Part
	read  string        // those up to this key, in the order of keys, were read
	turns chan struct{} // holds one for each request that is under way, if they are paginated
}

// spanRows yields the rows of a span. wanted waits until the caller wants more
// rows than are enough by all likelihood; false if it never does.
func (r *Reader[E]) spanRows(ctx context.Context, op *Operation, p part, span int, wanted func() bool) iter.Seq2[wire.Row, error] {
	if q, one := p.Request(span); one {
		return r.enough(ctx, op, p, q, wanted)
	}
	lookup, needed := p.Lookup(span)
	if !needed {
		return r.requested(ctx, op, p, p.Requests(span), wanted)
	}
	return func(yield func(wire.Row, error) bool) {
		stored, err := r.stored(ctx, op, lookup)
		if err != nil {
			yield(wire.Row{}, err)
			return
		}
		r.requested(ctx, op, p, p.RequestsOf(stored), wanted)(yield)
	}
}

// requested yields the rows of requests, one after the other.
func (r *Reader[E]) requested(ctx context.Context, op *Operation, p part, requests iter.Seq[scan.Request], wanted func() bool) iter.Seq2[wire.Row, error] {
	return func(yield func(wire.Row, error) bool) {
		for q := range requests {
			for row, err := range r.enough(ctx, op, p, q, wanted) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// enough sends a request, which may be for no more rows than are enough. A row may
// hold nothing for the caller: if it wants more rows, it gets the rest.
func (r *Reader[E]) enough(ctx context.Context, op *Operation, p part, q scan.Request, wanted func() bool) iter.Seq2[wire.Row, error] {
	rows, filter, limit := q.Rows, filterOf(q.Filter), q.Limit
	if p.read != "" {
		if rows = behind(rows, p.read); rows == nil {
			return func(func(wire.Row, error) bool) {}
		}
	}
	switch {
	case q.Paginated:
		return r.layout.turned(r.paged(ctx, op, rows, filter, limit, p.turns))
	case limit == 0:
		return r.layout.turned(r.rows(ctx, op, rows, filter, 0))
	case r.layout.Ties > 0:
		return r.turnedFirst(ctx, op, rows[0], filter, limit, wanted)
	}
	return func(yield func(wire.Row, error) bool) {
		n, last := 0, ""
		for row, err := range r.rows(ctx, op, rows, filter, limit) {
			if err == nil {
				n, last = n+1, row.Key() // the row is the caller's from here on
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
		if n < limit || !wanted() {
			return
		}
		rest := after(rows, last)
		if rest == nil {
			return
		}
		for row, err := range r.rows(ctx, op, rest, filter, 0) {
			if !yield(row, err) {
				return
			}
		}
	}
}

// paged sends requests for so many rows each, and takes all rows of one before it
// yields the first: its stream is over while those of others are waited for.
func (r *Reader[E]) paged(ctx context.Context, op *Operation, rows []codec.Rows, filter bigtable.Filter, limit int, turns chan struct{}) iter.Seq2[wire.Row, error] {
	return func(yield func(wire.Row, error) bool) {
		for rows != nil {
			page, err := r.page(ctx, op, rows, filter, limit, turns)
			last := ""
			for _, row := range page {
				last = row.Key() // the row is the caller's from here on
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
			rows = after(rows, last)
		}
	}
}

// page reads some rows when it is its turn.
func (r *Reader[E]) page(ctx context.Context, op *Operation, rows []codec.Rows, filter bigtable.Filter, limit int, turns chan struct{}) (page []wire.Row, err error) {
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for row, err := range r.rows(ctx, op, rows, filter, limit) {
		if err != nil {
			return page, err
		}
		page = append(page, row)
	}
	return page, nil
}

// after returns what is left of a request when the row with the key was read.
func after(rows []codec.Rows, key string) []codec.Rows {
	var left []codec.Rows
	for _, r := range rows {
		if rest, some := r.After(key); some {
			left = append(left, rest)
		}
	}
	return left
}

// behind returns what is left of a request when all rows up to the one with the key, in
// the order of keys, were read.
func behind(rows []codec.Rows, key string) []codec.Rows {
	var left []codec.Rows
	for _, r := range rows {
		if rest, some := r.Behind(key); some {
			left = append(left, rest)
		}
	}
	return left
}

// one returns the first row, if there is one. Where no other can come it waits for the
// end of the stream, which costs less than to break it off; whatever comes of that, the
// row is there.
func (r *Reader[E]) one(ctx context.Context, op *Operation, rows codec.Rows, filter bigtable.Filter, limit int) (first wire.Row, err error) {
	for row, err := range r.rows(ctx, op, []codec.Rows{rows}, filter, limit) {
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

// rows yields the rows of a request, up to a limit unless it is 0. It gives up when
// no row comes within the time-out; the time that the caller takes does not count.
// With a client that has [wire.ClientOptions] the cells come straight from the wire.
func (r *Reader[E]) rows(ctx context.Context, op *Operation, rows []codec.Rows, filter bigtable.Filter, limit int) iter.Seq2[wire.Row, error] {
	return func(yield func(wire.Row, error) bool) {
		for again := false; rows != nil; {
			q := request{op: op, yield: yield}
			err := r.send(ctx, &q, rows, filter, limit)
			switch {
			case q.stopped || err == nil:
				return
			case !resumedAtEnd(err) || again && q.rows == 0:
				yield(wire.Row{}, missing(r.id, err))
				return
			case q.rows > 0:
				rows = after(rows, q.last)
				limit = max(0, limit-q.rows) // the client itself stops at the limit
			}
			again = true
		}
	}
}

// resumedAtEnd reports whether the server refused to go on behind the last key of
// a range. After a stream that broke off, the client asks for what follows the row
// that came last: of the range of a single key, from behind the key up to the next
// possible one, and Bigtable rejects such an empty range, together with all others.
func resumedAtEnd(err error) bool {
	return status.Code(err) == codes.InvalidArgument && strings.Contains(err.Error(), "must be less than end_key")
}

// send sends a request and hands over its rows.
func (r *Reader[E]) send(ctx context.Context, q *request, rows []codec.Rows, filter bigtable.Filter, limit int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.idle = startIdle(r.options.Timeout, cancel)
	defer q.idle.end()
	if r.wire {
		ctx = wire.WithSink(ctx, &q.sink)
	}
	q.op.Requests++
	err := r.api.ReadRows(ctx, rowSet(rows), q.take, q.optionsOf(rows, filter, limit)...)
	if !q.sink.Wired() {
		q.op.OrdinaryRequests++
	}
	if err = cmp.Or(q.lost, err); err == nil && !q.stopped {
		return q.sink.Close()
	}
	return explain(ctx, err)
}

// request is one that is under way.
type request struct {
	op      *Operation
	yield   func(wire.Row, error) bool
	sink    wire.Sink
	options [3]bigtable.ReadOption
	idle    *idle
	rows    int    // how many have come
	last    string // the key of the last of them
	stopped bool   // the caller wants no more
	lost    error  // why rows are not there
}

// take yields the rows that the client's row stands for.
func (q *request) take(arrived bigtable.Row) bool {
	q.idle.pause()
	defer q.idle.resume()
	rows, err := q.sink.Rows(arrived)
	if err != nil {
		q.lost = err
		return false
	}
	for i := range rows.Len() {
		row := rows.At(i)
		q.op.Rows++
		q.rows, q.last = q.rows+1, row.Key()
		if q.stopped = !q.yield(row, nil); q.stopped {
			return false
		}
	}
	return true
}

// idle gives up a request when no row comes for so long.
type idle struct {
	timer  *time.Timer
	after  time.Duration
	cancel context.CancelCauseFunc // of the request
	gaveUp bool
}

// idles holds those of requests that are over.
var idles = sync.Pool{New: func() any { return new(idle) }}

// startIdle starts to wait.
func startIdle(after time.Duration, cancel context.CancelCauseFunc) *idle {
	if after <= 0 {
		after = math.MaxInt64
	}
	i := idles.Get().(*idle)
	i.after, i.cancel = after, cancel
	if i.timer == nil {
		i.timer = time.AfterFunc(after, func() { i.cancel(errIdle) })
	} else {
		i.timer.Reset(after)
	}
	return i
}

// pause stops the waiting while the caller has a row.
func (i *idle) pause() { i.gaveUp = i.gaveUp || !i.timer.Stop() }

// resume goes on with the waiting.
func (i *idle) resume() {
	if !i.gaveUp {
		i.timer.Reset(i.after)
	}
}

// end ends the waiting. One that gave up is not used again: it may be about to.
func (i *idle) end() {
	if i.pause(); !i.gaveUp {
		i.cancel = nil
		idles.Put(i)
	}
}

// optionsOf returns the options of the request.
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

// rowSet returns the ranges that a request asks for, each with its start and without
// its end. A single key is such a range too. The client loses the rows of a list of
// keys that is read in reverse, if the stream breaks off before the first row: it
// resumes with an empty list and reports no error. It may send a list of one key, or
// a range that ends with the key it starts with, over a session of its own, past the
// reader of the wire.
func rowSet(rows []codec.Rows) bigtable.RowSet {
	if len(rows) == 1 && rows[0].Keys == nil {
		return bigtable.NewRange(rows[0].Start, rows[0].End)
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
