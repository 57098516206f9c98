package explain

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

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
const estimateNote = "Bytes are before compression: each cell counts its row key, family, column name, 8-byte timestamp and value. The bounds differ in value sizes that expect does not declare with value_bytes; upper bounds also include data that awaits garbage collection."

// sizeRow is a line of the sizes of a table.
type sizeRow struct{ What, Bytes, Means string }

// sizeRows describes the sizes of a table.
func sizeRows(z *Size) []sizeRow {
	rows := []sizeRow{
		{"event", words.Sizes(z.Event.Lower, z.Event.Upper), eventWords(z)},
		{"full row", words.Sizes(z.Row.Lower, z.Row.Upper), rowWords(z)},
		{"one day", words.Sizes(z.Day.Lower, z.Day.Upper), "written, all series"},
	}
	if z.Yearly != nil {
		return append(rows, sizeRow{"table", "grows", "by about " + words.Size(z.Yearly.Typical) + " a year: windows of the rollup are kept forever"})
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
	switch {
	case z.LivePerRow < z.EventsPerRow:
		text = words.Count(z.LivePerRow, "event", "events") + ", " + words.Number(z.EventsPerRow) + " before garbage collection, " + text
	case z.EventsPerRow > 1:
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
	if c.Bucket == noBucket {
		return c.Pattern + ", one row"
	}
	return c.Pattern + ", " + c.Bucket
}

// noBucket is the bucket of tables whose keys do not contain the time.
const noBucket = "none"

// choiceCells is the row of a choice.
func choiceCells(c *Choice) []cell {
	name := cell{mark: "  ", text: choiceName(c)}
	if c.Chosen {
		name = cell{mark: "► ", text: choiceName(c), paint: chosen}
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
