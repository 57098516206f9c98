package emit

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
)

// queryMethod declares the reader's method for a query:
//
//	func (r *BalloonReader) ByLocation(ctx context.Context, location string, from, to time.Time) iter.Seq2[BalloonEvent, error]
func (s *schemaFile) queryMethod(q *layout.Query) jen.Code {
	text := []string{fmt.Sprintf("%s yields the events with from <= time < to %s, %s. Its errors are those of Read. It reads from table %s: %s%s.", s.names.Query(q).Method, prose.Selects(s.layout, q), prose.Order(s.layout, q), q.Table.ID, prose.AllRanges(q), prose.Together(s.layout, q))}
	if q.Doc != "" {
		text = append(text, "", gocode.Sentence(q.Doc))
	}
	for _, note := range prose.Notes(s.layout, q) {
		text = append(text, "", note)
	}
	return gocode.Doc(text...).Line().
		Func().Params(jen.Id("r").Op("*").Id(s.names.Reader)).Id(s.names.Query(q).Method).ParamsFunc(func(g *jen.Group) {
		s.queryParams(g, q)
		g.Add(s.optsParam("ReadOptions"))
	}).Add(s.eventSeq()).Block(
		jen.Return(s.resultEvents(s.reader(q.Table).Dot("Read").Call(jen.Id("ctx"), s.selected(q), jen.Id("from"), jen.Id("to"), jen.Id("opts").Op("...")))),
	)
}

// seriesMethod declares the reader's method that lists the series of a query:
//
//	func (r *BalloonReader) ByLocationSeries(ctx context.Context, location string, from, to time.Time) iter.Seq2[BalloonSeries, error]
func (s *schemaFile) seriesMethod(q *layout.Query) jen.Code {
	if !q.Series {
		return nil
	}
	names := s.names.Query(q)
	text := fmt.Sprintf("%s yields the series of %s that have events with from <= time < to, each once, without reading the events. %s Its errors are those of Read.", names.SeriesMethod, names.Method, prose.Listing(s.layout, q))
	return gocode.Doc(text).Line().
		Func().Params(jen.Id("r").Op("*").Id(s.names.Reader)).Id(names.SeriesMethod).ParamsFunc(func(g *jen.Group) {
		s.queryParams(g, q)
	}).Qual("iter", "Seq2").Types(jen.Id(s.names.Series), jen.Error()).Block(
		jen.Return(s.results(jen.Id(s.names.Series))(s.reader(q.Table).Dot("ReadSeries").Call(jen.Id("ctx"), s.selected(q), jen.Id("from"), jen.Id("to")))),
	)
}

// deleteMethod declares the writer's methods that delete by a query:
//
//	func (w *BalloonWriter) DeleteByLocation(ctx context.Context, location string, from, to time.Time, opts ...store.DeleteOptions) (store.Deletion, error)
//	func (w *BalloonWriter) DeleteAllByLocation(ctx context.Context, location string, opts ...store.DeleteOptions) (store.Deletion, error)
func (s *schemaFile) deleteMethod(q *layout.Query) jen.Code {
	if q.Deletes == nil {
		return nil
	}
	names := s.names.Query(q)
	reads := fmt.Sprintf("It reads keys and timestamps %s.", strings.Join(prose.Deletes(q), "; "))
	if len(q.Where()) > 0 {
		reads = fmt.Sprintf("They are those that %s yields from table %s; see store.Writer.DeleteRange.", names.Method, q.Table.ID)
	}
	text := fmt.Sprintf("%s deletes the events with from <= time < to, %s, from all tables, as DeleteRange does for one series. %s", names.DeleteMethod, prose.Selects(s.layout, q), reads)
	all := fmt.Sprintf("%s deletes all events, %s, as %s does, whatever their times, as DeleteSeries does for one series.", names.DeleteAllMethod, prose.Selects(s.layout, q), names.DeleteMethod)
	ends := []jen.Code{jen.Id("from"), jen.Id("to")}
	return jen.Add(s.deleting(q, names.DeleteMethod, text, "DeleteRange", ends)).Line().Line().
		Add(s.deleting(q, names.DeleteAllMethod, all, "DeleteAll", nil))
}

// deleting declares a method of the writer that calls one of package store. ends are the
// ends of the time range, none for all times.
func (s *schemaFile) deleting(q *layout.Query, method, text, called string, ends []jen.Code) jen.Code {
	return gocode.Doc(text).Line().
		Func().Params(jen.Id("w").Op("*").Id(s.names.Writer)).Id(method).ParamsFunc(func(g *jen.Group) {
		g.Add(ctxParam())
		s.valueParams(g, q)
		if ends != nil {
			g.Add(timesParam())
		}
		g.Add(s.optsParam("DeleteOptions"))
	}).Params(s.store("Deletion"), jen.Error()).BlockFunc(func(g *jen.Group) {
		args := append([]jen.Code{jen.Id("ctx"), s.selected(q)}, ends...)
		g.Return(s.writer().Dot(called).Call(append(args, jen.Id("opts").Op("..."))...))
	})
}

