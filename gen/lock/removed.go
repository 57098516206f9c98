package lock

import (
	"cmp"
	"maps"
	"slices"
)

// Removed returns the tables ("table") and column families ("table/family") that store events
// only of layouts that an accepted change removed or replaced, or that were withdrawn before they began, sorted: no schema of the
// lock uses them.
func (l *Lock) Removed() []string {
	used := map[string]bool{} // by place: whether it is
	places := func(t *Table, current int) {
		for k := range t.Layouts {
			l := &t.Layouts[k]
			table := cmp.Or(l.Table, t.Name)
			used[table] = used[table] || k < current
			for _, f := range l.Families {
				used[table+"/"+f.Name] = used[table+"/"+f.Name] || k < current
			}
			for _, r := range l.Rollups {
				used[table+"/"+r.Family] = used[table+"/"+r.Family] || k < current && !r.Retired
			}
		}
	}
	for _, e := range l.Epochs {
		for _, t := range e.tables {
			places(t, 0)
		}
	}
	for i := range l.Tables {
		t, current := &l.Tables[i], 0
		if t.Removed == "" {
			current = len(t.Periods())
		}
		places(t, current)
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(used)), func(place string) bool { return used[place] })
}
