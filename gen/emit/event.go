package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// check declares the function that rejects events that no table can store.
func (s *schemaFile) check() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s rejects an event that no table can store.", s.names.Check)).Line().
		Func().Id(s.names.Check).Params(jen.Id("event").Any()).Error().BlockFunc(func(g *jen.Group) {
		g.Id("e").Op(":=").Id("event").Assert(jen.Op("*").Id(s.names.Event))
		g.Var().Id("c").Add(s.codec("Checker"))
		g.Id("c").Dot("Time").Call(jen.Lit("time"), jen.Id("e").Dot("Time"))
		for _, fields := range [][]layout.Field{s.layout.Series, s.layout.Fields} {
			for i := range fields {
				f := &fields[i]
				switch check := s.checkField(f); {
				case check == nil:
				case f.Optional && (f.Type == schema.String || f.Type == schema.Timestamp):
					g.Id("c").Dot("Optional"+suffix(f.Type)).Call(jen.Lit(f.Name), jen.Id("e").Dot(s.names.Field(f).Name))
				default:
					g.Add(s.ifSet("e", f, check))
				}
			}
		}
		g.Return(jen.Id("c").Dot("Err").Call())
	})
}

// checkField renders the check of one value, or returns nil if all values of its type
// are valid.
func (s *schemaFile) checkField(f *layout.Field) jen.Code {
	call := func(method string, args ...jen.Code) jen.Code {
		return jen.Id("c").Dot(method).Call(append([]jen.Code{jen.Lit(f.Name)}, args...)...)
	}
	switch f.Type {
	case schema.String, schema.JSON, schema.Timestamp:
		return call(suffix(f.Type), s.value("e", f))
	case schema.Enum:
		return call("Enum", jen.Id(s.names.Field(f).EnumNames), s.encodable("e", f))
	case schema.Float32, schema.Float64:
		value := s.value("e", f)
		if f.Type == schema.Float32 {
			value = jen.Float64().Parens(value)
		}
		switch s.layout.Floats() {
		case layout.FiniteFloats:
			return call("Finite", value)
		case layout.NoNaNs:
			return call("NotNaN", value)
		}
	}
	return nil
}

// appendProto declares the function that serializes an event.
func (s *schemaFile) appendProto() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s appends the fields of an event in protobuf wire format; %s.proto describes it.", s.names.AppendProto, s.names.File)).Line().
		Func().Id(s.names.AppendProto).Params(jen.Id("dst").Index().Byte(), jen.Id("e").Op("*").Id(s.names.Event)).Index().Byte().
		Block(append(each(s.layout.Fields, func(_ int, f *layout.Field) jen.Code {
			return s.ifSet("e", f, s.appendValue(suffix(f.Type), f.Number, f.Explicit(), s.encodable("e", f)))
		}), jen.Return(jen.Id("dst")))...)
}

// appendValue renders the statement that appends a value in protobuf wire format.
func (s *schemaFile) appendValue(suffix string, number int, explicit bool, value jen.Code) jen.Code {
	presence := "Implicit"
	if explicit {
		presence = "Explicit"
	}
	return jen.Id("dst").Op("=").Add(s.codec("AppendProto"+suffix)).Call(jen.Id("dst"), jen.Lit(number), s.codec(presence), value)
}

// parseProto declares the function that parses a serialized event.
func (s *schemaFile) parseProto() jen.Code {
	return gocode.Doc(s.names.ParseProto+" parses such a message, skipping unknown fields.").Line().
		Func().Id(s.names.ParseProto).Params(jen.Id("e").Op("*").Id(s.names.Event), jen.Id("blob").Index().Byte()).Error().
		BlockFunc(func(g *jen.Group) {
			for i := range s.layout.Fields {
				if f := &s.layout.Fields[i]; f.Default != nil {
					g.Add(s.setDefault(f))
				}
			}
			g.Id("r").Op(":=").Add(s.codec("NewProtoReader")).Call(jen.Id("blob"))
			g.For(jen.Id("r").Dot("Next").Call()).Block(
				jen.Switch(jen.Id("r").Dot("Number").Call()).BlockFunc(func(g *jen.Group) {
					for i := range s.layout.Fields {
						f := &s.layout.Fields[i]
						g.Case(jen.Lit(f.Number)).Line().Add(s.takeProto(f))
						newer := []int{f.Number}
						for _, older := range f.Older(layout.Protobuf) {
							g.Case(jen.Lit(older.Number)).Line().Add(s.takeOlderProto(f, &older, newer))
							newer = append(newer, older.Number)
						}
					}
				}),
			)
			s.requireProto(g)
		})
}

