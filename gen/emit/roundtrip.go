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
	s := newSchemaFile(l, n, paths.pkg(l.Package)+"_test", l.Package+"_test", paths)
	s.importPackage(l.Package)
	s.ImportName(paths.test(l.Package), l.Package+"test")
	if examples, ok := sample.NewRoundTrip(l); ok {
		r := &roundTrip{s, examples}
		s.add(r.test())
	} else {
		s.add(s.code(`
			// $Test would write events and read them again.
			func $1(t *testing.T) {
				t.Skip("btgen found no events that all tables of the schema can store and keep")
			}`, n.Test))
	}
	return s.render()
}

// test declares the test. It compares what tables store with literals: every change of the bytes that the code stores
// changes it, too.
func (r *roundTrip) test() jen.Code {
	var far, unstamped *jen.Statement
	if r.Far {
		far = r.code("// Far in the future, because the in-memory server garbage-collects by the system clock.")
	}
	events := lines(each(r.Stored, func(_ int, e *sample.Event) jen.Code { return r.event(e) })...)
	series := jen.Values(each(r.layout.Series, func(i int, f *layout.Field) jen.Code {
		return set(r.names.Field(f).Name, r.literal(f, r.Series[0][i]))
	})...)
	if slices.ContainsFunc(r.layout.Queries, func(q layout.Query) bool { return r.wanted(&q) == "unstamped" }) {
		unstamped = r.unstamped()
	}
	reads := r.stored()
	reads = append(reads, r.code("storetest.Reads(t, r, series, end, events, store.ReadOptions{NewestFirst: true, Limit: 1})"))
	reads = append(reads, r.summaries()...)
	for i := range r.layout.Queries {
		reads = append(reads, r.query(&r.layout.Queries[i])...)
	}
	return r.code(`
		// $1 writes events to an in-memory Bigtable twice, compares the families and the cells that it stores, and reads the
		// events with every method.
		func $1(t *testing.T) {
			$2
			now := $3
			series := $Series$4
			events := []$Event$5
			from, to := events[0].Time, events[$6].Time
			end := to.Add($7)
			$8

			bt := $9(t)
			ctx := t.Context()
			clock := func() time.Time { return now }
			w := $NewWriter(bt.Client, store.WriterOptions{Now: clock})
			r := $NewReader(bt.Client, store.ReaderOptions{Now: clock})
			// Writing the events again changes nothing.
			for range 2 {
				storetest.Write(t, w.WriteAll, events)
				$10
			}
		}`, r.names.Test, far, gocode.Date(r.Now), series, events, len(r.Stored)-1, gocode.Duration(r.layout.Precision), unstamped,
		jen.Qual(r.paths.test(r.layout.Package), "New"), reads)
}

// stored renders the comparison of the cells of each table.
func (r *roundTrip) stored() []jen.Code {
	return each(r.layout.Tables, func(_ int, t **layout.Table) jen.Code {
		lines := storedLines(r.layout, *t, r.Stored)
		return r.code("storetest.Stored(\nt, bt, $1,\n$2\n)", r.own(r.names.IDs(*t).Table),
			each(lines, func(_ int, line *string) jen.Code { return r.code("$1,", rawString(*line)) }))
	})
}

// summaries renders the comparison of windows and of points of the first number with the events.
func (r *roundTrip) summaries() []jen.Code {
	out := []jen.Code{r.code(`storetest.Summarized(t, "Windows", r.Windows(ctx, series, from, end, window.Whole()), events...)`)}
	for i := range r.layout.Fields {
		if f := &r.layout.Fields[i]; f.Type.Traits().Number != schema.NoNumber {
			n := r.names.Field(f)
			return append(out, r.code("storetest.Drawn(t, $1, events...)(r.Points(ctx, series, from, end, $2, 1000))", jen.Lit(n.Name), r.own(n.Const)))
		}
	}
	return out
}

// unstamped declares the events that queries return if they read tables that store the
// write time and Read does not, or vice versa.
func (r *roundTrip) unstamped() *jen.Statement {
	what, stamp := "store the write time, too", r.code("now")
	if r.layout.Read.KeepsWrittenAt() {
		what, stamp = "do not store the write time", r.code("time.Time{}")
	}
	return r.code(`
		// Some queries read tables that $1.
		unstamped := slices.Clone(events)
		for i := range unstamped {
			unstamped[i].WrittenAt = $2
		}`, what, stamp)
}

// wanted returns the variable with the events that a query returns.
func (r *roundTrip) wanted(q *layout.Query) string {
	if q.Table.KeepsWrittenAt() != r.layout.Read.KeepsWrittenAt() {
		return "unstamped"
	}
	return "events"
}

