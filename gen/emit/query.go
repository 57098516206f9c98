package emit

import (
	"fmt"
	godoc "go/doc"
	"go/token"
	"maps"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
)

// queryMethod declares the reader's method for a query:
//
//	func (r *BalloonReader) ByLocation(ctx context.Context, location string, from, to time.Time) iter.Seq2[BalloonEvent, error]
func (s *schemaFile) queryMethod(q *layout.Query) jen.Code {
	what := "all series"
	var given []string
	for _, i := range q.By {
		given = append(given, s.layout.Series[i].Name)
	}
	if len(given) > 0 {
		what = "the series with the " + list(given)
	}
	text := []string{fmt.Sprintf("%s yields the events of %s with from <= time < to, %s, as Read does. It asks table %s for %s.", q.Name, what, sample.Order(s.layout, q), q.Table.ID, sample.Ranges(q))}
	if q.Doc != "" {
		text = append(text, "", sentence(q.Doc))
	}
	for _, note := range sample.Notes(s.layout, q) {
		text = append(text, "", note)
	}
	return doc(text...).Line().
		Func().Params(jen.Id("r").Op("*").Id(s.names.reader())).Id(q.Name).ParamsFunc(func(g *jen.Group) {
		s.queryParams(g, q)
		g.Add(readOptsParam())
	}).Add(s.eventSeq()).BlockFunc(func(g *jen.Group) {
		g.Id("event").Op(":=").Id(s.names.event()).Values(s.givenSeries(q))
		g.Return(jen.Id("r").Dot(s.readerOf(q.Table)).Dot("Query").Call(jen.Id("ctx"), jen.Op("&").Id(s.names.query(q)), jen.Id("event"), jen.Id("from"), jen.Id("to"), jen.Id("opts").Op("...")))
	})
}

// givenSeries is the series of an event as far as a query gives it.
func (s *schemaFile) givenSeries(q *layout.Query) jen.Code {
	if len(q.By) == 0 {
		return jen.Null()
	}
	var fields []field
	params := s.params(q)
	for n, i := range q.By {
		fields = append(fields, field{s.names.field(&s.layout.Series[i]), jen.Id(params[n])})
	}
	return jen.Id(s.names.series()).Op(":").Id(s.names.series()).Add(inline(fields...))
}

// queryParams are the parameters of a query: what it gives, and the range of time.
func (s *schemaFile) queryParams(g *jen.Group, q *layout.Query) {
	g.Add(ctxParam())
	params := s.params(q)
	for n, i := range q.By {
		g.Id(params[n]).Add(s.goType(&s.layout.Series[i]))
	}
	g.List(jen.Id("from"), jen.Id("to")).Qual("time", "Time")
}

// params are the names of the parameters for the series values of a query, in the
// order of its list.
func (s *schemaFile) params(q *layout.Query) []string {
	wanted := make([]string, len(q.By))
	for n, i := range q.By {
		wanted[n] = lowerFirst(s.names.field(&s.layout.Series[i]))
	}
	return distinctNames(wanted, s.reserved())
}

// reserved is the names that a parameter for a series value would hide, or that are taken:
// what the file declares and imports, and the other names in a query.
func (s *schemaFile) reserved() map[string]bool {
	out := map[string]bool{}
	file := newScope()
	newCollisions(s.layout).schema(file)
	for name := range file.taken {
		out[name] = true
	}
	for _, name := range []string{"context", "errors", "iter", "json", "time", "bigtable", "codec", "store", "r", "ctx", "from", "to", "opts", "columns", "event"} {
		out[name] = true
	}
	return out
}

// distinctNames returns names for what would be called as wanted, in that order.
// Those that are free stay, and the others get longer until they are.
func distinctNames(wanted []string, reserved map[string]bool) []string {
	taken := maps.Clone(reserved)
	free := func(name string) bool { return !taken[name] && !token.IsKeyword(name) && !godoc.IsPredeclared(name) }
	out := make([]string, len(wanted))
	for i, name := range wanted {
		if free(name) {
			out[i], taken[name] = name, true
		}
	}
	for i, name := range wanted {
		if out[i] == "" {
			for !free(name) {
				name += "Value"
			}
			out[i], taken[name] = name, true
		}
	}
	return out
}

// queryVar declares what the store knows of a query.
func (s *schemaFile) queryVar(q *layout.Query) jen.Code {
	fields := []field{{"Name", jen.Lit(q.Name)}, {"Spans", jen.Id(s.names.querySpans(q))}}
	if !q.Path.Timed {
		fields = append(fields, field{"AllTimes", jen.True()})
	}
	if q.Contiguous() {
		fields = append(fields, field{"Contiguous", jen.True()})
	}
	if len(q.By) < len(s.layout.Series) {
		fields = append(fields, field{"MultiSeries", jen.True()})
	}
	if q.ByKeys(s.layout) {
		fields = append(fields, field{"Keys", jen.Id(s.names.queryKeys(q))})
	}
	if filtered := q.Filtered(); len(filtered) > 0 {
		e, given := jen.Id("e"), jen.Id("given")
		fields = append(fields, field{"Match", jen.Func().Params(jen.List(e, given).Op("*").Id(s.names.event())).Bool().Block(
			jen.Return(s.sameSeries(filtered)))})
	}
	return doc(fmt.Sprintf("%s is how %s finds its rows in %s.", s.names.query(q), q.Name, q.Table.ID)).Line().
		Var().Id(s.names.query(q)).Op("=").Add(s.store("Query")).Types(jen.Id(s.names.event())).Add(lines(fields...))
}

