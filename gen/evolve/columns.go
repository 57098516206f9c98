package evolve

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// lockPos marks values as set that are written in the schema language.
var lockPos = diag.Pos{Line: 1}

// set returns a value that is written in the schema language.
func set[T any](v T) schema.Value[T] { return schema.Value[T]{V: v, Pos: lockPos} }

// columns compares fields. renamed maps the old names of renamed families to the new ones.
func (c *comparer) columns(renamed map[string]string) {
	var removed, added []lock.Column
	moved := map[string]bool{} // keys of new columns of fields that were in others
	for _, old := range c.old.Live() {
		i := find(c.new.Columns, old.Key, false)
		switch older, is := older(c.new, old); {
		case is && (i < 0 || c.new.Columns[i].Family != old.Family):
			moved[older.Was] = true
			c.moved(old, older)
		case i >= 0:
			c.column(old, c.new.Columns[i], renamed, false)
		default:
			removed = append(removed, old)
		}
	}
	for _, new := range c.new.Live() {
		i, again := find(c.old.Columns, new.Key, false), find(c.old.Columns, new.Key, true)
		switch older, was := older(c.old, new); {
		case i >= 0 || moved[new.Key]:
		case was && c.now(older.Was) >= 0 && c.new.Columns[c.now(older.Was)].Key == new.Key: // the field is renamed back
			c.column(older, new, nil, true)
		case again >= 0 && item(c.old.Columns[again]) == item(new) && !slices.ContainsFunc(removed, func(old lock.Column) bool { return mayBeRename(old, new) }):
			c.again(c.old.Columns[again], new)
		default:
			added = append(added, new)
		}
	}
	for _, old := range c.arrive(added, removed) {
		follows := "its stored values are no longer read"
		if required(old) && !old.Written {
			follows = "programs with the old code cannot read new events, which lack it; deploy readers first"
		}
		c.add(Change{Item: item(old), place: atTable, Old: c.show(old)}, "field-removed", item(old), follows)
	}
	c.unknown()
}

// arrive adds the changes for fields in columns that no event was written with until now. It
// returns the removed fields that are none of them under another name.
func (c *comparer) arrive(added, removed []lock.Column) []lock.Column {
	for _, new := range added {
		may := func(old lock.Column) bool { return mayBeRename(old, new) || c.misnamed(old, new) }
		i := slices.IndexFunc(removed, may)
		if i < 0 {
			c.added(new)
			continue
		}
		c.renamed(removed[i], new)
		for _, other := range removed[i+1:] {
			if may(other) {
				c.changes[len(c.changes)-1].Message += fmt.Sprintf("; or it is %s that is renamed", c.place(other))
			}
		}
		if _, outlived := older(c.old, new); outlived || find(c.old.Columns, new.Key, true) >= 0 { // its new column is no place for it
			c.changes[len(c.changes)-1].way.text = fmt.Sprintf("keep it in %s; otherwise, run btgen generate between removing one field and adding the other", c.place(removed[i]))
		}
		removed = slices.Delete(removed, i, i+1)
	}
	return removed
}

// find returns the index of the column of new events with a key or, if retired is set, that of
// a retired one.
func find(columns []lock.Column, key string, retired bool) int {
	return slices.IndexFunc(columns, func(c lock.Column) bool {
		return c.Key == key && c.Retired == retired && (retired || c.Was == "")
	})
}

// item returns the name of a column in the names of changes.
func item(c lock.Column) string {
	switch {
	case c.Field != "":
		return c.Field
	case c.Key == "":
		return "value"
	}
	return c.Key
}

// mayBeRename reports whether an added field may be a removed one under a new name, perhaps with
// a wider type or a different encoding.
func mayBeRename(old, new lock.Column) bool {
	if old.Written || new.Written {
		return old.Written && new.Written
	}
	return item(old) == item(new) || old.Type == new.Type || widens(old.Type, new.Type) || old.Type == schema.String && new.Type == schema.Bytes
}

// misnamed reports whether was of an added field may mean a removed one: it lists a column
// that no event has, of the type of the removed field.
func (c *comparer) misnamed(old, new lock.Column) bool {
	return slices.ContainsFunc(c.new.Older(), func(older lock.Column) bool {
		return older.Was == new.Key && older.Type == old.Type && !c.knows(older)
	})
}

// knows reports whether events may have a column, as far as the lock tells.
func (c *comparer) knows(older lock.Column) bool {
	_, known := inPlace(c.old, older.Key, older.Family)
	return known
}

// show describes how a field is stored.
func (c *comparer) show(col lock.Column) string { return c.in(c.old, col) }

