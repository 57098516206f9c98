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
	out := s.code("store.Was($1, $2)", jen.Lit(older.Qualifier), s.olderCoding(older))
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
		return s.code("codec.EnumNames(codec.$1, $2)", encoding(older.Values)+"Values", s.enumLiteral(oneRow, older.Was.Enum))
	}
	return s.code("codec.Converted(codec.$1.$2, $3)", encoding(older.Values), suffix(older.Was.Type), s.conversion(older.Was, f))
}

// enumLiteral renders the values of an enum.
func (s *schemaFile) enumLiteral(options jen.Options, of codec.Enum) *jen.Statement {
	return s.codec("Enum").Custom(options, each(of, func(_ int, v *codec.EnumName) jen.Code {
		return jen.Values(set("Number", gocode.Int(v.Number)), set("Name", jen.Lit(v.Name)))
	})...)
}

// conversion renders the function that converts a value of the older type of a field. Enums
// are read by name.
func (s *schemaFile) conversion(older, f *layout.Field) *jen.Statement {
	if older.Type == f.Type { // in JSON
		return s.code("codec.Unchanged[$1]", s.jsonGoType(f))
	}
	c, _ := older.Type.ConversionTo(f.Type) // the layout has no others
	switch {
	case older.Type == schema.Enum:
		return s.code("codec.$1($2)", c.Func, s.enumLiteral(oneRow, older.Enum))
	case c.Of == schema.OfNew:
		return s.code("codec.$1[$2]", c.Func, s.goType(f))
	case c.Of == schema.OfOld:
		return s.code("codec.$1[$2]", c.Func, s.goType(older))
	}
	return s.codec(c.Func)
}

// takeOlderProto sets a field from an older number, unless the event has a newer one.
func (s *schemaFile) takeOlderProto(f, older *layout.Field, newer []int) jen.Code {
	lacks := &jen.Statement{}
	for i, number := range newer {
		if i > 0 {
			lacks.Op("&&")
		}
		lacks.Add(s.code("!codec.HasProto(blob, $1)", number))
	}
	take := s.takeProto(f)
	switch value := s.protoValue(older); {
	case older.Type == f.Type:
	case older.Type == schema.Enum:
		take = s.setProto(f, value)
	default:
		take = s.code(`
			v, err := $1($2)
			if err != nil {
				return &codec.FieldError{Field: $3, Err: err}
			}
			$4`, s.conversion(older, f), value, jen.Lit(f.Name), s.setProto(f, jen.Id("v")))
	}
	return s.code("if $1 {\n$2\n}", lacks, take)
}

// fromOlderJSON sets the member of a field from an older one, if the event lacks it.
func (s *schemaFile) fromOlderJSON(f, older *layout.Field) jen.Code {
	v, name := s.code("v.$1", s.names.Field(f).Name), jen.Lit(older.Name)
	if f.Type == schema.JSON {
		return s.code("$1 = codec.OlderJSON(blob, $2, $1)", v, name)
	}
	return s.code(`
		if err := codec.OlderMember(blob, $1, &$2, $3); err != nil {
			return err
		}`, name, v, s.conversion(older, f))
}
