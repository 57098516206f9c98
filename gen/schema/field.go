package schema

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
)

// typeForm is the form of a type name.
var typeForm = func() form[Type] {
	names := typeNames()
	f := hintedWord("type", names, typeHint)
	return form[Type]{f.shape, func(w *walker, n *node) (Type, bool) {
		name, ok := f.read(w, n)
		return ParseType(name), ok
	}}
}()

// draft is a field while it is being read: default and example can be read only once the
// type is known, but keys come in any order.
type draft struct {
	Field
	of, def, example *node
}

func nameOfField(f *Field) *Value[string] { return &f.Name }

// docKey is the key doc of a series value or a field.
var docKey = set("doc", prose("a doc"), func(d *draft) *string { return &d.Doc })

// typeKey is the key type of a series value or a field.
var typeKey = must(put("type", typeForm, func(d *draft) *Value[Type] { return &d.Type })).
	also(goTypes(Types()))

// goTypes lists the Go types of values.
func goTypes(types []Type) string {
	var names []string
	for _, t := range types {
		if name := t.Traits().Go.String(); name != "" {
			names = append(names, name)
		}
	}
	return "In Go: " + strings.Join(names, ", ") + ", or a type with constants (enum)."
}

// keyTypes returns the types that a row key can contain. The parser accepts the others for
// series values, since package layout reports them; only the JSON Schema excludes them.
func keyTypes() []Type {
	return slices.DeleteFunc(Types(), func(t Type) bool { return t.Traits().NoKey })
}

// ofKeyTypes returns a shape without the types that a row key cannot contain.
func ofKeyTypes(s shape) shape {
	s.words = nil
	for _, t := range keyTypes() {
		s.words = append(s.words, t.String())
	}
	return s
}

// seriesTypeKey is typeKey for a series value.
var seriesTypeKey = func() key[draft] {
	k := typeKey.also(goTypes(keyTypes()))
	k.shape = ofKeyTypes(k.shape)
	return k
}()

// ofKey holds the values of an enum.
var ofKey = key[draft]{
	name:  "of",
	shape: enumForm.shape,
	read:  func(_ *walker, n *node, d *draft) { d.of = n },
}

// exampleKey holds a value for documentation.
var exampleKey = key[draft]{
	name:  "example",
	shape: shape{kind: shapeScalar, what: "a value of the type"},
	read:  func(_ *walker, n *node, d *draft) { d.example = n },
}

// fieldExampleKey is the key example of a field.
var fieldExampleKey = key[draft]{
	name:  "example",
	shape: exampleKey.shape,
	read:  exampleKey.read,
}

// cardinalityKey holds the approximate number of distinct values of a series value.
var cardinalityKey = put("cardinality", integer[int64](1, 1<<53), func(d *draft) *Value[int64] { return &d.Cardinality })

var seriesBlock = block[draft]{
	what:  "a series value",
	keys:  []key[draft]{seriesTypeKey, ofKey, docKey, exampleKey, cardinalityKey},
	check: checkField,
	cases: seriesCases,
}

var fieldBlock = block[draft]{
	what: "a field",
	keys: []key[draft]{
		typeKey,
		ofKey,
		docKey,
		set("unit", prose("a unit"), func(d *draft) *string { return &d.Unit }),
		put("optional", boolean, func(d *draft) *Value[bool] { return &d.Optional }),
		{
			name:  "default",
			shape: shape{kind: shapeScalar, what: "a value of the type"},
			read:  func(_ *walker, n *node, d *draft) { d.def = n },
		},
		fieldExampleKey,
		put("column", filled("a column"), func(d *draft) *Value[string] { return &d.Column }),
		put("family", filled("a family"), func(d *draft) *Value[string] { return &d.Family }),
		put("values", exceptLists(word("value encoding", valueForms, nil)), func(d *draft) *Value[string] { return &d.Values }),
		put("number", numberForm, func(d *draft) *Value[int] { return &d.Number }),
		set("was", wasForm, func(d *draft) *[]Was { return &d.Was }),
	},
	check: checkField,
	cases: func() []caseShape {
		optional := caseShape{"optional", true, []keyShape{{name: "default", shape: never}}}
		return append(typeCases(Types(), "default", "example"), optional)
	},
}

