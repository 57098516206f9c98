package schema

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// types are the types of the language: the word for each, and the form of a
// default value. The default of an enum depends on its values.
var types = []struct {
	typ  Type
	name string
	def  form[any]
}{
	{String, "string", boxed(text("a text"))},
	{Bytes, "bytes", boxed(parsed("base64", "write base64", parseBase64).like(func(s *shape) { s.syntax = []string{base64Syntax} }))},
	{Bool, "bool", boxed(boolean)},
	{Int32, "int32", boxed(integer[int64](math.MinInt32, math.MaxInt32))},
	{Int64, "int64", boxed(integer[int64](math.MinInt64, math.MaxInt64))},
	{Uint32, "uint32", boxed(unsigned(32))},
	{Uint64, "uint64", boxed(unsigned(64))},
	{Float32, "float32", boxed(float(32))},
	{Float64, "float64", boxed(float(64))},
	{Timestamp, "timestamp", boxed(parsed("a time", "write it as in 2021-03-05T12:00:00Z", parseTime).like(func(s *shape) { s.format = "date-time" }))},
	{Duration, "duration", boxed(parsed("a duration", "write it as in 1h30m", ParseDuration).like(func(s *shape) { s.syntax, s.least, s.most = []string{durationSyntax}, 2, maxQuantity }))},
	{UUID, "uuid", boxed(parsed("a UUID", "write it as in 123e4567-e89b-12d3-a456-426614174000", parseUUID).like(func(s *shape) { s.syntax = []string{uuidSyntax} }))},
	{Enum, "enum", boxed(text("the name of an enum value"))},
	{JSON, "json", boxed(parsed("JSON in quotes", `write it in single quotes, as in '{"a": 1}'`, parseJSON))},
}

// String returns the type as the language writes it.
func (t Type) String() string {
	for _, known := range types {
		if known.typ == t {
			return known.name
		}
	}
	return "invalid"
}

// typeForm is the name of a type.
var typeForm = func() form[Type] {
	names := typeNames()
	f := hintedWord("type", names, typeHint)
	return form[Type]{f.shape, func(w *walker, n *node) (Type, bool) {
		name, ok := f.read(w, n)
		return Type(1 + slices.Index(names, name)), ok
	}}
}()

// draft is a field that is being read: a default can be read only when the
// type is known, and keys may stand in any order.
type draft struct {
	Field
	of, def, example *node
}

func nameOfField(f *Field) *Value[string] { return &f.Name }

// docKey is the key doc of a series value or a field.
var docKey = set("doc", "what the value is, for people", prose("a doc"), func(d *draft) *string { return &d.Doc }).
	also("It becomes a comment in the generated code.")

// typeKey is the key type of a series value or a field.
var typeKey = must(put("type", "the type of the value", typeForm, func(d *draft) *Value[Type] { return &d.Type })).
	also("In Go: string, []byte, bool, int32 to uint64, float32, float64, time.Time, time.Duration, [16]byte, a type with constants (enum), json.RawMessage.")

// noKey are the types that a row key cannot hold. A reader of the language takes
// them for series values, too, and leaves it to layouts to refuse them: so only
// editors are told.
var noKey = []Type{Float32, Float64, JSON}

// keyTypes leaves the types out that a row key cannot hold.
func keyTypes(s shape) shape {
	s.words = slices.DeleteFunc(slices.Clone(s.words), func(word string) bool {
		return slices.ContainsFunc(noKey, func(t Type) bool { return t.String() == word })
	})
	return s
}

// seriesTypeKey is typeKey for a series value.
var seriesTypeKey = func() key[draft] {
	k := typeKey.also("In Go: string, []byte, bool, int32 to uint64, time.Time, time.Duration, [16]byte, a type with constants (enum).")
	k.shape = keyTypes(k.shape)
	return k
}()

// ofKey is the key of the values of an enum.
var ofKey = key[draft]{
	name: "of", doc: "the values of an enum, as in [drizzle, rain] or {drizzle: 1, rain: 2}",
	more:  "Those of a list are numbered from 1. Numbers are stored: never change or reuse one.",
	shape: enumForm.shape,
	read: func(w *walker, n *node, d *draft) {
		d.of = n
		d.Of, _ = enumForm.read(w, n)
	},
}

// exampleKey is the key example of a series value.
var exampleKey = key[draft]{
	name: "example", doc: "a value for drawings of the row key",
	more:  "For instance {type: string, example: us-west2}. The default is a value of the type.",
	shape: shape{kind: shapeScalar, what: "a value of the type"},
	read:  func(_ *walker, n *node, d *draft) { d.example = n },
}

