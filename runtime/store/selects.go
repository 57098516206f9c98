package store

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Rows returns ranges of row keys that contain all rows of a selection with this mapping, without
// those of earlier ones. They may contain other rows, too.
func (l *Mapping) Rows(of Selection) ([]KeyRange, error) {
	m, s := l.alone(), of.resolve()
	if s.malformed != nil {
		return nil, s.malformed
	}
	q := m.queryOf(s)
	var out []KeyRange
	for _, v := range s.values {
		spans, err := q.spansOf(v)
		if err != nil {
			return nil, err
		}
		for _, span := range spans {
			rows := span.All()
			out = append(out, KeyRange{rows.Start, rows.End})
		}
	}
	return out, nil
}

// Selects returns the function that reports whether a selection includes an event that was read. It
// is not safe for concurrent use.
func (l *Mapping) Selects(of Selection) (func(e any) bool, error) {
	selects, err := l.alone().selects(of.resolve())
	return func(e any) bool { return selects(event{e}) }, err
}

// selects is [Mapping.Selects] of a complete mapping.
func (l *mapping) selects(s *selection) (func(e event) bool, error) {
	if s.malformed != nil {
		return nil, s.malformed
	}
	given := l.Key.Every()
	if s.given != nil {
		given = *s.given
	}
	conditions, err := l.conditions(s.name, s.conditions, s.where)
	if err != nil {
		return nil, err
	}
	var any []func(e event) bool
	for _, v := range s.values {
		includes, err := l.includes(given, v)
		if err != nil {
			return nil, err
		}
		any = append(any, includes)
	}
	return func(e event) bool {
		for _, w := range conditions {
			if datum, _, err := l.bound(e, w.Column); err != nil || !w.Contains(datum) {
				return false
			}
		}
		for _, includes := range any {
			if includes(e) {
				return true
			}
		}
		return false
	}, nil
}

// includes returns the function that reports whether an event has given series values.
func (l *mapping) includes(given codec.Given, v bound) (func(e event) bool, error) {
	wanted, has := l.fill(new(keyContent), v.low).Series, new(keyContent)
	part := func(event) bool { return true }
	if last := len(given.Series) - 1; given.Last == codec.GivenPrefix {
		n := given.Series[last]
		prefix, ok := wanted[n].(*string)
		if !ok {
			return nil, fmt.Errorf("a prefix of series value %d: %w", n, codec.ErrForm)
		}
		part = func(event) bool { return strings.HasPrefix(*has.values.Series[n].(*string), *prefix) }
		given.Series = given.Series[:last]
	} else if given.Last == codec.GivenRange {
		q := l.query("", given, nil)
		first, err := q.Spans(v.low)
		if err != nil {
			return nil, err
		}
		end, err := q.Spans(v.high)
		if err != nil {
			return nil, err
		}
		low, high := first[0].Prefix, end[0].Prefix
		part = func(e event) bool {
			spans, err := q.Spans(e)
			return err == nil && low <= spans[0].Prefix && spans[0].Prefix < high
		}
		given.Series = given.Series[:last]
	}
	return func(e event) bool {
		l.fill(has, e)
		for _, n := range given.Series {
			if !codec.SameSeriesValue(has.values.Series[n], wanted[n]) {
				return false
			}
		}
		return part(e)
	}, nil
}
