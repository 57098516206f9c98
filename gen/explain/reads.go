package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// reads explains the methods of the reader.
func reads(l *layout.Layout) []Read {
	read := l.ReadQuery()
	out := []Read{readOf(l, &read, nil)}
	if columns := l.Read.Pickable(); len(columns) > 1 {
		one := readOf(l, &read, columns[:1])
		one.Method = fmt.Sprintf("Read, ReadOptions.Fields: %s alone", l.Fields[l.Read.Columns[columns[0]].Field].Name)
		out = append(out, one)
	}
	out = append(out, latest(l))
	for i := range l.Queries {
		q := readOf(l, &l.Queries[i], nil)
		q.Method = l.Queries[i].Name
		out = append(out, q)
	}
	out[0].Method = "Read, ReadColumns"
	return out
}

// given are the names of the series values that a query gives.
func given(l *layout.Layout, q *layout.Query) []string {
	out := []string{}
	for _, i := range q.By {
		out = append(out, l.Series[i].Name)
	}
	return out
}

// readOf explains a query for the example of a day; columns are those that it
// fetches, nil for all.
func readOf(l *layout.Layout, q *layout.Query, columns []int) Read {
	from, to, now := q.Table.ExampleSpan()
	return Read{
		Method: q.Name, Given: given(l, q), Doc: oneLine(q.Doc), Table: q.Table.ID, TableNamed: q.Named.IsValid(), Finds: q.Ranges(), Order: q.Order(l),
		From: showTime(from), To: showTime(to), Requests: requestsOf(q.Requests(l, now, from, to, columns)),
		Expected: Work(q.Work(l, now, from, to, columns)), EachSeries: len(q.By) < len(l.Series), Scan: oneLine(q.Scan),
	}
}

// latest explains the look for the newest event of a series.
func latest(l *layout.Layout) Read {
	q := l.ReadQuery()
	_, _, now := q.Table.ExampleSpan()
	return Read{
		Method: "Latest", Given: given(l, &q), Table: q.Table.ID, Finds: l.LatestFinds(), Order: "one event: the newest",
		Requests: requestsOf(l.LatestRequests(now)), Expected: Work(l.LatestWork(now)),
	}
}

// requestsOf shows requests.
func requestsOf(in []layout.Request) []Request {
	out := []Request{}
	for _, r := range in {
		request := Request{Limit: r.Limit, Pages: r.Pages, Filters: filterWords(r.Filter)}
		if r.Looks {
			request.Filters = append(request.Filters, "one cell of each row, without its value: to see which rows there are")
		}
		for _, rows := range r.Rows {
			request.Reverse = rows.Reverse
			for _, key := range rows.Keys {
				request.Keys = append(request.Keys, bytesOf(key))
			}
			if rows.Keys == nil {
				request.Ranges = append(request.Ranges, RowRange{bytesOf(rows.Start), bytesOf(rows.End)})
			}
		}
		out = append(out, request)
	}
	return out
}

// filterWords says in words what a filter lets through.
func filterWords(f layout.Filter) []string {
	var out []string
	for _, keys := range f.Keys {
		var forms []string
		for _, k := range keys {
			forms = append(forms, keyWords(k))
		}
		out = append(out, "row keys of the form "+strings.Join(forms, "; or "))
	}
	if f.Columns != nil {
		out = append(out, "columns "+columnsWords(f.Columns))
	}
	if f.Present != nil {
		out = append(out, "and columns "+columnsWords(f.Present)+" without their values: to see which events there are")
	}
	out = append(out, cellsWords(f.Cells)...)
	if f.Newest > 0 {
		out = append(out, "of what is left in a column the newest cell")
	}
	return out
}

// columnsWords lists the names of columns.
func columnsWords(columns []string) string {
	var names []string
	for _, name := range columns {
		names = append(names, layout.ShowKey(name))
	}
	return strings.Join(names, ", ")
}

// keyWords shows the form of row keys.
func keyWords(k layout.KeyFilter) string {
	text := ""
	for _, piece := range k.Form {
		text += pieceWords(piece)
	}
	if k.Begin != "" || k.End != "" {
		text += ", " + columnRange(k.Begin, k.End)
	}
	return text
}

// pieceWords shows a piece of row keys.
func pieceWords(p codec.KeyPiece) string {
	switch {
	case p.Any && p.Width == 0:
		return "{anything}"
	case p.Any:
		return "{" + words.Count(float64(p.Width), "byte", "bytes") + "}"
	case p.From:
		return "{" + p.Text + " and more}"
	case p.High != "":
		return "{" + layout.ShowKey(p.Text) + " to " + layout.ShowKey(p.High) + "}"
	}
	return layout.ShowKey(p.Text)
}

// cellsWords says in words which cells are let through.
func cellsWords(cells []layout.CellFilter) []string {
	var families []string
	for _, c := range cells {
		for _, g := range c.Families {
			text := familyWords(g)
			if len(cells) > 1 && (c.Begin != "" || c.End != "") {
				text += ", " + columnRange(c.Begin, c.End)
			}
			families = append(families, text)
		}
	}
	out := []string{strings.Join(families, "; or ")} // a cell is in one of them
	if c := cells[0]; len(cells) == 1 && (c.Begin != "" || c.End != "") {
		out = append(out, columnRange(c.Begin, c.End))
	}
	return out
}

// familyWords says which cells of some families are asked for.
func familyWords(g layout.FamilyFilter) string {
	text := "family " + g.Families[0]
	if len(g.Families) > 1 {
		text = "families " + strings.Join(g.Families, ", ")
	}
	var windows []string
	for _, w := range g.Windows {
		windows = append(windows, windowWords(w))
	}
	if windows == nil {
		return text + ", every cell"
	}
	return text + ", " + strings.Join(windows, "; and ")
}

// windowWords says which cells a window has.
func windowWords(w codec.Window) string {
	var parts []string
	if w.Versions > 0 {
		parts = append(parts, fmt.Sprintf("of the newest %d cells of a column", w.Versions))
	}
	at := func(us int64) string { return briefly(showTime(time.UnixMicro(us))) }
	switch {
	case w.From > 0 && w.To > 0:
		parts = append(parts, "timestamps from "+at(w.From)+" to "+at(w.To))
	case w.From > 0:
		parts = append(parts, "timestamps from "+at(w.From))
	case w.To > 0:
		parts = append(parts, "timestamps to "+at(w.To))
	default:
		parts = append(parts, "any timestamp")
	}
	return strings.Join(parts, " those with ")
}

// columnRange says which columns are asked for by a range of names.
func columnRange(begin, end string) string {
	text := "columns"
	if begin != "" {
		text += " from " + binaryOf(begin).Show
	}
	if end != "" {
		text += " to " + binaryOf(end).Show
	}
	return text
}