// fieldExampleKey is the key example of a field.
var fieldExampleKey = key[draft]{
	name: "example", doc: "a typical value, for example events",
	more:  "For instance {type: int64, unit: dBm, example: -67}. Later events vary it. The default is a guess from name and unit.",
	shape: exampleKey.shape,
	read:  exampleKey.read,
}

// cardinalityKey is the key of how many values a series value has.
var cardinalityKey = put("cardinality", "about how many different values there are", integer[int64](1, 1<<53), func(d *draft) *Value[int64] { return &d.Cardinality }).
	also("For the check of hotspots, and to choose the table of a query. For instance {type: string, cardinality: 3}; enums and bools need none.")

var seriesBlock = block[draft]{
	what:    "a series value",
	example: "write a type, as in balloon_id: int64",
	keys:    []key[draft]{seriesTypeKey, ofKey, docKey, exampleKey, cardinalityKey},
	check:   checkField,
	cases:   seriesCases,
	elsewhere: map[string]string{
		"optional": "every row key holds every series value: leave it out",
		"default":  "every row key holds every series value: leave it out",
		"number":   "series values are not serialized: leave it out",
		"column":   "series values are in the row key: leave it out",
		"family":   "series values are in the row key: leave it out",
		"values":   "series values are in the row key: write key: {segments: [{name: …, encoding: text}]}",
		"encoding": "write key: {segments: [{name: …, encoding: hex}]}",
	},
}

var fieldBlock = block[draft]{
	what:    "a field",
	example: "write a type, as in pressure: int64",
	keys: []key[draft]{
		typeKey,
		ofKey,
		docKey,
		set("unit", "the unit of the value, for people", prose("a unit"), func(d *draft) *string { return &d.Unit }).
			also(`For instance Pa, °C or "%". It becomes a comment in the generated code.`),
		put("optional", "whether an event may lack the value; it is a pointer in Go", boolean, func(d *draft) *Value[bool] { return &d.Optional }).
			also("The default is false: a stored event that lacks the value, and has no default, cannot be read."),
		{
			name: "default", doc: "the value where a stored event lacks it",
			more:  "For fields that are added when there are events already. An optional field has none.",
			shape: shape{kind: shapeScalar, what: "a value of the type"},
			read:  func(_ *walker, n *node, d *draft) { d.def = n },
		},
		fieldExampleKey,
		put("column", "the column, where it is not the name", filled("a column"), func(d *draft) *Value[string] { return &d.Column }).
			also("Short columns save space: in most patterns they are stored with every cell."),
		put("family", "the family, in a table with several", filled("a family"), func(d *draft) *Value[string] { return &d.Family }).
			also("One of the families of its tables."),
		put("values", "how the value is written: text is readable in cbt", word("form of values", valueForms, nil), func(d *draft) *Value[string] { return &d.Values }).
			also("The default is what the table says. Binary is big-endian int64 and IEEE 754."),
		put("number", "the field number in protobuf", numberForm, func(d *draft) *Value[int] { return &d.Number }).
			also("Without 19000 to 19999, which protobuf has for itself. Needed where a table stores protobuf; never change or reuse one."),
	},
	elsewhere: map[string]string{
		"cardinality": "only series values have one: leave it out",
	},
	check: checkField,
	cases: func() []caseShape {
		optional := caseShape{"optional", true, []keyShape{{name: "default", shape: never}}}
		return append(typeCases("default", "example"), optional)
	},
}

var never = shape{kind: shapeNever, what: "nothing"}

// typeCases says of each type what its values may be, at the keys that have one:
// what checkField checks.
func typeCases(values ...string) []caseShape {
	var cases []caseShape
	for _, t := range types {
		of := keyShape{name: "of", shape: never}
		if t.typ == Enum {
			of = keyShape{name: "of", required: true, shape: enumForm.shape}
		}
		keys := []keyShape{of}
		for _, value := range values {
			keys = append(keys, keyShape{name: value, shape: t.def.shape})
		}
		cases = append(cases, caseShape{"type", t.name, keys})
	}
	return cases
}

// seriesCases are the typeCases of the types that a row key can hold.
func seriesCases() []caseShape {
	cases := slices.DeleteFunc(typeCases("example"), func(c caseShape) bool {
		return slices.ContainsFunc(noKey, func(t Type) bool { return t.String() == c.value })
	})
	for i, c := range cases {
		if c.value == Enum.String() || c.value == Bool.String() {
			cases[i].keys = append(cases[i].keys, keyShape{name: "cardinality", shape: never})
		}
	}
	return cases
}

