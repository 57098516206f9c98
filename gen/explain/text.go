package explain

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/words"
)

// Text renders a document in aligned lines, for a terminal if they are coloured.
func Text(doc Document, coloured bool) string {
	w := textWriter{style: style{coloured}}
	for i, s := range doc.Schemas {
		if i > 0 {
			w.line("")
		}
		w.schema(&s)
	}
	return w.b.String()
}

// textWriter writes text.
type textWriter struct {
	style
	b strings.Builder
}

// line writes a line.
func (w *textWriter) line(format string, args ...any) {
	w.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// wrapped writes a text in lines behind an indent.
func (w *textWriter) wrapped(indent, text string) {
	for _, line := range wrap(text, pageColumns-columns(indent)) {
		w.line("%s", indent+line)
	}
}

// pageColumns is how wide text is, but for tables.
const pageColumns = 100

// wrap breaks a text into lines between its words.
func wrap(text string, wide int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && columns(line+" "+word) > wide {
			out = append(out, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

// wrapKeys is wrap for texts with row keys: these are broken where they do not fit
// in a line, so that nothing of them is lost, and keep their spaces.
func wrapKeys(text string, wide int) []string {
	var out []string
	line := ""
	for _, word := range strings.SplitAfter(text, " ") {
		if line != "" && columns(strings.TrimRight(line+word, " ")) > wide {
			out = append(out, line)
			line = ""
		}
		for columns(strings.TrimRight(word, " ")) > wide {
			head := fitting(word, wide)
			out = append(out, head)
			word = word[len(head):]
		}
		line += word
	}
	return append(out, line)
}

// fitting returns as much of the beginning of a text as fits, and at least one
// character.
func fitting(text string, wide int) string {
	end := 0
	for i, r := range text {
		if end = i + utf8.RuneLen(r); i > 0 && columns(text[:end]) > wide {
			return text[:i]
		}
	}
	return text
}

// elide shortens a text in the middle to some columns.
func elide(text string, to int) string {
	if columns(text) <= to {
		return text
	}
	head := fitting(text, to/2)
	tail := []rune(text[len(head):])
	tail = tail[max(0, len(tail)-to):]
	for len(tail) > 1 && columns(head+"…"+string(tail)) > to {
		tail = tail[1:]
	}
	return head + "…" + string(tail)
}

// heading begins a part.
func (w *textWriter) heading(format string, args ...any) {
	w.line("")
	w.line("  %s", w.in(bold, fmt.Sprintf(format, args...)))
}

// schema writes a schema.
func (w *textWriter) schema(s *Schema) {
	w.line("%s", w.in(bold, s.Name)+w.in(dim, " ("+s.File+")"))
	if s.Doc != "" {
		w.wrapped("  ", s.Doc)
	}
	for i := range s.Tables {
		w.table(s, &s.Tables[i])
	}
	w.line("")
	w.line("%s", w.in(bold, "reads of "+s.Name))
	for i := range s.Reads {
		w.read(&s.Reads[i])
	}
}

// table writes a table.
func (w *textWriter) table(s *Schema, t *Table) {
	w.line("")
	w.line("%s: %s", w.in(bold, "table "+t.ID), t.Pattern)
	if t.Doc != "" {
		w.wrapped("  ", t.Doc)
	}
	w.wrapped("  ", t.Holds)
	w.key(t)
	w.rows(t)
	w.families(t)
	w.size(s, t)
	w.choices(t)
	w.excused(t)
}

// key draws the row key, with a line to each of its segments.
func (w *textWriter) key(t *Table) {
	w.heading("row key")
	for _, line := range wrapKeys(t.Key.Form, pageColumns-4) {
		w.line("    %s", line)
	}
	if t.Key.Example.Hex != "" {
		w.ladder(t)
	}
	for _, s := range t.Key.Splits {
		if len(t.Key.Splits) <= 5 {
			w.line("    %s %s", w.in(dim, "a new table is split at"), elide(s.Show, longKey))
		}
	}
	if n := len(t.Key.Splits); n > 5 {
		w.line("    %s", w.in(dim, fmt.Sprintf("a new table is split at %d keys, from %s to %s", n, elide(t.Key.Splits[0].Show, longKey/2), elide(t.Key.Splits[n-1].Show, longKey/2))))
	}
	if t.Key.SQL != nil {
		w.line("    %s %s", w.in(dim, "GoogleSQL reads it as"), strings.Join(t.Key.SQL, ", "))
	}
}

// ladder draws an example key: its bytes, what of it each segment is, and what
// each segment means.
func (w *textWriter) ladder(t *Table) {
	parts, delimiter, quote := shownParts(t)
	shorten(parts, pageColumns-16-columns(delimiter)*len(parts))
	line, marks := strings.Repeat(" ", len(quote)), strings.Repeat(" ", len(quote))
	key := quote
	var at []int
	for i, part := range parts {
		if i > 0 {
			key += w.in(dim, delimiter)
			line += strings.Repeat(" ", columns(delimiter))
			marks += strings.Repeat(" ", columns(delimiter))
		}
		at = append(at, columns(marks))
		key += w.in(segmentPaint(i), part)
		line += w.in(segmentPaint(i), brace(columns(part)))
		marks += strings.Repeat(" ", columns(part))
	}
	w.line("    %s%s  %s", key, quote, w.in(dim, words.Count(float64(len(t.Key.Example.Hex)/2), "byte", "bytes")))
	w.line("    %s", line)
	for i := len(parts) - 1; i >= 0; i-- {
		rung := ""
		for j := range i {
			rung = pad(rung, at[j]) + "│"
		}
		w.line("    %s%s", w.in(dim, pad(rung, at[i])), w.in(segmentPaint(i), segmentText(t.Key.Segments[i])))
	}
}

// shorten elides the longest of the segments of a key until all of them fit in some
// columns, or are as short as they can be.
func shorten(parts []string, wide int) {
	for most := wide; most > 8 && columns(strings.Join(parts, "")) > wide; most-- {
		for i, part := range parts {
			parts[i] = elide(part, most)
		}
	}
}

// segmentText says what a segment is.
func segmentText(s Segment) string {
	text := s.Means
	if s.Kind == "series" || s.Kind == "const" || s.Kind == "metric" {
		text = s.Name + ": " + s.Means
	}
	if s.Doc != "" {
		text += " (" + s.Doc + ")"
	}
	return text
}

// brace marks some columns.
func brace(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "┴"
	}
	return "└" + strings.Repeat("─", n-2) + "┘"
}

// shownParts returns the segments of the example key and the delimiter as they are
// shown: quoted, where one of them must be.
func shownParts(t *Table) (parts []string, delimiter, quote string) {
	inner := func(s string) string { return s }
	if strings.HasPrefix(t.Key.Example.Show, `"`) {
		quote = `"`
		inner = func(s string) string { return strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(s), `"`), `"`) }
	}
	for _, s := range t.Key.Segments {
		parts = append(parts, inner(s.Example.raw()))
	}
	return parts, inner(t.Key.Delimiter), quote
}

// raw returns the bytes.
func (b Bytes) raw() string {
	out, _ := hex.DecodeString(b.Hex) // of bytesOf
	return string(out)
}

// events writes the example events, and what they say of their end.
func (w *textWriter) events(t *Table) {
	w.heading("example events")
	g := grid{style: w.style}
	var head []cell
	for _, name := range eventHead(t) {
		head = append(head, cell{text: name, paint: dim})
	}
	g.add(head...)
	for i := range t.Events {
		var row []cell
		for _, text := range eventRow(t, &t.Events[i]) {
			row = append(row, cell{text: text})
		}
		g.add(row...)
	}
	g.write(&w.b, "    ")
}

// rows writes the example rows: the cells beside the keys or, where these are
// long, below them.
func (w *textWriter) rows(t *Table) {
	if len(t.Rows) == 0 {
		w.heading("example rows")
		w.line("    there are none: the table cannot hold the time of the example")
		return
	}
	w.events(t)
	w.heading("example rows")
	beside := columns(t.Rows[0].Key.Show) <= longKey
	g := grid{style: w.style}
	head := []cell{{text: "row key", paint: dim}, {text: "column", paint: dim}, {text: "timestamp", paint: dim}, {text: "value", paint: dim}}
	if beside {
		g.add(head...)
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		switch {
		case i == shownRows:
			g.add(cell{text: fmt.Sprintf("… and %s", words.Count(float64(len(t.Rows)-i), "more row", "more rows")), paint: dim, spans: true})
		case i > shownRows:
		case beside:
			w.cells(&g, row.Key.Show, row)
		default:
			for _, line := range wrapKeys(row.Key.Show, pageColumns-4) {
				g.add(cell{text: line, spans: true})
			}
			w.cells(&g, "", row)
		}
	}
	g.write(&w.b, "    ")
}

// cells adds the cells of a row, the first of them behind a key.
func (w *textWriter) cells(g *grid, key string, row *Row) {
	column := ""
	for i := range row.Cells {
		c := &row.Cells[i]
		name := c.Family + ":" + c.Qualifier.Show
		shown := name
		if name == column {
			shown = "" // one more cell of the column
		}
		column = name
		value, means := cellTexts(c)
		line := []cell{{text: key}, {text: shown}, {text: c.Timestamp, paint: dim}, {text: value}}
		if columns(value)+columns(means) > wideCell {
			g.add(line...)
			line = []cell{{}, {}, {}}
		}
		if means != "" {
			line = append(line, cell{text: means, paint: dim})
		}
		g.add(line...)
		key = ""
	}
}

// How long keys are that cells stand beside, how many bytes of a value are shown, and
// how many columns it and what it means may take on one line.
const (
	longKey   = 48
	longValue = 32
	wideCell  = 56
)

// cellTexts returns the value of a cell and what it means, where that says more.
func cellTexts(c *Stored) (value, means string) {
	value, means = c.Value.Show, c.Means
	switch {
	case c.Value.Hex == "":
		return "(empty)", means
	case strings.HasSuffix(means, " "+value):
		return value, ""
	case columns(value) > 2*longValue:
		value = string([]rune(value)[:2*longValue]) + "…"
	}
	return value, means
}

// families writes what the timestamps of cells are, and below each other which
// cells are collected and which are read.
func (w *textWriter) families(t *Table) {
	w.heading("time to live")
	g := grid{style: w.style}
	for _, f := range t.Families {
		name := "family " + f.Name
		if f.Class != "" {
			name += ", of class " + f.Class
		}
		g.add(cell{text: name}, cell{text: "a cell's timestamp is", paint: dim}, cell{text: f.Timestamp})
		g.add(cell{}, cell{text: "collected, in a week or so", paint: dim}, cell{text: f.Collected + ": " + f.GC})
		g.add(cell{}, cell{text: "every read asks for", paint: dim}, cell{text: f.Read})
	}
	g.write(&w.b, "    ")
}

// size writes how large cells, rows and the table become.
func (w *textWriter) size(s *Schema, t *Table) {
	w.heading("size and growth, with %s", loadWords(&s.Load))
	g := grid{style: w.style}
	for _, row := range sizeRows(&t.Size) {
		g.add(cell{text: row.What}, cell{text: row.Bytes}, cell{text: row.Means, paint: dim})
	}
	g.write(&w.b, "    ")
	w.wrapped("    ", estimateNote)
}

// estimateNote says how sizes are counted.
const estimateNote = "Estimates, with numbers and times of a usual length: from about each cell's timestamp and value, and the key once a row, to about the key, the family and the column name again with each cell. Compression is not counted."

// sizeRow is a line of the sizes of a table.
type sizeRow struct{ What, Bytes, Means string }

// sizeRows are the sizes of a table in words.
func sizeRows(z *Size) []sizeRow {
	rows := []sizeRow{
		{"an event", words.Sizes(z.Event.Lower, z.Event.Upper), eventWords(z)},
		{"a row", words.Sizes(z.Row.Lower, z.Row.Upper), rowWords(z)},
		{"a day", words.Sizes(z.Day.Lower, z.Day.Upper), "more, of all series"},
	}
	if z.Table == nil {
		return append(rows, sizeRow{"the table", "grows", "for ever, or until its events are due"})
	}
	return append(rows, sizeRow{"the table", words.Sizes(z.Table.Lower, z.Table.Upper), "from then on: " + z.Retention + ", and a week until it is collected"})
}

// eventWords says what an event is stored as.
func eventWords(z *Size) string {
	return words.Count(float64(z.CellsPerEvent), "cell", "cells") + " in " + words.Count(float64(z.RowsPerEvent), "row", "rows")
}

// rowWords says what a full row has.
func rowWords(z *Size) string {
	text := words.Count(z.CellsPerRow, "cell", "cells")
	if z.EventsPerRow > 1 {
		text = words.Count(z.EventsPerRow, "event", "events") + ", " + text
	}
	return text + ", a key of " + words.Count(float64(z.KeyBytes), "byte", "bytes")
}

// loadWords says what is counted with, and what of it is assumed.
func loadWords(load *Load) string {
	assumed := func(name string) string {
		for _, a := range load.Assumed {
			if a == name {
				return " (assumed)"
			}
		}
		return ""
	}
	text := words.Count(float64(load.Series), "series", "series") + assumed("series") + ", " + words.Rate(load.EventsPerSecond) + " each" + assumed("rate")
	if assumed("value_bytes") != "" {
		text += fmt.Sprintf(", texts of %d bytes (assumed)", load.ValueBytes)
	}
	return text
}

// choices compares what else could be made of the load.
func (w *textWriter) choices(t *Table) {
	w.heading("the same load in other patterns and buckets")
	g := grid{style: w.style, right: []bool{false, true, true, true, true, true, true, true}}
	g.add(cell{text: "  ", paint: dim}, cell{text: "an event", paint: dim}, cell{text: "rows", paint: dim}, cell{text: "cells", paint: dim}, cell{text: "a full row", paint: dim}, cell{text: "cells", paint: dim}, cell{text: "read a day", paint: dim}, cell{text: "the newest", paint: dim})
	for i := range t.Choices {
		g.add(choiceCells(&t.Choices[i])...)
	}
	g.write(&w.b, "    ")
	w.wrapped("      ", choicesNote)
	for _, note := range notes(t.Choices) {
		w.wrapped("      ", note)
	}
	w.line("    %s", w.in(chosen, "► chosen: "+choiceName(&t.Choices[0])))
	w.wrapped("      ", t.Guidance.Text)
	w.line("      %s", w.in(dim, t.Guidance.Source))
}

// choicesNote says what the columns of the comparison are.
const choicesNote = "Reads are of one series: the rows (r) and cells (c) that come back, for the newest event at most, if the series still reports."

// choiceName names a choice.
func choiceName(c *Choice) string {
	if c.Bucket == "" {
		return c.Pattern
	}
	return c.Pattern + ", " + c.Bucket
}

// choiceCells is the row of a choice.
func choiceCells(c *Choice) []cell {
	name := cell{text: "  " + choiceName(c)}
	if c.Chosen {
		name = cell{text: "► " + choiceName(c), paint: chosen}
	}
	if c.Size == nil {
		return []cell{name, {text: "no: " + ruleNames(c), paint: refused, spans: true}}
	}
	z := c.Size
	out := []cell{
		name, {text: words.Sizes(z.Event.Lower, z.Event.Upper)}, {text: words.Number(float64(z.RowsPerEvent))}, {text: words.Number(float64(z.CellsPerEvent))},
		{text: words.Sizes(z.Row.Lower, z.Row.Upper)}, {text: words.Number(z.CellsPerRow)}, {text: workWords(c.Day)}, {text: workWords(c.Newest)},
	}
	if len(c.Findings) > 0 {
		out = append(out, cell{text: ruleNames(c), paint: warned})
	}
	return out
}

// workWords is how many rows and cells a read gets.
func workWords(w *Work) string { return words.Number(w.Rows) + "r " + words.Number(w.Cells) + "c" }

// longReason is how many characters of a reason there are beside a choice: all of it
// stands in the notes below.
const longReason = 60

// ruleNames names the rules that speak against a choice, or gives the reason where a
// schema of these events cannot have it.
func ruleNames(c *Choice) string {
	var out []string
	for _, f := range c.Findings {
		name := f.Rule
		if name == "" {
			name = cut(f.Message, longReason)
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// notes say once for each rule what it says.
func notes(choices []Choice) []string {
	var out []string
	said := map[string]bool{}
	for i := range choices {
		for _, f := range choices[i].Findings {
			switch {
			case f.Rule == "":
				out = append(out, choiceName(&choices[i])+": "+f.Message)
			case !said[f.Rule]:
				said[f.Rule] = true
				out = append(out, f.Rule+": "+f.Message)
			}
		}
	}
	return out
}

// excused lists the rules that the schema allows the table to break.
func (w *textWriter) excused(t *Table) {
	if len(t.Excused) == 0 {
		return
	}
	w.heading("excused")
	g := grid{style: w.style}
	for _, e := range t.Excused {
		g.add(cell{text: e.Rule, paint: warned}, cell{text: e.Title}, cell{text: "because: " + e.Reason, paint: dim})
	}
	g.write(&w.b, "    ")
}

// read writes a read.
func (w *textWriter) read(r *Read) {
	w.line("")
	w.line("  %s%s", w.in(bold, r.Method), w.in(dim, " (by "+orAll(r.Given)+")"))
	if r.Doc != "" {
		w.wrapped("    ", r.Doc)
	}
	g := grid{style: w.style}
	g.wrapped("table", r.Table+namedWords(r)+": "+r.Finds, plain)
	g.wrapped("order", r.Order, plain)
	if r.From != "" {
		g.wrapped("example", exampleWords(r), plain)
	}
	if r.Scan != "" {
		g.wrapped("scan", r.Scan, warned)
	}
	w.requests(&g, r)
	g.wrapped("expected", expectedWords(r), plain)
	g.write(&w.b, "    ")
}

// namedWords says that the schema names the table of a read; nothing if it does not.
func namedWords(r *Read) string {
	if r.TableNamed {
		return ", which the query names"
	}
	return ""
}

// wrapped adds a text behind a label of a read, in lines that fit on the page.
func (g *grid) wrapped(label, text string, p paint) {
	const before = "    expected  " // the longest label
	hang := ""
	for i, line := range wrapKeys(text, pageColumns-len(before)-2) {
		if i == 1 {
			hang = "  "
		}
		g.add(cell{text: label, paint: dim}, cell{text: hang + line, paint: p})
		label = ""
	}
}

// requests adds the rows of the requests of a read.
func (w *textWriter) requests(g *grid, r *Read) {
	for i, request := range r.Requests {
		if i == shownRequests {
			g.wrapped("", moreRequests(len(r.Requests)-i), dim)
			break
		}
		label := "request"
		for _, line := range rowsWords(&request) {
			g.wrapped(label, line, plain)
			label = ""
		}
		label = "filter"
		for _, line := range request.Filters {
			g.wrapped(label, line, plain)
			label = ""
		}
	}
}

// rowsWords says which rows a request asks for.
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
			start = "the beginning of the table"
		}
		out = append(out, "rows from "+start+" to "+end)
	}
	if n := len(out); n > shownRanges {
		out = append(out[:shownRanges-1], fmt.Sprintf("… and %d more", n-shownRanges+1))
	}
	if len(out) > 0 && r.Reverse {
		out[len(out)-1] += ", from the last to the first"
	}
	if len(out) > 0 && r.Limit > 0 {
		how := " of them"
		if r.Pages {
			how = " at a time"
		}
		out[len(out)-1] += ", " + words.Count(float64(r.Limit), "row", "rows") + how
	}
	return out
}

// expectedWords says what a read gets.
func expectedWords(r *Read) string {
	e := &r.Expected
	text := words.Count(float64(e.Requests), "request", "requests")
	if e.Pages > 0 {
		text = "at least " + text + ", in pages of " + words.Count(float64(e.Pages), "row", "rows")
	}
	text += ": " + words.Count(e.Rows, "row", "rows") + ", " +
		words.Count(e.Cells, "cell", "cells") + ", " + words.Count(e.Events, "event", "events")
	if r.EachSeries {
		text += ", of each series that it finds"
	}
	if e.Walked > 0 {
		text += "; the server walks " + words.Count(e.Walked, "row", "rows") + " more"
		if r.EachSeries {
			text += " of each"
		}
	}
	return text
}

// orAll lists what is given, or says that nothing is.
func orAll(names []string) string {
	if len(names) == 0 {
		return "nothing: all series"
	}
	return strings.Join(names, ", ")
}

// briefly writes a day without its time.
func briefly(text string) string {
	return strings.TrimSuffix(text, "T00:00:00Z")
}

// exampleWords says which time an example reads.
func exampleWords(r *Read) string {
	return "a day, from " + briefly(r.From) + " to " + briefly(r.To) + ", read at its end"
}

// moreRequests says how many requests are not shown.
func moreRequests(n int) string {
	return "… and " + words.Count(float64(n), "request", "requests") + " like it"
}
