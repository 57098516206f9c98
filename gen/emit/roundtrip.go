package emit

import (
	"fmt"
	"slices"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// roundTrip renders the test of the code of one schema.
type roundTrip struct {
	*schemaFile
	*sample.RoundTrip
}

// roundTripFile renders the test file. It is in an external test package, like the code
// of users.
func roundTripFile(l *layout.Layout, n *names.Schema, paths paths) ([]byte, error) {
	s := &schemaFile{
		source: newSource(paths.pkg(l.Package)+"_test", l.Package+"_test", recordOf(l), paths),
		names:  n,
		layout: l,
	}
	s.importPackage(l.Package)
	s.ImportName(paths.test(l.Package), l.Package+"test")
	examples, ok := sample.NewRoundTrip(l)
	if !ok {
		s.add(s.untested())
		return s.render()
	}
	r := &roundTrip{s, examples}
	r.add(r.example(), r.test(), r.storedTest())
	return r.render()
}

// untested declares a test that is skipped with a reason.
func (s *schemaFile) untested() jen.Code {
	return gocode.Doc(s.names.Test + " would write events and read them again.").Line().
		Func().Id(s.names.Test).Params(testParam()).Block(
		jen.Id("t").Dot("Skip").Call(jen.Lit("btgen found no events that all tables of the schema can store and keep")),
	)
}

// testParam is the parameter of a test.
func testParam() *jen.Statement { return jen.Id("t").Op("*").Qual("testing", "T") }

// example declares the function that returns the events.
func (r *roundTrip) example() jen.Code {
	fields := []field{{r.names.Series, jen.Id("series")}, {"Time", jen.Id("at")}}
	if r.Sequence {
		fields = append(fields, field{"Sequence", jen.Uint32().Call(jen.Id("n"))})
	}
	if len(r.layout.Classes) > 0 {
		fields = append(fields, field{"Class", r.pick(jen.Id("n"), r.layout.Classes, r.names.ClassValue)})
	}
	for i := range r.layout.Fields {
		f := &r.layout.Fields[i]
		fields = append(fields, field{r.names.Field(f).Name, r.exampleOf(f, r.Always[i])})
	}
	return gocode.Doc(fmt.Sprintf("%s returns the n-th event of the test.", r.names.Example)).Line().
		Func().Id(r.names.Example).Params(jen.Id("series").Add(r.own(r.names.Series)), jen.Id("at").Qual("time", "Time"), jen.Id("n").Int()).
		Add(r.own(r.names.Event)).Block(jen.Return(r.own(r.names.Event).Add(lines(fields...))))
}

// pick renders the n-th of some values.
func (r *roundTrip) pick(n jen.Code, values []string, name func(string) string) *jen.Statement {
	return r.storetest("Pick").CallFunc(func(g *jen.Group) {
		g.Add(n)
		for _, v := range values {
			g.Add(r.own(name(v)))
		}
	})
}

// exampleAt renders a value of a field, whether or not it is optional.
func (r *roundTrip) exampleAt(f *layout.Field, n jen.Code) *jen.Statement {
	if f.Type != schema.Enum {
		return r.storetest(suffix(f.Type)).Call(n)
	}
	var values []string
	for _, v := range f.Enum {
		values = append(values, v.Name)
	}
	return r.pick(n, values, func(v string) string { return r.names.Field(f).Value(v) })
}

// exampleOf renders the n-th value of a field.
func (r *roundTrip) exampleOf(f *layout.Field, always bool) *jen.Statement {
	value := r.exampleAt(f, jen.Id("n"))
	switch {
	case !f.Optional || always && isSlice(f):
		return value
	case always:
		return r.storetest("Present").Call(value)
	case isSlice(f):
		return r.storetest("OptionalSlice").Call(jen.Id("n"), value)
	}
	return r.storetest("Optional").Call(jen.Id("n"), value)
}

// test declares the test.
func (r *roundTrip) test() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s writes events to an in-memory Bigtable twice, and reads them with Read, Latest, Windows, Points and every query.", r.names.Test)).Line().
		Func().Id(r.names.Test).Params(testParam()).BlockFunc(func(g *jen.Group) {
		r.seriesVar(g)
		r.timeVars(g)
		g.Id("events").Op(":=").Add(r.storetest("Events")).Call(jen.Id(r.names.Example), jen.Id("series"), jen.Id("times"))
		r.choices(g)
		r.unstamped(g)
		g.Line()
		g.Id("bt").Op(":=").Qual(r.paths.test(r.layout.Package), "New").Call(jen.Id("t"))
		g.Id("ctx").Op(":=").Id("t").Dot("Context").Call()
		g.Id("clock").Op(":=").Func().Params().Qual("time", "Time").Add(oneLine(jen.Return(jen.Id("now"))))
		client := func(name, options string) *jen.Statement {
			return r.own(name).Call(jen.Id("bt").Dot("Client"), r.store(options).Add(inline(field{"Now", jen.Id("clock")})))
		}
		g.Id("w").Op(":=").Add(client(r.names.NewWriter, "WriterOptions"))
		g.Id("r").Op(":=").Add(client(r.names.NewReader, "ReaderOptions"))
		g.Comment("// Writing the events again changes nothing.")
		g.For(jen.Range().Lit(2)).BlockFunc(func(g *jen.Group) {
			g.If(jen.Err().Op(":=").Id("w").Dot("WriteAll").Call(jen.Id("ctx"), jen.Id(r.written())), jen.Err().Op("!=").Nil()).Block(
				jen.Id("t").Dot("Fatal").Call(jen.Err()))
			g.Add(r.storetest("Reads")).Call(jen.Id("t"), jen.Id("r"), jen.Id("series"), jen.Id("times"), jen.Id("end"), jen.Id("events"),
				r.store("ReadOptions").Add(inline(field{"NewestFirst", jen.True()}, field{"Limit", jen.Lit(2)})))
			r.summaries(g)
			for i := range r.layout.Queries {
				r.query(g, &r.layout.Queries[i])
			}
		})
	})
}

