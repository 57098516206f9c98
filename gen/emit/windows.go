package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// window renders a name of package window.
func (s *schemaFile) window(name string) *jen.Statement { return jen.Qual(s.paths.window, name) }

// statistics returns the name of the statistics of a field in package window, without the suffix
// Part of the functions that fold its values.
func statistics(f *layout.Field) (typ, part string) {
	switch number := f.Type.Traits().Number; {
	case number == schema.Floating:
		return "Float64", "Float"
	case number != schema.NoNumber, f.Type == schema.Duration:
		return "Int", "Int"
	}
	return "Values", "Values"
}

// windowType declares the statistics of the events in a window of time:
//
//	type BalloonWindow struct { window.Window; BalloonSeries; Pressure window.Int[int64]; … }
func (s *schemaFile) windowType() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s summarizes the events of a series in a window of time.", s.names.Window)).Line().
		Type().Id(s.names.Window).StructFunc(func(g *jen.Group) {
		g.Add(s.window("Window"))
		g.Id(s.names.Series)
		for i := range s.layout.Fields {
			f := &s.layout.Fields[i]
			typ, _ := statistics(f)
			g.Id(s.names.Field(f).Name).Add(s.window(typ)).Types(s.goType(f))
		}
	})
}

// windowColumns declares windows in columnar form, and its methods:
//
//	type BalloonWindowColumns struct { window.WindowColumns[BalloonSeries]; Pressure window.NumberColumns[int64]; … }
func (s *schemaFile) windowColumns() jen.Code {
	name := s.names.WindowColumns
	method := func(text, method string, params ...jen.Code) *jen.Statement {
		return jen.Line().Line().Add(gocode.Doc(text)).Line().Func().Params(jen.Id("c").Op("*").Id(name)).Id(method).Params(params...)
	}
	fields := s.layout.Fields
	return gocode.Doc(fmt.Sprintf("%s holds windows in slices of equal length; see store.AppendWindows.", name)).Line().
		Type().Id(name).StructFunc(func(g *jen.Group) {
		g.Add(s.window("WindowColumns").Types(jen.Id(s.names.Series)))
		for i := range fields {
			typ, _ := statistics(&fields[i])
			if typ != "Values" {
				typ = "Number"
			}
			g.Id(s.names.Field(&fields[i]).Name).Add(s.window(typ + "Columns")).Types(s.goType(&fields[i]))
		}
	}).Add(method("Reset empties the slices and keeps their memory.", "Reset").Add(oneLine(s.window("Reset").Call(jen.Id("c"))))).
		Add(method("Append adds a window.", "Append", jen.Id("w").Op("*").Id(s.names.Window)).BlockFunc(func(g *jen.Group) {
			g.Id("c").Dot("WindowColumns").Dot("Append").Call(jen.Op("&").Id("w").Dot("Window"), jen.Id("w").Dot(s.names.Series))
			for i := range fields {
				field := s.names.Field(&fields[i]).Name
				g.Id("c").Dot(field).Dot("Append").Call(jen.Op("&").Id("w").Dot(field))
			}
		}))
}

// seriesConsts declares the series values by which windows are grouped.
func (s *schemaFile) seriesConsts() jen.Code {
	if len(s.layout.Series) == 0 {
		return nil
	}
	return gocode.Doc(fmt.Sprintf("The values of %s, for store.WindowOptions.", s.names.Series)).Line().
		Const().Defs(each(s.layout.Series, func(_ int, f *layout.Field) jen.Code {
		return jen.Id(s.names.Field(f).Const).Add(s.store("SeriesValue")).Op("=").Lit(f.Name)
	})...)
}

// windowsVar declares how events are folded into windows:
//
//	var balloonWindows = window.NewSpec[BalloonSeries, BalloonWindow](window.IntPart[int64]("pressure", 2), …)
func (s *schemaFile) windowsVar() jen.Code {
	slice := len(s.columnsFields()) - len(s.layout.Fields) // of the first field
	return gocode.Doc(fmt.Sprintf("%s says how the slices of %s are summarized, by their indexes.", s.names.Windows, s.names.Columns)).Line().
		Var().Id(s.names.Windows).Op("=").Add(s.window("NewSpec")).Types(jen.Id(s.names.Series), jen.Id(s.names.Window)).Custom(multiCall, each(s.layout.Fields, func(i int, f *layout.Field) jen.Code {
		_, part := statistics(f)
		switch {
		case f.Optional && isSlice(f):
			part = "OptionalBytes"
		case f.Optional:
			part = "Optional" + part
		}
		return s.window(part+"Part").Types(s.goType(f)).Call(jen.Lit(s.layout.FieldName(f)), jen.Lit(slice+i))
	})...)
}

// withNote adds a paragraph to a comment; none if the note is empty.
func withNote(text, note string) string {
	if note == "" {
		return text
	}
	return text + "\n\n" + note
}

// columnsOf returns the reader's method that appends events to columns.
func (s *schemaFile) columnsOf(name, doc string, t *layout.Table, selected param) function {
	columns := param{declared: []jen.Code{jen.Id("columns").Op("*").Id(s.names.Columns)}}
	return function{
		name: name, doc: doc, results: []jen.Code{jen.Error()}, call: s.reader(t).Dot("ReadColumns"), wide: true,
		params: []param{ctx(), passed(s.names.Table(t).Columns), passed("columns"), selected, times(), columns, s.opts("ReadOptions")},
	}
}

// windowsOf returns the reader's method that summarizes events by windows of time:
//
//	func (r *BalloonReader) Windows(ctx context.Context, series BalloonSeries, from, to time.Time, width window.Width, opts ...store.WindowOptions) iter.Seq2[BalloonWindow, error]
func (s *schemaFile) windowsOf(name, doc string, t *layout.Table, selected param) function {
	return function{
		name: name, doc: doc, results: []jen.Code{s.seqOf(jen.Id(s.names.Window))}, call: s.reader(t).Dot("Windows"), result: s.results(jen.Id(s.names.Window)), wide: true,
		params: []param{ctx(), passed(s.names.Table(t).Columns), passed(s.names.Windows), selected, times(), given("width", s.window("Width")), s.opts("WindowOptions")},
	}
}

// pointsOf returns the reader's method that returns the points of charts, of what a method of package store returns:
//
//	func (r *BalloonReader) Points(ctx context.Context, series BalloonSeries, from, to time.Time, field store.Field, n int) ([]window.Point, error)
func (s *schemaFile) pointsOf(name, doc string, t *layout.Table, selected param, method string, result func(jen.Code) *jen.Statement, results ...jen.Code) function {
	return function{
		name: name, doc: doc, results: results, call: s.reader(t).Dot(method), result: result, wide: true,
		params: []param{ctx(), passed(s.names.Table(t).Columns), passed(s.names.Windows), selected, times(), given("field", s.store("Field")), given("n", jen.Int())},
	}
}
