package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
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
	}).Add(s.eventSeq()).BlockFunc(func(g *jen.Group) {
		given, many := s.given(g, q)
		g.Return(jen.Id("r").Dot(s.names.Table(q.Table).Reader).Dot("Query"+many).Call(jen.Id("ctx"), s.queryRef(q), given, jen.Id("from"), jen.Id("to"), jen.Id("opts").Op("...")))
	})
}

// queryRef renders the query of a method, with the values of its conditions:
//
//	quakeBySensor.Where(QuakeEvent{Magnitude: magnitudeFrom}, QuakeEvent{Magnitude: magnitudeTo})
func (s *schemaFile) queryRef(q *layout.Query) *jen.Statement {
	names := s.names.Query(q)
	if len(q.Where) == 0 {
		return jen.Op("&").Id(names.Var)
	}
	bounds := func(end int) jen.Code {
		var fields []field
		for i, w := range q.Where {
			if f := &s.layout.Fields[w.Field]; end == 0 || !w.Equal {
				value := jen.Id(names.Where[i][end])
				if f.Optional && !isSlice(f) {
					value = jen.Op("&").Add(value)
				}
				fields = append(fields, field{s.names.Field(f).Name, value})
			}
		}
		return jen.Id(s.names.Event).Add(inline(fields...))
	}
	return jen.Id(names.Var).Dot("Where").Call(bounds(0), bounds(1))
}

// given renders an event with the values of a query, or several, and returns the variables. many
// is the suffix of the functions that take several, or the ends of a range.
func (s *schemaFile) given(g *jen.Group, q *layout.Query) (given *jen.Statement, many string) {
	if len(q.Range) > 0 {
		partial := s.names.Query(q).Partial
		low, high := jen.Id(s.names.Event).Values(s.givenSeries(q, partial[0])), jen.Id(s.names.Event).Values(s.givenSeries(q, partial[1]))
		g.Id("low").Op(":=").Add(low)
		g.Id("high").Op(":=").Add(high)
		return jen.List(jen.Id("low"), jen.Id("high")), "Range"
	}
	event := jen.Id(s.names.Event).Values(s.givenSeries(q, s.names.Query(q).Partial...))
	if len(q.Many) == 0 {
		g.Id("event").Op(":=").Add(event)
		return jen.Id("event"), ""
	}
	n := slices.Index(q.By, q.Many[0])
	names := s.names.Query(q)
	of := jen.Func().Params(jen.Id(names.Params[n]).Add(s.goType(&s.layout.Series[q.Many[0]]))).Id(s.names.Event).Block(jen.Return(event))
	g.Id("events").Op(":=").Add(s.store("Each")).Call(jen.Id(names.Several), of)
	return jen.Id("events"), "Many"
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
	}).Qual("iter", "Seq2").Types(jen.Id(s.names.Series), jen.Error()).BlockFunc(func(g *jen.Group) {
		g.Id("event").Op(":=").Id(s.names.Event).Values(s.givenSeries(q, s.names.Query(q).Partial...))
		g.Return(s.store("QuerySeries").Types(jen.Id(s.names.Series)).Call(jen.Id("ctx"), jen.Id("r").Dot(s.names.Table(q.Table).Reader), jen.Op("&").Id(names.Var), jen.Id("event"), jen.Id("from"), jen.Id("to")))
	})
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
	return jen.Add(s.deleting(q, names.DeleteMethod, text, "DeleteQuery", ends)).Line().Line().
		Add(s.deleting(q, names.DeleteAllMethod, all, "DeleteAllQuery", nil))
}

// deleting declares a method of the writer that calls a function of package store. ends are the
// ends of the time range, none for all times.
func (s *schemaFile) deleting(q *layout.Query, method, text, function string, ends []jen.Code) jen.Code {
	return gocode.Doc(text).Add(notInlined()).
		Func().Params(jen.Id("w").Op("*").Id(s.names.Writer)).Id(method).ParamsFunc(func(g *jen.Group) {
		s.valueParams(g, q)
		if ends != nil {
			g.Add(timesParam())
		}
		g.Add(s.optsParam("DeleteOptions"))
	}).Params(s.store("Deletion"), jen.Error()).BlockFunc(func(g *jen.Group) {
		g.Id("event").Op(":=").Id(s.names.Event).Values(s.givenSeries(q, s.names.Query(q).Partial...))
		args := append([]jen.Code{jen.Id("ctx"), jen.Id("w").Dot("EventWriter"), jen.Id(s.names.Query(q).Deletes), jen.Id("event")}, ends...)
		g.Return(s.store(function).Call(append(args, jen.Id("opts").Op("..."))...))
	})
}

