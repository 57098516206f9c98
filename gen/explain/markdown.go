package explain

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/btgen-dev/btgen/gen/words"
)

// Markdown renders a document as GitHub Flavored Markdown.
func Markdown(doc Document) string { return MarkdownWithPictures(doc, "") }

// MarkdownWithPictures is [Markdown] with references to the files of [Pictures]. prefix begins
// their names; without one, there are no references.
func MarkdownWithPictures(doc Document, prefix string) string {
	w := markdownWriter{anchors: map[string]string{}, taken: map[string]bool{}, pictures: prefix}
	for i := range doc.Schemas {
		if i > 0 {
			w.line("")
		}
		w.schema(&doc.Schemas[i])
	}
	body := w.b.String()
	w.b.Reset()
	if all := contents(&doc); all != nil {
		w.line("**Contents**\n")
		w.contents(all, "")
		w.line("")
	}
	return w.b.String() + body
}

// markdownWriter writes Markdown.
type markdownWriter struct {
	b        strings.Builder
	anchors  map[string]string // of the headings, by their IDs in contents
	taken    map[string]bool   // anchors of all headings
	pictures string            // prefix of the names of pictures; empty without pictures
}

// heading writes a heading. GitHub derives its anchor from the text; id, which may be
// empty, is that of the heading in the contents.
func (w *markdownWriter) heading(level int, id, text string) {
	anchor := slug(text)
	for n, first := 1, anchor; w.taken[anchor]; n++ {
		anchor = fmt.Sprintf("%s-%d", first, n)
	}
	w.taken[anchor] = true
	if id != "" {
		w.anchors[id] = anchor
	}
	w.line("%s %s", strings.Repeat("#", level), text)
}

// section writes the heading of a section of a table.
func (w *markdownWriter) section(text string) {
	w.line("")
	w.heading(3, "", text)
}

// slug returns the anchor that GitHub gives a heading: lowercase letters, digits, hyphens
// and underscores, with hyphens for spaces.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// contents lists headings with links.
func (w *markdownWriter) contents(all []heading, indent string) {
	for _, h := range all {
		w.line("%s- [%s](#%s)", indent, markdown(h.Title), w.anchors[h.ID])
		w.contents(h.Below, indent+"  ")
	}
}

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

// special are the characters that may have a meaning within a line of Markdown.
const special = "\\`*[]<>|&~$!"

// markdown escapes a text.
func markdown(text string) string {
	var b strings.Builder
	runes := []rune(text)
	inWord := func(i int) bool {
		return i >= 0 && i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]))
	}
	for i, r := range runes {
		// An underscore within a word has no meaning.
		if strings.ContainsRune(special, r) || r == '_' && !(inWord(i-1) && inWord(i+1)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// openings have a meaning at the start of a paragraph.
var openings = regexp.MustCompile(`^([#+=:-]|[0-9]+[.)])`)

// opening escapes the start of a paragraph.
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

// block writes lines as a code block.
func (w *markdownWriter) block(text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	w.line("\n%s\n%s\n%s", fence, strings.TrimRight(text, "\n"), fence)
}

// schema writes a schema.
func (w *markdownWriter) schema(s *Schema) {
	w.heading(1, s.anchor(), markdown(s.Name))
	w.paragraph(s.Doc)
	w.line("\nFrom %s, for a load of %s.", code(s.File), markdown(loadWords(&s.Load)))
	for i := range s.Tables {
		w.explainTable(s, &s.Tables[i])
	}
	w.line("")
	w.heading(2, s.anchor("reads"), "Reads of "+markdown(s.Name))
	for i := range s.Reads {
		w.read(s, &s.Reads[i])
	}
	w.capacity(s)
}

// explainTable writes a table of Bigtable.
func (w *markdownWriter) explainTable(s *Schema, t *Table) {
	w.line("")
	w.heading(2, s.anchor("table", t.ID), "Table "+code(t.ID)+": "+code(t.Pattern))
	w.paragraph(t.Doc)
	w.paragraph(t.Holds)
	if t.WriteOnly {
		w.paragraph(writeOnlyNote)
	}
	if t.Tier != nil {
		w.paragraph(t.Tier.Means)
	}
	if t.Bundle != nil {
		w.paragraph(t.Bundle.Means)
	}
	if t.Rollup != nil {
		w.paragraph(t.Rollup.Means)
	}
	w.key(t)
	w.periods(t)
	w.rows(t)
	w.families(t)
	w.size(t)
	w.heat(s, t)
	w.choices(t)
	w.year(s, t)
	w.excused(t)
}

// key draws the row key as the text does.
func (w *markdownWriter) key(t *Table) {
	w.section("Row key")
	text := textWriter{width: defaultWidth}
	text.line("%s", t.Key.Form)
	if t.Key.Example.Hex != "" {
		text.example(t)
	}
	w.block(dedent(text.b.String()))
	if len(t.Key.Splits) > 0 {
		w.paragraph(title(splitWords(t.Key.Splits)) + ".")
	}
	if t.Key.SQL != nil {
		w.paragraph("Columns in GoogleSQL: " + strings.Join(t.Key.SQL, ", ") + ".")
	}
}

// dedent removes the indent of lines.
func dedent(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "    ")
	}
	return strings.Join(lines, "\n")
}