// seriesForm and fieldForm are a block, or its type alone.
var (
	seriesForm = fieldFormOf(seriesBlock, keyTypes(typeForm.shape))
	fieldForm  = fieldFormOf(fieldBlock, typeForm.shape)
)

// fieldFormOf returns the form of a block, or of a type of a shape alone.
func fieldFormOf(b block[draft], alone shape) form[Field] {
	long := record(b)
	alone.words = slices.DeleteFunc(slices.Clone(alone.words), func(word string) bool { return word == Enum.String() }) // it needs its values
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

// checkField reports what is wrong between the keys of a field, and reads its
// default and its example.
func checkField(w *walker, n *node, d *draft) {
	if d.def != nil && d.Optional.V {
		w.errorf(d.def.pos, "an optional field cannot have a default: where the value is missing, either it is nil or the default").Hint = "remove one of the two"
	}
	switch {
	case !d.Type.IsSet():
		return
	case d.Type.V == Enum && d.of == nil && n.entry("of") == nil:
		w.errorf(n.pos, "an enum needs its values").Hint = "write `{type: enum, of: [drizzle, rain]}`"
	case d.Type.V != Enum && d.of != nil:
		w.errorf(d.of.pos, "only an enum has values, and this is of type %s", d.Type.V).Hint = "write `type: enum`, or remove the key of"
	}
	if (d.Type.V == Enum || d.Type.V == Bool) && d.Cardinality.IsSet() {
		w.errorf(d.Cardinality.Pos, "the type %s says how many values there are", d.Type.V).Hint = "leave cardinality out"
	}
	d.Default = readTyped(w, d, d.def)
	d.Example = readTyped(w, d, d.example)
}

// readTyped reads a value of the field's type, if there is one.
func readTyped(w *walker, d *draft, n *node) (out Value[any]) {
	if n == nil {
		return out
	}
	v, ok := types[d.Type.V-1].def.read(w, n)
	if ok && d.Type.V == Enum {
		ok = checkEnumValue(w, d, n)
	}
	if ok {
		out = Value[any]{V: v, Pos: n.pos}
	}
	return out
}

// checkEnumValue reports a value that is none of the enum's.
func checkEnumValue(w *walker, d *draft, n *node) bool {
	var names []string
	for _, v := range d.Of {
		names = append(names, v.Name.V)
	}
	if slices.Contains(names, n.text) {
		return true
	}
	if len(names) > 0 {
		w.errorf(n.pos, "%s is no value of the enum", quote(n.text)).Hint = w.suggest(n.text, names, "the values are ")
	}
	return false
}

// enumForm is the values of an enum: numbered from 1, or as the file says.
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

// checkEnumNumbers reports numbers that two values have.
func checkEnumNumbers(w *walker, values []EnumValue) {
	taken := map[int]string{}
	for _, v := range values {
		other, ok := taken[v.Number.V]
		if ok && v.Number.IsSet() {
			w.errorf(v.Number.Pos, "the number %d is that of %s already", v.Number.V, quote(other)).Hint = "number every value differently"
		}
		taken[v.Number.V] = v.Name.V
	}
}

// numberForm is a field number of protobuf.
var numberForm = func() form[int] {
	const first, last = 19000, 19999
	f := integer(1, 536870911)
	f.shape.not = []shape{{kind: shapeInteger, min: "19000", max: "19999"}}
	return form[int]{f.shape, func(w *walker, n *node) (int, bool) {
		v, ok := f.read(w, n)
		if ok && v >= first && v <= last {
			w.errorf(n.pos, "the numbers from %d to %d belong to protobuf itself", first, last).Hint = "write another number"
			return 0, false
		}
		return v, ok
	}}
}()

// base64Syntax is what parseBase64 reads, but for the number of characters.
const base64Syntax = `^[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*$`

func parseBase64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, &problem{quote(s) + " is not base64", "write the bytes in standard base64 with padding, as in " + base64.StdEncoding.EncodeToString([]byte(s[:min(len(s), 8)]))}
	}
	return b, nil
}

const uuidSyntax = `^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`

var uuidText = regexp.MustCompile(uuidSyntax)

func parseUUID(s string) (string, error) {
	if !uuidText.MatchString(s) {
		return "", &problem{quote(s) + " is not a UUID", "write it as in 123e4567-e89b-12d3-a456-426614174000"}
	}
	return strings.ToLower(s), nil
}

func parseJSON(s string) (string, error) {
	if !json.Valid([]byte(s)) {
		return "", &problem{quote(s) + " is not valid JSON", fmt.Sprintf("write JSON in single quotes, as in '%s'", `{"a": 1}`)}
	}
	return s, nil
}
