package evolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/words"
)

// enumOf is an enum of a column or a key.
type enumOf struct {
	item, key string
	old, new  []lock.EnumValue
	names     bool // names are stored, not numbers
}

// enum compares the values of an enum.
func (c *comparer) enum(e enumOf) {
	if wrong, was, is := e.wrong(); wrong != "" {
		c.add(Change{Item: e.item, place: atEnum, column: e.key, value: wrong, Old: was, New: is, way: way{values: keepValues(e.old, e.new)}}, "enum-changed", e.item)
		return
	}
	var added []string
	for _, v := range live(e.new) {
		if e.find(live(e.old), v) >= 0 {
			continue
		}
		reused := func(o lock.EnumValue) bool {
			return o.Retired && e.same(v, o) && (o.Name != v.Name || o.Number != v.Number)
		}
		if i := slices.IndexFunc(e.old, reused); i >= 0 {
			c.add(Change{Item: e.item, place: atEnum, column: e.key, value: v.Name, Old: valueText(e.old[i]), New: valueText(v), way: way{values: keepValues(e.old, e.new)}}, "enum-reused", e.item)
			return
		}
		added = append(added, v.Name)
	}
	if added != nil {
		c.add(Change{Item: e.item, place: atEnum, column: e.key, value: added[0], New: strings.Join(added, ", ")}, "enum-grows", e.item, words.Plural(len(added), "value", "values"), strings.Join(added, ", "))
	} else if e.names && !slices.Equal(live(e.old), live(e.new)) {
		c.add(Change{Item: e.item, place: atEnum, column: e.key, value: live(e.new)[0].Name}, "enum-renumbered", e.item)
	}
}

func live(values []lock.EnumValue) []lock.EnumValue {
	return slices.DeleteFunc(slices.Clone(values), func(v lock.EnumValue) bool { return v.Retired })
}

// same reports whether what is stored for one value is that of another one.
func (e enumOf) same(a, b lock.EnumValue) bool {
	return e.names && a.Name == b.Name || !e.names && a.Number == b.Number
}

// find returns the index of what is stored for a value; -1 if there is none.
func (e enumOf) find(in []lock.EnumValue, v lock.EnumValue) int {
	return slices.IndexFunc(in, func(o lock.EnumValue) bool { return e.same(v, o) })
}

// wrong returns the first stored value that becomes undecodable or changes its meaning: the new
// value in its place (or any value, if there is none), and a description before and after.
func (e enumOf) wrong() (value, was, is string) {
	now := live(e.new)
	for _, o := range live(e.old) {
		switch i := e.find(now, o); {
		case i < 0:
			return now[0].Name, valueText(o), "no such value"
		case now[i].Name != o.Name:
			return now[i].Name, valueText(o), valueText(now[i])
		}
	}
	return "", "", ""
}

func valueText(v lock.EnumValue) string { return fmt.Sprintf("%d: %s", v.Number, v.Name) }

// keepValues returns the enum with all old values, and with the new ones under new numbers.
func keepValues(old, new []lock.EnumValue) []lock.EnumValue {
	out := live(old)
	last := int64(0)
	for _, v := range old {
		last = max(last, v.Number)
	}
	for _, v := range live(new) {
		if !slices.ContainsFunc(out, func(o lock.EnumValue) bool { return o.Name == v.Name }) {
			last++
			out = append(out, lock.EnumValue{Number: last, Name: v.Name})
		}
	}
	return out
}
