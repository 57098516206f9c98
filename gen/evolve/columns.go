package evolve

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// lockPos marks values as set that are written in the schema language.
var lockPos = diag.Pos{Line: 1}

// columns compares fields. renamed maps the old names of renamed families to the new ones.
func (c *comparer) columns(renamed map[string]string) {
	var removed, added []lock.Column
	moved := map[string]bool{} // keys of new columns of fields that were in others
	for _, old := range c.old.Live() {
		i, older := find(c.new.Columns, old.Key, false), c.olderAt(old)
		switch {
		case older != nil && (i < 0 || c.new.Columns[i].Family != old.Family):
			moved[older.Was] = true
			c.moved(old, *older)
		case i >= 0:
			c.column(old, c.new.Columns[i], renamed, false)
		default:
			removed = append(removed, old)
		}
	}
	back := c.older()
	for _, new := range c.new.Live() {
		if find(c.old.Columns, new.Key, false) >= 0 || moved[new.Key] || back[new.Key] {
			continue
		}
		i := find(c.old.Columns, new.Key, true)
		if i < 0 {
			added = append(added, new)
			continue
		}
		k := slices.IndexFunc(removed, func(old lock.Column) bool { return mayBeRename(old, new) })
		if k < 0 {
			c.again(c.old.Columns[i], new)
		} else if !c.reused(c.old.Columns[i], new) { // a field that is back in its first column was written to another
			c.renamed(removed[k], new)
			c.changes[len(c.changes)-1].way.text = fmt.Sprintf("keep it in %s; otherwise, run btgen generate between removing one field and adding the other", c.place(removed[k]))
			removed = slices.Delete(removed, k, k+1)
		}
	}
	removed = c.arrive(added, removed)
	for _, old := range removed {
		follows := "its stored values are no longer read"
		if required(old) && !old.Written {
			follows = "programs with the old code cannot read new events, which lack it; deploy readers first"
		}
		c.add(Change{Rule: "E31", Item: item(old), place: atTable, Old: c.show(old)}, "field %q is removed: %s", item(old), follows)
	}
	for _, new := range c.new.Live() {
		c.mixed(new)
		c.restored(new)
	}
}

