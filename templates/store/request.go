package store

import (
	"context"
	"iter"
	"math"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/templates/codec"
)

// maxRowSet is the size in bytes that the listed row keys of one request are
// kept under; Bigtable takes 512 KiB.
const maxRowSet = 384 << 10

// maxListed is how many buckets are read key by key without looking first which
// of them there are.
const maxListed = 1000

// spanRows yields the rows of a span.
func (r *Reader[E]) spanRows(ctx context.Context, op *Operation, q *Query[E], span codec.Span, p part, filter bigtable.Filter) iter.Seq2[bigtable.Row, error] {
	switch {
	case q.Untimed:
		rows := codec.PrefixRows(span.Prefix)
		rows.Reverse = span.Newest != r.layout.descending()
		return r.rows(ctx, op, []codec.Rows{rows}, filter)
	case r.layout.Kind != SingleRows:
		return r.bucketRows(ctx, op, span, p.from, p.to, filter)
	}
	rows, ok := span.Times(r.layout.TimeKey, p.from, p.to)
	if !ok {
		return func(func(bigtable.Row, error) bool) {}
	}
	return r.rows(ctx, op, []codec.Rows{rows}, matching(span, filter))
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
		for rows := range batches(span.Buckets(b, from, to)) {
			for row, err := range r.rows(ctx, op, rows, filter) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// batches puts what is asked for one after the other into as few requests as
// Bigtable takes: ranges that are read in the same direction.
func batches(all iter.Seq[codec.Rows]) iter.Seq[[]codec.Rows] {
	return func(yield func([]codec.Rows) bool) {
		var batch []codec.Rows
		size := 0
		for rows := range all {
			n := len(rows.Start) + len(rows.End)
			fits := rows.Keys == nil && len(batch) > 0 && batch[0].Keys == nil && batch[0].Reverse == rows.Reverse && size+n <= maxRowSet
			if len(batch) > 0 && !fits {
				if !yield(batch) {
					return
				}
				batch, size = nil, 0
			}
			batch, size = append(batch, rows), size+n
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

// one returns the first row, or nil if there is none.
func (r *Reader[E]) one(ctx context.Context, op *Operation, rows codec.Rows, filter bigtable.Filter, opts ...bigtable.ReadOption) (bigtable.Row, error) {
	for row, err := range r.rows(ctx, op, []codec.Rows{rows}, filter, opts...) {
		return row, err
	}
	return nil, nil
}

// rows sends one request and yields its rows. It gives up when no row comes
// within the time-out; the time that the caller takes does not count.
func (r *Reader[E]) rows(ctx context.Context, op *Operation, rows []codec.Rows, filter bigtable.Filter, opts ...bigtable.ReadOption) iter.Seq2[bigtable.Row, error] {
	opts = append(opts, bigtable.RowFilter(filter))
	if rows[0].Reverse {
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

// rowSet turns a list of keys, or ranges, into what the client takes.
func rowSet(rows []codec.Rows) bigtable.RowSet {
	switch {
	case rows[0].Keys != nil:
		return bigtable.RowList(rows[0].Keys)
	case len(rows) == 1:
		return bigtable.NewRange(rows[0].Start, rows[0].End)
	}
	ranges := make(bigtable.RowRangeList, len(rows))
	for i, r := range rows {
		ranges[i] = bigtable.NewRange(r.Start, r.End)
	}
	return ranges
}