// summaries renders the comparison of windows and of points of the first number with the events of the first series.
func (r *roundTrip) summaries(g *jen.Group) {
	read := func(method string, args ...jen.Code) *jen.Statement {
		first := func(of string) jen.Code { return jen.Id(of).Index(jen.Lit(0)) }
		return jen.Id("r").Dot(method).Call(append([]jen.Code{jen.Id("ctx"), first("series"), first("times"), jen.Id("end")}, args...)...)
	}
	events := jen.Id("events").Index(jen.Op(":").Lit(len(r.Times))).Op("...")
	g.Add(r.storetest("Summarized").Call(jen.Id("t"), jen.Lit("Windows"), read("Windows", r.window("Whole").Call()), events))
	for i := range r.layout.Fields {
		if f := &r.layout.Fields[i]; f.Type.Traits().Number != schema.NoNumber {
			field := r.names.Field(f)
			g.Add(r.storetest("Drawn").Call(jen.Id("t"), jen.Lit(field.Name), events.Clone()).Call(read("Points", r.own(field.Const), jen.Lit(1000))))
			return
		}
	}
}

// seriesVar declares the series of the events.
func (r *roundTrip) seriesVar(g *jen.Group) {
	var fields []field
	for i := range r.layout.Series {
		f := &r.layout.Series[i]
		fields = append(fields, field{r.names.Field(f).Name, r.literal(f, r.Series[0].Values[i])})
	}
	first := jen.Index().Add(r.own(r.names.Series)).Values(inline(fields...))
	if len(r.Series) == 1 {
		g.Id("series").Op(":=").Add(first)
		return
	}
	g.Comment("// Each of the other series differs from the first in one value.")
	g.Id("series").Op(":=").Qual("slices", "Repeat").Call(first, jen.Lit(len(r.Series)))
	for n, s := range r.Series[1:] {
		f := &r.layout.Series[s.Differs]
		g.Id("series").Index(jen.Lit(n + 1)).Dot(r.names.Field(f).Name).Op("=").Add(r.literal(f, s.Values[s.Differs]))
	}
}

// timeVars declares the times of the first series and the clock.
func (r *roundTrip) timeVars(g *jen.Group) {
	if r.Far {
		g.Comment("// Far in the future, because the in-memory server garbage-collects by the system clock.")
	}
	g.Id("times").Op(":=").Index().Qual("time", "Time").CustomFunc(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, func(g *jen.Group) {
		for _, at := range r.Times {
			g.Add(gocode.Date(at))
		}
	})
	g.Id("end").Op(":=").Id("times").Index(jen.Lit(2)).Dot("Add").Call(gocode.Duration(r.layout.Precision))
	g.Id("now").Op(":=").Add(gocode.Date(r.Now))
}