// arrive adds the changes for fields in columns that no event was written with until now. It
// returns the removed fields that are none of them under another name.
func (c *comparer) arrive(added, removed []lock.Column) []lock.Column {
	for _, new := range added {
		older := c.outlived(new)
		wrong := older != nil && c.reused(*older, new)
		if i := slices.IndexFunc(removed, func(old lock.Column) bool { return mayBeRename(old, new) || c.misnamed(old, new) }); i >= 0 {
			c.renamed(removed[i], new)
			if wrong { // its new column is no place for it
				c.changes[len(c.changes)-1].way.text = fmt.Sprintf("keep it in %s, with its was; otherwise, run btgen generate between removing one field and adding the other", c.place(removed[i]))
			}
			removed = slices.Delete(removed, i, i+1)
			continue
		}
		if !wrong && (older == nil || !c.returned(*older, new)) {
			c.added(new)
		}
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
	return slices.ContainsFunc(c.old.Columns, func(col lock.Column) bool { return col.Key == older.Key && col.Family == older.Family })
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

// required reports whether every event must have a field.
func required(c lock.Column) bool { return !c.Optional && c.Default == nil }

// added adds the change for a field that no stored event has in its column. Those of a removed
// field that it continues have it in an older one.
func (c *comparer) added(new lock.Column) {
	c.abandoned(new)
	at := Change{Rule: "E70", Item: item(new), place: atColumn, column: new.Key, New: c.in(c.new, new)}
	if !new.Written && required(new) {
		at.Rule, at.Old = "E12", "absent"
		c.add(at, "required field %q is added: %s", item(new), c.lacking())
		return
	}
	all := c.origins(new)
	if len(all) > 0 && c.torn(new) {
		return
	}
	if i := slices.IndexFunc(all, func(o origin) bool { return c.absence(o.old, new) }); i >= 0 {
		c.restoredAs(all[i].old, new, at)
	} else if len(all) > 0 {
		c.add(at, "field %q continues the removed field %q: stored events have the values that were written with it", item(new), continued(item(new), all))
	} else {
		c.add(at, "field %q is added: stored events lack it, as far as %s tells", item(new), lock.Name)
	}
}

// lacking describes what happens to stored events that lack a required field.
func (c *comparer) lacking() string {
	switch {
	case c.new.Blob == layout.Protobuf:
		return "stored events lack it and are read with 0 or become undecodable"
	}
	return "stored events lack it and become undecodable"
}

// renamed adds the change for a field that is now stored elsewhere.
func (c *comparer) renamed(old, new lock.Column) {
	change := Change{Rule: "E09", Item: item(new), place: atColumn, column: new.Key, Old: c.in(c.old, old), New: c.in(c.new, new), way: way{column: &old}}
	switch {
	case c.new.Blob == layout.Protobuf && old.Field == new.Field:
		change.way.restore = "number: " + old.Key
		c.add(change, "the number of field %q changes from %s to %s: its stored values are not read", new.Field, old.Key, new.Key)
	case c.new.Blob == layout.Protobuf:
		change.way.restore = "number: " + old.Key
		c.add(change, "field %q is removed and %q of %s type is added: if this is a rename, its stored values are not read", old.Field, new.Field, sameType(old, new))
	case c.new.Blob == layout.JSONText:
		c.add(change, "field %q is removed and %q of %s type is added: if this is a rename, its stored values are not read", old.Key, new.Key, sameType(old, new))
	case item(old) == item(new):
		change.way.restore = "column: " + quoted(old.Key)
		c.add(change, "field %q moves from column %q to %q: its stored values are not read", item(new), old.Key, new.Key)
	default:
		change.way.restore = "column: " + quoted(old.Key)
		c.add(change, "column %q is removed and %q of %s type is added: if this is a rename, its stored values are not read", old.Key, new.Key, sameType(old, new))
	}
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

// reused adds the change for a field that is stored in the place of a removed one, if values of
// that are read as its own. It reports whether they are.
func (c *comparer) reused(old, new lock.Column) bool {
	probe := comparer{old: c.old, new: c.new}
	probe.column(old, new, nil, true)
	other := c.new.Blob == "" && item(old) != item(new)
	if other || slices.ContainsFunc(probe.changes, func(d Change) bool { return ClassOf(d.Rule) == Data }) {
		was, is := c.in(c.old, old), c.in(c.new, new)
		if other {
			was, is = item(old)+" in "+was, item(new)+" in "+is
		}
		c.reuse(Change{Rule: "E14", Item: item(new), place: atColumn, column: new.Key, Old: was, New: is}, old)
		return true
	}
	return false
}

// reuse adds a change of a field that is stored in the place of a removed one.
func (c *comparer) reuse(at Change, old lock.Column) {
	at.way.number = c.free()
	c.add(at, "%s of a removed field is reused with a different meaning: values of old events are read as %q", c.place(old), at.Item)
}

// again adds the change for a field that is stored in the place of a removed one.
func (c *comparer) again(old, new lock.Column) {
	if c.reused(old, new) {
		return
	}
	for _, older := range c.old.Columns {
		if older.Retired && older.Was == old.Key && c.olderAt(older) == nil {
			c.forgotten(older, new)
		}
	}
	if old.Was != "" && c.returned(old, new) {
		return
	}
	if c.torn(new) {
		return
	}
	if c.absence(old, new) && !required(new) {
		c.restoredAs(old, new, Change{Item: item(new), place: atColumn, column: new.Key})
		return
	}
	if required(new) {
		c.added(new)
		return
	}
	c.abandoned(new)
	c.add(Change{Rule: "E70", Item: item(new), place: atColumn, column: new.Key, New: c.in(c.new, new)},
		"field %q is added again: stored events have the values that were written with it", item(new))
}

// torn adds the change for a removed field that is read again, if events may have it in two TTL
// classes: programs without the field leave its cells in the one class when they write an event
// again with the other. A row that is one event is replaced entirely.
func (c *comparer) torn(new lock.Column) bool {
	classes := 0
	for _, f := range c.new.Families {
		if f.Class {
			classes++
		}
	}
	if classes < 2 || c.new.Pattern != codec.BucketNewCells || new.Written {
		return false
	}
	c.reuse(Change{Rule: "E14", Item: item(new), place: atColumn, column: new.Key, New: c.in(c.new, new)}, new)
	last := &c.changes[len(c.changes)-1]
	last.Message = fmt.Sprintf("field %q is read again: events that were written with another TTL class meanwhile have its older value in both classes", item(new))
	return true
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
	at := Change{Item: item(new), place: atColumn, column: new.Key, Old: c.in(c.old, old), New: c.in(c.new, new), way: way{column: &old}}
	if old.Family != new.Family && (old.Family == "") == (new.Family == "") && renamed[old.Family] != new.Family { // see families for TTL classes
		move := at
		move.Rule, move.way.restore = "E08", "family: "+quoted(old.Family)
		if !slices.ContainsFunc(c.new.Families, func(f lock.Family) bool { return f.Name == old.Family }) {
			move.way.text = "restore family " + quotedCode(old.Family) + " of the table, and the field in it"
		}
		c.add(move, "field %q moves from family %q to %q: its stored values are not read", item(new), old.Family, new.Family)
	}
	switch {
	case old.Written != new.Written:
		at.Rule = "E10"
		c.add(at, "column %q changes between field and write time: stored values are undecodable or wrong", new.Key)
		return
	case old.Written:
		c.text(old, new, at)
		return
	case old.Field != "" && old.Field != new.Field && new.Key == "":
		at.Rule = "E17"
		c.add(at, "field %q replaces %q, and offsets do not identify their field: stored values are read under the new name", new.Field, old.Field)
	case !again && c.otherField(old, new):
		c.exchanged(old, new, at)
	case c.new.Blob == layout.Protobuf && old.Field != new.Field:
		at.Rule = "E17"
		c.add(at, "number %s moves from field %q to %q: stored values are read under the new name", new.Key, old.Field, new.Field)
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
	return c.new.Blob == "" && old.Key != "" && was != is && (hasField(c.new, was) || hasField(c.old, is))
}

// hasField reports whether new events have a field of a name.
func hasField(l *lock.Layout, name string) bool {
	return slices.ContainsFunc(l.Live(), func(col lock.Column) bool { return !col.Written && item(col) == name })
}

// exchanged adds the change for a column that gets another field.
func (c *comparer) exchanged(old, new lock.Column, at Change) {
	was, is := owner(c.old, old), owner(c.new, new)
	at.Rule, at.Old, at.New = "E17", was+" in "+at.Old, is+" in "+at.New
	i := slices.IndexFunc(c.old.Columns, func(col lock.Column) bool { return !col.Retired && col.Was == "" && item(col) == is })
	switch {
	case new.Was != "":
		at.way.text = fmt.Sprintf("leave it out of was: it was the column of field %q", was)
	case i >= 0:
		at.way.text = "restore " + quotedCode("column: "+quoted(c.old.Columns[i].Key))
	default:
		at.way.text = "store it elsewhere: " + quotedCode("column: "+quoted(new.Key+"_2"))
	}
	c.add(at, "%s moves from field %q to %q: stored values are read as those of another field", c.place(new), was, is)
}

// text compares the encoding of values that are stored one by one.
func (c *comparer) text(old, new lock.Column, at Change) {
	if old.Values == new.Values || old.Type == schema.String || old.Type == schema.JSON {
		return
	}
	at.Rule, at.way.restore = "E10", "values: "+old.Values.String()
	what, name := "column", new.Key
	if name == "" { // columns are named after times
		what, name = "field", item(new)
	}
	c.add(at, "the encoding of %s %q changes: stored values are undecodable or wrong", what, name)
}

// typeOf compares the types of a field. It reports whether the new one can read stored values.
func (c *comparer) typeOf(old, new lock.Column, at Change) bool {
	if c.widens(old, new) {
		at.Rule = "E51"
		c.add(at, "field %q: %s becomes %s, which can hold every stored value: the type of the Go field changes", item(new), old.Type, new.Type)
		return true
	}
	at.Rule, at.way.restore = "E10", "type: "+old.Type.String()
	c.add(at, "field %q: %s becomes %s: stored values are undecodable or wrong", item(new), old.Type, new.Type)
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

// implicit reports whether protobuf omits the zero value of a field.
func (c *comparer) implicit(col lock.Column) bool {
	return c.new.Blob == layout.Protobuf && required(col) && col.Type != schema.Timestamp && col.Type != schema.Enum && col.Type != schema.UUID
}

// absence reports whether events that lack a field, which was removed, are read with another value
// than before once it is back: protobuf omits their 0, or they had another default.
func (c *comparer) absence(old, new lock.Column) bool {
	if c.implicit(old) {
		return true
	}
	was := widened(old, new.Type).Default
	return was != nil && (new.Default == nil || *was != *new.Default)
}

// restoredAs compares the meaning of an absent field, which was removed and is back. It cannot
// become required again, because newer events lack it.
func (c *comparer) restoredAs(old, new lock.Column, at Change) {
	n := len(c.changes)
	c.presence(widened(old, new.Type), new, at)
	if required(old) && len(c.changes) > n {
		c.changes[n].way.text = "if these events may be read without it, accept the change; otherwise, leave the field removed"
	}
}

// presence compares the meaning of an absent field.
func (c *comparer) presence(old, new lock.Column, at Change) {
	same := old.Optional == new.Optional && (old.Default == nil) == (new.Default == nil) && (old.Default == nil || *old.Default == *new.Default)
	at.Old, at.New = presenceText(old), presenceText(new)
	at.way.restore = at.Old
	if required(old) {
		at.way.text = "remove " + quotedCode(at.New)
	}
	switch {
	case same:
	case !required(old) && required(new):
		at.Rule = "E13"
		c.add(at, "field %q becomes required: %s", item(new), c.lacking())
	case required(old) && c.implicit(old):
		at.Rule = "E13"
		c.add(at, "field %q was required: stored events omit the value 0, which then reads as absent", item(new))
	case required(old) && new.Optional:
		at.Rule = "E34"
		c.add(at, "field %q becomes optional: programs with the old code cannot read events that lack it; deploy readers first", item(new))
	case required(old):
		at.Rule = "E72"
		c.add(at, "field %q gets a default: stored events have the field", item(new))
	case old.Default != nil:
		at.Rule = "E13"
		c.add(at, "the default of field %q changes: stored events that lack it are read with a different value", item(new))
	default:
		at.Rule = "E53"
		c.add(at, "field %q gets a default: stored events that lack it are read with the default, and the Go field is no longer a pointer", item(new))
	}
}

// presenceText describes the meaning of an absent field, in the schema language.
func presenceText(c lock.Column) string {
	switch {
	case c.Default != nil:
		return "default: " + defaultText(c)
	case c.Optional:
		return "optional: true"
	}
	return "required"
}

// defaultText returns the default of a field in the schema language.
func defaultText(c lock.Column) string {
	switch c.Type {
	case schema.String, schema.JSON:
		return quoted(*c.Default)
	case schema.Duration:
		if d, err := time.ParseDuration(*c.Default); err == nil {
			return schema.FormatDuration(d)
		}
	case schema.Bytes:
		if raw, err := hex.DecodeString(*c.Default); err == nil {
			return quoted(base64.StdEncoding.EncodeToString(raw))
		}
	}
	return *c.Default
}

// enumOf is an enum of a column or a key.
type enumOf struct {
	item, key string
	old, new  []lock.EnumValue
	names     bool // names are stored, not numbers
}

// enum compares the values of an enum.
func (c *comparer) enum(e enumOf) {
	if wrong, was, is := e.wrong(); wrong != "" {
		c.add(Change{Rule: "E11", Item: e.item, place: atEnum, column: e.key, value: wrong, Old: was, New: is, way: way{pairs: keepValues(e.old, e.new)}},
			"enum %q changes: stored values change their meaning or become undecodable", e.item)
		return
	}
	var added []string
	for _, v := range e.new {
		if v.Retired {
			continue
		}
		reused := func(o lock.EnumValue) bool {
			return o.Retired && (e.names && o.Name == v.Name && o.Number != v.Number || !e.names && o.Number == v.Number && o.Name != v.Name)
		}
		if i := slices.IndexFunc(e.old, reused); i >= 0 && !e.has(v) {
			c.add(Change{Rule: "E14", Item: e.item, place: atEnum, column: e.key, value: v.Name, Old: valueText(e.old[i]), New: valueText(v), way: way{pairs: keepValues(e.old, e.new)}},
				"enum %q reuses a removed value with a different meaning: stored values are read as the new one", e.item)
			return
		}
		if !e.has(v) {
			added = append(added, v.Name)
		}
	}
	if added != nil {
		c.add(Change{Rule: "E32", Item: e.item, place: atEnum, column: e.key, value: added[0], New: strings.Join(added, ", ")},
			"enum %q gains the %s %s: programs with the old code cannot read it; deploy readers first", e.item, plural(len(added), "value", "values"), strings.Join(added, ", "))
	} else if e.names && !slices.EqualFunc(live(e.old), live(e.new), func(a, b lock.EnumValue) bool { return a == b }) {
		c.add(Change{Rule: "E50", Item: e.item, place: atEnum, column: e.key, value: live(e.new)[0].Name}, "enum %q is renumbered: names are stored, and only the Go constants change", e.item)
	}
}

func live(values []lock.EnumValue) []lock.EnumValue {
	return slices.DeleteFunc(slices.Clone(values), func(v lock.EnumValue) bool { return v.Retired })
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// has reports whether the old enum has what is stored for a value.
func (e enumOf) has(v lock.EnumValue) bool {
	return slices.ContainsFunc(e.old, func(o lock.EnumValue) bool {
		return !o.Retired && (e.names && o.Name == v.Name || !e.names && o.Number == v.Number)
	})
}

// wrong returns the first stored value that becomes undecodable or changes its meaning: the new
// value in its place (or any value, if there is none), and a description before and after.
func (e enumOf) wrong() (value, was, is string) {
	for _, o := range e.old {
		if o.Retired {
			continue
		}
		i := slices.IndexFunc(e.new, func(v lock.EnumValue) bool {
			return !v.Retired && (e.names && v.Name == o.Name || !e.names && v.Number == o.Number)
		})
		switch {
		case i < 0:
			return first(e.new), valueText(o), "no such value"
		case !e.names && e.new[i].Name != o.Name:
			return e.new[i].Name, valueText(o), valueText(e.new[i])
		}
	}
	return "", "", ""
}

func first(values []lock.EnumValue) string {
	for _, v := range values {
		if !v.Retired {
			return v.Name
		}
	}
	return "-"
}

func valueText(v lock.EnumValue) string { return fmt.Sprintf("%d: %s", v.Number, v.Name) }

// keepValues returns the enum with all old values, and with the new ones under new numbers.
func keepValues(old, new []lock.EnumValue) []enumPair {
	var out []enumPair
	last := int64(0)
	for _, v := range old {
		last = max(last, v.Number)
		if !v.Retired {
			out = append(out, enumPair{v.Number, v.Name})
		}
	}
	for _, v := range new {
		if !v.Retired && !slices.ContainsFunc(old, func(o lock.EnumValue) bool { return o.Name == v.Name && !o.Retired }) {
			last++
			out = append(out, enumPair{last, v.Name})
		}
	}
	return out
}
