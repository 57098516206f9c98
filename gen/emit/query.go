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

// queryMethods declares the reader's methods for a query.
func (s *schemaFile) queryMethods(_ int, q *layout.Query) jen.Code {
	n, of := s.names.Query(q), s.selection(q)
	text := fmt.Sprintf("%s yields the events with from <= time < to %s, %s. Its errors are those of Read. It reads from table %s: %s%s.", n.Method, prose.Selects(s.layout, q), prose.Order(s.layout, q), q.Table.ID, prose.AllRanges(q), prose.Together(s.layout, q))
	if q.Doc != "" {
		text += "\n\n" + gocode.Sentence(q.Doc)
	}
	for _, note := range prose.Notes(s.layout, q) {
		text += "\n\n" + note
	}
	var series *jen.Statement
	if q.Series {
		series = s.code(`
			// $1 yields the series of $2 that have events with from <= time < to, each once, without reading the
			// events. $3 Its errors are those of Read.
			func (r *$Reader) $1(ctx context.Context, $4 from, to time.Time) iter.Seq2[$Series, error] {
				return store.ResultsOf[$Series](r.$5.ReadSeries(ctx, $6, from, to))
			}`, n.SeriesMethod, n.Method, prose.Listing(s.layout, q), of.params, s.names.Table(q.Table).Reader, of.passed)
	}
	columns := fmt.Sprintf("%s appends the events of %s to columns, as ReadColumns does.", n.ColumnsMethod, n.Method)
	return s.code(`
		// $1
		func (r *$Reader) $2(ctx context.Context, $3 from, to time.Time, opts ...store.ReadOptions) iter.Seq2[$Event, error] {
			return store.ResultsOf[$Event](r.$4.Read(ctx, $5, from, to, opts...))
		}

		$6

		$7

		// $8 yields, for each series of $2, the values of a number that a chart of n pixels shows; see
		// store.Reader.Charts.
		func (r *$Reader) $8(ctx context.Context, $3 from, to time.Time, field store.Field, n int) \
			iter.Seq2[window.Chart[$Series], error] {
			return store.ResultsOf[window.Chart[$Series]](r.$4.Charts(ctx, $9, $Windows, $5, from, to, field, n))
		}

		$10`, text, n.Method, of.params, s.names.Table(q.Table).Reader, of.passed, s.columnsMethod(n.ColumnsMethod, columns, q.Table, of),
		s.windowsMethod(n.WindowsMethod, s.windowsText(q), q.Table, of), n.PointsMethod, s.names.Table(q.Table).Columns, series)
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
		return text + "\n\n" + note
	}
}

// deleteMethods declares the writer's methods that delete by a query.
func (s *schemaFile) deleteMethods(_ int, q *layout.Query) jen.Code {
	if q.Deletes == nil {
		return jen.Null()
	}
	n, of := s.names.Query(q), s.selection(q)
	reads := fmt.Sprintf("It reads keys and timestamps %s.", strings.Join(prose.Deletes(q), "; "))
	if len(q.Where()) > 0 {
		reads = fmt.Sprintf("They are those that %s yields from table %s; see store.Writer.DeleteRange.", n.Method, q.Table.ID)
	}
	return s.code(`
		// $1 deletes the events with from <= time < to, $2, from all tables, as DeleteRange does for one series. $3
		func (w *$Writer) $1(ctx context.Context, $4 from, to time.Time, opts ...store.DeleteOptions) (store.Deletion, error) {
			return w.writer.DeleteRange(ctx, $5, from, to, opts...)
		}

		// $6 deletes all events, $2, as $1 does, whatever their times, as DeleteSeries does for one series.
		func (w *$Writer) $6(ctx context.Context, $4 opts ...store.DeleteOptions) (store.Deletion, error) {
			return w.writer.DeleteAll(ctx, $5, opts...)
		}`, n.DeleteMethod, prose.Selects(s.layout, q), reads, of.params, of.passed, n.DeleteAllMethod)
}

// querySelect declares a query, and the function that gives it its values.
func (s *schemaFile) querySelect(_ int, q *layout.Query) jen.Code {
	n := s.names.Query(q)
	return s.code(`
		var $1 = store.Query$2

		// $3 returns what $4 selects.
		func $3($5) store.Selection {
			return $6
		}`, n.Var, jen.Values(s.fields(reflect.ValueOf(q.Definition(s.layout)), nil)...), n.Select, q.Name, s.selection(q).params, s.bound(q, jen.Id(n.Var)))
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
	var fields []jen.Code
	var each func(of jen.Code) *jen.Statement
	for i, in := range q.Inputs {
		value := jen.Id(names.Params[i][min(end, len(names.Params[i])-1)])
		if in.Many {
			several := value
			if value = jen.Id(names.One); in.Ends() == 2 {
				value.Index(jen.Lit(end))
			}
			each = func(of jen.Code) *jen.Statement {
				return s.code("store.Each($1, func($2 $3) any {\nreturn $4\n})", several, names.One, s.oneOf(&in), of)
			}
		}
		if !in.Where {
			fields = append(fields, set(s.names.Field(in.Of(s.layout)).Name, value))
		}
	}
	event := s.code("&$Event{}")
	if fields != nil {
		event = s.code("&$Event{$1: $Series$2}", s.names.Series, jen.Values(fields...))
	}
	if each != nil {
		return each(event)
	}
	return event
}

// bounds renders an event with one end of the conditions of a query.
func (s *schemaFile) bounds(q *layout.Query, end int) jen.Code {
	var fields []jen.Code
	for i, in := range q.Inputs {
		if f := in.Of(s.layout); in.Where && end < in.Ends() {
			value := jen.Id(s.names.Query(q).Params[i][end])
			if isPointer(f) {
				value = jen.Op("&").Add(value)
			}
			fields = append(fields, set(s.names.Field(f).Name, value))
		}
	}
	return s.code("&$Event$1", jen.Values(fields...))
}

// selection returns the parameters of a query for its values, which are passed on to the function that gives the query its
// values.
func (s *schemaFile) selection(q *layout.Query) selection {
	n, params := s.names.Query(q), &jen.Statement{}
	var args []jen.Code
	for i, in := range q.Inputs {
		many := jen.Null()
		if in.Many {
			many = jen.Index()
		}
		for _, name := range n.Params[i] {
			params.Add(s.code("$1 $2 $3,", name, many, s.oneOf(&in)))
			args = append(args, jen.Id(name))
		}
	}
	return selection{params, s.code("$1($2)", n.Select, jen.List(args...))}
}

// oneOf renders the type of a value or, if callers give several ranges, of the two ends of one.
func (s *schemaFile) oneOf(in *layout.Input) *jen.Statement {
	typ := s.goType(in.Of(s.layout))
	if in.Many && in.Ends() == 2 {
		return jen.Index(jen.Lit(2)).Add(typ)
	}
	return typ
}
