package dynamic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Selection is what a read or a deletion selects. The functions below make it. If its values do not fit
// a schema, what it is passed to returns the error.
type Selection struct {
	// resolve returns the selection, and the table that is read.
	resolve func(s *Schema) (*table, store.Selection, error)
}

// resolve returns a selection, and the table that is read.
func (s *Schema) resolve(of Selection) (*table, store.Selection, error) {
	if of.resolve == nil {
		return nil, store.Selection{}, errors.New("nothing is selected")
	}
	return of.resolve(s)
}

// Series selects the events of a series.
func Series(series []any) Selection {
	return Selection{func(s *Schema) (*table, store.Selection, error) {
		base, err := s.base(series)
		return s.tables[s.layout.Read], store.SeriesOf(&base), err
	}}
}

// ManySeries selects the events of several series.
func ManySeries(series [][]any) Selection {
	return Selection{func(s *Schema) (*table, store.Selection, error) {
		var bases []any
		for _, values := range series {
			base, err := s.base(values)
			if err != nil {
				return nil, store.Selection{}, err
			}
			bases = append(bases, &base)
		}
		return s.tables[s.layout.Read], store.ManySeriesOf(bases), nil
	}}
}

// Query selects the events that a query of the schema finds.
func Query(name string, v Values) Selection {
	return Selection{func(s *Schema) (*table, store.Selection, error) {
		q := s.queries[name]
		if q == nil {
			return nil, store.Selection{}, fmt.Errorf("the schema has no query %q", name)
		}
		return s.selects(q, v)
	}}
}

// Begin selects the events whose series values begin, in row keys, with the values of a query of [layout.Layout.Begin].
func Begin(q *layout.Query, v Values) Selection {
	return Selection{func(s *Schema) (*table, store.Selection, error) {
		of := store.Query(q.Definition(s.layout))
		return s.selects(&query{of: q, table: s.tables[q.Table], query: &of}, v)
	}}
}

// Table selects all events in a table of the schema. If the schema does not have the table, the error
// is a [*store.UnknownTableError].
func Table(id string) Selection {
	return Selection{func(s *Schema) (*table, store.Selection, error) {
		all := (&store.Query{Name: "Table"}).Bind(&Event{Series: make([]any, len(s.layout.Series))})
		var known []string
		for _, t := range s.layout.Tables {
			if t.ID == id {
				return s.tables[t], all, nil
			}
			known = append(known, t.ID)
		}
		return nil, all, &store.UnknownTableError{Table: id, Tables: known}
	}}
}

// base returns an event with the series values of a read. It rejects values of other Go types.
func (s *Schema) base(series []any) (Event, error) {
	fields := s.layout.Series
	if len(series) != len(fields) {
		return Event{}, fmt.Errorf("%w: %d series values, not %d", codec.ErrValue, len(fields), len(series))
	}
	for i := range fields {
		if err := s.checkValue(&fields[i], series[i]); err != nil {
			return Event{}, err
		}
	}
	return Event{Series: slices.Clone(series)}, nil
}

// Values are the values of a query: one for each of its inputs, in the order of layout.Query.Inputs.
// They have the types that package value lists. A range is an []any with its ends, and several values,
// prefixes or ranges are an []any with these.
type Values []any

// selects returns what a query selects with given values, and the table that is read.
func (s *Schema) selects(q *query, v Values) (t *table, of store.Selection, err error) {
	inputs := q.of.Inputs
	if len(v) != len(inputs) {
		return nil, of, fmt.Errorf("%w: query %s takes %d values, not %d", codec.ErrValue, q.of.Name, len(inputs), len(v))
	}
	of = store.Selection{Query: q.query, Many: q.of.Several() != nil}
	if len(q.of.Where()) > 0 {
		low, high := Event{Values: make([]any, len(s.layout.Fields))}, Event{Values: make([]any, len(s.layout.Fields))}
		for i := range inputs {
			if inputs[i].Where {
				if err := s.set(low.Values, high.Values, &inputs[i], v[i]); err != nil {
					return nil, of, err
				}
			}
		}
		of = of.Where(&low, &high)
	}
	several := 1
	for i := range inputs {
		if inputs[i].Many {
			all, ok := v[i].([]any)
			if several = len(all); !ok {
				return nil, of, fmt.Errorf("%w: %s is no []any", codec.ErrValue, inputs[i].Words(s.layout))
			}
		}
	}
	for k := range several {
		low, high := Event{Series: make([]any, len(s.layout.Series))}, Event{Series: make([]any, len(s.layout.Series))}
		for i := range inputs {
			value := v[i]
			if inputs[i].Many {
				value = value.([]any)[k]
			}
			if inputs[i].Where {
				continue
			}
			if err := s.set(low.Series, high.Series, &inputs[i], value); err != nil {
				return nil, of, err
			}
		}
		if of.Low = append(of.Low, &low); q.of.Selects().Last == codec.GivenRange {
			of.High = append(of.High, &high)
		}
	}
	return q.table, of, nil
}

// set sets the value of an input, or the ends of its range. It rejects values of other Go types.
func (s *Schema) set(low, high []any, in *layout.Input, value any) error {
	ends := []any{value, value}
	if in.Ends() == 2 {
		if ends, _ = value.([]any); len(ends) != 2 {
			return fmt.Errorf("%w: %s has no two ends", codec.ErrValue, in.Words(s.layout))
		}
	}
	check := s.checkValue
	if in.Where {
		check = s.checkBound
	}
	for i, to := range [][]any{low, high} {
		if err := check(in.Of(s.layout), ends[i]); err != nil {
			return err
		}
		to[in.Index] = ends[i]
	}
	return nil
}