// queryKeys declares the function that returns a pattern for the keys of a query
// whose spans hold other rows too.
func (s *schemaFile) queryKeys(q *layout.Query) jen.Code {
	if !q.ByKeys(s.layout) {
		return nil
	}
	return doc(fmt.Sprintf("%s returns a pattern for the keys of the rows of %s.", s.names.queryKeys(q), q.Name)).Line().
		Func().Id(s.names.queryKeys(q)).Params(jen.Id("e").Op("*").Id(s.names.event())).Params(jen.Op("*").Add(s.codec("KeyPattern")), jen.Error()).BlockFunc(func(g *jen.Group) {
		g.Id("p").Op(":=").Add(s.codec("NewKeyPattern")).Call(jen.Lit(q.Table.Delimiter))
		for _, segment := range q.Table.Segments {
			g.Add(s.keySegment(q, segment))
		}
		g.Return(jen.Id("p").Dot("Pattern").Call())
	})
}

// keySegment takes a segment into the pattern p.
func (s *schemaFile) keySegment(q *layout.Query, segment layout.Segment) jen.Code {
	p := func(method string, args ...jen.Code) jen.Code { return jen.Id("p").Dot(method).Call(args...) }
	switch q.PatternPart(s.layout, segment) {
	case layout.TimePart:
		return p("Time")
	case layout.KnownPart:
		return p("Known", jen.Func().Params(jen.Id("w").Op("*").Add(s.codec("KeyWriter"))).BlockFunc(func(g *jen.Group) {
			s.writeKnown(g, "w", q, []layout.Segment{segment})
		}))
	case layout.BytesPart:
		return p("Bytes", jen.Lit(q.Table.Width(s.layout, segment)))
	case layout.TerminatedPart:
		return p("Terminated")
	default:
		return p("Any")
	}
}

// sameSeries is the condition that e and given have the same series values.
func (s *schemaFile) sameSeries(series []int) *jen.Statement {
	out := jen.Null()
	for n, i := range series {
		f := &s.layout.Series[i]
		e, given := jen.Id("e").Dot(s.names.field(f)), jen.Id("given").Dot(s.names.field(f))
		if n > 0 {
			out.Op("&&")
		}
		switch f.Type {
		case schema.Bytes:
			out.String().Call(e).Op("==").String().Call(given)
		case schema.Timestamp:
			out.Add(e).Dot("Equal").Call(given)
		default:
			out.Add(e).Op("==").Add(given)
		}
	}
	return out
}

// querySpans declares the function that returns where the rows of a query are.
func (s *schemaFile) querySpans(q *layout.Query) jen.Code {
	each, values := "", jen.Null()
	switch {
	case q.Path.Salts > 1:
		each, values = "salt", jen.Lit(q.Path.Salts)
	case q.Table.Metrics():
		each, values = "metric", jen.Index().String().ValuesFunc(func(g *jen.Group) {
			for _, c := range q.Table.Columns {
				g.Lit(c.Qualifier)
			}
		})
	}
	f := doc(fmt.Sprintf("%s returns where the rows of %s are.", s.names.querySpans(q), q.Name)).Line().
		Func().Id(s.names.querySpans(q)).Params(jen.Id("e").Op("*").Id(s.names.event())).
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

// querySpan makes span, and err.
func (s *schemaFile) querySpan(g *jen.Group, q *layout.Query) {
	s.newKeyWriter(g, q.Table, "before", jen.Nil())
	s.writeKnown(g, "before", q, q.Path.Before)
	suffix := jen.Nil()
	if len(q.Path.After) > 0 {
		s.newKeyWriter(g, q.Table, "after", jen.Nil())
		s.writeKnown(g, "after", q, q.Path.After)
		suffix = jen.Id("after").Dot("Prefix")
		if q.Path.Whole {
			suffix = jen.Id("after").Dot("Key")
		}
	}
	g.List(jen.Id("span"), jen.Err()).Op(":=").Add(s.store("Span")).Call(jen.Id("before").Dot("Prefix"), suffix, jen.Lit(q.Table.Delimiter), jen.Lit(q.Path.Whole))
}

// writeKnown writes the segments that a query gives.
func (s *schemaFile) writeKnown(g *jen.Group, to string, q *layout.Query, segments []layout.Segment) {
	c := keyCode{to: to, from: "e", metric: jen.Id("metric")}
	if q.Path.Salts > 1 {
		c.salt = jen.Id("salt")
	}
	s.writeSegments(g, q.Table, segments, c)
}

// queriedTables lists the tables that queries are answered from.
func (s *schemaFile) queriedTables() []*layout.Table {
	var out []*layout.Table
	for _, t := range s.layout.Tables {
		if slices.ContainsFunc(s.layout.Queries, func(q layout.Query) bool { return q.Table == t }) {
			out = append(out, t)
		}
	}
	return out
}

// readerOf is the field of the reader that reads a table.
func (s *schemaFile) readerOf(t *layout.Table) string {
	if t == s.layout.Read {
		return "reader"
	}
	return s.names.tableReader(t)
}