func (c *comparer) in(l *lock.Layout, col lock.Column) string {
	value := "written_at"
	if !col.Written {
		value = col.Type.String()
	}
	switch {
	case l.Blob == layout.Protobuf:
		return fmt.Sprintf("number %s: %s as %s", col.Key, col.Field, value)
	case l.Blob == layout.JSONText:
		return fmt.Sprintf("%q: %s", col.Key, value)
	}
	form := col.Values
	where := strconv.Quote(col.Key)
	if col.Key == "" {
		return fmt.Sprintf("offsets: %s: %s as %s", col.Field, value, form)
	}
	if col.Family != "" {
		where = col.Family + ":" + where
	}
	return fmt.Sprintf("column %s: %s as %s", where, value, form)
}

// added adds the change for a field that no stored event has in its column. Those of a removed
// field that it continues have it in an older one.
func (c *comparer) added(new lock.Column) {
	at := Change{Item: item(new), place: atColumn, column: new.Key, New: c.in(c.new, new)}
	if !new.Written && required(new) {
		at.Old = "absent"
		c.add(at, "required-added", item(new), c.lacking())
		return
	}
	all := slices.DeleteFunc(c.origins(new), func(o origin) bool { return o.live() })
	if i := slices.IndexFunc(all, func(o origin) bool { return c.absence(o.old, new) }); i >= 0 {
		c.restoredAs(all[i].old, new, at)
	} else if len(all) > 0 {
		c.add(at, "field-continues", item(new), continued(item(new), all))
	} else {
		c.add(at, "field-added", item(new), lock.Name)
	}
}

// renamed adds the change for a field that is now stored elsewhere.
func (c *comparer) renamed(old, new lock.Column) {
	change := c.at(old, new)
	serialized := c.new.Blob != ""
	switch {
	case c.new.Blob == layout.Protobuf:
		change.way.restore = "number: " + old.Key
	case !serialized:
		change.way.restore = "column: " + quoted(old.Key)
	}
	switch same := item(old) == item(new); {
	case serialized && same:
		c.add(change, "other-number", item(new), old.Key, new.Key, c.lostValues(new))
	case serialized:
		c.add(change, "perhaps-renamed", item(old), item(new), sameType(old, new), c.lostValues(new))
	case same:
		c.add(change, "other-column", item(new), old.Key, new.Key, c.lostValues(new))
	default:
		c.add(change, "column-perhaps-renamed", old.Key, new.Key, sameType(old, new), c.lostValues(new))
	}
}

// lostValues describes what happens to stored events of which the values of a field are not read.
func (c *comparer) lostValues(new lock.Column) string {
	if new.Written || !required(new) {
		return "its stored values are not read"
	}
	return "its stored values are not read; " + c.lacking()
}

// sameType describes the type of a field compared with the one that it may replace.
func sameType(old, new lock.Column) string {
	if old.Type == new.Type {
		return "the same"
	}
	if !widens(old.Type, new.Type) && !(old.Type == schema.String && new.Type == schema.Bytes) {
		return "another"
	}
	return "a wider"
}

// misreads reports whether the values of a column are not read as they were stored.
func (c *comparer) misreads(old, new lock.Column) bool {
	probe := comparer{old: c.old, new: c.new}
	probe.column(old, new, nil, true)
	return harms(probe.changes)
}

// again adds the change for a field that is stored in the place that it had before it was removed.
func (c *comparer) again(old, new lock.Column) {
	at := Change{Item: item(new), place: atColumn, column: new.Key, New: c.in(c.new, new)}
	switch {
	case required(new):
		c.added(new)
	case c.absence(old, new):
		c.restoredAs(old, new, at)
	default:
		c.add(at, "added-again", item(new))
	}
}

// place describes where a field is stored, to begin a sentence.
func (c *comparer) place(col lock.Column) string {
	switch c.new.Blob {
	case layout.Protobuf:
		return "number " + col.Key
	case layout.JSONText:
		return fmt.Sprintf("the name %q", col.Key)
	}
	return fmt.Sprintf("column %q", col.Key)
}

// free returns a protobuf number that was never used; 0 if events are not stored as protobuf.
func (c *comparer) free() int {
	if c.new.Blob != layout.Protobuf {
		return 0
	}
	last := 0
	for _, columns := range [][]lock.Column{c.old.Columns, c.new.Columns} {
		for _, col := range columns {
			n, _ := strconv.Atoi(col.Key)
			last = max(last, n)
		}
	}
	return last + 1
}

