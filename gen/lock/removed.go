package lock

import (
	"cmp"
	"maps"
	"slices"
)

// Removed returns the tables ("table") and column families ("table/family") that store events
// only of layouts that an accepted change removed or replaced, sorted: no schema of the lock
// uses them.
func (l *Lock) Removed() []string {
	used := map[string]bool{} // by place: whether it is
	for i := range l.Tables {
		t := &l.Tables[i]
		for k := range t.Layouts {
			l, current := &t.Layouts[k], t.Removed == "" && k < len(t.Periods())
			table := cmp.Or(l.Table, t.Name)
			used[table] = used[table] || current
			for _, f := range l.Families {
				used[table+"/"+f.Name] = used[table+"/"+f.Name] || current
			}
			for _, r := range l.Rollups {
				used[table+"/"+r.Family] = used[table+"/"+r.Family] || current && !r.Retired
			}
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(used)), func(place string) bool { return used[place] })
}
