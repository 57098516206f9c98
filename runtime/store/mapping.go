package store

import (
	"slices"
	"time"
)

// NewMapping completes the mapping l of a table from its columns: how events are converted to cells
// and back. It derives the lifetime of each family from its rule.
func NewMapping(cs *Columns, l Mapping) *Mapping {
	d := &l
	for i := range cs.stored {
		d.Columns = append(d.Columns, cs.stored[i].column)
	}
	for i := range cs.stored {
		for _, o := range cs.stored[i].older {
			d.Columns = addOlder(d.Columns, i, o.column, o.moved)
		}
	}
	d.Table.Families = slices.Clone(d.Table.Families) // the caller may use them for another table
	for i := range d.Table.Families {
		f := &d.Table.Families[i]
		f.Life = f.Life.Under(f.GC, d.MaxCells)
	}
	d.columns = cs
	return d
}

// DataColumns returns the columns with which [NewMapping] has made the mapping.
func (l *Mapping) DataColumns() *Columns { return l.columns }

// SeriesIn returns the function that returns a pointer to the series of an event, given one to the event.
func (l *Mapping) SeriesIn() func(e any) any {
	of := l.alone()
	return func(e any) any { return of.series(event{e}) }
}

// TimeIn returns the function that returns a pointer to the time of an event, given one to the event.
func (l *Mapping) TimeIn() func(e any) *time.Time {
	of := l.alone()
	return func(e any) *time.Time { return of.Time(event{e}) }
}

// put sets the cells of an event in its row, or in one row per column.
func (l *mapping) put(e event, cells *Cells) {
	cs := l.layout
	begin := func(n int, metric string) {
		if l.Same == nil || !cells.SameRow(n) {
			cells.Row(l.appendKey(cells.Buffer(), e, metric, &cells.content))
		}
	}
	perField := l.Pattern.RowPerField()
	if !perField {
		begin(0, "")
	}
	for i, has := range cs.has {
		v := cs.value(e, cs.places[i])
		if has != nil && !has(v) {
			continue
		}
		if perField {
			begin(i, cs.stored[i].column.Name)
		}
		cells.Set(i, cs.encode[i](cells.Cell(i), v))
	}
}
