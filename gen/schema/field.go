package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
)

// typeForm is the form of a type name.
var typeForm = as(word("type", typeNames(), typeHint), func(name string, _ diag.Pos) Type { return ParseType(name) }, Type.String)

func nameOfField(f *Field) *Value[string] { return &f.Name }

// docKey is the key doc of a series value or a field.
var docKey = set("doc", prose("a doc"), func(f *Field) *string { return &f.Doc })

// typeKey is the key type of a series value or a field.
var typeKey = must(put("type", typeForm, func(f *Field) *Value[Type] { return &f.Type }))

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

// seriesTypeKey is typeKey for a series value.
var seriesTypeKey = func() key[Field] {
	k := typeKey
	k.shape.json.Enum = wordsOf(keyTypes())
	return k
}()

// ofKey holds the values of an enum, which checkField reads.
var ofKey = set("of", enumForm, func(f *Field) *[]EnumValue { return &f.Of }).inCheck()

// typedKey returns a key with a value of the type, which checkField reads: keys come in any order.
func typedKey(name string, at func(*Field) *any) key[Field] {
	k := set(name, form[any]{shape: shape{what: "a value of the type"}}, at).inCheck()
	k.typed = true
	return k
}

// exampleKey holds a value for documentation.
var exampleKey = typedKey("example", func(f *Field) *any { return &f.Example })

// cardinalityKey holds the approximate number of distinct values of a series value.
var cardinalityKey = set("cardinality", integer[int64](1, 1<<53), func(f *Field) *int64 { return &f.Cardinality }).
	ofTypes(func(t Type) bool { return t != Enum && t != Bool }, "known-cardinality")

var seriesKeys = []key[Field]{seriesTypeKey, ofKey, docKey, exampleKey, cardinalityKey}

var seriesBlock = block[Field]{
	what:  "a series value",
	keys:  seriesKeys,
	check: func(w *walker, n *node, f *Field) { checkField(w, n, f, seriesKeys) },
	cases: func() []caseShape { return typeCases(keyTypes(), seriesKeys) },
}

var fieldKeys = append([]key[Field]{
	typeKey,
	ofKey,
	docKey,
	set("unit", prose("a unit"), func(f *Field) *string { return &f.Unit }),
	set("optional", boolean, func(f *Field) *bool { return &f.Optional }),
	typedKey("default", func(f *Field) *any { return &f.Default }),
	exampleKey,
	put("column", filled("a column"), func(f *Field) *Value[string] { return &f.Column }),
	put("family", filled("a family"), func(f *Field) *Value[string] { return &f.Family }),
	put("values", word("value encoding", valueForms).unless(isList), func(f *Field) *Value[string] { return &f.Values }),
	put("number", numberForm, func(f *Field) *Value[int] { return &f.Number }),
	set("was", wasForm, func(f *Field) *[]Was { return &f.Was }),
}, sketchKeys()...)

var fieldBlock = block[Field]{
	what:  "a field",
	keys:  fieldKeys,
	check: func(w *walker, n *node, f *Field) { checkField(w, n, f, fieldKeys) },
	cases: func() []caseShape {
		cases := typeCases(Types(), fieldKeys)
		return append(cases, caseShape{"optional", true, []keyShape{{name: "default", shape: never}}})
	},
}

var never = shape{kind: shapeNever, what: "nothing"}

// typeCases describes, for each type, the values that keys may have, as checkField checks
// them.
func typeCases(types []Type, all []key[Field]) []caseShape {
	var cases []caseShape
	for _, t := range types {
		of := keyShape{name: "of", shape: never}
		if t == Enum {
			of = keyShape{name: "of", required: true, shape: enumForm.shape}
		}
		keys := []keyShape{of}
		for _, k := range all {
			if k.typed {
				keys = append(keys, keyShape{name: k.name, shape: t.form().shape})
			} else if !k.fits(t) {
				keys = append(keys, keyShape{name: k.name, shape: never})
			}
		}
		cases = append(cases, caseShape{"type", t.String(), keys})
	}
	return cases
}

// seriesForm and fieldForm are the forms of a block, or of a type.
var seriesForm, fieldForm = fieldFormOf(seriesBlock), fieldFormOf(fieldBlock)

// fieldFormOf returns the form of a block, or of a type.
func fieldFormOf(b block[Field]) form[Field] {
	f := short(b, "type").unless(nested(b.names()))
	alone := &f.shape.either[0].json
	alone.Enum = slices.DeleteFunc(slices.Clone(alone.Enum), func(word string) bool { return word == Enum.String() }) // an enum needs values
	return f
}

