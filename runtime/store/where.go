package store

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Where returns the selection with the values of the query's conditions: events whose fields are
// at least those of low and less than those of high or, for conditions with Equal, those of low.
// The other fields of low and high are not used. The error is ErrBounds if a field of high is
// less than that of low, or if one is NaN or cannot be stored. An event without a field has its
// default; if it has none, the event is not selected. An event whose field cannot be decoded may
// not be selected, and is then not reported.
//
// In tables with a row per event, Bigtable checks the conditions row by row. It does not read a row
// that changes at the time as of one moment, so the read checks them again: it yields no event that
// does not meet them.
func (s Selection) Where(low, high any) Selection {
	s.Bounds = []any{low, high}
	return s
}

// fetched returns the fields to read: those that the caller requests, and those of conditions.
func (q *query) fetched(fields []Field) []Field {
	if fields == nil || len(q.Conditions) == 0 {
		return fields
	}
	fields = slices.Clone(fields)
	for _, c := range q.Conditions {
		if !slices.Contains(fields, Field(c.Field)) {
			fields = append(fields, Field(c.Field))
		}
	}
	return fields
}

// conditions returns the conditions of a query with their values, in the encodings of the mapping; nil
// if it has none.
func (l *mapping) conditions(name string, conditions []codec.Condition, where *bounds) (scan.Conditions, error) {
	if len(conditions) == 0 {
		return nil, nil
	}
	if where == nil {
		return nil, fmt.Errorf("query %s has conditions, but no values: %w", name, ErrBounds)
	}
	out := make(scan.Conditions, len(conditions))
	for i, c := range conditions {
		var err error
		if out[i], err = l.condition(c, where.low, where.high); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// conditions returns the conditions of the read in the encodings of the mapping; nil if the query
// has none.
func (r *reading) conditions() (scan.Conditions, error) {
	return r.reader.mapping.conditions(r.q.Name, r.q.Conditions, r.where)
}

// condition returns a condition in the encoding of the mapping.
func (l *mapping) condition(c codec.Condition, low, high event) (w scan.Where, err error) {
	w.Column = slices.IndexFunc(l.Columns, func(column Column) bool { return column.Name == c.Field && !column.replaced })
	if w.Column < 0 {
		return w, fmt.Errorf("table %s, field %q: %w", l.Table.ID, c.Field, ErrNoField)
	}
	start, order, err := l.bound(low, w.Column)
	if err != nil {
		return w, boundsError(c.Field, err)
	}
	if w.Values = []codec.ValueRange{codec.OneValue(start)}; !c.Equal {
		end, _, err := l.bound(high, w.Column)
		if err != nil {
			return w, boundsError(c.Field, err)
		}
		ranges, ok := order.Between(start, end)
		if !ok {
			return w, boundsError(c.Field, nil)
		}
		w.Values = ranges
	}
	none := l.new()
	if l.Missing(none, w.Column) == nil {
		datum, _, err := l.bound(none, w.Column)
		w.Absent = err == nil && w.Contains(datum) // an optional field has no default
	}
	return w, nil
}

func boundsError(field string, err error) error {
	if err == nil || errors.Is(err, ErrBounds) {
		return fmt.Errorf("field %q: %w", field, ErrBounds)
	}
	return fmt.Errorf("field %q: %w: %w", field, ErrBounds, err)
}

// meets reports whether the k-th event of the frame meets the conditions of the read. Data that has
// expired does not count.
func (a *rowAssembler) meets(now time.Time, stale bool, k int) bool {
	for i := range a.conditions {
		w := &a.conditions[i]
		from := a.source(w.Column, k)
		cell := a.frame.Cell(from, k)
		if cell == nil || stale && !a.alive(now, from, k) {
			if !w.Absent {
				return false
			}
			continue
		}
		if !w.Contains(a.frame.Columns[from].Row.Bytes(cell.Value)) {
			return false
		}
	}
	return true
}

// allMeet reports whether events [begin, end) of the frame meet the conditions of the read.
func (a *rowAssembler) allMeet(begin, end int) bool {
	if len(a.conditions) == 0 {
		return true
	}
	now, stale := a.stale()
	for k := begin; k < end; k++ {
		if !a.meets(now, stale, k) {
			return false
		}
	}
	return true
}
