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
	g.labeled("given", givenWords(r.Given), plain)
	g.labeled("table", r.Table+namedWords(r)+": "+r.Finds, plain)
	g.labeled("order", r.Order, plain)
	if r.From != "" {
		g.labeled("example", exampleWords(r), plain)
	}
	if r.Scan != "" {
		g.labeled("scan", r.Scan, warned)
	}
	if len(r.Deletes) > 0 {
		g.labeled("deletes", strings.Join(r.Deletes, "; "), plain)
	}
	if r.Tier != nil {
		g.labeled("tiers", r.Tier.Means, plain)
	}
	g.requests(r)
	g.labeled("expected", expectedWords(r), plain)
	g.write(&w.b, "    ")
}

// namedWords says that the schema names the table of a read; nothing if it does not.
func namedWords(r *Read) string {
	if r.TableNamed {
		return " (named by the query)"
	}
	return ""
}

// labeled adds a text behind a label.
func (g *grid) labeled(label, text string, p paint) {
	g.add(cell{text: label, paint: dim}, cell{text: text, paint: p, spans: true, hangs: true})
}

// requests adds the rows of the requests of a read.
func (g *grid) requests(r *Read) {
	for i, request := range r.Requests {
		if i == shownRequests {
			g.labeled("", moreRequests(len(r.Requests)-i), dim)
			break
		}
		label := "request"
		for _, line := range rowsWords(&request) {
			g.labeled(label, line, plain)
			label = ""
		}
		label = "filter"
		for _, line := range request.Filters {
			g.labeled(label, line, plain)
			label = ""
		}
	}
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

// moreRequests says how many requests are not shown.
func moreRequests(n int) string {
	return "… and " + words.Count(float64(n), "similar request", "similar requests")
}