// query renders a query by the values of the events, and the same query in columnar form in a range with the last
// event.
func (r *roundTrip) query(q *layout.Query) []jen.Code {
	n, args := r.names.Query(q), &jen.Statement{}
	for _, arg := range r.queryArgs(q) {
		args.Add(arg).Op(",")
	}
	want, last, found := &jen.Statement{}, &jen.Statement{}, 0
	for i := range r.Stored {
		if e := r.code(", $1[$2]", r.wanted(q), i); r.Meets(i, q) {
			found++
			if want.Add(e); i == len(r.Stored)-1 {
				last = e
			}
		}
	}
	if found == len(r.Stored) {
		want = r.code(", $1...", r.wanted(q))
	}
	how := "SameInAnyOrder"
	if len(q.By) == len(r.layout.Series) && q.Several() == nil {
		how = "Same"
	}
	out := []jen.Code{
		r.code("storetest.$1(t, $2, r.$3(ctx, $4 from, end) $5)", how, jen.Lit(q.Name), n.Method, args, want),
		r.code(`
			storetest.Same(t, $1, storetest.Columns[$Event](\
				func(c *$Columns) error { return r.$2(ctx, $3 to, end, c) }) $4)`, jen.Lit(q.Name+"Columns of a range"), n.ColumnsMethod, args, last),
	}
	if q.Deletes != nil {
		out = append(out, r.code("storetest.Deletes(t, $1, $2)(w.$3(ctx, $4 from, end, store.DeleteOptions{DryRun: true}))",
			jen.Lit(n.DeleteMethod), found, n.DeleteMethod, args))
	}
	if q.Series {
		series := &jen.Statement{}
		if found > 0 {
			series = r.code(", series")
		}
		out = append(out, r.code("storetest.Same(t, $1, r.$2(ctx, $3 from, end) $4)", jen.Lit(n.SeriesMethod), n.SeriesMethod, args, series))
	}
	return out
}

// queryArgs renders the values of a query. Of several values, prefixes or ranges, there is one, twice.
func (r *roundTrip) queryArgs(q *layout.Query) []jen.Code {
	var args []jen.Code
	for _, in := range q.Inputs {
		of := in.Of(r.layout)
		low, high := r.Given(&in)
		ends := []jen.Code{r.code("series.$1", r.names.Field(of).Name)}
		if in.Where {
			ends[0] = r.literal(of, low)
		}
		if in.Ends() == 2 {
			ends = append(ends, r.literal(of, high))
		}
		if in.Many {
			one := jen.Null().Add(ends...)
			if in.Ends() == 2 {
				one = jen.Values(ends...)
			}
			ends = []jen.Code{r.code("[]$1{$2, $2}", r.oneOf(&in), one)}
		}
		args = append(args, ends...)
	}
	return args
}

// event renders an event, six fields on a line.
func (r *roundTrip) event(e *sample.Event) jen.Code {
	var class *jen.Statement
	if e.Class > 0 {
		class = r.own(r.names.ClassValue(r.layout.Classes[e.Class-1]))
	}
	out := []jen.Code{
		set(r.names.Series, jen.Id("series")), set("Time", gocode.Date(e.Time)),
		setIf(e.Sequence > 0, "Sequence", jen.Lit(int(e.Sequence))),
		setIf(e.Class > 0, "Class", class), setIf(!e.ExpiresAt.IsZero(), "ExpiresAt", gocode.Date(e.ExpiresAt)),
		setIf(r.layout.KeepsWrittenAt() && r.layout.Read.KeepsWrittenAt(), "WrittenAt", jen.Id("now")),
	}
	for i := range r.layout.Fields {
		f := &r.layout.Fields[i]
		if e.Values[i] == nil {
			continue
		}
		value := r.literal(f, e.Values[i])
		if isPointer(f) {
			value = r.code("storetest.Present[$1]($2)", r.goType(f), value)
		}
		out = append(out, set(r.names.Field(f).Name, value))
	}
	out = slices.DeleteFunc(out, func(c jen.Code) bool { return c == nil })
	for i := 6; i < len(out); i += 6 {
		out[i] = jen.Line().Add(out[i])
	}
	return jen.Values(out...)
}

// storedLines returns what a table stores of events, as storetest.Stored compares it.
func storedLines(l *layout.Layout, t *layout.Table, events []sample.Event) (out []string) {
	for _, p := range t.Periods() {
		for i, f := range p.AllFamilies() {
			kind := "family"
			if f.Sums {
				kind = "sums"
			} else if i == len(p.Families) {
				kind = "rollup"
			}
			if p.ID == t.ID {
				out = append(out, fmt.Sprintf("%s %s: %s", kind, f.Name, f.GC))
			}
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
