package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// olderColumn renders a column in which older events have a field:
//
//	store.Was("temp", codec.Converted(codec.Binary.Float32, codec.ToFloat64[float32]))
func (s *schemaFile) olderColumn(c, older layout.Column) *jen.Statement {
	out := s.store("Was").Call(jen.Lit(older.Qualifier), s.olderCoding(older))
	if older.Family != c.Family {
		out.Dot("In").Call(jen.Lit(older.Family))
	}
	return out
}

// olderCoding renders the encoding of the values in an older column, with their conversion.
func (s *schemaFile) olderCoding(older layout.Column) *jen.Statement {
	f := &s.layout.Fields[older.Field]
	switch {
	case older.Was.Type == f.Type:
		return s.coding(older, f)
	case older.Was.Type == schema.Enum:
		return s.codec("EnumNames").Call(s.codec(encoding(older.Values)+"Values"), s.enumLiteral(oneRow, older.Was.Enum))
	}
	return s.codec("Converted").Call(s.codec(encoding(older.Values)).Dot(suffix(older.Was.Type)), s.conversion(older.Was, f))
}

// enumLiteral renders the values of an enum.
func (s *schemaFile) enumLiteral(options jen.Options, of codec.Enum) *jen.Statement {
	return s.codec("Enum").Custom(options, each(of, func(_ int, v *codec.EnumName) jen.Code {
		return inline(field{"Number", gocode.Int(v.Number)}, field{"Name", jen.Lit(v.Name)})
	})...)
}

// oneRow puts all elements of a composite literal on one line.
var oneRow = jen.Options{Open: "{", Close: "}", Separator: ","}

// conversion renders the function that converts a value of the older type of a field. Enums
// are read by name.
func (s *schemaFile) conversion(older, f *layout.Field) *jen.Statement {
	if older.Type == f.Type { // in JSON
		return s.codec("Unchanged").Types(s.jsonGoType(f))
	}
	c, _ := older.Type.ConversionTo(f.Type) // the layout has no others
	switch {
	case older.Type == schema.Enum:
		return s.codec(c.Func).Call(s.enumLiteral(oneRow, older.Enum))
	case c.Of == schema.OfNew:
		return s.codec(c.Func).Types(s.goType(f))
	case c.Of == schema.OfOld:
		return s.codec(c.Func).Types(s.goType(older))
	}
	return s.codec(c.Func)
}

// takeOlderProto sets a field from an older number, unless the event has a newer one.
func (s *schemaFile) takeOlderProto(f, older *layout.Field, newer []int) jen.Code {
	condition := jen.Null()
	for i, number := range newer {
		if i > 0 {
			condition.Op("&&")
		}
		condition.Op("!").Add(s.codec("HasProto")).Call(jen.Id("blob"), jen.Lit(number))
	}
	return jen.If(condition).BlockFunc(func(g *jen.Group) {
		if older.Type == f.Type {
			g.Add(s.takeProto(f))
			return
		}
		value := s.protoValue(older)
		if older.Type != schema.Enum {
			g.List(jen.Id("v"), jen.Err()).Op(":=").Add(s.conversion(older, f)).Call(value)
			g.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Op("&").Add(s.codec("FieldError")).Values(jen.Id("Field").Op(":").Lit(f.Name), jen.Id("Err").Op(":").Err())))
			value = jen.Id("v")
		}
		g.Add(s.setProto(f, value))
	})
}

// fromOlderJSON sets the member of a field from an older one, if the event lacks it.
func (s *schemaFile) fromOlderJSON(f, older *layout.Field) jen.Code {
	v := jen.Id("v").Dot(s.names.Field(f).Name)
	if f.Type == schema.JSON {
		return v.Clone().Op("=").Add(s.codec("OlderJSON")).Call(jen.Id("blob"), jen.Lit(older.Name), v)
	}
	return jen.If(jen.Err().Op(":=").Add(s.codec("OlderMember")).Call(jen.Id("blob"), jen.Lit(older.Name), jen.Op("&").Add(v), s.conversion(older, f)), jen.Err().Op("!=").Nil()).
		Block(jen.Return(jen.Err()))
}
