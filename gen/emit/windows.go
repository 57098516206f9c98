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

// seriesConsts declares the series values by which windows are grouped.
func (s *schemaFile) seriesConsts() jen.Code {
	if len(s.layout.Series) == 0 {
		return nil
	}
	return gocode.Doc(fmt.Sprintf("The values of %s, for store.WindowOptions.", s.names.Series)).Line().
		Const().DefsFunc(func(g *jen.Group) {
		for i := range s.layout.Series {
			g.Id(s.names.Field(&s.layout.Series[i]).Const).Add(s.store("SeriesValue")).Op("=").Lit(i)
		}
	})
}

// windowsVar declares how events are folded into windows:
//
//	var balloonWindows = window.NewSpec(…, window.IntPart("pressure", func(w *BalloonWindow) *window.Int[int64] { return &w.Pressure }, …), …)
func (s *schemaFile) windowsVar() jen.Code {
	place := func(name string, typ *jen.Statement) *jen.Statement {
		return jen.Func().Params(jen.Id("w").Op("*").Id(s.names.Window)).Op("*").Add(typ).Add(oneLine(jen.Return(jen.Op("&").Id("w").Dot(name))))
	}
	values := func(name string, typ *jen.Statement) *jen.Statement {
		return jen.Func().Params(jen.Id("c").Op("*").Id(s.names.Columns)).Index().Add(typ).Add(oneLine(jen.Return(jen.Id("c").Dot(name))))
	}
	return gocode.Doc(fmt.Sprintf("%s says how events are summarized.", s.names.Windows)).Line().
		Var().Id(s.names.Windows).Op("=").Add(s.window("NewSpec")).CustomFunc(multiCall, func(g *jen.Group) {
		g.Add(place("Window", s.window("Window")))
		g.Add(place(s.names.Series, jen.Id(s.names.Series)))
		g.Add(values("Time", jen.Qual("time", "Time")))
		for i := range s.layout.Fields {
			f := &s.layout.Fields[i]
			typ, part := statistics(f)
			switch {
			case f.Optional && isSlice(f):
				part = "OptionalBytes"
			case f.Optional:
				part = "Optional" + part
			}
			name := s.names.Field(f).Name
			g.Add(s.window(part+"Part").Call(jen.Lit(s.layout.FieldName(f)), place(name, s.window(typ).Types(s.goType(f))), values(name, s.fieldType(f))))
		}
	})
}

// windowSeq is the type iter.Seq2[Window, error].
func (s *schemaFile) windowSeq() *jen.Statement {
	return jen.Qual("iter", "Seq2").Types(jen.Id(s.names.Window), jen.Error())
}

// windowsMethod declares the reader's method that summarizes the events of a series:
//
//	func (r *BalloonReader) Windows(ctx context.Context, series BalloonSeries, from, to time.Time, width window.Width, opts ...store.WindowOptions) iter.Seq2[BalloonWindow, error]
func (s *schemaFile) windowsMethod() jen.Code {
	const text = "Windows summarizes the events of a series with from <= time < to by windows of time, in order of time; see store.Windows."
	series := s.store("SeriesOf").Call(jen.Id(s.names.Event).Add(inline(field{s.names.Series, jen.Id("series")})))
	return s.windows("Windows", text, s.layout.Read, func(g *jen.Group) { g.Id("series").Id(s.names.Series) }, series)
}

// queryWindows declares the reader's method that summarizes the events of a query.
func (s *schemaFile) queryWindows(q *layout.Query) jen.Code {
	names := s.names.Query(q)
	text := fmt.Sprintf("%s summarizes the events of %s by windows of time, as Windows does: by series, then by time.", names.WindowsMethod, names.Method)
	return s.windows(names.WindowsMethod, text, q.Table, func(g *jen.Group) { s.valueParams(g, q) }, s.selected(q))
}

// windows declares a method that summarizes what a selection has in a table.
func (s *schemaFile) windows(method, text string, t *layout.Table, params func(g *jen.Group), selected jen.Code) jen.Code {
	return gocode.Doc(text).Add(notInlined()).
		Func().Params(jen.Id("r").Op("*").Id(s.names.Reader)).Id(method).ParamsFunc(func(g *jen.Group) {
		g.Add(ctxParam())
		params(g)
		g.Add(timesParam())
		g.Id("width").Add(s.window("Width"))
		g.Add(s.optsParam("WindowOptions"))
	}).Add(s.windowSeq()).Block(jen.Return(s.store("Windows").Call(
		jen.Id("ctx"), jen.Id("r").Dot(s.names.Table(t).Reader), jen.Id(s.names.Table(t).Columns), jen.Id(s.names.Windows), selected,
		jen.Id("from"), jen.Id("to"), jen.Id("width"), jen.Id("opts").Op("..."),
	)))
}
