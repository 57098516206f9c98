package schema

import (
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
)

// wasForm is the form of the places in which older events have a field.
var wasForm = listOf("a list of older columns", "write `was: [temp]`, or `was: [{column: pressure, type: int64}]`",
	short(shape{kind: shapeText, what: "an older column", least: 1}, func(w *walker, n *node) (Was, bool) {
		column, ok := located(filled("a column")).read(w, n)
		return Was{Pos: n.pos, Column: column}, ok
	}, record(wasBlock)))

var wasBlock = block[Was]{
	what:  "an older column",
	begin: func(pos diag.Pos, v *Was) { v.Pos = pos },
	keys: []key[Was]{
		put("column", filled("a column"), func(v *Was) *Value[string] { return &v.Column }),
		put("family", filled("a family"), func(v *Was) *Value[string] { return &v.Family }),
		put("number", numberForm, func(v *Was) *Value[int] { return &v.Number }),
		put("type", typeForm, func(v *Was) *Value[Type] { return &v.Type }),
		set("of", enumForm, func(v *Was) *[]EnumValue { return &v.Of }),
		put("values", word("value encoding", valueForms, nil), func(v *Was) *Value[string] { return &v.Values }),
	},
	check: func(w *walker, n *node, v *Was) {
		switch {
		case !v.Column.IsSet() && !v.Number.IsSet() && !v.Family.IsSet():
			w.reject(n.pos, "older-without-name")
		case v.Type.V == Enum && v.Of == nil && n.entry("of") == nil:
			w.reject(v.Type.Pos, "no-older-values")
		case v.Type.V != Enum && v.Of != nil:
			w.reject(n.entry("of").pos, "older-values")
		}
	},
}

// String returns the older column in the schema language: only its name if nothing else is
// set.
func (v Was) String() string {
	var e entries
	e.text("column", v.Column)
	e.text("family", v.Family)
	if v.Number.IsSet() {
		e.add("number", strconv.Itoa(v.Number.V))
	}
	if v.Type.IsSet() {
		e.add("type", v.Type.V.String())
	}
	if len(v.Of) > 0 {
		e.add("of", enumText(v.Of))
	}
	e.text("values", v.Values)
	if len(e) == 1 && v.Column.IsSet() {
		return Quoted(v.Column.V)
	}
	return e.String()
}

// wasText returns older columns in the schema language.
func wasText(all []Was) string {
	var out []string
	for _, v := range all {
		out = append(out, v.String())
	}
	return "[" + strings.Join(out, ", ") + "]"
}
