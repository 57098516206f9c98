package lock

import "slices"

// Removed returns the tables ("table") and column families ("table/family") that store events
// only of layouts that an accepted change removed or replaced, sorted: no schema of the lock
// uses them.
func (l *Lock) Removed() []string {
	used, all := map[string]bool{}, map[string]bool{}
	for i := range l.Tables {
		t := &l.Tables[i]
		current := len(t.Periods())
		if t.Removed != "" {
			current = 0
		}
		for k := range t.Layouts {
			for _, place := range t.places(&t.Layouts[k]) {
				all[place] = true
				used[place] = used[place] || k < current
			}
		}
	}
	var out []string
	for place := range all {
		if !used[place] {
			out = append(out, place)
		}
	}
	slices.Sort(out)
	return out
}

// places returns the table of a layout, and its families.
func (t *Table) places(l *Layout) []string {
	id := l.Table
	if id == "" {
		id = t.Name
	}
	out := []string{id}
	for _, f := range l.Families {
		out = append(out, id+"/"+f.Name)
	}
	return out
}
