package emit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
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
	r.add(r.test())
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

// test declares the test. It compares what tables store with literals: every change of the bytes that the code stores
// changes it, too.
func (r *roundTrip) test() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s writes events to an in-memory Bigtable twice, compares the families and the cells that it stores, and reads the events with every method.", r.names.Test)).Line().
		Func().Id(r.names.Test).Params(testParam()).BlockFunc(func(g *jen.Group) {
		if r.Far {
			g.Comment("// Far in the future, because the in-memory server garbage-collects by the system clock.")
		}
		g.Id("now").Op(":=").Add(gocode.Date(r.Now))
		g.Id("series").Op(":=").Add(r.own(r.names.Series)).Add(r.seriesFields())
		g.Id("events").Op(":=").Index().Add(r.own(r.names.Event)).Custom(multi, each(r.Stored, func(_ int, e *sample.Event) jen.Code {
			return wrapped(r.storedFields(e)...)
		})...)
		g.List(jen.Id("from"), jen.Id("to")).Op(":=").List(r.event(0).Dot("Time"), r.event(len(r.Stored)-1).Dot("Time"))
		g.Id("end").Op(":=").Id("to").Dot("Add").Call(gocode.Duration(r.layout.Precision))
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
			g.Add(r.storetest("Write")).Call(jen.Id("t"), jen.Id("w").Dot("WriteAll"), jen.Id("events"))
			r.stored(g)
			g.Add(r.storetest("Reads")).Call(jen.Id("t"), jen.Id("r"), jen.Id("series"), jen.Id("end"), jen.Id("events"),
				r.store("ReadOptions").Add(inline(field{"NewestFirst", jen.True()}, field{"Limit", jen.Lit(1)})))
			r.summaries(g)
			for i := range r.layout.Queries {
				r.query(g, &r.layout.Queries[i])
			}
		})
	})
}

// event renders the n-th event.
func (r *roundTrip) event(n int) *jen.Statement { return jen.Id("events").Index(jen.Lit(n)) }

// stored renders the comparison of the cells of each table.
func (r *roundTrip) stored(g *jen.Group) {
	for _, t := range r.layout.Tables {
		g.Add(r.storetest("Stored")).CustomFunc(multiCall, func(g *jen.Group) {
			g.List(jen.Id("t"), jen.Id("bt"), r.own(r.names.IDs(t).Table))
			for _, line := range storedLines(r.layout, t, r.Stored) {
				g.Add(rawString(line))
			}
		})
	}
}

// summaries renders the comparison of windows and of points of the first number with the events.
func (r *roundTrip) summaries(g *jen.Group) {
	read := func(method string, args ...jen.Code) *jen.Statement {
		return jen.Id("r").Dot(method).Call(append([]jen.Code{jen.Id("ctx"), jen.Id("series"), jen.Id("from"), jen.Id("end")}, args...)...)
	}
	events := jen.Id("events").Op("...")
	g.Add(r.storetest("Summarized").Call(jen.Id("t"), jen.Lit("Windows"), read("Windows", r.window("Whole").Call()), events))
	for i := range r.layout.Fields {
		if f := &r.layout.Fields[i]; f.Type.Traits().Number != schema.NoNumber {
			field := r.names.Field(f)
			g.Add(r.storetest("Drawn").Call(jen.Id("t"), jen.Lit(field.Name), events.Clone()).Call(read("Points", r.own(field.Const), jen.Lit(1000))))
			return
		}
	}
}

