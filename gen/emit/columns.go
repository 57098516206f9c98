package emit

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// columnsField is a slice of the columns type: a part of every event.
type columnsField struct {
	name string
	typ  *jen.Statement
}

// columnsFields lists the slices of the columns type, in the order of the event.
func (s *schemaFile) columnsFields() []columnsField {
	out := []columnsField{{"Series", jen.Id(s.names.series())}, {"Time", jen.Qual("time", "Time")}}
	if s.layout.Sequence {
		out = append(out, columnsField{"Sequence", jen.Uint32()})
	}
	for _, f := range s.choiceFieldsOf() {
		out = append(out, columnsField{f.name, f.typ})
	}
	for i := range s.layout.Fields {
		f := &s.layout.Fields[i]
		out = append(out, columnsField{s.names.field(f), s.fieldType(f)})
	}
	return out
}

// columnsType declares events as columns:
//
//	type BalloonColumns struct { Series []BalloonSeries; Time []time.Time; Pressure []int64; … }
func (s *schemaFile) columnsType() jen.Code {
	return doc(fmt.Sprintf("%s is events as columns, all of one length: the i-th event is the i-th of each.", s.names.columns())).Line().
		Type().Id(s.names.columns()).StructFunc(func(g *jen.Group) {
		for _, f := range s.columnsFields() {
			g.Id(f.name).Index().Add(f.typ)
		}
	})
}

// columnsReset declares the Reset method of the columns type.
func (s *schemaFile) columnsReset() jen.Code {
	return doc("Reset empties the columns and keeps their memory.").Line().
		Func().Params(jen.Id("c").Op("*").Id(s.names.columns())).Id("Reset").Params().BlockFunc(func(g *jen.Group) {
		for _, f := range s.columnsFields() {
			g.Id("c").Dot(f.name).Op("=").Id("c").Dot(f.name).Index(jen.Op(":").Lit(0))
		}
	})
}

// columnsAppend declares the Append method of the columns type.
func (s *schemaFile) columnsAppend() jen.Code {
	return doc("Append adds an event.").Line().
		Func().Params(jen.Id("c").Op("*").Id(s.names.columns())).Id("Append").Params(jen.Id("e").Op("*").Id(s.names.event())).BlockFunc(func(g *jen.Group) {
		for _, f := range s.columnsFields() {
			from := f.name
			if from == "Series" {
				from = s.names.series()
			}
			g.Id("c").Dot(f.name).Op("=").Append(jen.Id("c").Dot(f.name), jen.Id("e").Dot(from))
		}
	})
}

// columnsTruncate declares the truncate method of the columns type.
func (s *schemaFile) columnsTruncate() jen.Code {
	return doc("truncate makes all columns n events long.").Line().
		Func().Params(jen.Id("c").Op("*").Id(s.names.columns())).Id("truncate").Params(jen.Id("n").Int()).BlockFunc(func(g *jen.Group) {
		for _, f := range s.columnsFields() {
			g.Id("c").Dot(f.name).Op("=").Id("c").Dot(f.name).Index(jen.Op(":").Id("n"))
		}
	})
}

// extendsColumns reports whether the data of a table can be taken into columns
// without making events of them: whether an event has nothing but its series, its
// time, and fields that each have a column.
func (s *schemaFile) extendsColumns(t *layout.Table) bool {
	return !t.Serialized() && !s.layout.Sequence && len(s.choiceFieldsOf()) == 0
}

// readTables lists the tables that events are read from.
func (s *schemaFile) readTables() []*layout.Table {
	return append([]*layout.Table{s.layout.Read}, s.queryTables()...)
}

// columnsExtend declares the extend method of the columns type.
func (s *schemaFile) columnsExtend() jen.Code {
	if !slices.ContainsFunc(s.readTables(), s.extendsColumns) {
		return nil
	}
	return doc("extend adds the series and the times of events, whose fields are to follow, and returns how many there were before.").Line().
		Func().Params(jen.Id("c").Op("*").Id(s.names.columns())).Id("extend").Params(jen.Id("e").Op("*").Id(s.names.event()), jen.Id("times").Add(s.store("Data"))).Int().Block(
		jen.Id("n").Op(":=").Len(jen.Id("c").Dot("Time")),
		jen.Id("c").Dot("Series").Op("=").Add(s.store("ExtendSeries")).Call(jen.Id("c").Dot("Series"), jen.Id("times"), jen.Id("e").Dot(s.names.series())),
		jen.Id("c").Dot("Time").Op("=").Add(s.store("ExtendTimes")).Call(jen.Id("c").Dot("Time"), jen.Id("times")),
		jen.Return(jen.Id("n")),
	)
}

// columnsDecode declares the method of the columns type that takes the data of a
// column of a table.
func (s *schemaFile) columnsDecode(t *layout.Table) jen.Code {
	if !s.extendsColumns(t) {
		return nil
	}
	return doc(fmt.Sprintf("%s adds the data of a column of %s.", s.names.decodeColumn(t), t.ID)).Line().
		Func().Params(jen.Id("c").Op("*").Id(s.names.columns())).Id(s.names.decodeColumn(t)).
		Params(jen.Id("column").Int(), jen.Id("data").Add(s.store("Data"))).Params(jen.Err().Error()).Block(
		jen.Switch(jen.Id("column")).BlockFunc(func(g *jen.Group) {
			for i, c := range t.Columns {
				f := &s.layout.Fields[c.Field]
				name := s.names.field(f)
				g.Case(jen.Lit(i)).Comment(comment(c.Qualifier)).Line().
					List(jen.Id("c").Dot(name), jen.Err()).Op("=").Add(s.store("Extend")).Call(jen.Id("c").Dot(name), jen.Id("data"), s.decoder(c, f))
			}
		}),
		jen.Return(jen.Err()),
	)
}

