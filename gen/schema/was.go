package schema

import (
	"github.com/btgen-dev/btgen/gen/diag"
)

// wasForm is the form of the places in which older events have a field.
var wasForm = listOf("a list of older columns", "write `was: [temp]`, or `was: [{column: pressure, type: int64}]`", short(wasBlock, "column"))

var wasBlock = block[Was]{
	what:  "an older column",
	begin: func(pos diag.Pos, v *Was) { v.Pos = pos },
	keys: []key[Was]{
		put("column", filled("a column"), func(v *Was) *Value[string] { return &v.Column }),
		put("family", filled("a family"), func(v *Was) *Value[string] { return &v.Family }),
		put("number", numberForm, func(v *Was) *Value[int] { return &v.Number }),
		put("type", typeForm, func(v *Was) *Value[Type] { return &v.Type }),
		set("of", enumForm, func(v *Was) *[]EnumValue { return &v.Of }),
		put("values", word("value encoding", valueForms), func(v *Was) *Value[string] { return &v.Values }),
	},
	check: func(w *walker, n *node, v *Was) {
		switch {
		case !v.Column.IsSet() && !v.Number.IsSet() && !v.Family.IsSet() && n.entry("column") == nil:
			w.reject(n.pos, "older-without-name")
		case v.Type.V == Enum && v.Of == nil && n.entry("of") == nil:
			w.reject(v.Type.Pos, "no-older-values")
		case v.Type.V != Enum && v.Of != nil:
			w.reject(n.entry("of").pos, "older-values")
		}
	},
}