// choices sets the times to live of events. If reading does not return an event as it
// was written, it declares written, because the expiry is stored instead of the TTL.
func (r *roundTrip) choices(g *jen.Group) {
	l := r.layout
	event := func(events string, i jen.Code, name string) *jen.Statement { return jen.Id(events).Index(i).Dot(name) }
	expiry := r.Expires.Sub(r.Now)
	in := func(d time.Duration) *jen.Statement { return jen.Id("now").Dot("Add").Call(gocode.Duration(d)) }
	stamped := l.KeepsWrittenAt() && l.Read.KeepsWrittenAt()
	if !l.MustExpire() && !l.MayExpire() && !stamped {
		return
	}
	g.For(jen.Id("i").Op(":=").Range().Id("events")).BlockFunc(func(g *jen.Group) {
		if l.MustExpire() || l.MayExpire() {
			g.Add(event("events", jen.Id("i"), "ExpiresAt")).Op("=").Add(in(expiry))
		}
		if stamped {
			g.Add(event("events", jen.Id("i"), "WrittenAt")).Op("=").Id("now")
		}
	})
	if !l.MayExpire() {
		return
	}
	none := jen.Qual("time", "Time").Values()
	g.Id("written").Op(":=").Qual("slices", "Clone").Call(jen.Id("events"))
	g.List(event("written", jen.Lit(1), "TTL"), event("written", jen.Lit(1), "ExpiresAt")).Op("=").List(gocode.Duration(expiry), none)
	if !l.MustExpire() {
		g.List(event("written", jen.Lit(2), "ExpiresAt"), event("events", jen.Lit(2), "ExpiresAt")).Op("=").List(none, in(l.Default()))
	}
}

// written is the variable with the events to write.
func (r *roundTrip) written() string {
	if r.layout.MayExpire() {
		return "written"
	}
	return "events"
}

// unstamped declares the events that queries return if they read tables that store the
// write time and Read does not, or vice versa.
func (r *roundTrip) unstamped(g *jen.Group) {
	if !slices.ContainsFunc(r.layout.Queries, func(q layout.Query) bool { return r.wanted(&q) == "unstamped" }) {
		return
	}
	stamp := jen.Id("now")
	text := "// Some queries read tables that store the write time, too."
	if r.layout.Read.KeepsWrittenAt() {
		stamp = jen.Qual("time", "Time").Values()
		text = "// Some queries read tables that do not store the write time."
	}
	g.Comment(text)
	g.Id("unstamped").Op(":=").Qual("slices", "Clone").Call(jen.Id("events"))
	g.For(jen.Id("i").Op(":=").Range().Id("unstamped")).Block(jen.Id("unstamped").Index(jen.Id("i")).Dot("WrittenAt").Op("=").Add(stamp))
}

// wanted returns the variable with the events that a query returns.
func (r *roundTrip) wanted(q *layout.Query) string {
	if q.Table.KeepsWrittenAt() != r.layout.Read.KeepsWrittenAt() {
		return "unstamped"
	}
	return "events"
}

// same renders the comparison of the results of a read.
func (r *roundTrip) same(g *jen.Group, how, what string, got jen.Code, want ...jen.Code) {
	g.Add(r.storetest(how).Call(append([]jen.Code{jen.Id("t"), jen.Lit(what), got}, want...)...))
}

// columns renders a read in columnar form.
func (r *roundTrip) columns(method string, from, to jen.Code, args ...jen.Code) *jen.Statement {
	call := slices.Concat([]jen.Code{jen.Id("ctx")}, args, []jen.Code{from, to, jen.Id("c")})
	return r.storetest("Columns").Types(r.own(r.names.Event)).Call(
		jen.Func().Params(jen.Id("c").Op("*").Add(r.own(r.names.Columns))).Error().Add(oneLine(
			jen.Return(jen.Id("r").Dot(method).Call(call...)))))
}

