package emit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
)

// storedTest declares the test that compares what tables store with literals: every change of the bytes that the
// code stores changes this test, too.
func (r *roundTrip) storedTest() jen.Code {
	return gocode.Doc(fmt.Sprintf("%s writes events to an in-memory Bigtable, and compares the families and the cells that it stores.", r.names.Stored)).Line().
		Func().Id(r.names.Stored).Params(testParam()).BlockFunc(func(g *jen.Group) {
		g.Id("bt").Op(":=").Qual(r.paths.test(r.layout.Package), "New").Call(jen.Id("t"))
		g.Id("clock").Op(":=").Func().Params().Qual("time", "Time").Add(oneLine(jen.Return(gocode.Date(r.Now))))
		g.Id("w").Op(":=").Add(r.own(r.names.NewWriter)).Call(jen.Id("bt").Dot("Client"), r.store("WriterOptions").Add(inline(field{"Now", jen.Id("clock")})))
		events := jen.Index().Add(r.own(r.names.Event)).CustomFunc(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, func(g *jen.Group) {
			for i := range r.Stored {
				g.Add(wrapped(r.storedFields(&r.Stored[i])...))
			}
		})
		g.Add(r.storetest("Write")).Call(jen.Id("t"), jen.Id("w").Dot("WriteAll"), events)
		for _, t := range r.layout.Tables {
			g.Add(r.storetest("Stored")).CustomFunc(multiCall, func(g *jen.Group) {
				g.List(jen.Id("t"), jen.Id("bt"), r.own(r.names.IDs(t).Table))
				for _, line := range storedLines(r.layout, t, r.Stored) {
					g.Add(rawString(line))
				}
			})
		}
	})
}

// storedFields renders the fields of an event.
func (r *roundTrip) storedFields(e *sample.Event) []field {
	var series []field
	for i := range r.layout.Series {
		f := &r.layout.Series[i]
		series = append(series, field{r.names.Field(f).Name, r.literal(f, e.Series[i])})
	}
	out := []field{{r.names.Series, r.own(r.names.Series).Add(inline(series...))}, {"Time", gocode.Date(e.Time)}}
	if e.Sequence > 0 {
		out = append(out, field{"Sequence", jen.Lit(int(e.Sequence))})
	}
	if e.Class > 0 {
		out = append(out, field{"Class", r.own(r.names.ClassValue(r.layout.Classes[e.Class-1]))})
	}
	if !e.ExpiresAt.IsZero() {
		out = append(out, field{"ExpiresAt", gocode.Date(e.ExpiresAt)})
	}
	for i := range r.layout.Fields {
		f := &r.layout.Fields[i]
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
