package inmemory

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

// Filters applies filters to rows. It compiles each regular expression once. The zero value is ready for use, by
// several goroutines.
type Filters struct{ compiled sync.Map } // *regexp.Regexp by expression

// Pass returns the cells of a row that pass a filter, in their order. The error is that for a filter that is not implemented.
func (a *Filters) Pass(f *bigtablepb.RowFilter, key string, row []Cell) ([]Cell, error) {
	var err error
	keep := func(is func(c Cell) bool) ([]Cell, error) {
		out := make([]Cell, 0, len(row))
		for _, c := range row {
			if is(c) {
				out = append(out, c)
			}
		}
		return out, nil
	}
	switch f := f.GetFilter().(type) {
	case nil, *bigtablepb.RowFilter_PassAllFilter:
		return row, nil
	case *bigtablepb.RowFilter_BlockAllFilter:
		return nil, nil
	case *bigtablepb.RowFilter_Chain_:
		for _, sub := range f.Chain.Filters {
			if row, err = a.Pass(sub, key, row); err != nil || len(row) == 0 {
				break
			}
		}
		return row, err
	case *bigtablepb.RowFilter_Interleave_:
		var out []Cell
		for _, sub := range f.Interleave.Filters {
			passed, err := a.Pass(sub, key, row)
			if err != nil {
				return nil, err
			}
			out = append(out, passed...)
		}
		slices.SortStableFunc(out, Cell.compare)
		return out, nil
	case *bigtablepb.RowFilter_Condition_:
		found, err := a.Pass(f.Condition.PredicateFilter, key, row)
		switch {
		case err != nil:
			return nil, err
		case len(found) > 0 && f.Condition.TrueFilter != nil:
			return a.Pass(f.Condition.TrueFilter, key, row)
		case len(found) == 0 && f.Condition.FalseFilter != nil:
			return a.Pass(f.Condition.FalseFilter, key, row)
		}
		return nil, nil
	case *bigtablepb.RowFilter_CellsPerRowOffsetFilter:
		return row[min(len(row), int(f.CellsPerRowOffsetFilter)):], nil
	case *bigtablepb.RowFilter_RowKeyRegexFilter:
		if !a.matches(f.RowKeyRegexFilter, key) {
			return nil, nil
		}
		return row, nil
	case *bigtablepb.RowFilter_FamilyNameRegexFilter:
		return keep(a.named([]byte(f.FamilyNameRegexFilter), func(c Cell) string { return c.Family }))
	case *bigtablepb.RowFilter_ColumnQualifierRegexFilter:
		return keep(a.named(f.ColumnQualifierRegexFilter, func(c Cell) string { return c.Qualifier }))
	case *bigtablepb.RowFilter_TimestampRangeFilter:
		return keep(func(c Cell) bool { return c.during(f.TimestampRangeFilter) })
	case *bigtablepb.RowFilter_ValueRangeFilter:
		return keep(func(c Cell) bool { return within(f.ValueRangeFilter, c.Value) })
	case *bigtablepb.RowFilter_ColumnRangeFilter:
		r := f.ColumnRangeFilter
		return keep(func(c Cell) bool {
			return c.Family == r.FamilyName && c.Qualifier >= string(r.GetStartQualifierClosed()) && (len(r.GetEndQualifierOpen()) == 0 || c.Qualifier < string(r.GetEndQualifierOpen()))
		})
	case *bigtablepb.RowFilter_CellsPerRowLimitFilter:
		return row[:min(len(row), int(f.CellsPerRowLimitFilter))], nil
	case *bigtablepb.RowFilter_CellsPerColumnLimitFilter:
		n, last := int32(0), Cell{}
		return keep(func(c Cell) bool {
			if n++; c.Family != last.Family || c.Qualifier != last.Qualifier {
				n = 1
			}
			last = c
			return n <= f.CellsPerColumnLimitFilter
		})
	case *bigtablepb.RowFilter_StripValueTransformer:
		out := slices.Clone(row)
		for i := range out {
			out[i].Value = nil
		}
		return out, nil
	default:
		return nil, fmt.Errorf("filter %T is not implemented", f)
	}
}

// within reports whether a range contains a value.
func within(r *bigtablepb.ValueRange, value []byte) bool {
	after, before := true, true
	switch start := r.StartValue.(type) {
	case *bigtablepb.ValueRange_StartValueClosed:
		after = bytes.Compare(value, start.StartValueClosed) >= 0
	case *bigtablepb.ValueRange_StartValueOpen:
		after = bytes.Compare(value, start.StartValueOpen) > 0
	}
	switch end := r.EndValue.(type) {
	case *bigtablepb.ValueRange_EndValueClosed:
		before = bytes.Compare(value, end.EndValueClosed) <= 0
	case *bigtablepb.ValueRange_EndValueOpen:
		before = bytes.Compare(value, end.EndValueOpen) < 0
	}
	return after && before
}

// named returns a function that reports whether a name of a cell matches an expression. Cells of a row
// come by name, so it matches each name once.
func (a *Filters) named(expression []byte, name func(Cell) string) func(Cell) bool {
	var last string
	var known, matches bool
	return func(c Cell) bool {
		if n := name(c); !known || n != last {
			last, known, matches = n, true, a.matches(expression, n)
		}
		return matches
	}
}

// matches reports whether an expression matches a whole string. Both are of bytes, each of
// which is a character.
func (a *Filters) matches(expression []byte, s string) bool {
	re, ok := a.compiled.Load(string(expression))
	if !ok {
		re = regexp.MustCompile(`^(?:` + strings.ReplaceAll(latin(string(expression)), `\C`, `(?s:.)`) + `)$`)
		a.compiled.Store(string(expression), re)
	}
	return re.(*regexp.Regexp).MatchString(latin(s))
}

// latin returns a string of which each character is a byte.
func latin(s string) string {
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}
