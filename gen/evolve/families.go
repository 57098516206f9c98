package evolve

import (
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// families compares column families and returns the renamed ones: old name to new name.
func (c *comparer) families() map[string]string {
	removed, added := c.unmatched(c.old, c.new), c.unmatched(c.new, c.old)
	renamed := map[string]string{}
	for _, f := range removed {
		switch {
		case len(removed) == 1 && len(added) == 1:
			renamed[f.Name] = added[0].Name
			c.add(Change{Item: added[0].Name, place: atFamily, family: added[0].Name, Old: "family " + f.Name, New: "family " + added[0].Name, way: c.renamedFamily(f)}, "family-renamed", f.Name, added[0].Name)
		case f.Class:
			c.add(Change{Item: f.Name, place: atTable, Old: "family " + f.Name, New: "no such family", way: way{text: c.familyWay(f)}}, "class-removed", f.Name)
		case hasClasses(c.new):
			c.add(Change{Item: f.Name, place: atFamily, family: c.new.Families[0].Name, Old: "family " + f.Name, New: "families " + familyNames(added), way: way{text: c.familyWay(f) + ", and write events with TTL classes to a table of a new schema"}}, "family-split", f.Name)
		case c.old.Blob != "": // or its fields say what becomes of them
			c.add(Change{Item: f.Name, place: atTable, Old: "family " + f.Name, New: "families " + familyNames(added), way: way{text: c.familyWay(f)}}, "family-removed", f.Name)
		}
	}
	if len(removed) != 1 || len(added) != 1 {
		for _, f := range added {
			c.add(Change{Item: f.Name, place: atFamily, family: f.Name}, "family-added", f.Name)
		}
	}
	for _, new := range c.new.Families {
		if i := slices.IndexFunc(c.old.Families, func(f lock.Family) bool { return f.Name == new.Name }); i >= 0 {
			c.age(c.old.Families[i], new)
		}
	}
	return renamed
}

// beside compares what a layout in other rows and cells has in common with the previous one: how
// long families keep events, and what the fields mean. Accepting the other cells accepts neither.
func (c *comparer) beside() {
	c.families()
	for _, old := range c.old.Live() {
		for _, new := range c.new.Live() {
			if old.Written || new.Written || item(old) != item(new) {
				continue
			}
			at := c.at(old, new)
			at.way.column = nil // their examples would be of other rows
			if old.Type != new.Type {
				c.typeOf(old, new, at)
			} else if old.Type == schema.Enum {
				c.enum(enumOf{item(new), new.Key, old.Enum, new.Enum, storesNames(c.old, old) && storesNames(c.new, new)})
			}
		}
	}
}

// storesNames reports whether the values of an enum are stored as their names.
func storesNames(l *lock.Layout, c lock.Column) bool {
	return c.Values.Text() || l.Blob == layout.JSONText
}

// hasClasses reports whether events have TTL classes.
func hasClasses(l *lock.Layout) bool {
	return slices.ContainsFunc(l.Families, func(f lock.Family) bool { return f.Class })
}

// familyNames returns the names of families, for people.
func familyNames(families []lock.Family) string {
	var out []string
	for _, f := range families {
		out = append(out, f.Name)
	}
	return strings.Join(out, ", ")
}

// familyWay returns how to restore the old families of a table.
func (c *comparer) familyWay(f lock.Family) string {
	switch {
	case f.Class:
		var out []string
		for _, o := range c.old.Families {
			out = append(out, o.Name+": "+ttlText(o))
		}
		text := "restore " + diag.Code("ttl: {classes: {"+strings.Join(out, ", ")+"}}")
		if !hasClasses(c.new) {
			text += ", without " + diag.Code("family")
		}
		return text
	case len(c.old.Families) > 1:
		return "restore the families"
	}
	return "restore " + diag.Code("family: "+quoted(f.Name)) + " and " + diag.Code("ttl: "+ttlText(f))
}

// renamedFamily returns how to keep the name of a family.
func (c *comparer) renamedFamily(f lock.Family) way {
	if f.Class {
		return way{text: c.familyWay(f)}
	}
	return way{restore: "family: " + quoted(f.Name)}
}

// unmatched returns the families of one layout that the other lacks.
func (c *comparer) unmatched(of, in *lock.Layout) []lock.Family {
	return slices.DeleteFunc(slices.Clone(of.Families), func(f lock.Family) bool {
		return slices.ContainsFunc(in.Families, func(o lock.Family) bool { return o.Name == f.Name })
	})
}

// age compares how long a family keeps events.
func (c *comparer) age(old, new lock.Family) {
	at := Change{Item: new.Name, place: atAge, family: new.Name, Old: ttlText(old), New: ttlText(new), way: way{restore: "ttl: " + ttlText(old)}}
	a, b := lifetime(c.old, old), lifetime(c.new, new)
	switch {
	case old.Class != new.Class:
		at.way.text = c.familyWay(old)
		c.add(at, "family-class", new.Name)
	case old.Timestamp == codec.TimestampEvent && new.Timestamp == codec.TimestampWrite && old.GC.Equal(new.GC):
		if !new.GC.HasAge() {
			c.add(at, "stamps-of-writes", new.Name)
			return
		}
		c.add(at, "ages-of-writes", new.Name)
	case old.Timestamp == codec.TimestampWrite && new.Timestamp == codec.TimestampEvent && old.GC.Equal(new.GC) && !new.GC.HasAge():
		c.add(at, "stamps-of-events", new.Name)
	case old.Timestamp != new.Timestamp || old.Default != new.Default:
		c.add(at, "stamps-changed", new.Name)
	case old.GC.Equal(new.GC):
	case !b.Outlives(a) && c.new.Pattern.NewestOnly():
		c.add(at, "latest-shorter", new.Name, ttlText(old), ttlText(new))
	case b.Outlives(a) && c.holds(new.Name):
		at.way.text = "let a new layout begin with another family and the longer ttl, with since and before"
		c.add(at, "rollup-longer", new.Name, ttlText(old), ttlText(new))
	case !b.Outlives(a):
		c.add(at, "ttl-shorter", new.Name, ttlText(old), ttlText(new))
	case a.Outlives(b) && c.new.Pattern.NewestOnly():
		c.add(at, "latest-longer", new.Name, ttlText(old), ttlText(new))
	default:
		c.add(at, "ttl-longer", new.Name, ttlText(old), ttlText(new))
	}
}

// ttlText returns the time to live of a family in the schema language.
func ttlText(f lock.Family) string {
	age := schema.Value[time.Duration]{V: f.Default}
	switch {
	case f.Timestamp == codec.TimestampExpiry:
		return schema.TTL{Kind: schema.OneSecond}.String()
	case f.Timestamp == codec.TimestampShifted:
		return schema.TTL{Kind: schema.DefaultExpiration, Age: age}.String()
	case f.Class:
		return schema.FormatDuration(f.GC.MaxAge)
	}
	return schema.TTLOf(f.GC, f.Timestamp == codec.TimestampWrite).String()
}

// lifetime returns which cells of a family are alive: in rows with the newest event, which of its cells.
func lifetime(l *lock.Layout, f lock.Family) codec.Lifetime {
	return codec.Lifetime{Timestamp: f.Timestamp, Default: f.Default}.Under(f.GC, cellsOf(l))
}

// cellsOf returns how many cells a column of a layout may have.
func cellsOf(l *lock.Layout) int64 {
	if l.Pattern.EventTimed() && !l.Pattern.NewestOnly() && l.Precision > 0 {
		return int64(l.Bucket.Widest() / l.Precision)
	}
	return 1
}
