package store

// A field may have been in another column when older events were written: the older columns
// follow the others in Mapping.Columns. Writers never set them, and so delete them when they
// replace an event. Readers take the newest column that an event has.

// addOlder adds a column in which older events have the field of another one.
func addOlder(columns []Column, of int, c Column, moved bool) []Column {
	if !moved {
		c.Family = columns[of].Family
	}
	c.replaced = true
	columns[of].older = append(columns[of].older, len(columns))
	return append(columns, c)
}

// current returns the number of columns that new events may have.
func current(columns []Column) int {
	n := len(columns)
	for n > 0 && columns[n-1].replaced {
		n--
	}
	return n
}

// source returns the newest column in which the k-th event has the field of a column; the
// column itself if it lacks the field.
func (a *rowAssembler) source(column, k int) int {
	older := a.columns[column].older
	if len(older) == 0 || a.frame.Cell(column, k) != nil {
		return column
	}
	for _, i := range older {
		if a.frame.Cell(i, k) != nil {
			return i
		}
	}
	return column
}

// complete returns the newest column in which all events of the frame have the field of a
// column; false if there is none, or if some of the events have it in a newer one.
func (a *rowAssembler) complete(column int) (from int, ok bool) {
	f := &a.frame
	if f.Columns[column].Holes == 0 {
		return column, true
	}
	from = column
	for _, i := range a.columns[column].older {
		if f.Columns[from].Holes < len(f.Times) {
			break
		}
		if from = i; f.Columns[i].Holes == 0 {
			return i, true
		}
	}
	return column, false
}

// dropOlder removes the data of older columns at instants at which a newer column of the
// field has data.
func (a *rowAssembler) dropOlder() {
	for column := range a.columns {
		older := a.columns[column].older
		for n, i := range older {
			for _, g := range a.groups {
				g.Columns[i].Without(&g.Columns[column])
				for _, newer := range older[:n] {
					g.Columns[i].Without(&g.Columns[newer])
				}
			}
		}
	}
}
