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

// readTables lists the tables that events are read from.
func (s *schemaFile) readTables() []*layout.Table {
	return append([]*layout.Table{s.layout.Read}, s.queryTables()...)
}

// columnsExtend declares the extend method of the columns type, which adds what events
// have apart from the data of their columns:
//
//	c.Series = store.ExtendSame(c.Series, events, e.BalloonSeries)
//	c.Time = store.ExtendTimes(c.Time, events)
func (s *schemaFile) columnsExtend() jen.Code {
	return doc("extend adds the series and the times of events, whose fields are to follow, and returns how many there were before.").Line().
		Func().Params(jen.Id("c").Op("*").Id(s.names.columns())).Id("extend").Params(jen.Id("e").Op("*").Id(s.names.event()), jen.Id("events").Add(s.store("Data"))).Int().BlockFunc(func(g *jen.Group) {
		g.Id("n").Op(":=").Len(jen.Id("c").Dot("Time"))
		for _, f := range s.columnsFields() {
			if function, more := s.extendOf(f.name); function != "" {
				args := append([]jen.Code{jen.Id("c").Dot(f.name), jen.Id("events")}, more...)
				g.Id("c").Dot(f.name).Op("=").Add(s.store(function)).Call(args...)
			}
		}
		g.Return(jen.Id("n"))
	})
}

// extendOf names the function that adds to a slice of the columns type what is not in
// the data of a column, and what else it takes; none for others.
func (s *schemaFile) extendOf(name string) (function string, more []jen.Code) {
	switch name {
	case "Series":
		return "ExtendSame", []jen.Code{jen.Id("e").Dot(s.names.series())}
	case "Time":
		return "ExtendTimes", nil
	case "Sequence":
		return "ExtendSequences", []jen.Code{jen.Id("e").Dot("Sequence")}
	case "Class":
		return "ExtendClasses", nil
	case "TTL":
		return "ExtendSame", []jen.Code{jen.Lit(0)}
	case "ExpiresAt":
		return "ExtendExpiries", nil
	}
	return "", nil
}

// columnsDecode declares the method of the columns type that takes the data of a
// column of a table.
func (s *schemaFile) columnsDecode(t *layout.Table) jen.Code {
	return doc(fmt.Sprintf("%s adds the data of a column of %s.", s.names.decodeColumn(t), t.ID)).Line().
		Func().Params(jen.Id("c").Op("*").Id(s.names.columns())).Id(s.names.decodeColumn(t)).
		Params(jen.Id("column").Int(), jen.Id("data").Add(s.store("Data"))).Params(jen.Err().Error()).Block(
		jen.Switch(jen.Id("column")).BlockFunc(func(g *jen.Group) {
			for i, c := range t.Columns {
				g.Case(jen.Lit(i)).Comment(comment(c.Qualifier)).Line().Add(s.decodeInto(t, c))
			}
		}),
		jen.Return(jen.Err()),
	)
}

// decodeInto adds the data of a column to the slices that they are of.
func (s *schemaFile) decodeInto(t *layout.Table, c layout.Column) *jen.Statement {
	extend := func(name string, decode *jen.Statement) *jen.Statement {
		return jen.List(jen.Id("c").Dot(name), jen.Err()).Op("=").Add(s.store("Extend")).Call(jen.Id("c").Dot(name), jen.Id("data"), decode)
	}
	switch c.Field {
	case layout.WrittenAt:
		return extend("WrittenAt", s.codec(encoding(c.Text)+"Timestamp"))
	case layout.WholeEvent:
		return jen.For(jen.Id("k").Op(":=").Range().Id("data").Dot("Len").Call()).BlockFunc(func(g *jen.Group) {
			g.Var().Id("e").Id(s.names.event())
			g.If(jen.Err().Op(":=").Id(s.parser(t)).Call(jen.Op("&").Id("e"), jen.Id("data").Dot("At").Call(jen.Id("k"))), jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err()))
			for i := range s.layout.Fields {
				name := s.names.field(&s.layout.Fields[i])
				g.Id("c").Dot(name).Op("=").Append(jen.Id("c").Dot(name), jen.Id("e").Dot(name))
			}
		})
	}
	f := &s.layout.Fields[c.Field]
	return extend(s.names.field(f), s.decoder(c, f))
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
	method := func(name string) *jen.Statement { return jen.Parens(jen.Op("*").Id(s.names.columns())).Dot(name) }
	extend := method("extend")
	if s.layout.KeepsWrittenAt() && !slices.ContainsFunc(t.Columns, func(c layout.Column) bool { return c.Field == layout.WrittenAt }) {
		extend = s.extendUnwritten()
	}
	return doc(fmt.Sprintf("%s is how the events of %s are taken into columns.", s.names.columnsVar(t), t.ID)).Line().
		Var().Id(s.names.columnsVar(t)).Op("=").Add(s.store("Columns")).Types(jen.Id(s.names.event()), jen.Id(s.names.columns())).Add(lines(
		field{"Append", method("Append")}, field{"Truncate", method("truncate")}, field{"Extend", extend}, field{"Decode", method(s.names.decodeColumn(t))},
	))
}

// extendUnwritten is the extend method for a table that does not keep when events were
// written.
func (s *schemaFile) extendUnwritten() *jen.Statement {
	return jen.Func().Params(jen.Id("c").Op("*").Id(s.names.columns()), jen.Id("e").Op("*").Id(s.names.event()), jen.Id("events").Add(s.store("Data"))).Int().Block(
		jen.Id("c").Dot("WrittenAt").Op("=").Add(s.store("ExtendSame")).Call(jen.Id("c").Dot("WrittenAt"), jen.Id("events"), jen.Qual("time", "Time").Values()),
		jen.Return(jen.Id("c").Dot("extend").Call(jen.Id("e"), jen.Id("events"))),
	)
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
