package scan

import (
	"slices"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Conditions are conditions on columns, all of which an event must meet; nil if there are none.
type Conditions []Where

// Where is a condition on the values of a column.
type Where struct {
	Column int
	// Values are the ranges that contain the value of an event. The columns in [Column.Older] have the same encoding.
	Values []codec.ValueRange
	// Absent is set if an event that has none of these columns meets the condition, too.
	Absent bool
}

// Contains reports whether a value meets the condition.
func (w *Where) Contains(datum []byte) bool {
	for _, r := range w.Values {
		if r.Contains(datum) {
			return true
		}
	}
	return false
}

// Never reports whether no event can meet the conditions.
func (c Conditions) Never() bool {
	return slices.ContainsFunc(c, func(w Where) bool { return len(w.Values) == 0 && !w.Absent })
}

// meeting restricts f, the filter of rows with one event, to events that meet the conditions. cells
// is the filter of the cells of an event that are live: others do not count.
func (t *Table) meeting(conditions Conditions, cells, f Filter) Filter {
	for i := range conditions {
		w := &conditions[i]
		of := t.cellsOfColumn(w.Column)
		var met []Filter
		if len(w.Values) > 0 {
			met = append(met, chain(of, cells, ValueRanges(w.Values)))
		}
		if w.Absent {
			met = append(met, Condition{If: chain(of, cells), Else: chain(cells, CellsPerRow(1))})
		}
		f = Condition{If: interleave(met), Then: f}
	}
	return f
}

// values returns the filter of the cells that meet the conditions, for a table with a single
// column; nil if there are none.
func (c Conditions) values() Filter {
	var all []Filter
	for i := range c {
		all = append(all, ValueRanges(c[i].Values))
	}
	return chain(all...)
}

// cellsOfColumn returns the filter of a column and its older ones.
func (t *Table) cellsOfColumn(column int) Filter {
	var all []Filter
	for _, i := range append([]int{column}, t.Columns[column].Older...) {
		c := &t.Columns[i]
		r := ColumnRange{Begin: c.Name, End: c.Name + "\x00"}
		for k, f := range t.Families {
			if k == c.Family || f.Class > 0 {
				r.Families = append(r.Families, f.Name)
			}
		}
		all = append(all, r)
	}
	return interleave(all)
}