// nested returns a function with one error for a mapping without any of the keys: its author probably
// intended it to have separate fields.
func nested(keys []string) func(w *walker, n *node) bool {
	isKey := func(e entry) bool {
		_, near := diag.Nearest(e.key.text, keys)
		return near || slices.Contains(keys, e.key.text)
	}
	isField := func(e entry) bool { return e.value.kind == mapping || slices.Contains(typeNames(), e.value.text) }
	return func(w *walker, n *node) bool {
		is := n.kind == mapping && !slices.ContainsFunc(n.entries, isKey) && slices.ContainsFunc(n.entries, isField)
		if is {
			w.reject(n.pos, "nested-value")
		}
		return is
	}
}

// checkField reports keys of a field that contradict each other, and reads its values, default and
// example.
func checkField(w *walker, n *node, f *Field, keys []key[Field]) {
	of, def := n.given("of"), n.given("default")
	if def != nil && f.Optional {
		w.reject(def.pos, "optional-default")
	}
	if of != nil && (f.Type.V == Enum || n.entry("type") == nil) {
		f.Of, _ = enumForm.read(w, of)
	}
	switch {
	case !f.Type.IsSet():
		return
	case f.Type.V == Enum && of == nil && !listsValues(n):
		w.reject(n.pos, "no-enum-values")
	case f.Type.V != Enum && of != nil:
		hint := "remove of"
		if of.kind != scalar {
			hint = "write `type: enum`, or remove of"
		}
		w.reject(of.pos, "values-of-other-type", f.Type.V, hint)
	}
	if k := listKey(n, "values"); k != nil {
		w.reject(k.pos, "values-as-enum")
	}
	for _, k := range keys {
		if v := n.given(k.name); v != nil && !k.fits(f.Type.V) {
			w.reject(v.pos, k.misfit, f.Type.V, k.name, k.name)
		}
	}
	f.Default = readTyped(w, f, def)
	if example := n.given("example"); example != nil {
		f.Example, f.ExamplePos = readTyped(w, f, example), example.pos
	}
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

// readTyped reads a value of the field's type; n may be nil. It returns nil if there is none.
func readTyped(w *walker, f *Field, n *node) any {
	if n == nil {
		return nil
	}
	v, ok := f.Type.V.form().read(w, n)
	if ok && f.Type.V == Enum {
		names := namesOf(f.Of, func(v *EnumValue) *Value[string] { return &v.Name })
		w.known(Value[string]{n.text, n.pos}, names, "not-in-enum", "the values are ")
		ok = slices.Contains(names, n.text)
	}
	if !ok {
		return nil
	}
	return v
}

// enumForm is the form of the values of an enum: a list, numbered from 1, or a mapping to
// numbers.
var enumForm = func() form[[]EnumValue] {
	const what, example = "a list of names", "write `[drizzle, rain]` or `{drizzle: 1, rain: 2}`"
	number := in(integer(0, math.MaxInt32), func(v *EnumValue) *Value[int] { return &v.Number })
	numbered := named(what, example, enumNameForm, number, func(v *EnumValue) *Value[string] { return &v.Name })
	names := as(distinct(listOf(what, example, located(enumNameForm))), func(all []Value[string], _ diag.Pos) (values []EnumValue) {
		for i, name := range all {
			values = append(values, EnumValue{Name: name, Number: Value[int]{V: i + 1}})
		}
		return values
	}, func(values []EnumValue) (all []Value[string]) {
		for _, v := range values {
			all = append(all, v.Name)
		}
		return all
	})
	return either(mapping, numbered.checked(checkEnumNumbers), names, func(values []EnumValue) bool { return values[0].Number.IsSet() })
}()

// checkEnumNumbers reports duplicate numbers.
func checkEnumNumbers(w *walker, _ *node, values []EnumValue) ([]EnumValue, bool) {
	taken := map[int]string{}
	for _, v := range values {
		other, ok := taken[v.Number.V]
		if ok && v.Number.IsSet() {
			w.reject(v.Number.Pos, "same-number", v.Number.V, quote(other), diag.Code(strconv.Itoa(free(values))))
		}
		taken[v.Number.V] = v.Name.V
	}
	return values, true
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
	return integer(1, 536870911).checked(func(w *walker, n *node, v int) (int, bool) {
		reserved := v >= first && v <= last
		if reserved {
			w.reject(n.pos, "reserved-number", first, last)
		}
		return v, !reserved
	}).like(func(s *shape) {
		s.json.Not = &jsonSchema{Type: "integer", Minimum: json.Number(strconv.Itoa(first)), Maximum: json.Number(strconv.Itoa(last))}
	})
}()
