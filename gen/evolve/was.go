package evolve

import (
	"strconv"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
)

// older returns the column of a layout in the place of another one, if only older events have it; false if there is none.
func older(l *lock.Layout, col lock.Column) (lock.Column, bool) {
	out, known := inPlace(l, col.Key, col.Family)
	return out, known && out.Was != "" && !out.Retired
}

// moved compares a field that is written to another column, and read from the old one, too.
func (c *comparer) moved(old, older lock.Column) {
	new := c.new.Columns[find(c.new.Columns, older.Was, false)]
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
	switch {
	case new.Type == schema.Float64 && (old.Type == schema.Int64 || old.Type == schema.Uint64):
		c.add(at, "converted-inexact", item(new), old.Type, new.Type)
	case old.Type != new.Type:
		c.add(at, "converted", item(new), old.Type, new.Type)
	}
	c.presence(old, new, at)
}

// wasText returns how was names a stored column of a field; nil if its type and its encoding are to be said.
func (c *comparer) wasText(old lock.Column, of *lock.Column) string {
	return "was: [" + c.was(old, of).String() + "]"
}

// was returns how was names a stored column of a field.
func (c *comparer) was(old lock.Column, of *lock.Column) schema.Was {
	out := schema.Was{Pos: lockPos, Column: set(old.Key)}
	if c.new.Blob == layout.Protobuf {
		n, _ := strconv.Atoi(old.Key)
		out.Column, out.Number = schema.Value[string]{}, set(n)
	}
	if of == nil || of.Type != old.Type {
		out.Type = set(old.Type)
	}
	if c.new.Blob == "" && (of == nil || of.Values != old.Values) {
		out.Values = set(old.Values.String())
	}
	if of != nil && of.Family != old.Family {
		out.Family = set(old.Family)
	}
	if old.Type == schema.Enum && out.Type.IsSet() {
		for _, v := range old.Enum {
			out.Of = append(out.Of, schema.EnumValue{Name: set(v.Name), Number: set(int(v.Number))})
		}
	}
	return out
}

// unknown adds the changes for columns that only older events have according to the new facts, and none according to the
// old ones.
func (c *comparer) unknown() {
	for _, older := range c.new.Older() {
		if !c.knows(older) {
			field := owner(c.new, older)
			c.add(Change{Item: field, place: atColumn, column: older.Was, New: c.in(c.new, older)}, "older-unknown", field, c.place(older), lock.Name)
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
