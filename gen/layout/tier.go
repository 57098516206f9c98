package layout

import "slices"

// EventTimed reports whether all cell timestamps are event times, so that reads of recent events can
// leave out the infrequent access tier.
func (t *Table) EventTimed() bool {
	return !slices.ContainsFunc(t.Families, func(f Family) bool { return !f.Life.EventTimed() })
}

// ExpiryTimed reports whether the cell timestamps of a family are expiries, which do not tell the age of cells.
func (t *Table) ExpiryTimed() bool {
	return slices.ContainsFunc(t.Families, func(f Family) bool { _, expires := f.Life.Expires(); return expires })
}
