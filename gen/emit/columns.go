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
	name string
	typ  *jen.Statement
}

// columnsFields lists the slices of the columns type, in the order of the event.
func (s *schemaFile) columnsFields() []columnsField {
	out := []columnsField{{"Series", jen.Id(s.names.Series)}, {"Time", jen.Qual("time", "Time")}}
	if s.layout.Sequence {
		out = append(out, columnsField{"Sequence", jen.Uint32()})
	}
	for _, f := range s.ttlFields() {
		out = append(out, columnsField{f.name, f.typ})
	}
	for i := range s.layout.Fields {
		f := &s.layout.Fields[i]
		out = append(out, columnsField{s.names.Field(f).Name, s.fieldType(f)})
	}
	return out
}

// columnsType declares the columnar form of events:
//
//	type BalloonColumns struct { Series []BalloonSeries; Time []time.Time; Pressure []int64; … }
func (s *schemaFile) columnsType() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s holds events in slices of equal length.", s.names.Columns)).Line().
		Type().Id(s.names.Columns).StructFunc(func(g *jen.Group) {
		for _, f := range s.columnsFields() {
			g.Id(f.name).Index().Add(f.typ)
		}
	})
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

// columnsVar declares the parts of an event, each with its place in the event, its
// slice in the columns type, and its column in a table:
//
//	var balloonCellsColumns = store.NewColumns(
//		store.RequiredColumn("pressure", codec.Text.Int64, func(e *BalloonEvent) *int64 { return &e.Pressure }, func(c *BalloonColumns) *[]int64 { return &c.Pressure }),
//		…
//	)
func (s *schemaFile) columnsVar(t *layout.Table) jen.Code {
	return jen.Var().Id(s.names.Table(t).Columns).Op("=").Add(s.store("NewColumns")).CustomFunc(multiCall, func(g *jen.Group) {
		g.Add(s.seriesPart())
		g.Add(s.store("TimePart").Call(s.accessors("Time", "Time", jen.Qual("time", "Time"))...))
		if s.layout.Sequence {
			g.Add(s.store("SequencePart").Call(s.accessors("Sequence", "Sequence", jen.Uint32())...))
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

// multiCall puts each argument of a call on a separate line.
var multiCall = jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}

// accessors renders the functions that return pointers to a part of an event and to its
// slice.
func (s *schemaFile) accessors(of, in string, typ *jen.Statement) []jen.Code {
	return []jen.Code{s.placeOf(of, typ), s.slice(in, typ)}
}

// placeOf renders the function that returns a pointer to a part of an event.
func (s *schemaFile) placeOf(name string, typ *jen.Statement) *jen.Statement {
	return jen.Func().Params(jen.Id("e").Op("*").Id(s.names.Event)).Op("*").Add(typ).Add(oneLine(jen.Return(jen.Op("&").Id("e").Dot(name))))
}

// slice renders the function that returns a pointer to the slice of a part.
func (s *schemaFile) slice(name string, typ *jen.Statement) *jen.Statement {
	return jen.Func().Params(jen.Id("c").Op("*").Id(s.names.Columns)).Op("*").Index().Add(typ).Add(oneLine(jen.Return(jen.Op("&").Id("c").Dot(name))))
}

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
	return s.store(part).Call(append(s.accessors(s.names.Series, "Series", jen.Id(s.names.Series)), values)...)
}

// ttlPart renders the part for a field about the time to live.
func (s *schemaFile) ttlPart(f ttlField) jen.Code {
	args := s.accessors(f.name, f.name, f.typ)
	if f.kind == layout.ClassField {
		args[0] = jen.Func().Params(jen.Id("e").Op("*").Id(s.names.Event)).Op("*").Int().Add(oneLine(jen.Return(jen.Parens(jen.Op("*").Int()).Call(jen.Op("&").Id("e").Dot(f.name)))))
	}
	return s.store(f.name + "Part").Call(args...)
}

// columnPart renders a column of a table.
func (s *schemaFile) columnPart(t *layout.Table, c layout.Column) *jen.Statement {
	var part *jen.Statement
	switch c.Field {
	case layout.WholeEvent:
		part = s.eventColumn(t, c)
	case layout.WrittenAt:
		args := []jen.Code{jen.Lit(c.Qualifier), s.codec(encoding(c.Values)).Dot("Timestamp")}
		part = s.store("WrittenAtColumn").Call(append(args, s.accessors("WrittenAt", "WrittenAt", jen.Qual("time", "Time"))...)...)
	default:
		f := &s.layout.Fields[c.Field]
		kind, args := "Required", []jen.Code{jen.Lit(c.Qualifier), s.coding(c, f)}
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
		args = append(args, s.accessors(s.names.Field(f).Name, s.names.Field(f).Name, s.fieldType(f))...)
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
				args := append([]jen.Code{jen.Lit(f.Number)}, s.accessors(s.names.Field(f).Name, s.names.Field(f).Name, s.fieldType(f))...)
				g.Line().Add(s.store("NumberPart").Call(args...))
				continue
			case isSlice(f):
				kind = "Bytes"
			case f.Optional:
				kind = "Optional"
			}
			g.Line().Add(s.store(kind + "Part").Call(s.accessors(s.names.Field(f).Name, s.names.Field(f).Name, s.fieldType(f))...))
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
		Const().DefsFunc(func(g *jen.Group) {
		for i := range s.layout.Fields {
			f := &s.layout.Fields[i]
			g.Id(s.names.Field(f).Const).Add(s.store("Field")).Op("=").Lit(s.layout.FieldName(f))
		}
	})
}

// readColumns declares the method that reads a series in columnar form.
func (s *schemaFile) readColumns() jen.Code {
	return s.ofSeries("ReadColumns", "ReadColumns appends the events of Read to columns; see store.ReadColumns.").columns()
}

// queryColumns declares the method that reads a query in columnar form.
func (s *schemaFile) queryColumns(q *layout.Query) jen.Code {
	names := s.names.Query(q)
	return s.ofQuery(q, names.ColumnsMethod, fmt.Sprintf("%s appends the events of %s to columns, as ReadColumns does.", names.ColumnsMethod, names.Method)).columns()
}