// queryVar declares a query:
//
//	var balloonByLocation = store.Query{Name: "ByLocation", Given: codec.Given{Series: []int{0}}}
func (s *schemaFile) queryVar(q *layout.Query) jen.Code {
	return jen.Var().Id(s.names.Query(q).Var).Op("=").Add(s.store("Query")).Add(inline(s.fields(reflect.ValueOf(q.Definition(s.layout)))...))
}

// querySelect declares a query and the function that gives it its values:
//
//	var balloonByLocation = store.Query{…}
//
//	func selectBalloonByLocation(location string) store.Selection { … }
func (s *schemaFile) querySelect(q *layout.Query) jen.Code {
	return jen.Add(s.queryVar(q)).Line().Line().Add(gocode.Doc(fmt.Sprintf("%s returns what %s selects.", s.names.Query(q).Select, q.Name))).Line().
		Func().Id(s.names.Query(q).Select).ParamsFunc(func(g *jen.Group) { s.valueParams(g, q) }).
		Add(s.store("Selection")).Block(jen.Return(s.bound(q, jen.Id(s.names.Query(q).Var))))
}

// bound renders a query, the variable, with its values.
func (s *schemaFile) bound(q *layout.Query, variable *jen.Statement) *jen.Statement {
	ends, method := 1, "Bind"
	if part := q.Part(); part != nil {
		ends = part.Ends()
	}
	switch {
	case ends == 2 && q.Several() != nil:
		method = "ManyRanges"
	case ends == 2:
		method = "Range"
	case q.Several() != nil:
		method = "Many"
	}
	out := variable.Dot(method).CallFunc(func(g *jen.Group) {
		for end := range ends {
			g.Add(s.given(q, end))
		}
	})
	if len(q.Where()) > 0 {
		out.Dot("Where").Call(s.bounds(q, 0), s.bounds(q, 1))
	}
	return out
}

// given renders an event with the series values that a query specifies, or one for each of several:
// those of the start or of the end of a range.
func (s *schemaFile) given(q *layout.Query, end int) jen.Code {
	names := s.names.Query(q)
	var fields []field
	var each func(of jen.Code) *jen.Statement
	for i, in := range q.Inputs {
		value := jen.Id(names.Params[i][min(end, len(names.Params[i])-1)])
		if in.Many {
			several := value
			if value = jen.Id(names.One); in.Ends() == 2 {
				value.Index(jen.Lit(end))
			}
			each = func(of jen.Code) *jen.Statement {
				return s.store("Each").Call(several, jen.Func().Params(jen.Id(names.One).Add(s.oneOf(&in))).Any().Block(jen.Return(of)))
			}
		}
		if !in.Where {
			fields = append(fields, field{s.names.Field(in.Of(s.layout)).Name, value})
		}
	}
	event := jen.Op("&").Add(s.own(s.names.Event)).ValuesFunc(func(g *jen.Group) {
		if fields != nil {
			g.Id(s.names.Series).Op(":").Add(s.own(s.names.Series)).Add(inline(fields...))
		}
	})
	if each != nil {
		return each(event)
	}
	return event
}

// bounds renders an event with one end of the conditions of a query.
func (s *schemaFile) bounds(q *layout.Query, end int) jen.Code {
	var fields []field
	for i, in := range q.Inputs {
		if f := in.Of(s.layout); in.Where && end < in.Ends() {
			value := jen.Id(s.names.Query(q).Params[i][end])
			if f.Optional && !isSlice(f) {
				value = jen.Op("&").Add(value)
			}
			fields = append(fields, field{s.names.Field(f).Name, value})
		}
	}
	return jen.Op("&").Add(s.own(s.names.Event)).Add(inline(fields...))
}

// selected renders the call of the function that gives a query its values, with the parameters of
// [schemaFile.valueParams].
func (s *schemaFile) selected(q *layout.Query) *jen.Statement {
	names := s.names.Query(q)
	return jen.Id(names.Select).CallFunc(func(g *jen.Group) {
		for _, name := range slices.Concat(names.Params...) {
			g.Id(name)
		}
	})
}

// queryParams renders the parameters of a query: the series values and the time range.
func (s *schemaFile) queryParams(g *jen.Group, q *layout.Query) {
	g.Add(ctxParam())
	s.valueParams(g, q)
	g.Add(timesParam())
}

// timesParam renders the parameters for a time range.
func timesParam() jen.Code { return jen.List(jen.Id("from"), jen.Id("to")).Qual("time", "Time") }

// valueParams renders the parameters of a query for its values.
func (s *schemaFile) valueParams(g *jen.Group, q *layout.Query) {
	for i, in := range q.Inputs {
		for _, name := range s.names.Query(q).Params[i] {
			param := g.Id(name)
			if in.Many {
				param.Index()
			}
			param.Add(s.oneOf(&in))
		}
	}
}

// oneOf renders the type of a value or, if callers give several ranges, of the two ends of one.
func (s *schemaFile) oneOf(in *layout.Input) *jen.Statement {
	typ := jen.Add(s.goType(in.Of(s.layout)))
	if in.Many && in.Ends() == 2 {
		return jen.Index(jen.Lit(2)).Add(typ)
	}
	return typ
}
