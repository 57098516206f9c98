package emit

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
)

// queryMethods declares the reader's methods for a query:
//
//	func (r *BalloonReader) ByLocation(ctx context.Context, location string, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[BalloonEvent, error]
//	func (r *BalloonReader) ByLocationSeries(ctx context.Context, location string, from, to time.Time) iter.Seq2[BalloonSeries, error]
func (s *schemaFile) queryMethods(q *layout.Query) jen.Code {
	names := s.names.Query(q)
	text := fmt.Sprintf("%s yields the events with from <= time < to %s, %s. Its errors are those of Read. It reads from table %s: %s%s.", s.names.Query(q).Method, prose.Selects(s.layout, q), prose.Order(s.layout, q), q.Table.ID, prose.AllRanges(q), prose.Together(s.layout, q))
	if q.Doc != "" {
		text += "\n\n" + gocode.Sentence(q.Doc)
	}
	for _, note := range prose.Notes(s.layout, q) {
		text += "\n\n" + note
	}
	columns := fmt.Sprintf("%s appends the events of %s to columns, as ReadColumns does.", names.ColumnsMethod, names.Method)
	points := fmt.Sprintf("%s yields, for each series of %s, the values of a number that a chart of n pixels shows; see store.Reader.Charts.", names.PointsMethod, names.Method)
	series, chart := jen.Id(s.names.Series), s.window("Chart").Types(jen.Id(s.names.Series))
	all := []function{
		{
			name: names.Method, doc: text, results: []jen.Code{s.eventSeq()}, call: s.reader(q.Table).Dot("Read"), result: s.resultEvents, wide: true,
			params: []param{ctx(), s.values(q), times(), s.opts("ReadOptions")},
		},
		s.columnsOf(names.ColumnsMethod, columns, q.Table, s.values(q)),
		s.windowsOf(names.WindowsMethod, s.windowsText(q), q.Table, s.values(q)),
		s.pointsOf(names.PointsMethod, points, q.Table, s.values(q), "Charts", s.results(chart), s.seqOf(chart)),
	}
	if q.Series {
		all = append(all, function{
			name: names.SeriesMethod, results: []jen.Code{s.seqOf(series)}, call: s.reader(q.Table).Dot("ReadSeries"), result: s.results(series), wide: true,
			doc:    fmt.Sprintf("%s yields the series of %s that have events with from <= time < to, each once, without reading the events. %s Its errors are those of Read.", names.SeriesMethod, names.Method, prose.Listing(s.layout, q)),
			params: []param{ctx(), s.values(q), times()},
		})
	}
	return s.functions("r", s.names.Reader, all...)
}

// windowsText is the comment of the method that summarizes the events of a query.
func (s *schemaFile) windowsText(q *layout.Query) string {
	names := s.names.Query(q)
	text := fmt.Sprintf("%s summarizes the events of %s by windows of time, as Windows does: by series, then by time.", names.WindowsMethod, names.Method)
	switch note := prose.Windows(q.Table); {
	case q.Table == s.layout.Read:
		return text
	case note == "" && s.layout.Read.Rolled():
		return text + fmt.Sprintf(" They come from the events of table %s.", q.Table.ID)
	default:
		return withNote(text, note)
	}
}

// deleteMethods declares the writer's methods that delete by a query:
//
//	func (w *BalloonWriter) DeleteByLocation(ctx context.Context, location string, from, to time.Time, opts ...store.DeleteOptions) (store.Deletion, error)
//	func (w *BalloonWriter) DeleteAllByLocation(ctx context.Context, location string, opts ...store.DeleteOptions) (store.Deletion, error)
func (s *schemaFile) deleteMethods(q *layout.Query) jen.Code {
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
	results := []jen.Code{s.store("Deletion"), jen.Error()}
	return s.functions("w", s.names.Writer,
		function{name: names.DeleteMethod, doc: text, params: []param{ctx(), s.values(q), times(), s.opts("DeleteOptions")}, results: results, call: s.writer().Dot("DeleteRange"), wide: true},
		function{name: names.DeleteAllMethod, doc: all, params: []param{ctx(), s.values(q), s.opts("DeleteOptions")}, results: results, call: s.writer().Dot("DeleteAll"), wide: true},
	)
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
		Func().Id(s.names.Query(q).Select).Params(s.values(q).declared...).
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

// values returns the parameters of a query for its values, which are passed on to the function that gives the query its
// values.
func (s *schemaFile) values(q *layout.Query) param {
	names := s.names.Query(q)
	var out, args []jen.Code
	for i, in := range q.Inputs {
		for _, name := range names.Params[i] {
			declared := jen.Id(name)
			if in.Many {
				declared.Index()
			}
			out, args = append(out, declared.Add(s.oneOf(&in))), append(args, jen.Id(name))
		}
	}
	return param{out, []jen.Code{jen.Id(names.Select).Call(args...)}}
}

// oneOf renders the type of a value or, if callers give several ranges, of the two ends of one.
func (s *schemaFile) oneOf(in *layout.Input) *jen.Statement {
	typ := jen.Add(s.goType(in.Of(s.layout)))
	if in.Many && in.Ends() == 2 {
		return jen.Index(jen.Lit(2)).Add(typ)
	}
	return typ
}
