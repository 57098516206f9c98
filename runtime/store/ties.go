package store

import (
	"context"
	"iter"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// Where the time stands reversed in the keys and a tie-breaker after it, rows that are
// read in the order of time have those of each instant the wrong way round. What is
// read whole is turned in memory, an instant at a time; of the last instant that is
// wanted no more rows are asked for than are, from its other end.

// instant returns the rows of the instant of a key.
func (l *Layout[E]) instant(key string) codec.Rows {
	return codec.PrefixRows(key[:max(0, len(key)-l.Ties)])
}

// tied reports whether two rows are of one series and instant.
func (l *Layout[E]) tied(a, b string) bool {
	return len(a) == len(b) && len(a) > l.Ties && a[:len(a)-l.Ties] == b[:len(b)-l.Ties]
}

// run is the rows of one instant, the last of which comes first.
type run []wire.Row

// yieldTo yields the rows. It reports whether more are wanted.
func (r run) yieldTo(yield func(wire.Row, error) bool) bool {
	for i := len(r) - 1; i >= 0; i-- {
		if !yield(r[i], nil) {
			return false
		}
	}
	return true
}

// turned yields the rows of each instant the other way round. After an error those of
// the last instant are not yielded, since there may be others before them.
func (l *Layout[E]) turned(rows iter.Seq2[wire.Row, error]) iter.Seq2[wire.Row, error] {
	if l.Ties == 0 {
		return rows
	}
	return func(yield func(wire.Row, error) bool) {
		var same run
		for row, err := range rows {
			if err != nil {
				yield(wire.Row{}, err)
				return
			}
			if len(same) > 0 && !l.tied(same[0].Key(), row.Key()) {
				if !same.yieldTo(yield) {
					return
				}
				same = same[:0]
			}
			same = append(same, row)
		}
		same.yieldTo(yield)
	}
}

// turnedFirst yields the first rows of a range, those of each instant the other way
// round, and then the others if they are wanted: see [Reader.enough]. It asks for a limit
// of rows, one more than are enough.
func (r *Reader[E]) turnedFirst(ctx context.Context, op *Operation, in codec.Rows, filter bigtable.Filter, limit int, wanted func() bool) iter.Seq2[wire.Row, error] {
	return func(yield func(wire.Row, error) bool) {
		n, yielded, enough := 0, 0, limit-1
		var same run // of the last instant
		for row, err := range r.rows(ctx, op, []codec.Rows{in}, filter, limit) {
			if err != nil {
				yield(wire.Row{}, err)
				return
			}
			n++
			if len(same) > 0 && !r.layout.tied(same[0].Key(), row.Key()) {
				if !same.yieldTo(yield) {
					return
				}
				yielded += len(same)
				same = same[:0]
			}
			same = append(same, row)
		}
		if n < limit {
			same.yieldTo(yield)
			return
		}
		last := r.layout.instant(same[0].Key()) // which may have more rows
		last.Reverse = !in.Reverse
		left := []codec.Rows{last}
		if yielded < enough {
			for row, err := range r.rows(ctx, op, left, filter, enough-yielded) {
				if err == nil {
					left = after(left, row.Key())
				}
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
		if !wanted() {
			return
		}
		if left != nil {
			for row, err := range r.rows(ctx, op, left, filter, 0) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
		if rest, some := in.Past(last); some {
			r.layout.turned(r.rows(ctx, op, []codec.Rows{rest}, filter, 0))(yield)
		}
	}
}

// newest returns the row of the newest event, or bucket, in ranges that are looked
// through one after the other; the zero Row if there is none.
func (r *Reader[E]) newest(ctx context.Context, op *Operation, in []codec.Rows, filter bigtable.Filter, limit int) (wire.Row, error) {
	for _, rows := range in {
		row, err := r.first(ctx, op, rows, filter, limit)
		if row.Exists() || err != nil {
			return row, err
		}
	}
	return wire.Row{}, nil
}

// first returns the row of a range that comes first, or the zero Row if there is
// none. It asks for a limit of rows, see turnedFirst.
func (r *Reader[E]) first(ctx context.Context, op *Operation, rows codec.Rows, filter bigtable.Filter, limit int) (wire.Row, error) {
	if r.layout.Ties == 0 || rows.Reverse == r.shape.Descending() { // what is left of an instant
		return r.one(ctx, op, rows, filter, 1)
	}
	for row, err := range r.turnedFirst(ctx, op, rows, filter, limit, func() bool { return false }) {
		return row, err
	}
	return wire.Row{}, nil
}

// before cuts ranges at the row with a key, which is the newest in them: what is left
// is before it in time. Where labels do not sort it is the key alone, see newestRow.
func (r *Reader[E]) before(in []codec.Rows, key string) []codec.Rows {
	switch {
	case !r.shape.InOrder():
		return []codec.Rows{{Keys: []string{key}}}
	case r.layout.Ties == 0:
		return after(in, key)
	}
	instant := r.layout.instant(key)
	instant.Reverse = r.shape.Descending()
	return append(after([]codec.Rows{instant}, key), r.past(in, instant)...)
}

// past cuts ranges at others, which are at their beginning.
func (r *Reader[E]) past(in []codec.Rows, gone codec.Rows) []codec.Rows {
	var left []codec.Rows
	for _, rows := range in {
		if r.layout.Ties > 0 && rows.Reverse == r.shape.Descending() {
			continue // of an instant that is gone, too
		}
		if rest, some := rows.Past(gone); some {
			left = append(left, rest)
		}
	}
	return left
}
