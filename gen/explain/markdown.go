package explain

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/btgen-dev/btgen/gen/words"
)

// Markdown renders a document as Markdown with tables, as GitHub shows it.
func Markdown(doc Document) string {
	var w markdownWriter
	for i := range doc.Schemas {
		if i > 0 {
			w.line("")
		}
		w.schema(&doc.Schemas[i])
	}
	return w.b.String()
}

// markdownWriter writes Markdown.
type markdownWriter struct{ b strings.Builder }

// line writes a line.
func (w *markdownWriter) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// paragraph writes a text as a paragraph, if there is one.
func (w *markdownWriter) paragraph(text string) {
	if text != "" {
		w.line("\n%s", opening(markdown(text)))
	}
}

// table writes a table; its cells are Markdown.
func (w *markdownWriter) table(head []string, rows [][]string) {
	w.line("\n| %s |\n|%s", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		w.line("| %s |", strings.Join(row, " | "))
	}
}

// special are the characters that mean something within a line of Markdown, or may.
const special = "\\`*[]<>|&~$!"

// markdown writes a text that means nothing to Markdown.
func markdown(text string) string {
	var b strings.Builder
	runes := []rune(text)
	inWord := func(i int) bool {
		return i >= 0 && i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]))
	}
	for i, r := range runes {
		// An underscore within a word is just that.
		if strings.ContainsRune(special, r) || r == '_' && !(inWord(i-1) && inWord(i+1)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// openings are what means something at the beginning of a paragraph.
var openings = regexp.MustCompile(`^([#+=:-]|[0-9]+[.)])`)

// opening lets a paragraph begin with a text, whatever that is.
func opening(text string) string {
	return openings.ReplaceAllStringFunc(text, func(s string) string { return s[:len(s)-1] + `\` + s[len(s)-1:] })
}

// code writes a text as code, in a table too.
func code(text string) string {
	if text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || strings.Trim(text, " ") == "" {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}

// block writes lines as they are.
func (w *markdownWriter) block(text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	w.line("\n%s\n%s\n%s", fence, strings.TrimRight(text, "\n"), fence)
}

// schema writes a schema.
func (w *markdownWriter) schema(s *Schema) {
	w.line("# %s", markdown(s.Name))
	w.paragraph(s.Doc)
	w.line("\nFrom %s. Counted with %s.", code(s.File), markdown(loadWords(&s.Load)))
	for i := range s.Tables {
		w.explainTable(&s.Tables[i])
	}
	w.line("\n## Reads of %s", markdown(s.Name))
	for i := range s.Reads {
		w.read(&s.Reads[i])
	}
}

// explainTable writes a table of Bigtable.
func (w *markdownWriter) explainTable(t *Table) {
	w.line("\n## Table %s: %s", code(t.ID), code(t.Pattern))
	w.paragraph(t.Doc)
	w.paragraph(t.Holds)
	w.key(t)
	w.rows(t)
	w.families(t)
	w.size(t)
	w.choices(t)
	w.excused(t)
}

// key draws the row key as the text does.
func (w *markdownWriter) key(t *Table) {
	w.line("\n### Row key")
	var text textWriter
	text.line("%s", t.Key.Form)
	if t.Key.Example.Hex != "" {
		text.ladder(t)
	}
	w.block(dedent(text.b.String()))
	if n := len(t.Key.Splits); n > 0 {
		w.line("\nA new table is split at %s, from %s to %s.", words.Count(float64(n), "key", "keys"), code(t.Key.Splits[0].Show), code(t.Key.Splits[n-1].Show))
	}
	if t.Key.SQL != nil {
		w.line("\nGoogleSQL reads it as %s.", markdown(strings.Join(t.Key.SQL, ", ")))
	}
}

// dedent takes the indent of the text's lines away.
func dedent(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "    ")
	}
	return strings.Join(lines, "\n")
}

// rows writes the example events and their rows.
func (w *markdownWriter) rows(t *Table) {
	w.line("\n### Example rows")
	if len(t.Rows) == 0 {
		w.line("\nThere are none: the table cannot hold the time of the example.")
		return
	}
	w.line("\nOf these events:")
	var head []string
	for _, name := range eventHead(t) {
		head = append(head, markdown(name))
	}
	var events [][]string
	for i := range t.Events {
		var row []string
		for _, text := range eventRow(t, &t.Events[i]) {
			row = append(row, markdown(text))
		}
		events = append(events, row)
	}
	w.table(head, events)
	var rows [][]string
	for i := range min(len(t.Rows), shownRows) {
		key := code(t.Rows[i].Key.Show)
		for _, c := range t.Rows[i].Cells {
			value, means := cellTexts(&c)
			rows = append(rows, []string{key, code(c.Family + ":" + c.Qualifier.Show), c.Timestamp, code(value), markdown(means)})
			key = ""
		}
	}
	w.table([]string{"row key", "column", "timestamp", "value", ""}, rows)
	if n := len(t.Rows) - shownRows; n > 0 {
		w.line("\n… and %s.", words.Count(float64(n), "more row", "more rows"))
	}
}

// families writes what is collected beside what is read.
func (w *markdownWriter) families(t *Table) {
	w.line("\n### Time to live")
	var rows [][]string
	for _, f := range t.Families {
		name := code(f.Name)
		if f.Class != "" {
			name += ", of class " + markdown(f.Class)
		}
		rows = append(rows, []string{name, markdown(f.Timestamp), markdown(f.Collected) + ": " + code(f.GC), markdown(f.Read)})
	}
	w.table([]string{"family", "a cell's timestamp is", "collected, in a week or so", "every read asks for"}, rows)
}

// size writes how large everything becomes.
func (w *markdownWriter) size(t *Table) {
	w.line("\n### Size and growth")
	var rows [][]string
	for _, row := range sizeRows(&t.Size) {
		rows = append(rows, []string{row.What, row.Bytes, markdown(row.Means)})
	}
	w.table([]string{"", "bytes", ""}, rows)
	w.paragraph(estimateNote)
}

// choices compares what else could be made of the load.
func (w *markdownWriter) choices(t *Table) {
	w.line("\n### The same load in other patterns and buckets")
	var rows [][]string
	for i := range t.Choices {
		c := &t.Choices[i]
		name := code(choiceName(c))
		if c.Chosen {
			name = "**" + name + "** (chosen)"
		}
		row := []string{name, "", "", "", "", "", "", "", ruleNames(c)}
		if z := c.Size; z != nil {
			row = []string{
				name, words.Sizes(z.Event.Lower, z.Event.Upper), words.Number(float64(z.RowsPerEvent)), words.Number(float64(z.CellsPerEvent)),
				words.Sizes(z.Row.Lower, z.Row.Upper), words.Number(z.CellsPerRow), workWords(c.Day), workWords(c.Newest), ruleNames(c),
			}
		} else {
			row[1], row[8] = "no", markdown(ruleNames(c))
		}
		rows = append(rows, row)
	}
	w.table([]string{"", "an event", "rows of an event", "cells of an event", "a full row", "cells of a full row", "read a day", "the newest", "rules"}, rows)
	w.paragraph(choicesNote)
	w.line("")
	for _, note := range notes(t.Choices) {
		w.line("- %s", opening(markdown(note)))
	}
	w.line("\n%s is chosen, which follows this guidance: %s ([source](%s))", code(choiceName(&t.Choices[0])), markdown(t.Guidance.Text), t.Guidance.Source)
}

// excused lists what the schema allows.
func (w *markdownWriter) excused(t *Table) {
	if len(t.Excused) == 0 {
		return
	}
	w.line("\n### Excused rules")
	var rows [][]string
	for _, e := range t.Excused {
		rows = append(rows, []string{e.Rule, markdown(e.Title), markdown(e.Reason)})
	}
	w.table([]string{"rule", "", "because"}, rows)
}

// read writes a read.
func (w *markdownWriter) read(r *Read) {
	w.line("\n### %s", markdown(r.Method+" (by "+orAll(r.Given)+")"))
	w.paragraph(r.Doc)
	rows := [][]string{{"table", code(r.Table) + markdown(namedWords(r)+": "+r.Finds)}, {"order", markdown(r.Order)}}
	if r.From != "" {
		rows = append(rows, []string{"example", markdown(exampleWords(r))})
	}
	if r.Scan != "" {
		rows = append(rows, []string{"scan", markdown(r.Scan)})
	}
	for i := range min(len(r.Requests), shownRequests) {
		request := &r.Requests[i]
		rows = append(rows, []string{"request", breaks(rowsWords(request))}, []string{"filter", breaks(request.Filters)})
	}
	if n := len(r.Requests) - shownRequests; n > 0 {
		rows = append(rows, []string{"", moreRequests(n)})
	}
	rows = append(rows, []string{"expected", markdown(expectedWords(r))})
	w.table([]string{"", ""}, rows)
}

// breaks writes lines into one cell of a table.
func breaks(lines []string) string {
	var out []string
	for _, line := range lines {
		out = append(out, markdown(line))
	}
	return strings.Join(out, "<br>")
}
