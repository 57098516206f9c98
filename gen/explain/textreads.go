package explain

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// read writes a read.
func (w *textWriter) read(r *Read) {
	w.line("")
	w.wrapped("  ", bold, r.Method)
	if r.Doc != "" {
		w.wrapped("    ", plain, r.Doc)
	}
	g := w.grid()
	for _, f := range facts(r) {
		for i, line := range f.Lines {
			if i > 0 {
				f.Label, f.Code = "", ""
			}
			g.add(cell{text: f.Label, paint: dim}, cell{text: f.Code + line, paint: factPaints[f.Class], spans: true, hangs: true})
		}
	}
	g.write(&w.b, "    ")
}

// fact is what a read is, does or costs.
type fact struct {
	Label string
	Code  string // a name at the beginning of the first line
	Lines []string
	Class string // how it looks; one of factPaints
}

// factPaints are the looks of facts in a terminal, by their classes in HTML.
var factPaints = map[string]paint{"": plain, "mono": plain, "warn": warned, "muted": dim}

// facts describes a read.
func facts(r *Read) []fact {
	out := []fact{
		{Label: "given", Lines: []string{givenWords(r.Given)}},
		{Label: "table", Code: r.Table, Lines: []string{namedWords(r) + ": " + r.Finds}},
		{Label: "order", Lines: []string{r.Order}},
	}
	if r.From != "" {
		out = append(out, fact{Label: "example", Lines: []string{exampleWords(r)}})
	}
	if r.Scan != "" {
		out = append(out, fact{Label: "scan", Lines: []string{r.Scan}, Class: "warn"})
	}
	if len(r.Deletes) > 0 {
		out = append(out, fact{Label: "deletes", Lines: []string{strings.Join(r.Deletes, "; ")}})
	}
	if r.Tier != nil {
		out = append(out, fact{Label: "tiers", Lines: []string{r.Tier.Means}})
	}
	for i := range min(len(r.Requests), shownRequests) {
		out = append(out, fact{Label: "request", Lines: rowsWords(&r.Requests[i]), Class: "mono"}, fact{Label: "filter", Lines: r.Requests[i].Filters})
	}
	if n := len(r.Requests) - shownRequests; n > 0 {
		out = append(out, fact{Lines: []string{"… and " + words.Count(float64(n), "similar request", "similar requests")}, Class: "muted"})
	}
	return append(out, fact{Label: "expected", Lines: []string{expectedWords(r)}})
}

// namedWords says that the schema names the table of a read; nothing if it does not.
func namedWords(r *Read) string {
	if r.TableNamed {
		return " (named by the query)"
	}
	return ""
}

// rowsWords says which rows a request reads.
func rowsWords(r *Request) []string {
	var out []string
	for _, key := range r.Keys {
		out = append(out, "row "+key.Show)
	}
	for _, rows := range r.Ranges {
		end := rows.End.Show
		if end == "" {
			end = "the end of the table"
		}
		start := rows.Start.Show
		if start == "" {
			start = "the start of the table"
		}
		out = append(out, "rows from "+start+" to "+end)
	}
	if n := len(out); n > shownRanges {
		out = append(out[:shownRanges-1], fmt.Sprintf("… and %d more", n-shownRanges+1))
	}
	if len(out) > 0 && r.Reverse {
		out[len(out)-1] += ", in reverse order"
	}
	if len(out) > 0 && r.Limit > 0 {
		rows := words.Count(float64(r.Limit), "row", "rows")
		if r.Pages {
			out[len(out)-1] += ", in pages of " + rows
		} else {
			out[len(out)-1] += ", limit " + rows
		}
	}
	return out
}

// expectedWords says what a read returns.
func expectedWords(r *Read) string {
	e := &r.Expected
	text := words.Count(float64(e.Requests), "request", "requests")
	if e.Pages > 0 {
		text = "at least " + text + " with pages of " + words.Count(float64(e.Pages), "row", "rows")
	}
	text += ": " + words.Count(e.Rows, "row", "rows") + ", " +
		words.Count(e.Cells, "cell", "cells") + ", " + words.Count(e.Events, "event", "events")
	if r.EachSeries {
		text += " for each series found"
	}
	if e.Walked > 0 {
		text += "; the server scans " + words.Count(e.Walked, "more row", "more rows")
		if r.EachSeries {
			text += " for each"
		}
	}
	return text
}

// givenWords lists the series values that a read is given.
func givenWords(names []string) string {
	if len(names) == 0 {
		return "no series value: all series"
	}
	return strings.Join(names, ", ")
}

// briefly writes a day without its time.
func briefly(text string) string {
	return strings.TrimSuffix(text, "T00:00:00Z")
}

// exampleWords says which time an example reads.
func exampleWords(r *Read) string {
	return "one day, from " + briefly(r.From) + " to " + briefly(r.To) + ", read at the end of that day"
}
