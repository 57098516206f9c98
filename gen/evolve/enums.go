package evolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/rehearse"
	"github.com/btgen-dev/btgen/gen/words"
)

// The rules that this file applies.
var (
	enumChanged = data(Rule{
		ID:    "E11",
		way:   enumHint,
		names: []rehearse.Cause{rehearse.ColumnsChanged},
	})
	enumGrows = rollout(Rule{ID: "E32"})
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
		c.add(enumChanged, Change{Item: e.item, place: atEnum, column: e.key, value: wrong, Old: was, New: is, way: way{pairs: keepValues(e.old, e.new)}}, "enum-changed", e.item)
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
			c.add(placeReused, Change{Item: e.item, place: atEnum, column: e.key, value: v.Name, Old: valueText(e.old[i]), New: valueText(v), way: way{pairs: keepValues(e.old, e.new)}}, "enum-reused", e.item)
			return
		}
		if !e.has(v) {
			added = append(added, v.Name)
		}
	}
	if added != nil {
		c.add(enumGrows, Change{Item: e.item, place: atEnum, column: e.key, value: added[0], New: strings.Join(added, ", ")}, "enum-grows", e.item, words.Plural(len(added), "value", "values"), strings.Join(added, ", "))
	} else if e.names && !slices.EqualFunc(live(e.old), live(e.new), func(a, b lock.EnumValue) bool { return a == b }) {
		c.add(nameChanged, Change{Item: e.item, place: atEnum, column: e.key, value: live(e.new)[0].Name}, "enum-renumbered", e.item)
	}
}

func live(values []lock.EnumValue) []lock.EnumValue {
	return slices.DeleteFunc(slices.Clone(values), func(v lock.EnumValue) bool { return v.Retired })
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
