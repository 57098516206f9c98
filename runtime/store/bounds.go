package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// ErrBounds is the error for a range of values that ends before it begins.
var ErrBounds = errors.New("the range of values ends before it begins")

// QueryRange yields the events with from <= time < to that a query selects with any value from
// that of low until before that of high, like [Reader.Query]. Besides the value with the range,
// both must have the same values.
func (r *Reader[E]) QueryRange(ctx context.Context, q *Query[E], low, high E, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error] {
	return typed[E](r.reader.all(ctx, q.untyped(), event{&low}, event{&high}, from, to, opts))
}

// ReadColumnsRange is [ReadColumns] for a range of values, like [Reader.QueryRange].
func ReadColumnsRange[E, C any](ctx context.Context, of TableReader[E], into *Columns[E, C], columns *C, q *Query[E], low, high E, from, to time.Time, opts ...ReadOptions) error {
	read := columnsReading{reading: of.(*Reader[E]).reader.begin(ctx, q.untyped(), event{&low}, from, to, opts), into: &into.columns, columns: columns}
	read.reading.high = event{&high}
	return read.all()
}

// between returns the spans of a range of values; none if it is empty.
func (q *query) between(low, high event) ([]codec.Span, error) {
	first, err := q.Spans(low)
	if err != nil {
		return nil, err
	}
	last, err := q.Spans(high)
	if err != nil {
		return nil, err
	}
	var out []codec.Span
	for i := range first {
		span, some := codec.Between(first[i], last[i])
		switch {
		case some:
			out = append(out, span)
		case span.From > span.Until:
			return nil, ErrBounds
		}
	}
	return out, nil
}