// query renders a query by the values of the first series, and the same query in
// columnar form in a range with one event. A prefix is the whole value, and a range or a condition
// begins with a value. The series of the events are those of the first one or of several.
func (r *roundTrip) query(g *jen.Group, q *layout.Query) {
	args := r.queryArgs(q)
	how := "SameInAnyOrder"
	if len(q.By) == len(r.layout.Series) && q.Several() == nil {
		how = "Same"
	}
	var want []jen.Code
	for n := range len(r.Times) + len(r.Series) - 1 {
		if r.Matches(max(0, n-len(r.Times)+1), q) {
			want = append(want, jen.Id(r.wanted(q)).Index(jen.Lit(n)))
		}
	}
	time := func(i int) *jen.Statement { return jen.Id("times").Index(jen.Lit(i)) }
	call := slices.Concat([]jen.Code{jen.Id("ctx")}, args, []jen.Code{time(0), jen.Id("end")})
	r.same(g, how, q.Name, jen.Id("r").Dot(r.names.Query(q).Method).Call(call...), r.met(q, want)...)
	if r.Matches(0, q) {
		r.same(g, "Same", q.Name+"Columns of a range", r.columns(r.names.Query(q).ColumnsMethod, time(1), time(2), args...), r.met(q, []jen.Code{jen.Id(r.wanted(q)).Index(jen.Lit(1))})...)
	}
	if q.Deletes != nil {
		dry := r.store("DeleteOptions").Add(inline(field{"DryRun", jen.True()}))
		found := jen.Lit(len(want))
		if len(q.Where()) > 0 {
			found = jen.Len(r.filtered(q, want))
		}
		g.Add(r.storetest("Deletes").Call(jen.Id("t"), jen.Lit(r.names.Query(q).DeleteMethod), found).
			Call(jen.Id("w").Dot(r.names.Query(q).DeleteMethod).Call(slices.Concat([]jen.Code{jen.Id("ctx")}, args, []jen.Code{time(0), jen.Id("end"), dry})...)))
	}
	if q.Series {
		series := jen.Id("r").Dot(r.names.Query(q).SeriesMethod).Call(slices.Concat([]jen.Code{jen.Id("ctx")}, args, []jen.Code{time(0), jen.Id("end")})...)
		r.same(g, "SameInAnyOrder", r.names.Query(q).SeriesMethod, series, r.storetest("SeriesOf").CallFunc(func(g *jen.Group) {
			g.Func().Params(jen.Id("e").Add(r.own(r.names.Event))).Add(r.own(r.names.Series)).Block(jen.Return(jen.Id("e").Dot(r.names.Series)))
			for _, event := range r.met(q, want) {
				g.Add(event)
			}
		}).Op("..."))
	}
}

// queryArgs renders the values of a query: of several values two, and of several prefixes or ranges one, twice.
func (r *roundTrip) queryArgs(q *layout.Query) []jen.Code {
	var args []jen.Code
	for _, in := range q.Inputs {
		var ends []jen.Code
		for end := range in.Ends() {
			ends = append(ends, r.end(&in, end))
		}
		if in.Many {
			one := jen.Null().Add(ends...)
			if in.Ends() == 2 {
				one = jen.Values(ends...)
			}
			second := one.Clone()
			if in.Form == codec.GivenValue && !in.Where {
				second = jen.Id("series").Index(jen.Lit(r.Other(in.Index))).Dot(r.names.Field(in.Of(r.layout)).Name)
			}
			ends = []jen.Code{jen.Index().Add(r.oneOf(&in)).Values(one, second)}
		}
		args = append(args, ends...)
	}
	return args
}

// end renders the value of an input, or an end of its range.
func (r *roundTrip) end(in *layout.Input, end int) *jen.Statement {
	f := in.Of(r.layout)
	example := func(n int) *jen.Statement { return r.exampleAt(f, jen.Lit(n)) }
	switch {
	case in.Where && in.Ends() == 1:
		return example(1)
	case in.Where:
		return r.storetest([]string{"Lower", "Higher"}[end]).Call(example(1), example(2))
	case end == 1:
		return jen.Add(r.literal(f, r.End(in.Index)))
	}
	return jen.Id("series").Index(jen.Lit(0)).Dot(r.names.Field(f).Name)
}

// met renders those of some events that meet the conditions of a query.
func (r *roundTrip) met(q *layout.Query, events []jen.Code) []jen.Code {
	if len(q.Where()) == 0 {
		return events
	}
	return []jen.Code{r.filtered(q, events).Op("...")}
}

// filtered renders a slice of the events that meet the conditions of a query.
func (r *roundTrip) filtered(q *layout.Query, events []jen.Code) *jen.Statement {
	condition := jen.Null()
	for i, w := range q.Where() {
		if i > 0 {
			condition.Op("&&")
		}
		value := jen.Id("e").Dot(r.names.Field(w.Of(r.layout)).Name)
		if w.Ends() == 1 {
			condition.Add(r.storetest("Equal").Call(value, r.end(&w, 0)))
		} else {
			condition.Add(r.storetest("Within").Call(value, r.end(&w, 0), r.end(&w, 1)))
		}
	}
	return r.storetest("Filter").CallFunc(func(g *jen.Group) {
		g.Func().Params(jen.Id("e").Add(r.own(r.names.Event))).Bool().Block(jen.Return(condition))
		for _, event := range events {
			g.Add(event)
		}
	})
}
