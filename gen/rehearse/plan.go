package rehearse

import "slices"

// plan is where a layout has what, by the numbers of places.
type plan struct {
	*Layout
	forms     []int32 // of serialized events, by family
	mark, run int32   // of a rollup
	fields    [][]planned
}

// planned is a column of a field, and its places: one, or by family.
type planned struct {
	*Column
	at []int32
}

// plan returns the plan of a layout of a schema.
func (s *stage) plan(p *Schema, l *Layout) *plan {
	if out := s.plans[l]; out != nil {
		return out
	}
	out := &plan{Layout: l}
	for _, f := range l.Families {
		out.forms = append(out.forms, s.places.number(place{l.Place, l.Rows, f.Name, whole + l.Form}))
	}
	if l.Rollup != nil {
		out.mark = s.places.number(place{l.Place, l.Rows, l.Rollup.Family, "mark"})
		out.run = s.places.number(place{l.Place, l.Rows, l.Rollup.Family, "run"})
	}
	for i := range p.Fields {
		var columns []planned
		for _, c := range l.columns(p.Fields[i].ID) {
			at := planned{Column: c}
			for _, family := range c.in(l) {
				at.at = append(at.at, s.places.number(l.place(c, family)))
			}
			columns = append(columns, at)
		}
		out.fields = append(out.fields, columns)
	}
	s.plans[l] = out
	return out
}

// index returns the index of the family in which an event of a class is written.
func (l *Layout) index(class string) int {
	return max(0, slices.IndexFunc(l.Families, func(f Family) bool { return f.Class == class }))
}

// home returns the place of a column in an event of the family with an index.
func (c *planned) home(family int) int32 { return c.at[min(family, len(c.at)-1)] }