// requireProto ends parseProto. Protobuf omits the zero value of a field. If that is
// not a valid value of the type, nothing was stored.
func (s *schemaFile) requireProto(g *jen.Group) {
	var required []jen.Code
	for i := range s.layout.Fields {
		f := &s.layout.Fields[i]
		if f.Required() && f.HasNoZero() {
			absent := s.isNone(f)
			required = append(required, jen.If(absent).Block(jen.Return(s.codec("MissingField").Call(jen.Lit(f.Name)))))
		}
	}
	if required == nil {
		g.Return(jen.Id("r").Dot("Err").Call())
		return
	}
	g.If(jen.Err().Op(":=").Id("r").Dot("Err").Call(), jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err()))
	for _, check := range required {
		g.Add(check)
	}
	g.Return(jen.Nil())
}

// isNone renders the condition that the field of e has a zero value that is invalid or
// was not written.
func (s *schemaFile) isNone(f *layout.Field) *jen.Statement {
	v := jen.Id("e").Dot(s.names.Field(f).Name)
	switch f.Type {
	case schema.Timestamp:
		return v.Dot("IsZero").Call()
	case schema.Enum:
		none := v.Op("==").Lit(0)
		if _, has := f.Enum.Name(0); has { // like every value of an enum, it is written
			none.Op("&&").Op("!").Add(s.codec("HasProto")).Call(jen.Id("blob"), jen.Lit(f.Number))
			for _, older := range f.Older(layout.Protobuf) {
				none.Op("&&").Op("!").Add(s.codec("HasProto")).Call(jen.Id("blob"), jen.Lit(older.Number))
			}
		}
		return none
	}
	return v.Op("==").Nil()
}

// takeProto sets one field from the reader.
func (s *schemaFile) takeProto(f *layout.Field) jen.Code {
	if f.Type == schema.Enum {
		return s.setProto(f, jen.Id(s.names.Field(f).Enum).Call(jen.Id("r").Dot("Enum").Call(jen.Id(s.names.Field(f).EnumNames))))
	}
	return s.setProto(f, s.protoValue(f))
}

// protoValue renders the value of the reader's current field; the name of one of an older
// enum.
func (s *schemaFile) protoValue(f *layout.Field) *jen.Statement {
	switch f.Type {
	case schema.String:
		return jen.Id("r").Dot("Text").Call()
	case schema.Enum:
		return jen.Id("r").Dot("EnumName").Call(s.enumLiteral(oneRow, f.Enum))
	}
	return jen.Id("r").Dot(suffix(f.Type)).Call()
}

// setProto sets a field to a value from the reader.
func (s *schemaFile) setProto(f *layout.Field, value *jen.Statement) jen.Code {
	field := jen.Id("e").Dot(s.names.Field(f).Name)
	switch {
	case f.Optional && isSlice(f):
		// An empty value differs from an absent one.
		return field.Op("=").Add(jen.Append(s.goType(f).Values(), jen.Add(value).Op("...")))
	case f.Optional:
		return field.Op("=").Add(s.codec("Pointer").Call(value))
	}
	return field.Op("=").Add(value)
}

// jsonStruct declares the type for an event in JSON. All fields are pointers, so that
// an absent value differs from zero.
func (s *schemaFile) jsonStruct() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s contains the fields of an event in JSON.", s.names.JSON)).Line().
		Type().Id(s.names.JSON).Struct(each(s.layout.Fields, func(_ int, f *layout.Field) jen.Code {
		t := jen.Op("*").Add(s.jsonGoType(f))
		if f.Type == schema.JSON {
			t = s.goType(f) // null is a valid value
		}
		return jen.Id(s.names.Field(f).Name).Add(t).Tag(map[string]string{"json": f.Name + ",omitempty"})
	})...)
}

