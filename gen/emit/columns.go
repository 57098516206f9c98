package emit

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// columnsField is a slice of the columns type for a part of every event.
type columnsField struct {
	name  string
	typ   *jen.Statement
	place *jen.Statement // pointer to the part of an event, v
}

// columnsFields lists the slices of the columns type, in the order of the event.
func (s *schemaFile) columnsFields() []columnsField {
	place := func(name string) *jen.Statement { return jen.Op("&").Id("v").Dot(name) }
	out := []columnsField{{"Series", jen.Id(s.names.Series), place(s.names.Series)}, {"Time", jen.Qual("time", "Time"), place("Time")}}
	if s.layout.Sequence {
		out = append(out, columnsField{"Sequence", jen.Uint32(), place("Sequence")})
	}
	for _, f := range s.ttlFields() {
		at := place(f.name)
		if f.kind == layout.ClassField {
			at = jen.Parens(jen.Op("*").Int()).Call(at)
		}
		out = append(out, columnsField{f.name, f.typ, at})
	}
	for i := range s.layout.Fields {
		f := &s.layout.Fields[i]
		name := s.names.Field(f).Name
		out = append(out, columnsField{name, s.fieldType(f), place(name)})
	}
	return out
}

// columnsType declares the columnar form of events:
//
//	type BalloonColumns struct { Series []BalloonSeries; Time []time.Time; Pressure []int64; … }
func (s *schemaFile) columnsType() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s holds events in slices of equal length.", s.names.Columns)).Line().
		Type().Id(s.names.Columns).Struct(each(s.columnsFields(), func(_ int, f *columnsField) jen.Code {
		return jen.Id(f.name).Index().Add(f.typ)
	})...)
}

// columnsMethods declares the methods of the columns type.
func (s *schemaFile) columnsMethods() jen.Code {
	method := func(text, name string, params ...jen.Code) *jen.Statement {
		args := []jen.Code{jen.Id("c")}
		if params != nil {
			args = append(args, jen.Id("e"))
		}
		return gocode.Doc(text).Line().Func().Params(jen.Id("c").Op("*").Id(s.names.Columns)).Id(name).Params(params...).Add(oneLine(
			jen.Id(s.names.Table(s.layout.Read).Columns).Dot(name).Call(args...))).Line()
	}
	return method("Reset empties the slices and keeps their memory.", "Reset").Line().
		Add(method("Append adds an event.", "Append", jen.Id("e").Op("*").Id(s.names.Event)))
}

// partsFunc declares where an event has its parts, by the indexes of their slices:
//
//	func balloonPart(e any, n int) any { … }
func (s *schemaFile) partsFunc() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s returns a pointer to what an event has for a slice of %s, by its index.", s.names.Part, s.names.Columns)).Line().
		Func().Id(s.names.Part).Params(jen.Id("e").Any(), jen.Id("n").Int()).Any().Block(
		jen.Id("v").Op(":=").Id("e").Assert(jen.Op("*").Id(s.names.Event)),
		jen.Switch(jen.Id("n")).Block(each(s.columnsFields(), func(i int, f *columnsField) jen.Code {
			return jen.Case(jen.Lit(i)).Block(jen.Return(f.place))
		})...),
		jen.Return(jen.Nil()),
	)
}

// columnsVar declares the parts of an event, each with its index and its column in a table:
//
//	var balloonCellsColumns = store.NewColumns[BalloonEvent, BalloonColumns](
//		balloonPart,
//		store.SeriesPart(0, …),
//		store.RequiredColumn(2, "pressure", codec.Text.Int64),
//		…
//	)
func (s *schemaFile) columnsVar(t *layout.Table) jen.Code {
	return jen.Var().Id(s.names.Table(t).Columns).Op("=").Add(s.store("NewColumns")).Types(jen.Id(s.names.Event), jen.Id(s.names.Columns)).
		CustomFunc(multiCall, func(g *jen.Group) {
			g.Id(s.names.Part)
			g.Add(s.seriesPart())
			g.Add(s.store("TimePart").Call(s.index("Time")))
			if s.layout.Sequence {
				g.Add(s.store("SequencePart").Call(s.index("Sequence")))
			}
			stored := slices.ContainsFunc(t.Columns, func(c layout.Column) bool { return c.Field == layout.WrittenAt })
			for _, f := range s.ttlFields() {
				if f.kind != layout.WrittenAtField || !stored {
					g.Add(s.ttlPart(f))
				}
			}
			for _, c := range t.Columns {
				g.Add(s.columnPart(t, c))
			}
		})
}

// index renders the index of the slice with a name.
func (s *schemaFile) index(name string) jen.Code {
	return jen.Lit(slices.IndexFunc(s.columnsFields(), func(f columnsField) bool { return f.name == name }))
}

// fieldIndex renders the index of the slice of a field.
func (s *schemaFile) fieldIndex(field int) jen.Code {
	return jen.Lit(len(s.columnsFields()) - len(s.layout.Fields) + field)
}

// multiCall puts each argument of a call on a separate line.
var multiCall = jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}

// oneLine renders a function body of one statement.
func oneLine(statement jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: "{", Close: "}"}, statement)
}

