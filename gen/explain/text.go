package explain

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// TextOptions say how [Text] renders. The zero value is for files: plain and 100
// columns wide.
type TextOptions struct {
	Color bool // whether to color the text, for a terminal
	// Width is the number of columns, such as those of the terminal. 0 means 100;
	// widths below 60 count as 60.
	Width int
}

// The default and the least number of columns.
const (
	defaultWidth = 100
	leastWidth   = 60
)

// Text renders a document in aligned lines. No line is wider than the width, except for
// addresses of web pages.
func Text(doc Document, o TextOptions) string {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	w := textWriter{style: style{o.Color}, width: max(o.Width, leastWidth)}
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
	width int // of a line, in columns
	b     strings.Builder
}

// line writes a line.
func (w *textWriter) line(format string, args ...any) {
	w.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// wrapped writes a paragraph with an indent.
func (w *textWriter) wrapped(indent string, p paint, text string) {
	for _, line := range wrap(text, w.width-words.Width(indent)) {
		w.line("%s", indent+w.in(p, strings.TrimRight(line, " ")))
	}
}

// grid returns an empty grid as wide as the text.
func (w *textWriter) grid() grid { return grid{style: w.style, width: w.width} }

// wrap breaks a text into lines between words. A word that is wider than a line, such
// as a row key, is broken, too; all spaces are kept.
func wrap(text string, width int) []string {
	var out []string
	line := ""
	for _, word := range strings.SplitAfter(text, " ") {
		if line != "" && words.Width(strings.TrimRight(line+word, " ")) > width {
			if strings.TrimLeft(line, " ") != "" {
				out = append(out, line)
			}
			line = ""
		}
		for words.Width(strings.TrimRight(word, " ")) > width {
			head := fitting(word, width)
			out = append(out, head)
			word = word[len(head):]
		}
		line += word
	}
	return append(out, line)
}

// fitting returns as much of the beginning of a text as fits, and at least one
// character.
func fitting(text string, width int) string {
	end := 0
	for i, r := range text {
		if end = i + utf8.RuneLen(r); i > 0 && words.Width(text[:end]) > width {
			return text[:i]
		}
	}
	return text
}

// elide shortens a text in the middle to some columns.
func elide(text string, to int) string {
	if words.Width(text) <= to {
		return text
	}
	head := fitting(text, to/2)
	tail := []rune(text[len(head):])
	tail = tail[max(0, len(tail)-to):]
	for len(tail) > 1 && words.Width(head+"…"+string(tail)) > to {
		tail = tail[1:]
	}
	return head + "…" + string(tail)
}

// heading begins a section.
func (w *textWriter) heading(text string) {
	w.line("")
	w.wrapped("  ", bold, text)
}

// schema writes a schema.
func (w *textWriter) schema(s *Schema) {
	if file := " (" + s.File + ")"; words.Width(s.Name+file) <= w.width {
		w.line("%s%s", w.in(bold, s.Name), w.in(dim, file))
	} else {
		w.wrapped("", bold, s.Name)
		w.wrapped("  ", dim, s.File)
	}
	if s.Doc != "" {
		w.wrapped("  ", plain, s.Doc)
	}
	for i := range s.Tables {
		w.table(s, &s.Tables[i])
	}
	w.line("")
	w.line("%s", w.in(bold, "reads of "+s.Name))
	for i := range s.Reads {
		w.read(&s.Reads[i])
	}
	w.capacity(s)
}

// table writes a table.
func (w *textWriter) table(s *Schema, t *Table) {
	w.line("")
	w.line("%s: %s", w.in(bold, "table "+t.ID), t.Pattern)
	if t.Doc != "" {
		w.wrapped("  ", plain, t.Doc)
	}
	w.wrapped("  ", plain, t.Holds)
	if t.Unread {
		w.wrapped("  ", plain, unreadNote)
	}
	w.key(t)
	w.periods(t)
	w.rows(t)
	w.families(t)
	w.size(s, t)
	w.heat(t)
	w.choices(t)
	w.excused(t)
}

// unreadNote explains serves: false.
const unreadNote = "Events are written to this table but not read from it, because it has serves: false."

// key draws the row key, with a line for each of its segments.
func (w *textWriter) key(t *Table) {
	w.heading("row key")
	w.wrapped("    ", plain, t.Key.Form)
	if t.Key.Example.Hex != "" {
		w.example(t)
	}
	if text := splitWords(t.Key.Splits); text != "" {
		w.wrapped("    ", dim, text)
	}
	if t.Key.SQL != nil {
		w.wrapped("    ", dim, "columns in GoogleSQL: "+strings.Join(t.Key.SQL, ", "))
	}
}

// splitWords says at which keys a new table is split; nothing if it is not.
func splitWords(splits []Bytes) string {
	switch n := len(splits); {
	case n == 0:
		return ""
	case n > 5:
		return fmt.Sprintf("a new table is split at %d keys, from %s to %s", n, elide(splits[0].Show, longKey/2), elide(splits[n-1].Show, longKey/2))
	}
	var keys []string
	for _, s := range splits {
		keys = append(keys, elide(s.Show, longKey))
	}
	return "a new table is split at " + strings.Join(keys, ", ")
}

// example draws an example key: its bytes, which segment they belong to, and what each
// segment means. Where that does not fit, the segments are listed.
func (w *textWriter) example(t *Table) {
	parts, delimiter, quote := shownParts(t)
	size := "  " + words.Count(float64(len(t.Key.Example.Hex)/2), "byte", "bytes")
	shorten(parts, w.width-6-words.Width(size)-words.Width(delimiter)*len(parts))
	key, braces := quote, strings.Repeat(" ", len(quote))
	var at []int // the column at which each segment begins
	for i, part := range parts {
		if i > 0 {
			key += w.in(dim, delimiter)
			braces = pad(braces, words.Width(braces)+words.Width(delimiter))
		}
		at = append(at, words.Width(braces))
		key += w.in(segmentPaint(i), part)
		braces += brace(words.Width(part))
	}
	if words.Width(braces)+words.Width(quote)+words.Width(size)+4 > w.width {
		w.wrapped("    ", plain, t.Key.Example.Show+size)
		w.segments(t)
		return
	}
	w.line("    %s%s%s", key, quote, w.in(dim, size))
	w.line("    %s", w.braces(braces, at))
	if !w.ladder(t, at) {
		w.segments(t)
	}
}

// braces paints the braces of the segments, which begin at some columns.
func (w *textWriter) braces(text string, at []int) string {
	runes, out := []rune(text), ""
	for i, begin := range at {
		end := len(runes)
		if i+1 < len(at) {
			end = at[i+1]
		}
		if i == 0 {
			out = string(runes[:begin])
		}
		out += w.in(segmentPaint(i), string(runes[begin:end]))
	}
	return out
}

// ladder writes what each segment means on a line below its beginning, the last segment
// first; false and nothing if that does not fit.
func (w *textWriter) ladder(t *Table, at []int) bool {
	for i, begin := range at {
		if 4+begin+words.Width(segmentText(t.Key.Segments[i])) > w.width {
			return false
		}
	}
	for i := len(at) - 1; i >= 0; i-- {
		rung := ""
		for _, begin := range at[:i] {
			rung = pad(rung, begin) + "│"
		}
		w.line("    %s%s", w.in(dim, pad(rung, at[i])), w.in(segmentPaint(i), segmentText(t.Key.Segments[i])))
	}
	return true
}

// segments lists what each segment means.
func (w *textWriter) segments(t *Table) {
	for i, s := range t.Key.Segments {
		w.wrapped("    ", segmentPaint(i), segmentText(s))
	}
}

// shorten elides the longest of the segments of a key until all of them fit in some
// columns, or are as short as they can be.
func shorten(parts []string, width int) {
	for most := width; most > 8 && words.Width(strings.Join(parts, "")) > width; most-- {
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

// events writes the example events, with as many of their fields as fit.
func (w *textWriter) events(t *Table) {
	w.heading("example events")
	for fields := shownFields; fields > 0; fields-- {
		g := w.grid()
		var head []cell
		for _, name := range eventHead(t, fields) {
			head = append(head, cell{text: name, paint: dim})
		}
		g.add(head...)
		for i := range t.Events {
			var row []cell
			for _, text := range eventRow(t, &t.Events[i], fields) {
				row = append(row, cell{text: elide(text, longKey)})
			}
			g.add(row...)
		}
		if fields == 1 || g.fits("    ") {
			g.write(&w.b, "    ")
			return
		}
	}
}

// rows writes the example rows: the cells next to the keys or, if they do not fit, below them.
func (w *textWriter) rows(t *Table) {
	if len(t.Rows) == 0 {
		w.heading("example rows")
		w.line("    none: the table cannot store the time of the example")
		return
	}
	w.events(t)
	w.heading("example rows")
	g := w.rowGrid(t, true, true)
	if !g.fits("    ") {
		g = w.rowGrid(t, false, true)
	}
	if !g.fits("    ") {
		g = w.rowGrid(t, false, false)
	}
	g.write(&w.b, "    ")
}

// rowGrid contains the example rows: the cells next to the keys or below them, and the meaning
// of each next to its value or below it.
func (w *textWriter) rowGrid(t *Table, beside, oneLine bool) *grid {
	g := w.grid()
	if beside {
		g.add(cell{text: "row key", paint: dim}, cell{text: "column", paint: dim}, cell{text: "timestamp", paint: dim}, cell{text: "value", paint: dim})
	}
	for i := range min(len(t.Rows), shownRows) {
		row := &t.Rows[i]
		if !beside {
			g.add(cell{text: row.Key.Show, spans: true})
		}
		g.cells(row, beside, oneLine)
	}
	if n := len(t.Rows) - shownRows; n > 0 {
		g.add(cell{text: furtherRows(n), paint: dim, spans: true})
	}
	return &g
}

// cells adds the cells of a row.
func (g *grid) cells(row *Row, beside, oneLine bool) {
	key, column := "", ""
	if beside {
		key = row.Key.Show
	}
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
		switch {
		case means == "":
			g.add(line...)
		case oneLine:
			g.add(append(line, cell{text: means, paint: dim})...)
		default:
			g.add(line...)
			g.add(cell{}, cell{}, cell{}, cell{text: means, paint: dim})
		}
		key = ""
	}
}

// How many columns of a key are shown where it is one of several things in a line, and
// how many bytes of a value.
const (
	longKey   = 48
	longValue = 32
)

// cellTexts returns the value of a cell and what it means, where that says more.
func cellTexts(c *Stored) (value, means string) {
	value, means = c.Value.Show, c.Means
	switch {
	case c.Value.Hex == "":
		return "(empty)", means
	case strings.HasSuffix(means, " "+value):
		return value, ""
	case words.Width(value) > 2*longValue:
		value = string([]rune(value)[:2*longValue]) + "…"
	}
	return value, means
}

// families writes what the timestamps of cells are, and below each other which cells
// are garbage-collected and which are read.
func (w *textWriter) families(t *Table) {
	w.heading("time to live")
	g := w.grid()
	for _, f := range t.Families {
		name := "family " + f.Name
		if f.Class != "" {
			name += ", class " + f.Class
		}
		g.add(cell{text: name}, cell{text: "cell timestamp", paint: dim}, cell{text: f.Timestamp})
		g.add(cell{}, cell{text: "garbage-collected", paint: dim}, cell{text: f.Collected + ": " + f.GC})
		g.add(cell{}, cell{text: "reads request", paint: dim}, cell{text: f.Read})
	}
	g.write(&w.b, "    ")
	w.wrapped("    ", plain, collectionNote)
}

// collectionNote says when garbage collection happens.
const collectionNote = "Garbage collection can take up to a week. Until then, reads filter expired cells out."

// size writes how large cells, rows and the table become.
func (w *textWriter) size(s *Schema, t *Table) {
	w.heading("size and growth: " + loadWords(&s.Load))
	g := w.grid()
	for _, row := range sizeRows(&t.Size) {
		g.add(cell{text: row.What}, cell{text: row.Bytes}, cell{text: row.Means, paint: dim})
	}
	g.write(&w.b, "    ")
	w.wrapped("    ", plain, estimateNote)
}

// estimateNote says how sizes are estimated.
const estimateNote = "These are estimates for numbers and times of typical length. The lower bound counts the timestamp and value of each cell, and the key once per row. The upper bound counts the key, the family and the column name with each cell. Compression is not included."

// sizeRow is a line of the sizes of a table.
type sizeRow struct{ What, Bytes, Means string }

// sizeRows describes the sizes of a table.
func sizeRows(z *Size) []sizeRow {
	rows := []sizeRow{
		{"event", words.Sizes(z.Event.Lower, z.Event.Upper), eventWords(z)},
		{"full row", words.Sizes(z.Row.Lower, z.Row.Upper), rowWords(z)},
		{"one day", words.Sizes(z.Day.Lower, z.Day.Upper), "growth, all series"},
	}
	if z.Table == nil {
		return append(rows, sizeRow{"table", "grows", "without limit, or until its events expire"})
	}
	return append(rows, sizeRow{"table", words.Sizes(z.Table.Lower, z.Table.Upper), "steady state: " + z.Retention + ", plus a week until garbage collection"})
}

// eventWords says what an event is stored as.
func eventWords(z *Size) string {
	return words.Count(float64(z.CellsPerEvent), "cell", "cells") + " in " + words.Count(float64(z.RowsPerEvent), "row", "rows")
}

// rowWords says what a full row contains.
func rowWords(z *Size) string {
	text := words.Count(z.CellsPerRow, "cell", "cells")
	if z.EventsPerRow > 1 {
		text = words.Count(z.EventsPerRow, "event", "events") + ", " + text
	}
	return text + ", " + words.Number(float64(z.KeyBytes)) + "-byte key"
}

// loadWords describes the load of estimates, and says which parts of it are assumed.
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
	switch load.Arrival {
	case schema.Bursts:
		text += ", in bursts"
	case schema.Daily:
		text += ", in a daily wave"
	}
	if load.Skew > 0 {
		text += ", skew " + words.Number(load.Skew)
	}
	if assumed("value_bytes") != "" {
		text += fmt.Sprintf(", strings of %d bytes (assumed)", load.ValueBytes)
	}
	return text
}

// choices compares the table with other patterns and bucket widths.
func (w *textWriter) choices(t *Table) {
	w.heading(choicesTitle)
	g := w.grid()
	g.right = []bool{false, true, true, true, true, true, true}
	g.soft = len(g.right)
	var head []cell
	for _, name := range []string{"", "event", "stored", "full row", "cells", "read a day", "latest"} {
		head = append(head, cell{text: name, paint: dim})
	}
	g.add(head...)
	for i := range t.Choices {
		g.add(choiceCells(&t.Choices[i])...)
	}
	g.write(&w.b, "  ")
	w.wrapped("    ", plain, choicesNote)
	for _, note := range notes(t.Choices) {
		w.wrapped("    ", plain, note)
	}
	w.line("  %s", w.in(chosen, "► chosen: "+choiceName(&t.Choices[0])))
	w.wrapped("    ", plain, t.Guidance.Text)
	w.line("    %s", w.in(dim, t.Guidance.Source))
}

// choicesTitle and choicesNote introduce the comparison.
const (
	choicesTitle = "the same load with other patterns and bucket widths"
	choicesNote  = "Rows (r) and cells (c) are the numbers that store an event, and that a read of one series returns. For the latest event, they are upper bounds, if the series still reports."
)

// choiceName names a choice.
func choiceName(c *Choice) string {
	if c.Bucket == "" {
		return c.Pattern
	}
	return c.Pattern + ", " + c.Bucket
}

// choiceCells is the row of a choice.
func choiceCells(c *Choice) []cell {
	name := cell{text: "  " + choiceName(c), hangs: true}
	if c.Chosen {
		name = cell{text: "► " + choiceName(c), paint: chosen, hangs: true}
	}
	if c.Size == nil {
		return []cell{name, {text: "no: " + reason(c), paint: refused, spans: true}}
	}
	z := c.Size
	out := []cell{
		name, {text: words.Sizes(z.Event.Lower, z.Event.Upper)}, {text: words.Number(float64(z.RowsPerEvent)) + "r " + words.Number(float64(z.CellsPerEvent)) + "c"},
		{text: words.Sizes(z.Row.Lower, z.Row.Upper)}, {text: words.Number(z.CellsPerRow)}, {text: workWords(c.Day)}, {text: workWords(c.Newest)},
	}
	if len(c.Findings) > 0 {
		out = append(out, cell{text: ruleNames(c), paint: warned})
	}
	return out
}

// workWords is how many rows and cells a read returns.
func workWords(w *Work) string { return words.Number(w.Rows) + "r " + words.Number(w.Cells) + "c" }

// ruleNames lists the rules that a choice breaks.
func ruleNames(c *Choice) string {
	var out []string
	for _, f := range c.Findings {
		if f.Rule != "" {
			out = append(out, f.Rule)
		}
	}
	return strings.Join(out, ", ")
}

// reason explains why a choice is impossible: in full, unless a rule is the reason, which the
// notes explain.
func reason(c *Choice) string {
	var out []string
	if rules := ruleNames(c); rules != "" {
		out = append(out, rules)
	}
	for _, f := range c.Findings {
		if f.Rule == "" {
			out = append(out, f.Message)
		}
	}
	return strings.Join(out, "; ")
}

// notes list the findings of rules, each rule once.
func notes(choices []Choice) []string {
	var out []string
	said := map[string]bool{}
	for i := range choices {
		for _, f := range choices[i].Findings {
			if f.Rule != "" && !said[f.Rule] {
				said[f.Rule] = true
				out = append(out, f.Rule+": "+f.Message)
			}
		}
	}
	return out
}

// excused lists the findings that the schema allows.
func (w *textWriter) excused(t *Table) {
	if len(t.Excused) == 0 {
		return
	}
	w.heading("allowed findings")
	g := w.grid()
	for _, e := range t.Excused {
		g.add(cell{text: e.Rule, paint: warned}, cell{text: e.Title}, cell{text: "reason: " + e.Reason, paint: dim})
	}
	g.write(&w.b, "    ")
}

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