// column compares a field that is stored in the same place. again reports whether the old one is
// retired.
func (c *comparer) column(old, new lock.Column, renamed map[string]string, again bool) {
	at := c.at(old, new)
	if old.Family != new.Family && (old.Family == "") == (new.Family == "") && renamed[old.Family] != new.Family { // see families for TTL classes
		move := at
		move.way.restore = "family: " + quoted(old.Family)
		if !slices.ContainsFunc(c.new.Families, func(f lock.Family) bool { return f.Name == old.Family }) {
			move.way.text = "restore family " + diag.Code(old.Family) + " of the table, and the field in it"
		}
		c.add(move, "other-family", item(new), old.Family, new.Family)
	}
	switch {
	case old.Written != new.Written:
		c.add(at, "write-time", new.Key)
		return
	case old.Written:
		c.text(old, new, at)
		return
	case old.Field != "" && old.Field != new.Field && new.Key == "":
		c.add(at, "offset-renamed", new.Field, old.Field)
	case !again && c.otherField(old, new):
		c.exchanged(old, new, at)
	case c.new.Blob == layout.Protobuf && old.Field != new.Field:
		c.add(at, "number-moved", new.Key, old.Field, new.Field)
	}
	if old.Type != new.Type {
		if !c.typeOf(old, new, at) {
			if !again && !required(old) && required(new) { // that is another change of the field
				c.presence(old, new, at)
			}
			return
		}
		old = widened(old, new.Type)
	}
	c.text(old, new, at)
	if old.Type == schema.Enum {
		c.enum(enumOf{item(new), new.Key, old.Enum, new.Enum, storesNames(c.new, old)})
	}
	if !again {
		c.presence(old, new, at)
	}
}

// otherField reports whether a column gets another field: one of another name, unless it may be
// a renamed one, because only old events have the one name, and only new ones the other.
func (c *comparer) otherField(old, new lock.Column) bool {
	was, is := owner(c.old, old), owner(c.new, new)
	one := was == is || c.heirs[was] != "" && c.heirs[was] == c.heirs[is]
	return c.new.Blob == "" && old.Key != "" && !one && (hasField(c.new, was) || hasField(c.old, is))
}

// hasField reports whether new events have a field of a name.
func hasField(l *lock.Layout, name string) bool {
	return slices.ContainsFunc(l.Live(), func(col lock.Column) bool { return !col.Written && item(col) == name })
}

// exchanged adds the change for a column that gets another field.
func (c *comparer) exchanged(old, new lock.Column, at Change) {
	was, is := owner(c.old, old), owner(c.new, new)
	at.Old, at.New = was+" in "+at.Old, is+" in "+at.New
	i := slices.IndexFunc(c.old.Columns, func(col lock.Column) bool { return !col.Retired && col.Was == "" && item(col) == is })
	switch {
	case new.Was != "":
		at.way.text = fmt.Sprintf("leave it out of was: it was the column of field %q", was)
	case i >= 0:
		at.way.text = "restore " + diag.Code("column: "+quoted(c.old.Columns[i].Key))
	default:
		at.way.text = "store it elsewhere: " + diag.Code("column: "+quoted(new.Key+"_2"))
	}
	c.add(at, "place-moved", c.place(new), was, is)
}

// text compares the encoding of values that are stored one by one.
func (c *comparer) text(old, new lock.Column, at Change) {
	if old.Values == new.Values || old.Type == schema.String || old.Type == schema.JSON {
		return
	}
	at.way.restore = "values: " + old.Values.String()
	what, name := "column", new.Key
	if name == "" { // columns are named after times
		what, name = "field", item(new)
	}
	c.add(at, "other-encoding", what, name)
}

// typeOf compares the types of a field. It reports whether the new one can read stored values.
func (c *comparer) typeOf(old, new lock.Column, at Change) bool {
	if c.widens(old, new) {
		c.add(at, "wider-type", item(new), old.Type, new.Type)
		return true
	}
	at.way.restore = "type: " + old.Type.String()
	c.add(at, "other-type", item(new), old.Type, new.Type)
	return false
}

// widened returns a field with a wider type, or the same.
func widened(old lock.Column, to schema.Type) lock.Column {
	if old.Default != nil && to == schema.Bytes && old.Type != to {
		text := hex.EncodeToString([]byte(*old.Default))
		old.Default = &text
	}
	old.Type = to
	return old
}

// widens reports whether every stored value of a field is also a value of the new type, with the
// same bytes.
func (c *comparer) widens(old, new lock.Column) bool {
	if old.Values != new.Values || sized(old) {
		return false
	}
	if old.Type == schema.String && new.Type == schema.Bytes {
		return !old.Values.Text() && c.new.Blob != layout.JSONText
	}
	return widens(old.Type, new.Type)
}

// sized reports whether the number of bytes of a value depends on its type.
func sized(col lock.Column) bool {
	return col.Values == codec.BigEndianValues || col.Values == codec.LittleEndianValues
}