// seriesPart renders the series of an event, with pointers to its values. Go cannot compare slices.
func (s *schemaFile) seriesPart() jen.Code {
	part := "SeriesPart"
	if slices.ContainsFunc(s.layout.Series, func(f layout.Field) bool { return isSlice(&f) }) {
		part = "BytesSeriesPart"
	}
	values := jen.Func().Params(jen.Id("s").Op("*").Id(s.names.Series), jen.Id("to").Index().Any()).Index().Any().Add(oneLine(
		jen.Return(jen.Append(append([]jen.Code{jen.Id("to")}, s.seriesPointers("s")...)...))))
	if len(s.layout.Series) == 0 {
		values = jen.Func().Params(jen.Id("_").Op("*").Id(s.names.Series), jen.Id("to").Index().Any()).Index().Any().Add(oneLine(jen.Return(jen.Id("to"))))
	}
	return s.store(part).Call(s.index("Series"), values)
}

// ttlPart renders the part for a field about the time to live.
func (s *schemaFile) ttlPart(f ttlField) jen.Code {
	part := s.store(f.name + "Part")
	if f.kind == layout.ClassField {
		part.Types(f.typ)
	}
	return part.Call(s.index(f.name))
}

// columnPart renders a column of a table.
func (s *schemaFile) columnPart(t *layout.Table, c layout.Column) *jen.Statement {
	var part *jen.Statement
	switch c.Field {
	case layout.WholeEvent:
		part = s.eventColumn(t, c)
	case layout.WrittenAt:
		part = s.store("WrittenAtColumn").Call(s.index("WrittenAt"), jen.Lit(c.Qualifier), s.codec(encoding(c.Values)).Dot("Timestamp"))
	default:
		f := &s.layout.Fields[c.Field]
		kind, args := "Required", []jen.Code{s.fieldIndex(c.Field), jen.Lit(c.Qualifier), s.coding(c, f)}
		switch {
		case f.Optional:
			kind = "Optional"
		case f.Default != nil && isSlice(f):
			kind, args = "Default", append(args, sliceDefault(f))
		case f.Default != nil:
			kind, args = "Default", append(args, s.defaultValue(f))
		case isSlice(f):
			kind = ""
		}
		if isSlice(f) {
			kind += "Bytes"
		}
		for _, older := range c.Older {
			args = append(args, s.olderColumn(c, older))
		}
		part = s.store(kind + "Column").Call(args...)
	}
	if c.Family > 0 {
		part.Dot("In").Call(jen.Lit(c.Family))
	}
	return part
}

// sliceDefault returns the default of a slice field as a string.
func sliceDefault(f *layout.Field) *jen.Statement {
	if v, ok := f.Default.([]byte); ok {
		return jen.Lit(string(v))
	}
	return jen.Lit(f.Default)
}

// coding renders the encoding of a field's values in a column.
func (s *schemaFile) coding(c layout.Column, f *layout.Field) *jen.Statement {
	if f.Type == schema.Enum {
		return s.codec("EnumAs").Types(jen.Id(s.names.Field(f).Enum)).Call(s.codec(encoding(c.Values)+"Values"), jen.Id(s.names.Field(f).EnumNames))
	}
	return s.codec(encoding(c.Values)).Dot(suffix(f.Type))
}

// eventColumn renders a column that stores all fields of an event.
func (s *schemaFile) eventColumn(t *layout.Table, c layout.Column) *jen.Statement {
	serialize := s.names.AppendProto
	if t.Blob == layout.JSONText {
		serialize = s.names.AppendJSON
	}
	return s.store("EventColumn").CallFunc(func(g *jen.Group) {
		g.Lit(c.Qualifier)
		g.Id(serialize)
		g.Id(s.parser(t))
		for i := range s.layout.Fields {
			f := &s.layout.Fields[i]
			kind := "Field"
			switch {
			case t.Blob == layout.Protobuf && isProtoNumber(f):
				g.Line().Add(s.store("NumberPart").Types(s.goType(f)).Call(s.fieldIndex(i), jen.Lit(f.Number)))
				continue
			case isSlice(f):
				kind = "Bytes"
			case f.Optional:
				kind = "Optional"
			}
			g.Line().Add(s.store(kind + "Part").Types(s.goType(f)).Call(s.fieldIndex(i)))
		}
		g.Line()
	})
}

// isProtoNumber reports whether every message, of older events, too, has the field as this
// number, or lacks it if it is zero.
func isProtoNumber(f *layout.Field) bool {
	number := f.Type == schema.Bool || f.Type.Traits().Number != schema.NoNumber
	return number && f.Required() && len(f.Older(layout.Protobuf)) == 0
}

// fieldConsts declares the fields for ReadOptions and WindowOptions.
func (s *schemaFile) fieldConsts() jen.Code {
	return gocode.Doc(fmt.Sprintf("The fields of %s, for store.ReadOptions and store.WindowOptions.", s.names.Event)).Line().
		Const().Defs(each(s.layout.Fields, func(_ int, f *layout.Field) jen.Code {
		return jen.Id(s.names.Field(f).Const).Add(s.store("Field")).Op("=").Lit(s.layout.FieldName(f))
	})...)
}
