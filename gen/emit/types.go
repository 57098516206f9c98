package emit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// suffix is the suffix of the names of the codec's functions for a type.
func suffix(t schema.Type) string { return t.Traits().Codec }

// appended is the suffix of the functions that append a value to JSON: integers of all widths have the same.
func appended(suffix string) string {
	if strings.HasSuffix(suffix, "nt32") || strings.HasSuffix(suffix, "nt64") {
		return suffix[:len(suffix)-2]
	}
	return suffix
}

// goType is the Go type of a value, without regard to whether it is optional.
func (s *schemaFile) goType(f *layout.Field) *jen.Statement {
	switch t := f.Type.Traits().Go; {
	case f.Type == schema.Enum:
		return s.own(s.names.Field(f).Enum)
	case t.Package == schema.CodecPackage:
		return s.codec(t.Name)
	case t.Package != "":
		return jen.Qual(t.Package, t.Name)
	default:
		return jen.Id(t.Name)
	}
}

// isSlice reports whether nil stands for an absent value of the type, so that
// an optional one needs no pointer.
func isSlice(f *layout.Field) bool { return f.Type.Traits().Nilable }

// isPointer reports whether the field of an event is a pointer to the value.
func isPointer(f *layout.Field) bool { return f.Optional && !isSlice(f) }

// fieldType is the type of the field in the event.
func (s *schemaFile) fieldType(f *layout.Field) *jen.Statement {
	if isPointer(f) {
		return s.code("*$1", s.goType(f))
	}
	return s.goType(f)
}

// member is the field of the event e.
func (s *schemaFile) member(f *layout.Field) *jen.Statement {
	return s.code("e.$1", s.names.Field(f).Name)
}

// value is the field of e, as a value of its goType.
func (s *schemaFile) value(f *layout.Field) *jen.Statement {
	if isPointer(f) {
		return s.code("*e.$1", s.names.Field(f).Name)
	}
	return s.member(f)
}

// encodable is the field of e in the form that the codec requires, with enums as numbers.
func (s *schemaFile) encodable(f *layout.Field) *jen.Statement {
	if f.Type == schema.Enum {
		return s.code("int64($1)", s.value(f))
	}
	return s.value(f)
}

// ifSet guards code by the condition that the field of e is set, if there is one that may be absent.
func (s *schemaFile) ifSet(f *layout.Field, code *jen.Statement) *jen.Statement {
	if f == nil || !f.Optional {
		return code
	}
	return s.code("if $1 != nil {\n$2\n}", s.member(f), code)
}

// encoding is the codec's name for the encoding of a column.
func encoding(v codec.Values) string {
	return [...]string{codec.BinaryValues: "Binary", codec.TextValues: "Text", codec.BigEndianValues: "BigEndian", codec.LittleEndianValues: "LittleEndian"}[v]
}

// literal is a value of a field's type as Go source.
func (s *schemaFile) literal(f *layout.Field, value any) *jen.Statement {
	switch v := value.(type) {
	case string:
		switch f.Type {
		case schema.UUID:
			return s.uuidLiteral(v)
		case schema.Enum:
			return s.own(s.names.Field(f).Value(v))
		case schema.JSON:
			return s.code("json.RawMessage($1)", jen.Lit(v))
		}
		return jen.Lit(v)
	case []byte:
		return s.code("[]byte($1)", jen.Lit(string(v)))
	case uint64:
		return jen.Id(strconv.FormatUint(v, 10))
	case float64:
		return jen.Id(strconv.FormatFloat(v, 'g', -1, 64))
	case nil:
		return jen.Nil()
	}
	return s.lit(value)
}

// uuidLiteral renders a canonical UUID as an array of bytes.
func (s *schemaFile) uuidLiteral(text string) *jen.Statement {
	u, err := codec.ParseUUID(text)
	if err != nil {
		return s.code("codec.UUID{}") // the schema has refused it
	}
	return s.code("codec.UUID{$1}", jen.List(each(u[:], func(_ int, b *byte) jen.Code { return jen.Id(fmt.Sprintf("%#02x", *b)) })...))
}