var never = shape{kind: shapeNever, what: "nothing"}

// typeCases describes, for each type, the values that the given keys may have, as
// checkField checks them.
func typeCases(types []Type, values ...string) []caseShape {
	var cases []caseShape
	for _, t := range types {
		of := keyShape{name: "of", shape: never}
		if t == Enum {
			of = keyShape{name: "of", required: true, shape: enumForm.shape}
		}
		keys := []keyShape{of}
		for _, value := range values {
			keys = append(keys, keyShape{name: value, shape: t.form().shape})
		}
		cases = append(cases, caseShape{"type", t.String(), keys})
	}
	return cases
}

// seriesCases returns the typeCases of the types that a row key can contain.
func seriesCases() []caseShape {
	cases := typeCases(keyTypes(), "example")
	for i, c := range cases {
		if c.value == Enum.String() || c.value == Bool.String() {
			cases[i].keys = append(cases[i].keys, keyShape{name: "cardinality", shape: never})
		}
	}
	return cases
}

// seriesForm and fieldForm are the forms of a block, or of a type as its short form.
var (
	seriesForm = fieldFormOf(seriesBlock, ofKeyTypes(typeForm.shape))
	fieldForm  = fieldFormOf(fieldBlock, typeForm.shape)
)

// fieldFormOf returns the form of a block, with a type of the given shape as its short
// form.
func fieldFormOf(b block[draft], alone shape) form[Field] {
	long := flat(record(b), b.names())
	alone.words = slices.DeleteFunc(slices.Clone(alone.words), func(word string) bool { return word == Enum.String() }) // an enum needs values
	whole := short(alone, func(w *walker, n *node) (d draft, ok bool) {
		d.Type, ok = located(typeForm).read(w, n)
		if ok {
			checkField(w, n, &d)
		}
		return d, ok
	}, long)
	return form[Field]{whole.shape, func(w *walker, n *node) (Field, bool) {
		d, ok := whole.read(w, n)
		return d.Field, ok
	}}
}

// flat returns f with one error for a mapping without any of the keys: its author probably
// intended it to have separate fields.
func flat[V any](f form[V], keys []string) form[V] {
	return form[V]{f.shape, func(w *walker, n *node) (v V, ok bool) {
		isKey := func(e entry) bool {
			if slices.Contains(keys, e.key.text) {
				return true
			}
			_, near := diag.Nearest(e.key.text, keys)
			return near
		}
		isField := func(e entry) bool { return e.value.kind == mapping || slices.Contains(typeNames(), e.value.text) }
		if n.kind == mapping && len(n.entries) > 0 && !slices.ContainsFunc(n.entries, isKey) && slices.ContainsFunc(n.entries, isField) {
			w.reject(n.pos, "nested-value")
			return v, false
		}
		return f.read(w, n)
	}}
}

// checkField reports keys of a field that contradict each other, and reads its default and
// example.
func checkField(w *walker, n *node, d *draft) {
	if d.def != nil && d.Optional.V {
		w.reject(d.def.pos, "optional-default")
	}
	if d.of != nil && (d.Type.V == Enum || n.entry("type") == nil) {
		d.Of, _ = enumForm.read(w, d.of)
	}
	switch {
	case !d.Type.IsSet():
		return
	case d.Type.V == Enum && d.of == nil && !listsValues(n):
		w.reject(n.pos, "no-enum-values")
	case d.Type.V != Enum && d.of != nil:
		hint := "remove of"
		if d.of.kind != scalar {
			hint = "write `type: enum`, or remove of"
		}
		w.reject(d.of.pos, "values-of-other-type", d.Type.V, hint)
	}
	if k := listKey(n, "values"); k != nil {
		w.reject(k.pos, "values-as-enum")
	}
	if (d.Type.V == Enum || d.Type.V == Bool) && d.Cardinality.IsSet() {
		w.reject(d.Cardinality.Pos, "known-cardinality", d.Type.V)
	}
	d.Default = readTyped(w, d, d.def)
	d.Example = readTyped(w, d, d.example)
}

