package document

import (
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// grid is a table of text. Texts that do not fit in its width are wrapped within their
// columns.
type grid struct {
	width int     // of a line, in columns
	kinds []Style // of the columns
	rows  [][]cell
}

// cell is a text and its style.
type cell struct {
	text  string
	style Style
	spans bool // over the columns after it, without widening its own
	// mark is before the first line; the others are indented by as much.
	mark string
}

// gap is how many spaces separate columns.
const gap = 2

// leastWidths are the widths to which columns are shrunk, one after the other. As long as the
// rest allows, columns are at least as wide as their parts, so that no word is broken.
var leastWidths = []struct {
	kind  Style
	width int
	parts bool
}{
	{Warning, 4, false}, {Plain, 24, true}, {Number, 10, true}, {Plain, 8, true}, {Number, 1, true},
	{Plain, 8, false}, {Number, 1, false}, {Plain, 1, false},
}

// gridOf returns the cells of a table. The first column of a grouped table becomes lines above the others, and the
// last one lines below the one before if it does not fit. The mark of the chosen row is left of the indent.
func (w *textWriter) gridOf(t *Table) *grid {
	g := &grid{width: w.width - words.Width(w.indent)}
	marked := slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Style == Chosen })
	if marked {
		g.width += gap
	}
	for _, c := range t.Columns {
		g.kinds = append(g.kinds, c.Style)
	}
	if t.headed() && t.Grouped == 0 {
		var head []cell
		for _, c := range t.Columns {
			head = append(head, cell{text: c.Name, style: Muted})
		}
		g.rows = append(g.rows, head)
	}
	for _, r := range t.shown() {
		row := cellsOf(t, &r)
		if marked {
			row[0].mark = "  "
		}
		if r.Style == Chosen {
			row[0].mark, row[0].style = "► ", Chosen
		}
		if t.Grouped > 0 && len(row) > 1 {
			if row[0].text != "" {
				row[0].spans = true
				g.rows = append(g.rows, row[:1])
			}
			row = slices.Concat([]cell{{}}, row[1:])
		}
		g.rows = append(g.rows, row)
	}
	if t.Grouped > 0 && offset(g.widths())-gap > g.width {
		g.lower()
	}
	return g
}

// cellsOf returns the cells of a row in the styles of the row or of their columns.
func cellsOf(t *Table, r *Row) []cell {
	var out []cell
	for i, text := range r.Cells {
		style := t.Columns[i].Style
		if r.Style != Plain && r.Style != Chosen {
			style = r.Style
		}
		out = append(out, cell{text: text, style: style, spans: i == len(r.Cells)-1 && i < len(t.Columns)-1})
	}
	return out
}

// lower moves the cells of the last column below those of the one before.
func (g *grid) lower() {
	var out [][]cell
	last := len(g.kinds) - 1
	for _, row := range g.rows {
		if len(row) <= last || row[last].text == "" {
			out = append(out, row)
			continue
		}
		below := make([]cell, last)
		below[last-1] = row[last]
		out = append(out, row[:last], below)
	}
	g.rows = out
}

// widths returns the width that each column needs.
func (g *grid) widths() []int { return g.measure(words.Width) }

// parts returns the width of the widest part of each column.
func (g *grid) parts() []int { return g.measure(widestPart) }

func (g *grid) measure(width func(text string) int) []int {
	out := make([]int, len(g.kinds))
	for _, row := range g.rows {
		for i, c := range row {
			if c.spans {
				continue
			}
			for line := range strings.SplitSeq(c.text, "\n") {
				out[i] = max(out[i], words.Width(c.mark)+width(line))
			}
		}
	}
	return out
}

// offset returns where the column after others begins.
func offset(widths []int) int {
	at := 0
	for _, width := range widths {
		at += width + gap
	}
	return at
}

// shrink makes columns narrower, the widest first, until all of them fit.
func (g *grid) shrink(widths []int) {
	parts := g.parts()
	for _, least := range leastWidths {
		for offset(widths)-gap > g.width {
			widest := -1
			for i, width := range widths {
				shrinks := g.kind(i) == least.kind && width > least.width && (!least.parts || width > parts[i])
				if shrinks && (widest < 0 || width > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
		}
	}
}

// kind returns how a column shrinks: as text, as numbers, or first, as a list of warnings.
func (g *grid) kind(column int) Style {
	if kind := g.kinds[column]; kind == Number || kind == Warning && column > 0 {
		return kind
	}
	return Plain
}

// write writes the rows, with aligned columns.
func (g *grid) write(w *textWriter) {
	widths := g.widths()
	g.shrink(widths)
	indent := w.indent
	w.indent = strings.Repeat(" ", w.width-g.width)
	for _, row := range g.rows {
		lines := make([][]string, len(row))
		height := 1
		for i, c := range row {
			if lines[i] = c.lines(widths[i]); c.spans {
				lines[i] = c.lines(g.width - offset(widths[:i]))
			}
			height = max(height, len(lines[i]))
		}
		for n := range height {
			w.line(g.line(w, row, lines, widths, n))
		}
	}
	w.indent = indent
}

// line returns the n-th line of a row.
func (g *grid) line(w *textWriter, row []cell, lines [][]string, widths []int, n int) string {
	line := ""
	for i, c := range row {
		text := ""
		if n < len(lines[i]) {
			text = strings.TrimRight(lines[i][n], " ")
		}
		if i > 0 {
			line += strings.Repeat(" ", gap)
		}
		space := strings.Repeat(" ", max(0, widths[i]-words.Width(text)))
		switch {
		case c.spans || g.kind(i) != Number && i == len(row)-1:
			line += w.paint(c.style, text)
		case g.kind(i) == Number:
			line += space + w.paint(c.style, text)
		default:
			line += w.paint(c.style, text) + space
		}
	}
	return line
}

// lines wraps the text of a cell. Behind a mark, and in a text of several lines, the rest of a line is indented.
func (c *cell) lines(width int) []string {
	hang := c.mark
	var out []string
	texts := strings.Split(c.text, "\n")
	rest := strings.Repeat(" ", words.Width(hang))
	if len(texts) > 1 {
		rest += strings.Repeat(" ", gap)
	}
	for _, text := range texts {
		if words.Width(hang+text) <= width {
			out = append(out, hang+text)
			continue
		}
		for i, line := range wrap(text, max(width-words.Width(rest), 1)) {
			if i == 0 {
				out = append(out, hang+line)
			} else {
				out = append(out, rest+line)
			}
		}
	}
	return out
}