// rows writes the example events and their rows.
func (w *markdownWriter) rows(t *Table) {
	if len(t.Rows) == 0 {
		w.section("Example rows")
		w.line("\nNone: the table cannot store the time of the example.")
		return
	}
	w.section("Example events")
	var head []string
	for _, name := range eventHead(t, shownFields) {
		head = append(head, markdown(name))
	}
	var events [][]string
	for i := range t.Events {
		var row []string
		for _, text := range eventRow(t, &t.Events[i], shownFields) {
			row = append(row, markdown(text))
		}
		events = append(events, row)
	}
	w.table(head, events)
	w.section("Example rows")
	var rows [][]string
	for i := range min(len(t.Rows), shownRows) {
		key := code(t.Rows[i].Key.Show)
		for _, c := range t.Rows[i].Cells {
			value, means := cellTexts(&c)
			rows = append(rows, []string{key, code(c.Family + ":" + c.Qualifier.Show), c.Timestamp, code(value), markdown(means)})
			key = ""
		}
	}
	w.table([]string{"row key", "column", "timestamp", "value", "meaning"}, rows)
	w.paragraph(furtherRows(len(t.Rows) - shownRows))
	if t.Rollup != nil {
		w.paragraph(t.Rollup.Names)
	}
}

// families writes what is garbage-collected next to what is read.
func (w *markdownWriter) families(t *Table) {
	w.section("Time to live")
	var rows [][]string
	for _, f := range t.Families {
		name := code(f.Name)
		if f.Class != "" {
			name += ", class " + markdown(f.Class)
		}
		rows = append(rows, []string{name, markdown(f.Timestamp), markdown(f.Collected) + ": " + code(f.GC), markdown(f.Read)})
	}
	w.table([]string{"family", "cell timestamp", "garbage-collected", "reads request"}, rows)
	w.paragraph(collectionNote)
}

// size writes how large everything becomes.
func (w *markdownWriter) size(t *Table) {
	w.section("Size and growth")
	var rows [][]string
	for _, row := range sizeRows(&t.Size) {
		rows = append(rows, []string{row.What, row.Bytes, markdown(row.Means)})
	}
	w.table([]string{"", "bytes", ""}, rows)
	w.paragraph(estimateNote)
}

// choices compares the table with other patterns and bucket widths.
func (w *markdownWriter) choices(t *Table) {
	w.section(title(choicesTitle))
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
			row[1], row[8] = "no", markdown(reason(c))
		}
		rows = append(rows, row)
	}
	w.table([]string{"", "event", "rows per event", "cells per event", "full row", "cells per row", "read a day", "read latest", "findings"}, rows)
	w.paragraph(choicesNote)
	if all := notes(t.Choices); all != nil {
		w.line("")
		for _, note := range all {
			w.line("- %s", opening(markdown(note)))
		}
	}
	w.line("\nThis schema uses %s. %s ([Bigtable documentation](%s))", code(choiceName(&t.Choices[0])), markdown(t.Guidance.Text), t.Guidance.Source)
}

// excused lists the findings that the schema allows.
func (w *markdownWriter) excused(t *Table) {
	if len(t.Excused) == 0 {
		return
	}
	w.section("Allowed findings")
	var rows [][]string
	for _, e := range t.Excused {
		rows = append(rows, []string{e.Rule, markdown(e.Title), markdown(e.Reason)})
	}
	w.table([]string{"rule", "", "reason"}, rows)
}

// read writes a read.
func (w *markdownWriter) read(s *Schema, r *Read) {
	w.line("")
	w.heading(3, s.anchor("reads", r.Method), markdown(r.Method))
	w.paragraph(r.Doc)
	var rows [][]string
	for _, f := range facts(r) {
		rows = append(rows, []string{f.Label, code(f.Code) + breaks(f.Lines)})
	}
	w.table([]string{"", ""}, rows)
}

// breaks writes lines in one cell of a table.
func breaks(lines []string) string {
	var out []string
	for _, line := range lines {
		out = append(out, markdown(line))
	}
	return strings.Join(out, "<br>")
}