// seriesFields renders the values of the series.
func (r *roundTrip) seriesFields() jen.Code {
	var fields []field
	for i := range r.layout.Series {
		f := &r.layout.Series[i]
		fields = append(fields, field{r.names.Field(f).Name, r.literal(f, r.Series[0][i])})
	}
	return inline(fields...)
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

// compared renders the comparison of the results of a read.
func (r *roundTrip) compared(g *jen.Group, how, what string, got jen.Code, want ...jen.Code) {
	g.Add(r.storetest(how).Call(append([]jen.Code{jen.Id("t"), jen.Lit(what), got}, want...)...))
}

// columns renders a read in columnar form.
func (r *roundTrip) columns(method string, from, to jen.Code, args ...jen.Code) *jen.Statement {
	call := slices.Concat([]jen.Code{jen.Id("ctx")}, args, []jen.Code{from, to, jen.Id("c")})
	return r.storetest("Columns").Types(r.own(r.names.Event)).Call(
		jen.Func().Params(jen.Id("c").Op("*").Add(r.own(r.names.Columns))).Error().Add(oneLine(
			jen.Return(jen.Id("r").Dot(method).Call(call...)))))
}

// query renders a query by the values of the events, and the same query in columnar form in a range with the last
// event.
func (r *roundTrip) query(g *jen.Group, q *layout.Query) {
	args, names := r.queryArgs(q), r.names.Query(q)
	within := func(method jen.Code, more ...jen.Code) jen.Code {
		return jen.Add(method).Call(slices.Concat([]jen.Code{jen.Id("ctx")}, args, []jen.Code{jen.Id("from"), jen.Id("end")}, more)...)
	}
	var want, last []jen.Code
	for n := range r.Stored {
		if e := jen.Id(r.wanted(q)).Index(jen.Lit(n)); r.Meets(n, q) {
			if want = append(want, e); n == len(r.Stored)-1 {
				last = append(last, e)
			}
		}
	}
	found := len(want)
	if found == len(r.Stored) {
		want = []jen.Code{jen.Id(r.wanted(q)).Op("...")}
	}
	how := "SameInAnyOrder"
	if len(q.By) == len(r.layout.Series) && q.Several() == nil {
		how = "Same"
	}
	r.compared(g, how, q.Name, within(jen.Id("r").Dot(names.Method)), want...)
	r.compared(g, "Same", q.Name+"Columns of a range", r.columns(names.ColumnsMethod, jen.Id("to"), jen.Id("end"), args...), last...)
	if q.Deletes != nil {
		dry := r.store("DeleteOptions").Add(inline(field{"DryRun", jen.True()}))
		g.Add(r.storetest("Deletes").Call(jen.Id("t"), jen.Lit(names.DeleteMethod), jen.Lit(found)).Call(within(jen.Id("w").Dot(names.DeleteMethod), dry)))
	}
	if q.Series {
		var series []jen.Code
		if found > 0 {
			series = append(series, jen.Id("series"))
		}
		r.compared(g, "Same", names.SeriesMethod, within(jen.Id("r").Dot(names.SeriesMethod)), series...)
	}
}

// queryArgs renders the values of a query. Of several values, prefixes or ranges, there is one, twice.
func (r *roundTrip) queryArgs(q *layout.Query) []jen.Code {
	var args []jen.Code
	for _, in := range q.Inputs {
		ends := []jen.Code{r.low(&in)}
		if in.Ends() == 2 {
			_, high := r.Given(&in)
			ends = append(ends, r.literal(in.Of(r.layout), high))
		}
		if in.Many {
			one := jen.Null().Add(ends...)
			if in.Ends() == 2 {
				one = jen.Values(ends...)
			}
			ends = []jen.Code{jen.Index().Add(r.oneOf(&in)).Values(one, one.Clone())}
		}
		args = append(args, ends...)
	}
	return args
}

// low renders the value of an input, or the lowest of its range.
func (r *roundTrip) low(in *layout.Input) jen.Code {
	low, _ := r.Given(in)
	if in.Where {
		return r.literal(in.Of(r.layout), low)
	}
	return jen.Id("series").Dot(r.names.Field(in.Of(r.layout)).Name)
}

// storedFields renders the fields of an event.
func (r *roundTrip) storedFields(e *sample.Event) []field {
	out := []field{{r.names.Series, jen.Id("series")}, {"Time", gocode.Date(e.Time)}}
	if e.Sequence > 0 {
		out = append(out, field{"Sequence", jen.Lit(int(e.Sequence))})
	}
	if e.Class > 0 {
		out = append(out, field{"Class", r.own(r.names.ClassValue(r.layout.Classes[e.Class-1]))})
	}
	if !e.ExpiresAt.IsZero() {
		out = append(out, field{"ExpiresAt", gocode.Date(e.ExpiresAt)})
	}
	if r.layout.KeepsWrittenAt() && r.layout.Read.KeepsWrittenAt() {
		out = append(out, field{"WrittenAt", jen.Id("now")})
	}
	for i := range r.layout.Fields {
		f := &r.layout.Fields[i]
		if e.Values[i] == nil {
			continue
		}
		value := r.literal(f, e.Values[i])
		if f.Optional && !isSlice(f) {
			value = r.storetest("Present").Types(r.goType(f)).Call(value)
		}
		out = append(out, field{r.names.Field(f).Name, value})
	}
	return out
}

// storedLines returns what a table stores of events, as storetest.Stored compares it.
func storedLines(l *layout.Layout, t *layout.Table, events []sample.Event) (out []string) {
	for _, p := range t.Periods() {
		if p.ID == t.ID {
			out = append(out, familyLines(p)...)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if t.Pattern.NewestOnly() {
		events = events[len(events)-1:]
	}
	for _, row := range sample.Rows(l, t, events) {
		cells := map[string][]string{} // by row, family and timestamp
		for _, c := range row.Cells {
			of := fmt.Sprintf("row %q %s %d", row.Key, t.Families[c.Family].Name, c.Micros)
			cells[of] = append(cells[of], fmt.Sprintf("%q=%q", c.Qualifier, c.Value))
		}
		for _, of := range slices.Sorted(maps.Keys(cells)) {
			slices.Sort(cells[of])
			out = append(out, wrapCells(of, cells[of])...)
		}
	}
	return out
}

// wrapCells returns lines with cells that begin alike.
func wrapCells(begin string, cells []string) (out []string) {
	const width = 100 // of the cells of a line
	for _, c := range cells {
		if last := len(out) - 1; last >= 0 && len(out[last])+len(c) < len(begin)+width {
			out[last] += " " + c
		} else {
			out = append(out, begin+" "+c)
		}
	}
	return out
}

// familyLines returns the lines for the families of a table.
func familyLines(t *layout.Table) (out []string) {
	for i, f := range t.AllFamilies() {
		kind := "family"
		if f.Sums {
			kind = "sums"
		} else if i == len(t.Families) {
			kind = "rollup"
		}
		out = append(out, fmt.Sprintf("%s %s: %s", kind, f.Name, f.GC))
	}
	return out
}
