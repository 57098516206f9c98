package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/words"
)

// queryMethod declares the reader's method for a query:
//
//	func (r *BalloonReader) ByLocation(ctx context.Context, location string, from, to time.Time) iter.Seq2[BalloonEvent, error]
func (s *schemaFile) queryMethod(q *layout.Query) jen.Code {
	text := []string{fmt.Sprintf("%s yields the events with from <= time < to %s%s, %s. Its errors are those of Read. It reads from table %s: %s%s.", s.names.Query(q).Method, s.ofSeries(q), prose.Where(s.layout, q), prose.Order(s.layout, q), q.Table.ID, prose.AllRanges(q), prose.Together(s.layout, q))}
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
		jen.Return(jen.Id("r").Dot(s.names.Table(q.Table).Reader).Dot("Read").Call(jen.Id("ctx"), s.selected(q), jen.Id("from"), jen.Id("to"), jen.Id("opts").Op("..."))),
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
	without := ", without reading the events"
	if s.hasPoints() {
		without = ""
	}
	text := fmt.Sprintf("%s yields the series of %s that have events with from <= time < to, each once%s. %s Its errors are those of Read.", names.SeriesMethod, names.Method, without, prose.Listing(s.layout, q))
	return gocode.Doc(text).Add(notInlined()).
		Func().Params(jen.Id("r").Op("*").Id(s.names.Reader)).Id(names.SeriesMethod).ParamsFunc(func(g *jen.Group) {
		s.queryParams(g, q)
	}).Qual("iter", "Seq2").Types(jen.Id(s.names.Series), jen.Error()).Block(
		jen.Return(s.store("ReadSeries").Types(jen.Id(s.names.Series)).Call(jen.Id("ctx"), jen.Id("r").Dot(s.names.Table(q.Table).Reader), s.selected(q), jen.Id("from"), jen.Id("to"))),
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
	what := "keys and timestamps"
	if s.hasPoints() {
		what = "rows"
	}
	text := fmt.Sprintf("%s deletes the events with from <= time < to, %s, from all tables, as DeleteRange does for one series. It reads %s %s.", names.DeleteMethod, s.ofSeries(q), what, strings.Join(prose.Deletes(q), "; "))
	all := fmt.Sprintf("%s deletes all events, %s, as %s does, whatever their times, as DeleteSeries does for one series.", names.DeleteAllMethod, s.ofSeries(q), names.DeleteMethod)
	ends := []jen.Code{jen.Id("from"), jen.Id("to")}
	return jen.Add(s.deleting(q, names.DeleteMethod, text, "DeleteSelected", ends)).Line().Line().
		Add(s.deleting(q, names.DeleteAllMethod, all, "DeleteAllSelected", nil))
}

// deleting declares a method of the writer that calls a function of package store. ends are the
// ends of the time range, none for all times.
func (s *schemaFile) deleting(q *layout.Query, method, text, function string, ends []jen.Code) jen.Code {
	return gocode.Doc(text).Add(notInlined()).
		Func().Params(jen.Id("w").Op("*").Id(s.names.Writer)).Id(method).ParamsFunc(func(g *jen.Group) {
		g.Add(ctxParam())
		s.valueParams(g, q)
		if ends != nil {
			g.Add(timesParam())
		}
		g.Add(s.optsParam("DeleteOptions"))
	}).Params(s.store("Deletion"), jen.Error()).BlockFunc(func(g *jen.Group) {
		args := append([]jen.Code{jen.Id("ctx"), jen.Id("w").Dot(held), s.selected(q)}, ends...)
		g.Return(s.store(function).Call(append(args, jen.Id("opts").Op("..."))...))
	})
}

// ofSeries describes which series a query finds.
func (s *schemaFile) ofSeries(q *layout.Query) string {
	var given []string
	for _, i := range q.By {
		name := s.layout.Series[i].Name
		if slices.Contains(q.Many, i) {
			name = "any of several values of " + name
		}
		given = append(given, name)
	}
	for _, i := range q.Prefix {
		given = append(given, "prefix of "+s.layout.Series[i].Name)
	}
	for _, i := range q.Range {
		given = append(given, fmt.Sprintf("range of %s, whose end is excluded", s.layout.Series[i].Name))
	}
	switch {
	case len(given) == 0:
		return "of all series"
	case len(given) == 1 && len(q.Many) == 1:
		return "of the series with " + given[0]
	}
	return "of the series with the given " + words.List(given, "and")
}

// queryVar declares a query:
//
//	var balloonByLocation = store.Query[BalloonEvent]{Name: "ByLocation", Given: codec.Given{Series: []int{0}}}
func (s *schemaFile) queryVar(q *layout.Query) jen.Code {
	fields := []field{{"Name", jen.Lit(q.Name)}}
	if given := q.Selects(); len(given.Series) > 0 {
		fields = append(fields, field{"Given", s.lit(given)})
	}
	if len(q.Where) > 0 {
		fields = append(fields, field{"Conditions", jen.Index().Add(s.store("Condition")).ValuesFunc(func(g *jen.Group) {
			for _, w := range q.Where {
				values := []field{{"Field", jen.Lit(q.Table.ColumnOf(w.Field).Qualifier)}}
				if w.Equal {
					values = append(values, field{"Equal", jen.True()})
				}
				g.Add(inline(values...))
			}
		})})
	}
	return jen.Var().Id(s.names.Query(q).Var).Op("=").Add(s.store("Query")).Types(jen.Id(s.names.Event)).Add(inline(fields...))
}

// querySelect declares a query and the function that gives it its values:
//
//	var balloonByLocation = store.Query[BalloonEvent]{…}
//
//	func selectBalloonByLocation(location string) store.Selection[BalloonEvent] { … }
func (s *schemaFile) querySelect(q *layout.Query) jen.Code {
	return jen.Add(s.queryVar(q)).Line().Line().Add(gocode.Doc(fmt.Sprintf("%s returns what %s selects.", s.names.Query(q).Select, q.Name))).Line().
		Func().Id(s.names.Query(q).Select).ParamsFunc(func(g *jen.Group) { s.valueParams(g, q) }).
		Add(s.store("Selection")).Types(jen.Id(s.names.Event)).Block(jen.Return(s.bound(q, jen.Id(s.names.Query(q).Var))))
}

// bound renders a query, the variable, with its values.
func (s *schemaFile) bound(q *layout.Query, variable *jen.Statement) *jen.Statement {
	names := s.names.Query(q)
	event := func(partial ...string) *jen.Statement {
		return s.own(s.names.Event).Values(s.givenSeries(q, partial...))
	}
	ends := []*jen.Statement{event(names.Partial...)}
	if len(q.Range) > 0 {
		ends = []*jen.Statement{event(names.Partial[0]), event(names.Partial[1])}
	}
	method := map[[2]bool]string{{false, false}: "Bind", {true, false}: "Many", {false, true}: "Range", {true, true}: "ManyRanges"}[[2]bool{len(q.Many) > 0, len(q.Range) > 0}]
	var args []jen.Code
	for _, end := range ends {
		if len(q.Many) > 0 {
			n := slices.Index(q.By, q.Many[0])
			of := jen.Func().Params(jen.Id(names.Params[n]).Add(s.goType(&s.layout.Series[q.Many[0]]))).Add(s.own(s.names.Event)).Block(jen.Return(end))
			end = s.store("Each").Call(jen.Id(names.Several), of)
		}
		args = append(args, end)
	}
	out := variable.Dot(method).Call(args...)
	if len(q.Where) > 0 {
		out.Dot("Where").Call(s.bounds(q, 0), s.bounds(q, 1))
	}
	return out
}

// bounds renders an event with one end of the conditions of a query.
func (s *schemaFile) bounds(q *layout.Query, end int) jen.Code {
	var fields []field
	for i, w := range q.Where {
		if f := &s.layout.Fields[w.Field]; end == 0 || !w.Equal {
			value := jen.Id(s.names.Query(q).Where[i][end])
			if f.Optional && !isSlice(f) {
				value = jen.Op("&").Add(value)
			}
			fields = append(fields, field{s.names.Field(f).Name, value})
		}
	}
	return s.own(s.names.Event).Add(inline(fields...))
}

// selected renders the call of the function that gives a query its values, with the parameters of
// [schemaFile.valueParams].
func (s *schemaFile) selected(q *layout.Query) *jen.Statement {
	names := s.names.Query(q)
	return jen.Id(names.Select).CallFunc(func(g *jen.Group) {
		for n, i := range q.By {
			if slices.Contains(q.Many, i) {
				g.Id(names.Several)
				continue
			}
			g.Id(names.Params[n])
		}
		for _, name := range names.Partial {
			g.Id(name)
		}
		for i, w := range q.Where {
			g.Id(names.Where[i][0])
			if !w.Equal {
				g.Id(names.Where[i][1])
			}
		}
	})
}

// givenSeries renders the series values that a query specifies. partial is the variable of the
// prefix or of one end of the range that it specifies, if it does.
func (s *schemaFile) givenSeries(q *layout.Query, partial ...string) jen.Code {
	if len(q.Given()) == 0 {
		return jen.Null()
	}
	var fields []field
	params := s.names.Query(q).Params
	for n, i := range q.By {
		fields = append(fields, field{s.names.Field(&s.layout.Series[i]).Name, jen.Id(params[n])})
	}
	for _, i := range q.Partial() {
		fields = append(fields, field{s.names.Field(&s.layout.Series[i]).Name, jen.Id(partial[0])})
	}
	return jen.Id(s.names.Series).Op(":").Add(s.own(s.names.Series)).Add(inline(fields...))
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
	params := s.names.Query(q).Params
	for n, i := range q.By {
		if slices.Contains(q.Many, i) {
			g.Id(s.names.Query(q).Several).Index().Add(s.goType(&s.layout.Series[i]))
			continue
		}
		g.Id(params[n]).Add(s.goType(&s.layout.Series[i]))
	}
	partial := s.names.Query(q).Partial
	for _, i := range q.Partial() {
		for _, name := range partial {
			g.Id(name).Add(s.goType(&s.layout.Series[i]))
		}
	}
	for i, w := range q.Where {
		ends := s.names.Query(q).Where[i]
		if w.Equal {
			ends = ends[:1]
		}
		for _, name := range ends {
			g.Id(name).Add(s.goType(&s.layout.Fields[w.Field]))
		}
	}
}
