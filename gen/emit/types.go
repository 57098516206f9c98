package emit

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// suffix is the suffix of the names of the codec's functions for a type.
func suffix(t schema.Type) string { return t.Traits().Codec }

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

// fieldType is the type of the field in the event.
func (s *schemaFile) fieldType(f *layout.Field) *jen.Statement {
	if f.Optional && !isSlice(f) {
		return jen.Op("*").Add(s.goType(f))
	}
	return s.goType(f)
}

// value is the field of e, as a value of its goType.
func (s *schemaFile) value(e string, f *layout.Field) *jen.Statement {
	v := jen.Id(e).Dot(s.names.Field(f).Name)
	if f.Optional && !isSlice(f) {
		return jen.Op("*").Add(v)
	}
	return v
}

// encodable is the field of e in the form that the codec requires, with enums as numbers.
func (s *schemaFile) encodable(e string, f *layout.Field) *jen.Statement {
	if f.Type == schema.Enum {
		return jen.Int64().Parens(s.value(e, f))
	}
	return s.value(e, f)
}

// isSet is the condition that an optional field of e is set.
func (s *schemaFile) isSet(e string, f *layout.Field) *jen.Statement {
	return jen.Id(e).Dot(s.names.Field(f).Name).Op("!=").Nil()
}

// ifSet guards code by isSet if the field is optional.
func (s *schemaFile) ifSet(e string, f *layout.Field, code ...jen.Code) *jen.Statement {
	if !f.Optional {
		out := jen.Null()
		for i, c := range code {
			if i > 0 {
				out.Line()
			}
			out.Add(c)
		}
		return out
	}
	return jen.If(s.isSet(e, f)).Block(code...)
}

// encoding is the codec's name for the encoding of a column.
func encoding(v codec.Values) string {
	return [...]string{codec.BinaryValues: "Binary", codec.TextValues: "Text", codec.BigEndianValues: "BigEndian", codec.LittleEndianValues: "LittleEndian"}[v]
}

// defaultValue is the default of a field as Go source.
func (s *schemaFile) defaultValue(f *layout.Field) *jen.Statement { return s.literal(f, f.Default) }

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
			return jen.Qual("encoding/json", "RawMessage").Call(jen.Lit(v))
		}
		return jen.Lit(v)
	case []byte:
		return jen.Index().Byte().Call(jen.Lit(string(v)))
	case bool:
		return jen.Lit(v)
	case int64:
		return gocode.Int(v)
	case uint64:
		return jen.Id(strconv.FormatUint(v, 10))
	case float64:
		return jen.Id(strconv.FormatFloat(v, 'g', -1, 64))
	case time.Duration:
		return gocode.Duration(v)
	case time.Time:
		return gocode.Date(v)
	}
	return jen.Nil()
}

// uuidLiteral renders a canonical UUID as an array of bytes.
func (s *schemaFile) uuidLiteral(text string) *jen.Statement {
	u, err := codec.ParseUUID(text)
	if err != nil {
		return s.codec("UUID").Values() // the schema has refused it
	}
	return s.codec("UUID").CustomFunc(jen.Options{Open: "{", Close: "}", Separator: ","}, func(g *jen.Group) {
		for _, b := range u {
			g.Id(fmt.Sprintf("%#02x", b))
		}
	})
}
