package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
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
	return doc("ReadColumns appends the events of a series with from <= time < to to columns, which may be reused. "+columnsComment).Line().
		Func().Params(jen.Id("r").Op("*").Id(s.names.reader())).Id("ReadColumns").
		Params(ctxParam(), jen.Id("series").Id(s.names.series()), jen.List(jen.Id("from"), jen.Id("to")).Qual("time", "Time"), jen.Id("columns").Op("*").Id(s.names.columns()), readOptsParam()).
		Error().Block(
		jen.Return(s.store("Collect").Call(
			jen.Id("r").Dot("Read").Call(jen.Id("ctx"), jen.Id("series"), jen.Id("from"), jen.Id("to"), jen.Id("opts").Op("...")),
			jen.Id("columns").Dot("Append"),
		)),
	)
}

// queryColumns declares the method that reads what a query finds as columns.
func (s *schemaFile) queryColumns(q *layout.Query) jen.Code {
	return doc(fmt.Sprintf("%sColumns appends what %[1]s yields to columns, which may be reused. %s", q.Name, columnsComment)).Line().
		Func().Params(jen.Id("r").Op("*").Id(s.names.reader())).Id(q.Name + "Columns").ParamsFunc(func(g *jen.Group) {
		s.queryParams(g, q)
		g.Id("columns").Op("*").Id(s.names.columns())
		g.Add(readOptsParam())
	}).Error().BlockFunc(func(g *jen.Group) {
		args := []jen.Code{jen.Id("ctx")}
		for _, i := range q.By {
			args = append(args, jen.Id(s.param(&s.layout.Series[i])))
		}
		args = append(args, jen.Id("from"), jen.Id("to"), jen.Id("opts").Op("..."))
		g.Return(s.store("Collect").Call(jen.Id("r").Dot(q.Name).Call(args...), jen.Id("columns").Dot("Append")))
	})
}
