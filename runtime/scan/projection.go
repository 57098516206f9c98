package scan

import (
	"slices"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Fetch is how much of a column is read.
type Fetch byte

const (
	Nothing  Fetch = iota // no cells
	Presence              // cells without their values, to know which events there are
	Values                // cells with their values
)

// Projection is how much is read of each column of a table; nil for everything.
type Projection []Fetch

// Omits reports whether no cell of a column is read.
func (p Projection) Omits(column int) bool { return p != nil && p[column] == Nothing }

// HasValues reports whether the cells of a column are read with their values.
func (p Projection) HasValues(column int) bool { return p == nil || p[column] == Values }

// OneValue reports whether an event is stored as one cell.
func (t *Table) OneValue() bool {
	return t.Pattern == codec.BucketOffsets || slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Whole })
}

// Project returns the projection on some columns, by their indices; nil for all columns.
// It does not choose events: unless every event has one of the columns, the presence of
// one that every event has is read too or, if there is none, of all others. Where events
// are stored as one cell, its value is read for any column, and its presence for none.
func (t *Table) Project(columns []int) Projection {
	if columns == nil || t.OneValue() && len(columns) > 0 {
		return nil
	}
	p := make(Projection, len(t.Columns))
	for _, i := range columns {
		p[i] = Values
	}
	if slices.ContainsFunc(columns, func(i int) bool { return t.Columns[i].Required }) {
		return p
	}
	for _, i := range t.telling() {
		p[i] = max(p[i], Presence)
	}
	return p
}

// telling returns columns of which every event has at least one.
func (t *Table) telling() (columns []int) {
	for i, c := range t.Columns {
		switch {
		case c.Required:
			return []int{i}
		case !c.WrittenAt:
			columns = append(columns, i)
		}
	}
	return columns
}

// projected returns the filter of a projection; nil if everything is read, or if columns
// are rows.
func (t *Table) projected(p Projection) Filter {
	switch {
	case p == nil || t.Pattern == codec.BucketNewColumns:
		return nil
	case t.Pattern == codec.BucketOffsets:
		return StripValues{}
	}
	var values, present Columns
	for i, c := range t.Columns {
		if p[i] == Values {
			values = append(values, c.Name)
		}
	}
	for i, c := range t.Columns {
		// Of two columns with one name, in two families, both come with their values.
		if p[i] == Presence && !slices.Contains(values, c.Name) {
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
