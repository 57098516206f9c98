package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
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
		Const().DefsFunc(func(g *jen.Group) {
		for i := range s.layout.Series {
			g.Id(s.names.Field(&s.layout.Series[i]).Const).Add(s.store("SeriesValue")).Op("=").Lit(s.layout.Series[i].Name)
		}
	})
}

// windowsVar declares how events are folded into windows:
//
//	var balloonWindows = window.NewSpec[BalloonSeries, BalloonWindow](window.IntPart[int64]("pressure", 2), …)
func (s *schemaFile) windowsVar() jen.Code {
	slice := len(s.columnsFields()) - len(s.layout.Fields) // of the first field
	return gocode.Doc(fmt.Sprintf("%s says how the slices of %s are summarized, by their indexes.", s.names.Windows, s.names.Columns)).Line().
		Var().Id(s.names.Windows).Op("=").Add(s.window("NewSpec")).Types(jen.Id(s.names.Series), jen.Id(s.names.Window)).CustomFunc(multiCall, func(g *jen.Group) {
		for i := range s.layout.Fields {
			f := &s.layout.Fields[i]
			_, part := statistics(f)
			switch {
			case f.Optional && isSlice(f):
				part = "OptionalBytes"
			case f.Optional:
				part = "Optional" + part
			}
			g.Add(s.window(part+"Part").Types(s.goType(f)).Call(jen.Lit(s.layout.FieldName(f)), jen.Lit(slice+i)))
		}
	})
}

// windowsMethod declares the reader's method that summarizes the events of a series:
//
//	func (r *BalloonReader) Windows(ctx context.Context, series BalloonSeries, from, to time.Time, width window.Width, opts ...store.WindowOptions) iter.Seq2[BalloonWindow, error]
func (s *schemaFile) windowsMethod() jen.Code {
	const text = "Windows summarizes the events of a series with from <= time < to by windows of time, in order of time; see store.Reader.Windows."
	return s.ofSeries("Windows", withNote(text, prose.Windows(s.layout.Read))).windows()
}

// withNote adds a paragraph to a comment; none if the note is empty.
func withNote(text, note string) string {
	if note == "" {
		return text
	}
	return text + "\n\n" + note
}

// pointsMethod declares the reader's method that returns the points of a chart:
//
//	func (r *BalloonReader) Points(ctx context.Context, series BalloonSeries, from, to time.Time, field store.Field, n int) ([]window.Point, error)
func (s *schemaFile) pointsMethod() jen.Code {
	text := "Points returns the values of a number that a chart of n pixels shows, of the events of a series with from <= time < to; see store.Reader.Points."
	if s.layout.Read.Rolled() {
		text += " A rollup has no points: draw windows where events have expired."
	}
	return s.ofSeries("Points", text).
		points("Points", nil, jen.Params(jen.Index().Add(s.window("Point")), jen.Error()))
}

// seriesParam adds the parameter for a series.
func (s *schemaFile) seriesParam(g *jen.Group) { g.Id("series").Id(s.names.Series) }

// oneSeries renders the selection of the events of a series.
func (s *schemaFile) oneSeries() jen.Code {
	return s.store("SeriesOf").Call(s.baseOf("series"))
}

// queryWindows declares the reader's method that summarizes the events of a query.
func (s *schemaFile) queryWindows(q *layout.Query) jen.Code {
	names := s.names.Query(q)
	text := fmt.Sprintf("%s summarizes the events of %s by windows of time, as Windows does: by series, then by time.", names.WindowsMethod, names.Method)
	switch note := prose.Windows(q.Table); {
	case q.Table == s.layout.Read:
	case note == "" && s.layout.Read.Rolled():
		text += fmt.Sprintf(" They come from the events of table %s.", q.Table.ID)
	default:
		text = withNote(text, note)
	}
	return s.ofQuery(q, names.WindowsMethod, text).windows()
}

// queryPoints declares the reader's method that yields a chart of each series of a query.
func (s *schemaFile) queryPoints(q *layout.Query) jen.Code {
	names := s.names.Query(q)
	text := fmt.Sprintf("%s yields, for each series of %s, the values of a number that a chart of n pixels shows; see store.Reader.Charts.", names.PointsMethod, names.Method)
	return s.ofQuery(q, names.PointsMethod, text).
		points("Charts", s.window("Chart").Types(jen.Id(s.names.Series)), jen.Qual("iter", "Seq2").Types(s.window("Chart").Types(jen.Id(s.names.Series)), jen.Error()))
}

// summary is a method of readers that passes a selection to one of store.Reader.
type summary struct {
	*schemaFile
	method, text string
	table        *layout.Table
	params       func(g *jen.Group)
	selected     jen.Code
}

// ofSeries returns a method for one series.
func (s *schemaFile) ofSeries(method, text string) summary {
	return summary{s, method, text, s.layout.Read, s.seriesParam, s.oneSeries()}
}

// ofQuery returns a method for a query.
func (s *schemaFile) ofQuery(q *layout.Query, method, text string) summary {
	return summary{s, method, text, q.Table, func(g *jen.Group) { s.valueParams(g, q) }, s.selected(q)}
}

// columns declares the method for columns.
func (s summary) columns() jen.Code {
	params := []jen.Code{jen.Id("columns").Op("*").Id(s.names.Columns), s.optsParam("ReadOptions")}
	return s.declare("ReadColumns", nil, jen.Error(), params, jen.Id("columns"), jen.Id("opts").Op("..."))
}

// windows declares the method for windows of time.
func (s summary) windows() jen.Code {
	result := jen.Qual("iter", "Seq2").Types(jen.Id(s.names.Window), jen.Error())
	return s.declare("Windows", jen.Id(s.names.Window), result, []jen.Code{jen.Id("width").Add(s.window("Width")), s.optsParam("WindowOptions")}, jen.Id(s.names.Windows), jen.Id("width"), jen.Id("opts").Op("..."))
}

// points declares the method for points of a chart.
func (s summary) points(method string, typ *jen.Statement, result jen.Code) jen.Code {
	return s.declare(method, typ, result, []jen.Code{jen.Id("field").Add(s.store("Field")), jen.Id("n").Int()}, jen.Id(s.names.Windows), jen.Id("field"), jen.Id("n"))
}

// declare declares the method, which calls one of store.Reader, whose results have the type, if it is not nil: with what into
// says before the selection, and args after the time range.
func (s summary) declare(method string, typ *jen.Statement, result jen.Code, params []jen.Code, into jen.Code, args ...jen.Code) jen.Code {
	call := s.reader(s.table).Dot(method).CallFunc(func(g *jen.Group) {
		for _, arg := range append([]jen.Code{
			jen.Id("ctx"), jen.Id(s.names.Table(s.table).Columns), into, s.selected, jen.Id("from"), jen.Id("to"),
		}, args...) {
			g.Add(arg)
		}
	})
	if typ != nil {
		call = s.results(typ)(call)
	}
	return gocode.Doc(s.text).Line().
		Func().Params(jen.Id("r").Op("*").Id(s.names.Reader)).Id(s.method).ParamsFunc(func(g *jen.Group) {
		g.Add(ctxParam())
		s.params(g)
		g.Add(timesParam())
		for _, p := range params {
			g.Add(p)
		}
	}).Add(result).Block(jen.Return(call))
}