// jsonGoType renders the Go type whose JSON form is that of the value.
func (s *schemaFile) jsonGoType(f *layout.Field) *jen.Statement {
	if f.Type == schema.Duration {
		return s.codec("JSONDuration")
	}
	return s.goType(f)
}

// appendJSON declares the function that serializes an event as JSON.
func (s *schemaFile) appendJSON() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s appends the fields of an event as JSON.", s.names.AppendJSON)).Line().
		Func().Id(s.names.AppendJSON).Params(jen.Id("dst").Index().Byte(), jen.Id("e").Op("*").Id(s.names.Event)).Index().Byte().
		BlockFunc(func(g *jen.Group) {
			g.Id("begin").Op(":=").Len(jen.Id("dst"))
			for i := range s.layout.Fields {
				f := &s.layout.Fields[i]
				args := []jen.Code{jen.Id("dst"), jen.Lit(f.Name)}
				if f.Type == schema.Enum {
					args = append(args, jen.Id(s.names.Field(f).EnumNames))
				}
				args = append(args, s.encodable("e", f))
				g.Add(s.ifSet("e", f, jen.Id("dst").Op("=").Add(s.codec("AppendJSON"+suffix(f.Type))).Call(args...)))
			}
			g.Return(s.codec("EndJSON").Call(jen.Id("dst"), jen.Id("begin")))
		})
}

// parseJSON declares the function that parses an event in JSON.
func (s *schemaFile) parseJSON() jen.Code {
	return gocode.Doc(s.names.ParseJSON+" parses such an object, skipping unknown fields.").Line().
		Func().Id(s.names.ParseJSON).Params(jen.Id("e").Op("*").Id(s.names.Event), jen.Id("blob").Index().Byte()).Error().
		BlockFunc(func(g *jen.Group) {
			g.Var().Id("v").Id(s.names.JSON)
			g.If(jen.Err().Op(":=").Add(s.codec("ParseJSON")).Call(jen.Id("blob"), jen.Op("&").Id("v")), jen.Err().Op("!=").Nil()).Block(
				jen.Return(jen.Err()))
			for i := range s.layout.Fields {
				f := &s.layout.Fields[i]
				for _, older := range f.Older(layout.JSONText) {
					g.Add(s.fromOlderJSON(f, &older))
				}
				g.Add(s.fromJSON(f))
			}
			g.Return(jen.Nil())
		})
}

// fromJSON sets one field from its JSON form.
func (s *schemaFile) fromJSON(f *layout.Field) jen.Code {
	v := jen.Id("v").Dot(s.names.Field(f).Name)
	to := jen.Id("e").Dot(s.names.Field(f).Name)
	pointed := jen.Op("*").Add(v)
	if f.Type == schema.JSON {
		pointed = s.codec("MemberJSON").Call(jen.Id("blob"), jen.Lit(f.Name), v)
	}
	if f.Type == schema.Duration {
		pointed = jen.Qual("time", "Duration").Call(pointed)
	}
	if f.Type == schema.Timestamp {
		pointed = jen.Add(v).Dot("UTC").Call()
	}
	set := jen.Add(to).Op("=").Add(pointed)
	switch {
	case f.Type == schema.Duration && f.Optional:
		return jen.Add(to).Op("=").Parens(jen.Op("*").Qual("time", "Duration")).Call(v)
	case f.Type == schema.Timestamp && f.Optional:
		return jen.Add(to).Op("=").Add(s.codec("JSONTime").Call(v))
	case f.Optional && f.Type == schema.JSON:
		return set
	case f.Optional && !isSlice(f):
		return jen.Add(to).Op("=").Add(v)
	case f.Optional:
		return jen.If(jen.Add(v).Op("!=").Nil()).Block(set)
	case f.Default != nil:
		return jen.If(jen.Add(v).Op("!=").Nil()).Block(set).Else().Block(s.setDefault(f))
	}
	return jen.If(jen.Add(v).Op("==").Nil()).Block(jen.Return(s.codec("MissingField").Call(jen.Lit(f.Name)))).Line().Add(set)
}
