package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// ErrNoField says that ReadOptions.Fields names a field that the table does not have.
var ErrNoField = errors.New("no such field")

// fetch says what a read fetches of a column.
type fetch byte

const (
	nothing  fetch = iota // its cells stay with Bigtable
	presence              // its cells without their values, to know which events there are
	value                 // its cells
)

// fetching is what a read fetches of each column of a table; nil if it is everything.
type fetching []fetch

// fetched returns what is fetched for a read of some fields. The fields do not choose
// events: where none of them is one that every event has, the presence of one that is
// tells which events there are, or that of all others.
func (l *Layout[E]) fetched(fields []Field) (fetching, error) {
	single := l.Kind == BucketOffsets || slices.ContainsFunc(l.Columns, func(c Column) bool { return c.Whole })
	if fields == nil || single && len(fields) > 0 {
		return nil, nil
	}
	fetched := make(fetching, len(l.Columns))
	for _, f := range fields {
		i := slices.IndexFunc(l.Columns, func(c Column) bool { return c.Name == string(f) })
		if i < 0 {
			return nil, fmt.Errorf("table %s, field %q: %w", l.Table.ID, f, ErrNoField)
		}
		fetched[i] = value
	}
	if slices.ContainsFunc(l.required(), func(i int) bool { return fetched[i] == value }) {
		return fetched, nil
	}
	for _, i := range l.telling() {
		fetched[i] = max(fetched[i], presence)
	}
	return fetched, nil
}

// required returns the columns that every event has.
func (l *Layout[E]) required() (columns []int) {
	var e E
	for i := range l.Columns {
		if !l.Columns[i].WrittenAt && l.Missing(&e, i) != nil {
			columns = append(columns, i)
		}
	}
	return columns
}

// telling returns columns of which every event has one at least.
func (l *Layout[E]) telling() (columns []int) {
	if required := l.required(); len(required) > 0 {
		return required[:1]
	}
	for i := range l.Columns {
		if !l.Columns[i].WrittenAt {
			columns = append(columns, i)
		}
	}
	return columns
}

// fetchFilter returns the filter of what is fetched; nil if it is everything, or if
// columns are named by data.
func (l *Layout[E]) fetchFilter(fetched fetching) bigtable.Filter {
	switch {
	case fetched == nil || l.Kind == BucketColumns:
		return nil
	case l.Kind == BucketOffsets:
		return bigtable.StripValueFilter()
	}
	var values, present []string
	for i := range l.Columns {
		if fetched[i] == value {
			values = append(values, codec.QuoteRegexp(l.Columns[i].Name))
		}
	}
	for i := range l.Columns {
		// Of two columns with one name, in two families, both come with their values.
		if name := codec.QuoteRegexp(l.Columns[i].Name); fetched[i] == presence && !slices.Contains(values, name) {
			present = append(present, name)
		}
	}
	var branches []bigtable.Filter
	if values != nil {
		branches = append(branches, bigtable.ColumnFilter(strings.Join(values, "|")))
	}
	if present != nil {
		branches = append(branches, bigtable.ChainFilters(bigtable.ColumnFilter(strings.Join(present, "|")), bigtable.StripValueFilter()))
	}
	return interleave(branches...)
}

// skips reports whether nothing of a column is fetched.
func (f fetching) skips(column int) bool { return f != nil && f[column] == nothing }

// decodes reports whether the cells of a column are fetched with their values.
func (f fetching) decodes(column int) bool { return f == nil || f[column] == value }
