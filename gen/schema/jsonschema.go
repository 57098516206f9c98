package schema

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// JSONSchema returns the JSON Schema of the language, for editors. It is made of
// the tables that Parse walks, and refuses what they refuse, as far as JSON
// Schema can say it: it knows nothing of what stands elsewhere in the file.
//
// It is draft-07, since not all versions of yaml-language-server, which most
// editors use, read a later one. The same version of btgen gives the same bytes.
func JSONSchema() []byte { return writeJSONSchema("a schema of btgen", rootBlock.shape()) }

// ConfigJSONSchema is JSONSchema for btgen.yaml.
func ConfigJSONSchema() []byte { return writeJSONSchema(ConfigName, configBlock.shape()) }

// jsonSchema is a JSON Schema, as far as the language needs it, in the order in
// which it is written.
type jsonSchema struct {
	Schema         string        `json:"$schema,omitempty"`
	Comment        string        `json:"$comment,omitempty"`
	Ref            string        `json:"$ref,omitempty"`
	Title          string        `json:"title,omitempty"`
	Description    string        `json:"description,omitempty"`
	Type           any           `json:"type,omitempty"` // a string, or several
	Const          any           `json:"const,omitempty"`
	Enum           []string      `json:"enum,omitempty"`
	Format         string        `json:"format,omitempty"`
	Pattern        string        `json:"pattern,omitempty"`
	PatternMessage string        `json:"patternErrorMessage,omitempty"` // what editors show instead of the pattern
	MinLength      int           `json:"minLength,omitempty"`
	MaxLength      int           `json:"maxLength,omitempty"`
	Minimum        json.Number   `json:"minimum,omitempty"`
	Maximum        json.Number   `json:"maximum,omitempty"`
	MinItems       int           `json:"minItems,omitempty"`
	UniqueItems    bool          `json:"uniqueItems,omitempty"`
	Items          *jsonSchema   `json:"items,omitempty"`
	MinProperties  int           `json:"minProperties,omitempty"`
	PropertyNames  *jsonSchema   `json:"propertyNames,omitempty"`
	Properties     properties    `json:"properties,omitempty"`
	Additional     any           `json:"additionalProperties,omitempty"` // false, or a schema
	Required       []string      `json:"required,omitempty"`
	Not            *jsonSchema   `json:"not,omitempty"`
	AnyOf          []*jsonSchema `json:"anyOf,omitempty"`
	AllOf          []*jsonSchema `json:"allOf,omitempty"`
	If             *jsonSchema   `json:"if,omitempty"`
	Then           *jsonSchema   `json:"then,omitempty"`
	Definitions    properties    `json:"definitions,omitempty"`
}

// properties are the schemas of keys, in their order.
type properties []property

type property struct {
	name   string
	schema any // a *jsonSchema, or false for a key that cannot be there
}

// MarshalJSON writes an object.
func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, entry := range p {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		name, err := json.Marshal(entry.name)
		if err != nil {
			return nil, err
		}
		value, err := marshal(entry.schema)
		if err != nil {
			return nil, err
		}
		b.Write(slices.Concat(name, []byte(":"), value))
	}
	b.WriteString("}")
	return b.Bytes(), nil
}

// marshal is json.Marshal for people: it escapes nothing for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return b.Bytes(), err
}