// listsValues reports whether a field lists the values of an enum, possibly under another
// name than of.
func listsValues(n *node) bool {
	return slices.ContainsFunc([]string{"of", "enum", "options", "symbols", "choices"}, func(key string) bool { return n.entry(key) != nil }) || listKey(n, "values") != nil
}

// listKey returns the given key of a mapping if its value is a list, else nil.
func listKey(n *node, key string) *node {
	i := slices.IndexFunc(n.entries, func(e entry) bool { return e.key.text == key && e.value.kind == list })
	if i < 0 {
		return nil
	}
	return n.entries[i].key
}

// readTyped reads a value of the field's type; n may be nil.
func readTyped(w *walker, d *draft, n *node) (out Value[any]) {
	if n == nil {
		return out
	}
	v, ok := d.Type.V.form().read(w, n)
	if ok && d.Type.V == Enum {
		ok = checkEnumValue(w, d, n)
	}
	if ok {
		out = Value[any]{V: v, Pos: n.pos}
	}
	return out
}

// checkEnumValue reports a value that the enum does not have, and whether it has it.
func checkEnumValue(w *walker, d *draft, n *node) bool {
	var names []string
	for _, v := range d.Of {
		names = append(names, v.Name.V)
	}
	if slices.Contains(names, n.text) {
		return true
	}
	if len(names) > 0 {
		w.reject(n.pos, "not-in-enum", quote(n.text), w.suggest(n.text, names, "the values are "))
	}
	return false
}

// enumForm is the form of the values of an enum: a list, numbered from 1, or a mapping to
// numbers.
var enumForm = func() form[[]EnumValue] {
	const what, example = "a list of names", "write `[drizzle, rain]` or `{drizzle: 1, rain: 2}`"
	names := distinct(listOf(what, example, located(enumNameForm)))
	number := integer(0, math.MaxInt32)
	numbered := named(what, example, enumNameForm, form[EnumValue]{number.shape, func(w *walker, n *node) (EnumValue, bool) {
		v, ok := located(number).read(w, n)
		return EnumValue{Number: v}, ok
	}}, func(v *EnumValue) *Value[string] { return &v.Name })
	s := shape{kind: shapeEither, what: what, either: []shape{names.shape, numbered.shape}}
	return form[[]EnumValue]{s, func(w *walker, n *node) ([]EnumValue, bool) {
		if n.kind == mapping {
			values, ok := numbered.read(w, n)
			checkEnumNumbers(w, values)
			return values, ok
		}
		all, ok := names.read(w, n)
		var values []EnumValue
		for i, name := range all {
			values = append(values, EnumValue{Name: name, Number: Value[int]{V: i + 1}})
		}
		return values, ok
	}}
}()

// checkEnumNumbers reports duplicate numbers.
func checkEnumNumbers(w *walker, values []EnumValue) {
	taken := map[int]string{}
	for _, v := range values {
		other, ok := taken[v.Number.V]
		if ok && v.Number.IsSet() {
			w.reject(v.Number.Pos, "same-number", v.Number.V, quote(other), diag.Code(strconv.Itoa(free(values))))
		}
		taken[v.Number.V] = v.Name.V
	}
}

// free returns a number that no value has.
func free(values []EnumValue) int {
	for n := len(values); ; n++ {
		if !slices.ContainsFunc(values, func(v EnumValue) bool { return v.Number.V == n }) {
			return n
		}
	}
}

// numberForm is the form of a protobuf field number.
var numberForm = func() form[int] {
	const first, last = 19000, 19999
	f := integer(1, 536870911)
	f.shape.not = []shape{{kind: shapeInteger, min: "19000", max: "19999"}}
	return form[int]{f.shape, func(w *walker, n *node) (int, bool) {
		v, ok := f.read(w, n)
		if ok && v >= first && v <= last {
			w.reject(n.pos, "reserved-number", first, last)
			return 0, false
		}
		return v, ok
	}}
}()
