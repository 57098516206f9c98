package evolve

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/lock"
)

// origin is a column of the old facts from which a field of the new ones is read.
type origin struct {
	field string      // the one that had the column last
	old   lock.Column // in the old facts
	as    lock.Column // in the new ones
}

// live reports whether events were written with the field until now.
func (o *origin) live() bool { return !o.old.Retired }

// owner returns the name of the field that has a column, or had it last. An older column is that
// of the field in the column to which it moved.
func owner(l *lock.Layout, col lock.Column) string {
	for range l.Columns {
		if col.Was == "" {
			break
		}
		i := find(l.Columns, col.Was, false)
		if i < 0 {
			i = slices.IndexFunc(l.Columns, func(o lock.Column) bool { return o.Key == col.Was && o.Was != o.Key })
		}
		if i < 0 {
			break
		}
		col = l.Columns[i]
	}
	return item(col)
}

// inPlace returns the column of a layout in a place; false if it has none.
func inPlace(l *lock.Layout, key, family string) (lock.Column, bool) {
	i := slices.IndexFunc(l.Columns, func(c lock.Column) bool { return c.Key == key && c.Family == family })
	if i < 0 {
		return lock.Column{Key: key, Family: family}, false
	}
	return l.Columns[i], true
}

// origins returns the columns of the old facts from which a field is read: its own one, and those
// in was.
func (c *comparer) origins(new lock.Column) []origin {
	var out []origin
	for _, as := range c.new.Columns {
		own := as.Was == "" && as.Key == new.Key && as.Family == new.Family
		if as.Written || !own && as.Was != new.Key {
			continue
		}
		for _, old := range c.old.Columns {
			// A place of a removed field is that of another one under another name.
			if reused := own && old.Retired && owner(c.old, old) != item(new); old.Key == as.Key && old.Family == as.Family && !old.Written && !reused {
				out = append(out, origin{owner(c.old, old), old, as})
			}
		}
	}
	return out
}

// continued returns the field of the old facts that a field continues; empty if it continues
// none. It is the one that events were written with until now or, if there is none, one that was
// removed.
func continued(field string, all []origin) string {
	for _, fits := range []func(o origin) bool{
		func(o origin) bool { return o.live() && o.field == field },
		func(o origin) bool { return o.live() && o.old.Was == "" && o.as.Was == "" },
		func(o origin) bool { return o.live() && o.old.Was == "" },
		func(o origin) bool { return o.live() },
		func(origin) bool { return true },
	} {
		if i := slices.IndexFunc(all, fits); i >= 0 {
			return all[i].field
		}
	}
	return ""
}

// originsIn returns the origins of the fields of a layout that a table had before, and has; nil if the keys of
// columns have another meaning.
func originsIn(m match) map[string][]origin {
	c := &comparer{old: &m.old[0], new: &m.new[0]}
	if (&comparer{old: c.old, new: c.new}).pattern() {
		return nil
	}
	out := map[string][]origin{}
	for _, col := range c.new.Live() {
		if !col.Written {
			out[item(col)] = c.origins(col)
		}
	}
	return out
}
