package scan

import (
	"slices"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Fetch specifies how much of a column to read.
type Fetch byte

const (
	Nothing  Fetch = iota // no cells
	Presence              // cells without values, which show that an event exists
	Values                // cells with their values
)

// Projection specifies how much of each column of a table to read; nil means everything.
type Projection []Fetch

// Omits reports whether the read needs no cells of the column.
func (p Projection) Omits(column int) bool { return p != nil && p[column] == Nothing }

// HasValues reports whether the read needs the values of the column.
func (p Projection) HasValues(column int) bool { return p == nil || p[column] == Values }

// Project returns the projection on the columns with the given indexes; nil for all columns. A projection must not
// affect which events are read. Unless one of the columns is required, it therefore includes the presence of a
// required column or, if there is none, of all others. If events are stored in one cell, any column needs its value,
// and no columns need its presence.
func (t *Table) Project(columns []int) Projection {
	if columns == nil || t.Pattern.OneValue() && len(columns) > 0 {
		return nil
	}
	p := make(Projection, len(t.Columns))
	for _, i := range columns {
		p.raise(append([]int{i}, t.Columns[i].Older...), Values)
	}
	if slices.ContainsFunc(columns, func(i int) bool { return t.Columns[i].Required }) {
		return p
	}
	p.raise(t.telling(), Presence)
	return p
}

// raise makes the projection read at least that much of some columns.
func (p Projection) raise(columns []int, to Fetch) {
	for _, i := range columns {
		p[i] = max(p[i], to)
	}
}

// telling returns columns of which every event has at least one: as few as possible.
func (t *Table) telling() (columns []int) {
	required := -1
	for i, c := range t.Columns {
		if c.Required && (required < 0 || len(c.Older) < len(t.Columns[required].Older)) {
			required = i
		}
		if !c.WrittenAt {
			columns = append(columns, i)
		}
	}
	if required >= 0 {
		return append([]int{required}, t.Columns[required].Older...)
	}
	return columns
}

// projected returns the filter of a projection; nil if it reads everything or if columns are rows.
func (t *Table) projected(p Projection) Filter {
	switch {
	case p == nil || t.Pattern.RowPerField():
		return nil
	case t.Pattern.Naming() == codec.NamedByTime:
		return StripValues{}
	}
	var values, present Columns
	for i, c := range t.Columns {
		if p[i] == Values && !slices.Contains(values, c.Name) {
			values = append(values, c.Name)
		}
	}
	for i, c := range t.Columns {
		// Two columns with the same name, in different families, are both read with their values.
		if p[i] == Presence && !slices.Contains(values, c.Name) && !slices.Contains(present, c.Name) {
			present = append(present, c.Name)
		}
	}
	var branches []Filter
	if values != nil {
		branches = append(branches, values)
	}
	if present != nil {
		branches = append(branches, chain(present, StripValues{}))
	}
	return interleave(branches)
}
