package request

import (
	"slices"
	"strings"
	"sync/atomic"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Filters converts planned filters to the client's type. It keeps the last pattern for row
// keys, whose regular expression is expensive: a search for the newest event uses the same one for all
// series until the current bucket ends.
type Filters struct{ keys atomic.Pointer[keyFilter] }

// keyFilter is a filter for the row keys that match a pattern.
type keyFilter struct {
	forms  scan.Keys
	filter bigtable.Filter
}

// Of converts a filter.
func (c *Filters) Of(f scan.Filter) bigtable.Filter {
	switch f := f.(type) {
	case scan.Chain:
		return bigtable.ChainFilters(c.chained(f)...)
	case scan.Interleave:
		return bigtable.InterleaveFilters(c.each(f)...)
	case scan.Keys:
		return c.ofKeys(f)
	case scan.Columns:
		return bigtable.ColumnFilter(alternatives(f, codec.QuoteRegexp))
	case scan.ColumnRange:
		return interleaved(len(f.Families), func(i int) bigtable.Filter {
			return bigtable.ColumnRangeFilter(f.Families[i], f.Begin, f.End)
		})
	case scan.Cells:
		filters := appendCells(nil, f)
		if len(filters) == 1 {
			return filters[0]
		}
		return bigtable.ChainFilters(filters...)
	case scan.CellsPerColumn:
		return bigtable.LatestNFilter(int(f))
	case scan.CellsPerRow:
		return bigtable.CellsPerRowLimitFilter(int(f))
	case scan.ValueRanges:
		return interleaved(len(f), func(i int) bigtable.Filter { return valueFilter(f[i]) })
	case scan.Condition:
		return bigtable.ConditionFilter(c.ofAny(f.If), c.ofAny(f.Then), c.ofAny(f.Else))
	}
	return bigtable.StripValueFilter()
}

// ofAny converts a filter, which may be nil.
func (c *Filters) ofAny(f scan.Filter) bigtable.Filter {
	if f == nil {
		return nil
	}
	return c.Of(f)
}

// valueFilter returns the filter of a range of values.
func valueFilter(r codec.ValueRange) bigtable.Filter {
	var end []byte
	if r.End != "" {
		end = []byte(r.End)
	}
	return bigtable.ValueRangeFilter([]byte(r.Start), end)
}

// each converts several filters.
func (c *Filters) each(planned []scan.Filter) []bigtable.Filter {
	out := make([]bigtable.Filter, len(planned))
	for i, f := range planned {
		out[i] = c.Of(f)
	}
	return out
}

// chained converts the filters of a chain. Those of cells become two in a row.
func (c *Filters) chained(planned scan.Chain) []bigtable.Filter {
	out := make([]bigtable.Filter, 0, len(planned)+1)
	for _, f := range planned {
		if cells, ok := f.(scan.Cells); ok {
			out = appendCells(out, cells)
		} else {
			out = append(out, c.Of(f))
		}
	}
	return out
}

// appendCells appends the filters that together return cells: one for the families and,
// unless all their cells are read, one for the windows.
func appendCells(dst []bigtable.Filter, cells scan.Cells) []bigtable.Filter {
	dst = append(dst, bigtable.FamilyFilter(alternatives(cells.Families, quoteFamily)))
	if len(cells.Windows) == 0 {
		return dst
	}
	return append(dst, interleaved(len(cells.Windows), func(i int) bigtable.Filter { return windowFilter(cells.Windows[i]) }))
}

// ofKeys returns the filter for the row keys that match any of several patterns.
func (c *Filters) ofKeys(forms scan.Keys) bigtable.Filter {
	if last := c.keys.Load(); last != nil && slices.EqualFunc(last.forms, forms, slices.Equal) {
		return last.filter
	}
	f := &keyFilter{forms, bigtable.RowKeyFilter(alternatives(forms, codec.KeyPieces.Regexp))}
	c.keys.Store(f)
	return f.filter
}

// interleaved interleaves n filters. Bigtable rejects an interleave of one.
func interleaved(n int, filter func(i int) bigtable.Filter) bigtable.Filter {
	if n == 1 {
		return filter(0)
	}
	filters := make([]bigtable.Filter, n)
	for i := range filters {
		filters[i] = filter(i)
	}
	return bigtable.InterleaveFilters(filters...)
}

// windowFilter returns the filter of a window that limits something. It counts the
// newest cells of a column before it selects the time range, like garbage collection.
func windowFilter(w codec.Window) bigtable.Filter {
	times := bigtable.TimestampRangeFilterMicros(bigtable.Timestamp(w.From), bigtable.Timestamp(w.To))
	switch {
	case w.Versions == 0:
		return times
	case w.From == 0 && w.To == 0:
		return bigtable.LatestNFilter(w.Versions)
	}
	return bigtable.ChainFilters(bigtable.LatestNFilter(w.Versions), times)
}

// alternatives returns a regular expression that matches any of the names.
func alternatives[T any](names []T, quote func(T) string) string {
	if len(names) == 1 {
		return quote(names[0])
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return strings.Join(quoted, "|")
}

// quoteFamily escapes the name of a family for a regular expression. Of the characters
// that Bigtable allows in names, only the dot is special.
func quoteFamily(name string) string { return strings.ReplaceAll(name, ".", `\.`) }
