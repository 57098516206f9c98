package evolve

import (
	"fmt"
	"slices"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/rehearse"
)

// The rules that this file applies.
var (
	placeForgotten = data(Rule{
		ID:    "E20",
		names: []rehearse.Cause{rehearse.ColumnsChanged},
	})
	fieldMoves   = rollout(Rule{ID: "E39"})
	olderUnknown = safe(Rule{ID: "E73"})
)

// olderAt returns the column in which only older events have a field according to the new
// facts, if it is that of the old ones; nil if there is none.
func (c *comparer) olderAt(old lock.Column) *lock.Column {
	for _, older := range c.new.Older() {
		if older.Key == old.Key && older.Family == old.Family {
			return &older
		}
	}
	return nil
}

// moved compares a field that is written to another column, and read from the old one, too.
func (c *comparer) moved(old, older lock.Column) {
	i := find(c.new.Columns, older.Was, false)
	if i < 0 {
		return // a facts file that nobody wrote
	}
	new := c.new.Columns[i]
	at := c.at(old, new)
	if !c.readable(old, older) {
		return
	}
	if j := find(c.old.Columns, new.Key, false); j >= 0 && c.old.Columns[j].Family == new.Family {
		at.way.text = "leave it out of was: it was a field of its own"
		c.add(placeReused, at, "older-with-values", c.place(old), item(new))
		return
	}
	if j := find(c.old.Columns, new.Key, true); j >= 0 && c.reused(c.old.Columns[j], new) {
		return
	}
	if c.otherField(old, older) {
		at.New = c.in(c.new, older)
		c.exchanged(old, older, at)
		return
	}
	from, to := c.place(old), c.place(new)
	if from == to {
		from, to = from+" of family "+quoted(old.Family), "that of "+quoted(new.Family)
	}
	c.add(fieldMoves, at, "field-moves", item(new), from, to)
	if old.Type != new.Type {
		c.add(typeWider, at, "converted", item(new), old.Type, new.Type)
	}
	c.presence(old, new, at)
}

// readable compares a stored column with what was says of it, and reports whether its values
// are read as they were stored.
func (c *comparer) readable(old, older lock.Column) bool {
	as := older
	as.Field = old.Field
	if !c.misreads(old, as) {
		return true
	}
	said, is := c.in(c.new, older), c.in(c.old, old)
	c.add(valueChanged, Change{Item: c.fieldOf(older), place: atColumn, column: older.Was, Old: is, New: said, way: way{text: "name the type and the encoding in was: " + quotedCode(c.wasText(old, nil))}}, "older-encoding", c.fieldOf(older), c.place(old))
	return false
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

// older compares the columns that only older events have. It returns the keys of those in
// which new events have fields again.
func (c *comparer) older() (back map[string]bool) {
	back = map[string]bool{}
	for _, old := range c.old.Older() {
		field := c.now(old.Was)
		older, i := c.olderAt(old), find(c.new.Columns, old.Key, false)
		switch {
		case older != nil:
			was, is := find(c.old.Columns, old.Was, false), find(c.new.Columns, older.Was, false)
			switch {
			case !c.readable(old, *older):
			case field >= 0 && older.Was != c.new.Columns[field].Key:
				c.taken(old, c.new.Columns[field], older.Was)
			case field < 0 && was >= 0 && is >= 0: // new events have the field elsewhere
				c.forgotten(c.old.Columns[was], c.new.Columns[is])
			}
		case i >= 0 && i == field:
			back[old.Key] = true // the field is renamed back
			c.column(old, c.new.Columns[i], nil, true)
		case i >= 0 && c.new.Columns[i].Family == old.Family && field >= 0:
			back[old.Key] = true
			c.taken(old, c.new.Columns[field], old.Key)
		case field >= 0:
			c.forgotten(old, c.new.Columns[field])
		}
	}
	for _, older := range c.new.Older() {
		if !c.knows(older) {
			c.add(olderUnknown, Change{Item: c.fieldOf(older), place: atColumn, column: older.Was, New: c.in(c.new, older)}, "older-unknown", c.fieldOf(older), c.place(older), lock.Name)
		} else if j := slices.IndexFunc(c.old.Columns, func(col lock.Column) bool { return col.Key == older.Key && col.Family == older.Family && col.Retired }); j >= 0 {
			c.readable(c.old.Columns[j], older)
		}
	}
	return back
}

// forgotten adds the change for a field that is no longer read from where older events have it.
func (c *comparer) forgotten(old, new lock.Column) {
	c.add(placeForgotten, c.unread(old, new, "restore %s until these events have expired", quotedCode(c.wasText(old, &new))), "no-longer-read", item(new), c.place(old))
}

// outlived returns the column in which a field is added, if older events have a field there that
// is removed; nil if they have none.
func (c *comparer) outlived(new lock.Column) *lock.Column {
	for _, old := range c.old.Older() {
		if old.Key == new.Key && old.Family == new.Family {
			return &old
		}
	}
	return nil
}

// returned adds the change for a field that is stored where only older events have it, and
// that is not read from where newer events have it. It reports whether there is one.
func (c *comparer) returned(old, new lock.Column) bool {
	if i := find(c.new.Columns, old.Was, false); i >= 0 {
		c.taken(old, c.new.Columns[i], old.Key)
		return true
	}
	i := slices.IndexFunc(c.old.Columns, func(col lock.Column) bool { return col.Key == old.Was && col.Was == "" })
	if i < 0 || c.olderAt(c.old.Columns[i]) != nil {
		return false
	}
	moved := c.old.Columns[i]
	c.add(placeForgotten, c.unread(moved, new, "restore it in %s with %s", c.placeCode(moved, new), quotedCode(c.wasText(old, &moved))), "not-read-after", item(new), c.place(moved))
	return true
}

// abandoned adds the changes for a field that is added under the name of a removed one, and
// not read from where that one was stored.
func (c *comparer) abandoned(new lock.Column) {
	for _, old := range c.old.Columns {
		same := old.Key == new.Key && old.Family == new.Family
		if old.Retired && old.Was == "" && !same && old.Written == new.Written && item(old) == item(new) && c.olderAt(old) == nil {
			leave := ""
			for _, o := range c.origins(new) {
				if o.as.Was != "" && o.field != item(new) {
					leave = fmt.Sprintf(", and leave %s out", c.place(o.as))
				}
			}
			c.add(placeForgotten, c.unread(old, new, "add %s%s", quotedCode(c.wasText(old, &new)), leave), "not-read-before", item(new), c.place(old))
		}
	}
}

// placeCode returns where a field was stored, in the schema language, and its type if a field has
// another one now.
func (c *comparer) placeCode(col, now lock.Column) string {
	out := quotedCode("column: " + quoted(col.Key))
	switch c.new.Blob {
	case layout.Protobuf:
		out = quotedCode("number: " + col.Key)
	case layout.JSONText:
		out = c.place(col)
	}
	if col.Type != now.Type {
		out += " and " + quotedCode("type: "+col.Type.String())
	}
	return out
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

// taken adds the finding of a column of older events that another field, in the column by,
// takes up.
func (c *comparer) taken(old, of lock.Column, by string) {
	field := by
	if i := find(c.new.Columns, by, false); i >= 0 {
		field = item(c.new.Columns[i])
	}
	c.add(placeReused, Change{Item: field, place: atColumn, column: by, Old: c.in(c.old, old), way: way{number: c.free()}}, "taken-up-again", c.place(old), item(of))
}

// quotedCode quotes text to paste.
func quotedCode(text string) string { return "`" + text + "`" }