// deletesVar declares the list of the queries of all tables.
func (s *schemaFile) deletesVar(q *layout.Query) jen.Code {
	if q.Deletes == nil {
		return nil
	}
	names := s.names.Query(q)
	return gocode.Doc(fmt.Sprintf("%s defines which rows %s deletes from in each table.", names.Deletes, names.DeleteMethod)).Line().
		Var().Id(names.Deletes).Op("=").Index().Op("*").Add(s.store("Query")).Types(jen.Id(s.names.Event)).
		ValuesFunc(func(g *jen.Group) {
			for i := range q.Deletes {
				g.Op("&").Id(s.names.Query(&q.Deletes[i]).Var)
			}
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
	return "of the series with the given " + list(given)
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
	return jen.Id(s.names.Series).Op(":").Id(s.names.Series).Add(inline(fields...))
}

// queryParams renders the parameters of a query: the series values and the time range.
func (s *schemaFile) queryParams(g *jen.Group, q *layout.Query) {
	s.valueParams(g, q)
	g.Add(timesParam())
}

// timesParam renders the parameters for a time range.
func timesParam() jen.Code { return jen.List(jen.Id("from"), jen.Id("to")).Qual("time", "Time") }

// valueParams renders the parameters of a query without the time range.
func (s *schemaFile) valueParams(g *jen.Group, q *layout.Query) {
	g.Add(ctxParam())
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

// queryVar declares the store.Query of a query.
func (s *schemaFile) queryVar(q *layout.Query) jen.Code {
	fields := []field{{"Name", jen.Lit(q.Name)}, {"Spans", jen.Id(s.names.Query(q).Spans)}}
	if !q.Timed {
		fields = append(fields, field{"AllTimes", jen.True()})
	}
	if q.Contiguous() {
		fields = append(fields, field{"Contiguous", jen.True()})
	}
	if q.MultiSeries() {
		fields = append(fields, field{"MultiSeries", jen.True()})
	}
	if q.ByKeys(s.layout) {
		fields = append(fields, field{"Keys", jen.Id(s.names.Query(q).Keys)})
	}
	if filtered := q.Filtered; len(filtered) > 0 {
		e, given := jen.Id("e"), jen.Id("given")
		fields = append(fields, field{"Match", jen.Func().Params(jen.List(e, given).Op("*").Id(s.names.Event)).Bool().Block(
			jen.Return(s.sameValues("e", "given", filtered)))})
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
	if len(q.Older) > 0 {
		fields = append(fields, field{"Older", jen.Index().Op("*").Add(s.store("Query")).Types(jen.Id(s.names.Event)).ValuesFunc(func(g *jen.Group) {
			for i := range q.Older {
				g.Op("&").Id(s.names.Query(&q.Older[i]).Var)
			}
		})})
	}
	return gocode.Doc(fmt.Sprintf("%s defines which rows %s reads in %s%s.", s.names.Query(q).Var, q.Name, q.Table.ID, ofEvents(q.Table))).Line().
		Var().Id(s.names.Query(q).Var).Op("=").Add(s.store("Query")).Types(jen.Id(s.names.Event)).Add(lines(fields...))
}

// queryKeys declares the function that returns a key pattern for a query whose spans
// contain other rows, too.
func (s *schemaFile) queryKeys(q *layout.Query) jen.Code {
	if !q.ByKeys(s.layout) {
		return nil
	}
	return gocode.Doc(fmt.Sprintf("%s returns a pattern for the row keys of %s.", s.names.Query(q).Keys, q.Name)).Line().
		Func().Id(s.names.Query(q).Keys).Params(jen.Id("e").Op("*").Id(s.names.Event)).Params(jen.Op("*").Add(s.codec("KeyPattern")), jen.Error()).BlockFunc(func(g *jen.Group) {
		g.Id("p").Op(":=").Add(s.codec("NewKeyPattern")).Call(jen.Lit(q.Table.Delimiter))
		if q.AnyWidth() {
			g.Id("p").Dot("AnyWidth").Call()
		}
		for _, segment := range q.Table.Segments {
			if segment.Joined {
				g.Id("p").Dot("Join").Call()
			}
			g.Add(s.keySegment(q, segment))
		}
		g.Return(jen.Id("p").Dot("Pattern").Call())
	})
}

// keySegment renders the code that adds a segment to pattern p.
func (s *schemaFile) keySegment(q *layout.Query, segment codec.Segment) jen.Code {
	p := func(method string, args ...jen.Code) jen.Code { return jen.Id("p").Dot(method).Call(args...) }
	switch q.PatternPart(s.layout, segment) {
	case layout.TimePart:
		return p("Time")
	case layout.KnownPart:
		return p("Known", jen.Func().Params(jen.Id("w").Op("*").Add(s.codec("KeyWriter"))).BlockFunc(func(g *jen.Group) {
			s.writeKnown(g, "w", q, []codec.Segment{segment})
		}))
	case layout.BytesPart:
		return p("Bytes", jen.Lit(q.Table.Width(&segment)))
	case layout.TerminatedPart:
		return p("Terminated")
	default:
		return p("Any")
	}
}

// sameValues renders the condition that two events have equal values of some series.
func (s *schemaFile) sameValues(a, b string, series []int) *jen.Statement {
	out := jen.Null()
	for n, i := range series {
		f := &s.layout.Series[i]
		x, y := s.value(a, f), s.value(b, f)
		if n > 0 {
			out.Op("&&")
		}
		switch f.Type {
		case schema.Bytes:
			out.Qual("bytes", "Equal").Call(x, y)
		case schema.Timestamp:
			out.Add(x).Dot("Equal").Call(y)
		default:
			out.Add(x).Op("==").Add(y)
		}
	}
	return out
}

// querySpans declares the function that returns the spans of a query.
func (s *schemaFile) querySpans(q *layout.Query) jen.Code {
	each, values := "", jen.Null()
	switch {
	case q.Salts > 1:
		each, values = "salt", jen.Lit(q.Salts)
	case q.Table.Metrics():
		each, values = "metric", jen.Index().String().ValuesFunc(func(g *jen.Group) {
			for _, c := range q.Table.AllColumns() {
				g.Lit(c.Qualifier)
			}
		})
	}
	f := gocode.Doc(fmt.Sprintf("%s returns the spans with the rows of %s.", s.names.Query(q).Spans, q.Name)).Line().
		Func().Id(s.names.Query(q).Spans).Params(jen.Id("e").Op("*").Id(s.names.Event)).
		Params(jen.Index().Add(s.codec("Span")), jen.Error())
	if each == "" {
		return f.BlockFunc(func(g *jen.Group) {
			s.querySpan(g, q)
			g.Return(jen.Index().Add(s.codec("Span")).Values(jen.Id("span")), jen.Err())
		})
	}
	loop := jen.Id(each).Op(":=").Range().Add(values)
	if each == "metric" {
		loop = jen.List(jen.Id("_"), jen.Id(each)).Op(":=").Range().Add(values)
	}
	return f.BlockFunc(func(g *jen.Group) {
		g.Var().Id("spans").Index().Add(s.codec("Span"))
		g.For(loop).BlockFunc(func(g *jen.Group) {
			s.querySpan(g, q)
			g.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err()))
			g.Id("spans").Op("=").Append(jen.Id("spans"), jen.Id("span"))
		})
		g.Return(jen.Id("spans"), jen.Nil())
	})
}

// querySpan renders the code that sets span and err.
func (s *schemaFile) querySpan(g *jen.Group, q *layout.Query) {
	s.newKeyWriter(g, q.Table, "before", jen.Nil())
	s.writeKnown(g, "before", q, q.Table.Segments[:q.Before])
	switch part := &q.Table.Segments[min(q.Before, len(q.Table.Segments)-1)]; {
	case !q.Selection.Partial:
	case len(q.Prefix) > 0:
		f := &s.layout.Series[part.Series]
		form := s.codec("KeyForm").Values()
		if rendered := s.keyForm(part.Form); rendered != nil {
			form = rendered
		}
		g.Id("before").Dot("StringPrefix").Call(jen.Lit(f.Name), form, s.value("e", f))
	default:
		s.writeKnown(g, "before", q, []codec.Segment{*part})
	}
	suffix := jen.Nil()
	if q.After > 0 {
		s.newKeyWriter(g, q.Table, "after", jen.Nil())
		s.writeKnown(g, "after", q, q.Table.AfterTime()[:q.After])
		suffix = jen.Id("after").Dot("Prefix")
		if q.Whole {
			suffix = jen.Id("after").Dot("Key")
		}
	}
	prefix := "Prefix"
	if q.Ends() {
		prefix = "Key"
	}
	g.List(jen.Id("span"), jen.Err()).Op(":=").Add(s.store("Span")).Call(jen.Id("before").Dot(prefix), suffix, jen.Lit(q.Table.TimeDelimiter()), jen.Lit(q.Whole))
	if rest := q.Rest(s.layout); rest > 0 {
		g.Id("span").Dot("Rest").Op("=").Lit(rest)
	}
	if q.Timed && q.Table.Endless() {
		g.Id("span").Dot("Exact").Op("=").True()
	}
}

// writeKnown renders the code that writes the segments that a query specifies.
func (s *schemaFile) writeKnown(g *jen.Group, to string, q *layout.Query, segments []codec.Segment) {
	c := keyCode{to: to, from: "e", metric: jen.Id("metric")}
	if q.Salts > 1 {
		c.salt = jen.Id("salt")
	}
	s.writeSegments(g, q.Table, segments, c)
}
