package lock

import (
	"cmp"
	"slices"
)

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
			l := &t.Layouts[k]
			for _, place := range t.places(l) {
				all[place] = true
				used[place] = used[place] || k < current
			}
			for _, r := range l.Rollups {
				place := t.tableOf(l) + "/" + r.Family
				all[place] = true
				used[place] = used[place] || k < current && !r.Retired
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

// tableOf returns the table of a layout.
func (t *Table) tableOf(l *Layout) string { return cmp.Or(l.Table, t.Name) }

// places returns the table of a layout, and the families of its events.
func (t *Table) places(l *Layout) []string {
	id := t.tableOf(l)
	out := []string{id}
	for _, f := range l.Families {
		out = append(out, id+"/"+f.Name)
	}
	return out
}