// writeJSONSchema writes the schema of a file.
func writeJSONSchema(title string, s shape) []byte {
	var m schemaMaker
	root := m.schema(s)
	root.Schema = "http://json-schema.org/draft-07/schema#"
	root.Comment = "Written by btgen schema: after an update of btgen, write it again."
	root.Title = title
	root.Definitions = m.definitions
	compact, err := marshal(root)
	if err != nil {
		panic(err) // no input has a part in it
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// schemaMaker makes JSON Schemas of shapes.
type schemaMaker struct {
	definitions properties // of the shapes that may contain themselves
}

// schema returns what s allows.
func (m *schemaMaker) schema(s shape) *jsonSchema {
	switch s.kind {
	case shapeWord:
		return &jsonSchema{Type: "string", Enum: s.words}
	case shapeBool:
		return boolSchema(s)
	case shapeInteger:
		// Readers of YAML 1.2 take a number with underscores for a text.
		return &jsonSchema{Type: []string{"integer", "string"}, Pattern: "^-?[1-9][0-9]*(_[0-9]+)+$", PatternMessage: "expected " + s.what, Minimum: s.min, Maximum: s.max, Not: m.not(s)}
	case shapeNumber:
		return &jsonSchema{Type: "number", Minimum: s.min, Maximum: s.max}
	case shapeText, shapeScalar:
		return m.text(s)
	case shapeList:
		return &jsonSchema{Title: s.what, Type: "array", MinItems: s.least, UniqueItems: s.distinct, Items: m.schema(s.item())}
	case shapeOpen:
		return &jsonSchema{Title: s.what, Type: "object", MinProperties: s.least, PropertyNames: m.schema(*s.name), Additional: m.schema(s.item())}
	case shapeClosed:
		return m.closed(s)
	case shapeLazy:
		return m.reference(s.item())
	default:
		return m.either(s)
	}
}

func boolSchema(s shape) *jsonSchema {
	if len(s.words) == 1 {
		return &jsonSchema{Const: s.words[0] == "true"}
	}
	return &jsonSchema{Type: "boolean"}
}

// text returns the schema of a text. Where any text is right, YAML's numbers and
// booleans are texts too.
func (m *schemaMaker) text(s shape) *jsonSchema {
	out := &jsonSchema{Type: scalarTypes(s), Format: s.format, MinLength: s.least, MaxLength: s.most, Not: m.not(s)}
	for i, syntax := range s.syntax {
		if i > 0 {
			out.AllOf = append(out.AllOf, &jsonSchema{Pattern: syntax, PatternMessage: out.PatternMessage})
			continue
		}
		out.Pattern, out.PatternMessage = syntax, "expected "+s.what
		if s.example != "" {
			out.PatternMessage += ": " + s.example
		}
	}
	return out
}

// scalarTypes returns what the texts of a shape may be to a reader of YAML.
func scalarTypes(s shape) any {
	types := []string{"string"}
	for _, other := range []struct {
		name  string
		texts []string // as such values are written
	}{
		{"number", []string{"1", "1234", "1.5"}},
		{"boolean", []string{"true", "True"}},
	} {
		if slices.ContainsFunc(other.texts, func(text string) bool { return matches(s, text) }) {
			types = append(types, other.name)
		}
	}
	if len(types) == 1 {
		return "string"
	}
	return types
}

// matches reports whether a text has the syntax of s.
func matches(s shape, text string) bool {
	for _, syntax := range s.syntax {
		if !regexp.MustCompile(syntax).MatchString(text) {
			return false
		}
	}
	return s.format == ""
}

// not returns the schema of what s cannot be, or nil.
func (m *schemaMaker) not(s shape) *jsonSchema {
	var out []*jsonSchema
	for _, n := range s.not {
		switch schema := m.schema(n); n.kind {
		case shapeText:
			out = append(out, &jsonSchema{Type: "string", Pattern: schema.Pattern})
		case shapeInteger:
			out = append(out, &jsonSchema{Type: "integer", Minimum: schema.Minimum, Maximum: schema.Maximum})
		default:
			out = append(out, schema)
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	default:
		return &jsonSchema{AnyOf: out}
	}
}

// closed returns the schema of a mapping with certain keys.
func (m *schemaMaker) closed(s shape) *jsonSchema {
	out := &jsonSchema{Title: s.what, Type: "object", Additional: false}
	for _, k := range s.keys() {
		schema := m.schema(k.shape)
		schema.Description = describe(k)
		out.Properties = append(out.Properties, property{k.name, schema})
		if k.required {
			out.Required = append(out.Required, k.name)
		}
	}
	if s.cases == nil {
		return out
	}
	for _, c := range s.cases() {
		out.AllOf = append(out.AllOf, m.oneCase(c))
	}
	return out
}

// oneCase returns the schema that says something of keys where another has a value.
func (m *schemaMaker) oneCase(c caseShape) *jsonSchema {
	then := &jsonSchema{}
	for _, k := range c.keys {
		if k.shape.kind == shapeNever {
			then.Properties = append(then.Properties, property{k.name, false})
			continue
		}
		then.Properties = append(then.Properties, property{k.name, m.schema(k.shape)})
		if k.required {
			then.Required = append(then.Required, k.name)
		}
	}
	has := &jsonSchema{Properties: properties{{c.key, &jsonSchema{Const: c.value}}}, Required: []string{c.key}}
	return &jsonSchema{If: has, Then: then}
}

// reference returns a reference to the definition of s, which may contain itself.
func (m *schemaMaker) reference(s shape) *jsonSchema {
	name := snake(s.what)
	if !slices.ContainsFunc(m.definitions, func(p property) bool { return p.name == name }) {
		at := len(m.definitions)
		m.definitions = append(m.definitions, property{name: name})
		m.definitions[at].schema = m.schema(s)
	}
	return &jsonSchema{Ref: "#/definitions/" + name}
}

// either returns the schema of a choice.
func (m *schemaMaker) either(s shape) *jsonSchema {
	out := &jsonSchema{Title: s.what}
	for _, e := range s.either {
		out.AnyOf = append(out.AnyOf, m.schema(e))
	}
	return out
}

// describe returns what an editor shows of a key.
func describe(k keyShape) string {
	text := sentence(k.doc)
	if k.shape.kind == shapeInteger {
		text += " " + sentence(k.shape.what)
	}
	return strings.TrimSpace(text + " " + k.more)
}

// sentence returns a text with a capital letter and a full stop.
func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:] + "."
}
