package evolve

import (
	"fmt"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
)

// older returns the column of a layout in the place of another one, if only older events have it; false if there is none.
func older(l *lock.Layout, col lock.Column) (lock.Column, bool) {
	out, known := inPlace(l, col.Key, col.Family)
	return out, known && out.Was != "" && !out.Retired
}

// moved compares a field that is written to another column, and read from the old one, too.
func (c *comparer) moved(old, older lock.Column) {
	i := find(c.new.Columns, older.Was, false)
	if i < 0 {
		return // a facts file that nobody wrote
	}
	new := c.new.Columns[i]
	at := c.at(old, new)
	if c.otherField(old, older) {
		at.New = c.in(c.new, older)
		c.exchanged(old, older, at)
		return
	}
	from, to := c.place(old), c.place(new)
	if from == to {
		from, to = from+" of family "+quoted(old.Family), "that of "+quoted(new.Family)
	}
	c.add(at, "field-moves", item(new), from, to)
	if old.Type != new.Type {
		c.add(at, "converted", item(new), old.Type, new.Type)
	}
	c.presence(old, new, at)
}

// fieldOf returns the name of the field that has an older column.
func (c *comparer) fieldOf(older lock.Column) string {
	if i := find(c.new.Columns, older.Was, false); i >= 0 {
		return item(c.new.Columns[i])
	}
	return older.Was
}

// wasText returns how was names a stored column of a field; nil for one of another type or
// encoding.
func (c *comparer) wasText(old lock.Column, of *lock.Column) string {
	same := of != nil && of.Type == old.Type && of.Values == old.Values
	switch {
	case c.new.Blob == layout.Protobuf && same:
		return fmt.Sprintf("was: [{number: %s}]", old.Key)
	case c.new.Blob == layout.Protobuf:
		return fmt.Sprintf("was: [{number: %s, type: %s}]", old.Key, old.Type)
	case same && of.Family == old.Family:
		return fmt.Sprintf("was: [%s]", quoted(old.Key))
	case same:
		return fmt.Sprintf("was: [{column: %s, family: %s}]", quoted(old.Key), quoted(old.Family))
	case c.new.Blob == layout.JSONText:
		return fmt.Sprintf("was: [{column: %s, type: %s}]", quoted(old.Key), old.Type)
	}
	return fmt.Sprintf("was: [{column: %s, type: %s, values: %s}]", quoted(old.Key), old.Type, old.Values)
}

// unknown adds the changes for columns that only older events have according to the new facts, and none according to the
// old ones.
func (c *comparer) unknown() {
	for _, older := range c.new.Older() {
		if !c.knows(older) {
			c.add(Change{Item: c.fieldOf(older), place: atColumn, column: older.Was, New: c.in(c.new, older)}, "older-unknown", c.fieldOf(older), c.place(older), lock.Name)
		}
	}
}

// now returns the index of the column in which new events have the field that was in another
// one, or is; -1 if it was removed.
func (c *comparer) now(key string) int {
	if i := find(c.new.Columns, key, false); i >= 0 {
		return i
	}
	for _, older := range c.new.Older() {
		if older.Key == key {
			return find(c.new.Columns, older.Was, false)
		}
	}
	return -1
}

// quotedCode quotes text to paste.
func quotedCode(text string) string { return "`" + text + "`" }
