package request

import (
	"context"
	"iter"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// If the time is reversed in row keys and a sequence number follows it, a read in order
// of time gets the rows of each instant in reverse. A full read reverses them in
// memory, one instant at a time. A read with a limit requests the last instant from its
// other end, so that it reads no more rows than necessary.

// instant returns the rows with the same instant as the given key.
func (t *Table) instant(key string) codec.Rows {
	return codec.PrefixRows(key[:max(0, len(key)-t.Ties)])
}

// tied reports whether two rows have the same series and instant.
func (t *Table) tied(a, b string) bool {
	return len(a) == len(b) && len(a) > t.Ties && a[:len(a)-t.Ties] == b[:len(b)-t.Ties]
}

// run contains the rows of one instant in reverse order.
type run []wire.Row

// yieldTo yields the rows. It reports whether the caller wants more.
func (r run) yieldTo(yield func(wire.Row, error) bool) bool {
	for i := len(r) - 1; i >= 0; i-- {
		if !yield(r[i], nil) {
			return false
		}
	}
	return true
}

// turned reverses the rows of each instant. After an error it does not yield the rows
// of the last instant, because others may precede them.
func (t *Table) turned(rows iter.Seq2[wire.Row, error]) iter.Seq2[wire.Row, error] {
	if t.Ties == 0 {
		return rows
	}
	return func(yield func(wire.Row, error) bool) {
		if last, _, more := t.turn(rows, yield); more {
			last.yieldTo(yield)
		}
	}
}

// turn is turned without the rows of the last instant, which it returns with the number of all rows. It reports whether the
// caller wants more.
func (t *Table) turn(rows iter.Seq2[wire.Row, error], yield func(wire.Row, error) bool) (last run, n int, more bool) {
	for row, err := range rows {
		if err != nil {
			yield(wire.Row{}, err)
			return nil, n, false
		}
		n++
		if len(last) > 0 && !t.tied(last[0].Key(), row.Key()) {
			if !last.yieldTo(yield) {
				return nil, n, false
			}
			last = last[:0]
		}
		last = append(last, row)
	}
	return last, n, true
}

// turnedFirst yields the first rows of a range, with those of each instant reversed,
// and then the rest if the caller wants it; see [Table.enough]. limit is one more than
// the number of rows that should suffice.
func (t *Table) turnedFirst(ctx context.Context, op *Operation, in codec.Rows, filter bigtable.Filter, limit int, wanted func() bool) iter.Seq2[wire.Row, error] {
	return func(yield func(wire.Row, error) bool) {
		same, n, more := t.turn(t.Rows(ctx, op, []codec.Rows{in}, filter, limit), yield)
		switch {
		case !more:
			return
		case n < limit:
			same.yieldTo(yield)
			return
		}
		last := t.instant(same[0].Key()) // may have more rows
		last.Reverse = !in.Reverse
		left := []codec.Rows{last}
		if missing := limit - 1 - (n - len(same)); missing > 0 {
			for row, err := range t.Rows(ctx, op, left, filter, missing) {
				if err == nil {
					left = After(left, row.Key())
				}
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
		if !wanted() || left != nil && !pass(t.Rows(ctx, op, left, filter, 0), yield) {
			return
		}
		if rest, some := in.Past(last); some {
			t.turned(t.Rows(ctx, op, []codec.Rows{rest}, filter, 0))(yield)
		}
	}
}

// Newest returns the row of the newest event or bucket in the ranges, which it reads
// one after the other; the zero Row if there is none.
func (t *Table) Newest(ctx context.Context, op *Operation, in []codec.Rows, filter bigtable.Filter, limit int) (wire.Row, error) {
	for _, rows := range in {
		row, err := t.first(ctx, op, rows, filter, limit)
		if row.Exists() || err != nil {
			return row, err
		}
	}
	return wire.Row{}, nil
}

// first returns the first row of a range, or the zero Row if there is none. For limit,
// see turnedFirst.
func (t *Table) first(ctx context.Context, op *Operation, rows codec.Rows, filter bigtable.Filter, limit int) (wire.Row, error) {
	if t.Ties == 0 || rows.Reverse == t.Shape.Descending() { // a single row, or the rest of an instant
		return t.One(ctx, op, rows, filter, 1)
	}
	for row, err := range t.turnedFirst(ctx, op, rows, filter, limit, func() bool { return false }) {
		return row, err
	}
	return wire.Row{}, nil
}

// Before removes the row with the given key, which is the newest, from the ranges and
// keeps what precedes it in time. If labels do not sort, it removes only the key; see
// newestRow.
func (t *Table) Before(in []codec.Rows, key string) []codec.Rows {
	switch {
	case !t.Shape.InOrder():
		return []codec.Rows{{Keys: []string{key}}}
	case t.Ties == 0:
		return After(in, key)
	}
	instant := t.instant(key)
	instant.Reverse = t.Shape.Descending()
	return append(After([]codec.Rows{instant}, key), t.Past(in, instant)...)
}

// Past removes gone, a range at the beginning of the others, from them.
func (t *Table) Past(in []codec.Rows, gone codec.Rows) []codec.Rows {
	return eachRest(in, func(rows codec.Rows) (codec.Rows, bool) {
		if t.Ties > 0 && rows.Reverse == t.Shape.Descending() {
			return rows, false // belongs to an instant that was removed, too
		}
		return rows.Past(gone)
	})
}
