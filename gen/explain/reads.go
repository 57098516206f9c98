package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// read is a method of the generated reader, for an example.
type read struct {
	method   string
	query    *layout.Query
	finds    string // which rows
	order    string
	from, to time.Time // of the example; zero without a time range
	requests []scan.Request
	work     estimate.Work
}

// reads explains the methods of the reader.
func (b *builder) reads(of *document.Section, l *layout.Layout) {
	out := of.Entry("reads", "reads", "reads of "+l.Name)
	out.Beside = true
	all := l.ReadQuery()
	b.read(out, l, readOf(l, "Read, ReadColumns", &all, nil))
	if columns := l.Read.Pickable(); len(columns) > 1 {
		field := l.Fields[l.Read.Columns[columns[0]].Field].Name
		b.read(out, l, readOf(l, "Read, ReadOptions.Fields: "+field+" only", &all, columns[:1]))
	}
	newest := l.LatestQuery()
	_, _, now := sample.Day(newest.Table)
	b.read(out, l, &read{
		method: schema.LatestMethod, query: &newest, finds: prose.LatestFinds(l), order: "a single event: the latest",
		requests: sample.LatestRequests(l, now), work: estimate.LatestWork(l, now),
	})
	for i := range l.Queries {
		b.read(out, l, readOf(l, l.Queries[i].Name, &l.Queries[i], nil))
	}
}

// readOf returns a query for the example of a day; columns are those that it fetches, nil for all.
func readOf(l *layout.Layout, method string, q *layout.Query, columns []int) *read {
	from, to, now := sample.Day(q.Table)
	return &read{
		method: method, query: q, from: from, to: to,
		finds: prose.AllRanges(q) + prose.Together(l, q) + prose.State(l, q), order: prose.Order(l, q),
		requests: sample.Requests(l, q, now, from, to, columns), work: estimate.WorkOf(l, q, now, from, to, columns),
	}
}

// read explains a read.
func (b *builder) read(of *document.Section, l *layout.Layout, r *read) {
	q := r.query
	eachSeries := q.MultiSeries()
	out := of.Entry(r.method, r.method, r.method)
	out.Say(oneLine(q.Doc))
	table := out.Table(document.Muted.Column(""), document.Plain.Column(""))
	add := func(name, text string) {
		if text != "" {
			table.Row(nil, name, text)
		}
	}
	add("given", givenWords(l, q))
	named := ""
	if q.Named.IsValid() {
		named = " (named by the query)"
	}
	add("table", q.Table.ID+named+": "+r.finds)
	add("order", r.order)
	if !r.from.IsZero() {
		add("example", "one day, from "+briefly(r.from)+" to "+briefly(r.to)+", read at the end of that day")
	}
	add("scan", oneLine(q.Scan))
	add("deletes", strings.Join(prose.Deletes(q), "; "))
	tiers := readTiers(l, q, r.from.IsZero())
	add("tiers", tiers)
	table.Row(r.work, "expected", expectedWords(&r.work, eachSeries))
	for i := range r.requests {
		if i == shownRequests {
			table.Shown = len(table.Rows)
			table.More = "… and " + count(len(r.requests)-i, "similar request")
		}
		table.Row(requestOf(&r.requests[i]), "request", rowsWords(&r.requests[i]))
		add("filter", strings.Join(prose.Filter(r.requests[i].Filter), "\n"))
	}
	b.fact(r.method, "", expectedWords(&r.work, eachSeries))
	if tiers != "" {
		b.fact(r.method+" tiers", "", tiers)
	}
}

// givenWords lists what callers give a query.
func givenWords(l *layout.Layout, q *layout.Query) string {
	var out []string
	for _, in := range q.Inputs {
		out = append(out, in.Words(l))
	}
	if out == nil {
		return "no series value: all series"
	}
	return strings.Join(out, ", ")
}

// request is the data of a request.
type request struct {
	Rows  []rowRange `json:"rows"`
	Limit int        `json:"limit,omitempty"` // of rows
	Pages bool       `json:"pages,omitempty"` // whether the request is paginated by Limit
}

// rowRange is a half-open range of row keys, in hex. An end that is empty is that of the table.
type rowRange struct {
	Start   string `json:"start"`
	End     string `json:"end"`
	Reverse bool   `json:"reverse,omitempty"` // from the last row to the first
}

// requestOf returns the data of a request. A key is the range of its row.
func requestOf(r *scan.Request) request {
	out := request{Rows: []rowRange{}, Limit: r.Limit, Pages: r.Paginated}
	add := func(start, end string, reverse bool) {
		out.Rows = append(out.Rows, rowRange{inHex(start), inHex(end), reverse})
	}
	for _, rows := range r.Rows {
		for _, key := range rows.Keys {
			add(key, key+"\x00", rows.Reverse)
		}
		if rows.Keys == nil {
			add(rows.Start, rows.End, rows.Reverse)
		}
	}
	return out
}

// rowsWords says which rows a request reads.
func rowsWords(r *scan.Request) string {
	var keys, out []string
	reverse := false
	for _, rows := range r.Rows {
		reverse = rows.Reverse
		for _, key := range rows.Keys {
			keys = append(keys, "row "+sample.ShowKey(key))
		}
		if rows.Keys == nil {
			out = append(out, "rows from "+boundWords(rows.Start, "start")+" to "+boundWords(rows.End, "end"))
		}
	}
	if out = append(keys, out...); len(out) > shownRanges {
		out = append(out[:shownRanges-1], fmt.Sprintf("… and %d more", len(out)-shownRanges+1))
	}
	text := strings.Join(out, "\n")
	if reverse {
		text += ", in reverse order"
	}
	switch rows := count(r.Limit, "row"); {
	case r.Paginated:
		text += ", in pages of " + rows
	case r.Limit > 0:
		text += ", limit " + rows
	}
	return text
}

// boundWords shows a bound of a range; an empty one is the start or the end of the table.
func boundWords(key, empty string) string {
	if key == "" {
		return "the " + empty + " of the table"
	}
	return sample.ShowKey(key)
}

// expectedWords says what a read returns.
func expectedWords(w *estimate.Work, eachSeries bool) string {
	text := count(w.Requests, "request")
	if w.Pages > 0 {
		text = "at least " + text + " with pages of " + count(w.Pages, "row")
	}
	text += ": " + count(w.Rows, "row") + ", " +
		count(w.Cells, "cell") + ", " + count(w.Events, "event")
	if eachSeries {
		text += " for each series found"
	}
	if w.Walked > 0 {
		text += "; the server scans " + count(w.Walked, "more row")
		if eachSeries {
			text += " for each"
		}
	}
	return text
}

// briefly writes a day without its time.
func briefly(t time.Time) string { return strings.TrimSuffix(showTime(t), "T00:00:00Z") }
