package layout

import (
	"slices"

	"github.com/btgen-dev/btgen/runtime/scan"
)

// Shape returns what package scan needs to plan reads of the table.
func (t *Table) Shape(l *Layout) *scan.Table {
	shape := &scan.Table{Pattern: t.Pattern, Offset: t.Offset(l), TimeKey: t.Time, Ties: t.Ties() > 0, Begin: t.Since, End: t.Until, Tier: t.Tier}
	for _, f := range t.Families {
		shape.Families = append(shape.Families, scan.Family{Name: f.Name, Life: f.Life, Class: f.Class})
	}
	if sums := t.SumFamily(); sums != nil {
		shape.Sums = sums.Name
	}
	for _, c := range t.Columns {
		column := scan.Column{Name: c.Qualifier, Family: c.Family, WrittenAt: c.Field == WrittenAt}
		column.Required = c.Field == WholeEvent || c.Field >= 0 && l.Fields[c.Field].Required()
		shape.Columns = append(shape.Columns, column)
	}
	for i, c := range t.Columns {
		for _, older := range c.Older {
			shape.Columns[i].Older = append(shape.Columns[i].Older, len(shape.Columns))
			shape.Columns = append(shape.Columns, scan.Column{Name: older.Qualifier, Family: older.Family})
		}
	}
	return shape
}

// AllColumns returns the columns, followed by those that only older events have, as
// readers and writers number them.
func (t *Table) AllColumns() []Column {
	out := slices.Clip(t.Columns)
	for _, c := range t.Columns {
		out = append(out, c.Older...)
	}
	return out
}

// MetricNames returns the metrics in row keys: the names of all columns if each field has
// its own row, else nil.
func (t *Table) MetricNames() []string {
	var out []string
	if t.Metrics() {
		for _, c := range t.AllColumns() {
			out = append(out, c.Qualifier)
		}
	}
	return out
}

// Pickable returns the columns of a table that a reader can fetch separately; none if
// an event is one value.
func (t *Table) Pickable() []int {
	if t.Pattern.OneValue() {
		return nil
	}
	var out []int
	for i, c := range t.Columns {
		if c.Field >= 0 {
			out = append(out, i)
		}
	}
	return out
}

// FieldName returns the name of a field of the layout in the options of reads: that of its columns, if
// a table has fields that a reader can fetch separately.
func (l *Layout) FieldName(f *Field) string {
	for _, t := range l.AllPeriods() {
		for _, i := range t.Pickable() {
			if &l.Fields[t.Columns[i].Field] == f {
				return t.Columns[i].Qualifier
			}
		}
	}
	return f.Name
}

// CountsCells reports whether a rule of a family follows from how many cells a column of a
// row can hold, too.
func (t *Table) CountsCells() bool {
	return slices.ContainsFunc(t.Families, func(f Family) bool {
		return !slices.Equal(f.Life.Retention, f.Life.Under(f.GC, 0).Retention)
	})
}
