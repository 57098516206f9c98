package store

import (
	"slices"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// NewMapping completes the mapping l of a table from its columns: how events are converted to cells
// and back. It derives the lifetime of each family from its rule.
func NewMapping[E, C any](columns *Columns[E, C], l Mapping[E]) *Mapping[E] {
	d := &l
	for _, tell := range columns.mapping {
		tell(d)
	}
	for i := range columns.stored {
		d.Columns = append(d.Columns, columns.stored[i].column)
		d.set = append(d.set, columns.stored[i].set)
	}
	for i := range columns.stored {
		for _, o := range columns.stored[i].older {
			d.Columns = addOlder(d.Columns, i, o.column, o.moved)
			d.set = append(d.set, o.set)
		}
	}
	if d.Key.Has(codec.SequenceSegment) {
		d.Sequence = d.sequence
	}
	if !d.Pattern.Bucketed() || d.Key.Has(codec.SequenceSegment) {
		d.Same = nil // each event has a row
	}
	d.Table.Families = slices.Clone(d.Table.Families) // the caller may use them for another table
	for i := range d.Table.Families {
		f := &d.Table.Families[i]
		f.Life = f.Life.Under(f.GC, d.MaxCells)
	}
	d.columns = &columns.columns
	if own := columns.own(); own != nil {
		d.Own = func(e *E) { own(event{e}) }
	}
	d.Set = func(e *E, column int, datum []byte) error { return d.set[column](event{e}, datum) }
	d.Missing = func(e *E, column int) error { return columns.stored[column].missing(event{e}) }
	d.bound = func(e *E, column int) ([]byte, codec.Order, error) {
		p := &columns.stored[column]
		of := event{e}
		if p.has != nil && !p.has(of) || p.bound == nil {
			return nil, p.order, ErrBounds
		}
		return p.encode([]byte{}, of), p.order, p.bound(of)
	}
	return d
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
		if has != nil && !has(e) {
			continue
		}
		if perField {
			begin(i, cs.stored[i].column.Name)
		}
		cells.Set(i, cs.encode[i](cells.Cell(i), e))
	}
}