// decoder is the function that decodes a datum.
func (s *schemaFile) decoder(c layout.Column, f *layout.Field) *jen.Statement {
	decode := s.codec(encoding(c.Text) + suffix(f.Type))
	if f.Type != schema.Enum && !f.Optional {
		return decode
	}
	args := []jen.Code{jen.Id("datum")}
	if f.Type == schema.Enum {
		args = append(args, jen.Id(s.names.enumNames(f)))
	}
	return jen.Func().Params(jen.Id("datum").Index().Byte()).Params(jen.Id("v").Add(s.fieldType(f)), jen.Err().Error()).Block(
		append(s.assignTo(jen.Id("v"), f, decode.Call(args...)), jen.Return(jen.Id("v"), jen.Err()))...)
}

// columnsVar declares how the events of a table are taken into columns.
func (s *schemaFile) columnsVar(t *layout.Table) jen.Code {
	method := func(name string) jen.Code { return jen.Parens(jen.Op("*").Id(s.names.columns())).Dot(name) }
	fields := []field{{"Append", method("Append")}, {"Truncate", method("truncate")}}
	if s.extendsColumns(t) {
		fields = append(fields, field{"Extend", method("extend")}, field{"Decode", method(s.names.decodeColumn(t))})
	}
	return doc(fmt.Sprintf("%s is how the events of %s are taken into columns.", s.names.columnsVar(t), t.ID)).Line().
		Var().Id(s.names.columnsVar(t)).Op("=").Add(s.store("Columns")).Types(jen.Id(s.names.event()), jen.Id(s.names.columns())).Add(lines(fields...))
}

// fieldConsts declares the fields, for ReadOptions. Only tables that store them one
// by one can fetch some of them.
func (s *schemaFile) fieldConsts() jen.Code {
	var table *layout.Table
	for _, t := range s.layout.Tables {
		if !t.Serialized() && t.Pattern != layout.BucketOffsets {
			table = t
		}
	}
	if table == nil {
		return nil
	}
	return doc(fmt.Sprintf("The fields of %s, for ReadOptions.", s.names.event())).Line().
		Const().DefsFunc(func(g *jen.Group) {
		for _, c := range table.Columns {
			if c.Field >= 0 {
				g.Id(s.names.fieldConst(&s.layout.Fields[c.Field])).Id("Field").Op("=").Lit(c.Qualifier)
			}
		}
	})
}

// columnsComment says what a method that reads columns does with errors.
const columnsComment = "An event that does not decode is left out, and the first *DecodeError returned after all others; any other error ends the read."

// readColumns declares the ReadColumns method.
func (s *schemaFile) readColumns() jen.Code {
	return doc("ReadColumns appends the events of a series with from <= time < to to columns, which may be reused. "+columnsComment).Add(notInlined()).
		Func().Params(jen.Id("r").Op("*").Id(s.names.reader())).Id("ReadColumns").
		Params(ctxParam(), jen.Id("series").Id(s.names.series()), jen.List(jen.Id("from"), jen.Id("to")).Qual("time", "Time"), jen.Id("columns").Op("*").Id(s.names.columns()), readOptsParam()).
		Error().Block(
		jen.Return(s.store("ReadColumns").Call(
			jen.Id("ctx"), jen.Id("r").Dot("reader"), jen.Id(s.names.columnsVar(s.layout.Read)), jen.Id("columns"),
			jen.Nil(), s.seriesEvent(), jen.Id("from"), jen.Id("to"), jen.Id("opts").Op("..."),
		)),
	)
}

// queryColumns declares the method that reads what a query finds as columns.
func (s *schemaFile) queryColumns(q *layout.Query) jen.Code {
	return doc(fmt.Sprintf("%sColumns appends what %[1]s yields to columns, which may be reused. %s", q.Name, columnsComment)).Add(notInlined()).
		Func().Params(jen.Id("r").Op("*").Id(s.names.reader())).Id(q.Name + "Columns").ParamsFunc(func(g *jen.Group) {
		s.queryParams(g, q)
		g.Id("columns").Op("*").Id(s.names.columns())
		g.Add(readOptsParam())
	}).Error().BlockFunc(func(g *jen.Group) {
		g.Id("event").Op(":=").Id(s.names.event()).Values(s.givenSeries(q))
		g.Return(s.store("ReadColumns").Call(
			jen.Id("ctx"), jen.Id("r").Dot(s.readerOf(q.Table)), jen.Id(s.names.columnsVar(q.Table)), jen.Id("columns"),
			jen.Op("&").Id(s.names.query(q)), jen.Id("event"), jen.Id("from"), jen.Id("to"), jen.Id("opts").Op("..."),
		))
	})
}
