package explain

import (
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// grid is a table of text. Texts that do not fit in its width are wrapped within their
// columns.
type grid struct {
	style style
	width int    // of a line, in columns
	right []bool // which columns contain numbers
	soft  int    // the column that is shrunk first, unless 0
	rows  [][]cell
}

// cell is a text and its color.
type cell struct {
	text  string
	paint paint
	spans bool // over the columns after it, without widening its own
	hangs bool // whether the lines after the first are indented
	// mark is before the first line; the others are indented by as much.
	mark string
}

// gap is how many spaces separate columns.
const gap = 2

// kind is what a column contains.
type kind int

const (
	textKind kind = iota
	numberKind
	softKind
)

// leastWidths are the widths to which columns are shrunk, one after the other. As long as the
// rest allows, columns are at least as wide as their parts, so that no word is broken.
var leastWidths = []struct {
	kind  kind
	width int
	parts bool
}{
	{softKind, 4, false}, {textKind, 24, true}, {numberKind, 10, true}, {textKind, 8, true}, {numberKind, 1, true},
	{textKind, 8, false}, {numberKind, 1, false}, {textKind, 1, false},
}

// add adds a row.
func (g *grid) add(cells ...cell) { g.rows = append(g.rows, cells) }

// widths returns the width that each column needs.
func (g *grid) widths() []int {
	var out []int
	for _, row := range g.rows {
		for i, c := range row {
			if i == len(out) {
				out = append(out, 0)
			}
			if !c.spans {
				out[i] = max(out[i], words.Width(c.mark+c.text))
			}
		}
	}
	return out
}

// parts returns the width of the widest part of each column.
func (g *grid) parts() []int {
	out := make([]int, len(g.widths()))
	for _, row := range g.rows {
		for i, c := range row {
			if c.spans {
				continue
			}
			widest := widestPart(c.text)
			out[i] = max(out[i], words.Width(c.mark)+widest)
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

// fits reports whether all columns fit behind an indent.
func (g *grid) fits(indent string) bool {
	return words.Width(indent)+offset(g.widths())-gap <= g.width
}

// shrink makes columns narrower, the widest first, until all of them fit.
func (g *grid) shrink(widths []int, to int) {
	parts := g.parts()
	for _, least := range leastWidths {
		for offset(widths)-gap > to {
			widest := -1
			for i, width := range widths {
				if g.kind(i) == least.kind && width > least.width && (!least.parts || width > parts[i]) && (widest < 0 || width > widths[widest]) {
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

// kind returns what a column contains.
func (g *grid) kind(column int) kind {
	switch {
	case column > 0 && column == g.soft:
		return softKind
	case column < len(g.right) && g.right[column]:
		return numberKind
	}
	return textKind
}

// write writes the rows behind an indent, with aligned columns.
func (g *grid) write(b *strings.Builder, indent string) {
	widths := g.widths()
	g.shrink(widths, g.width-words.Width(indent))
	for _, row := range g.rows {
		lines := make([][]string, len(row))
		height := 1
		for i, c := range row {
			lines[i] = c.lines(widths[i])
			if c.spans {
				lines[i] = c.lines(g.width - words.Width(indent) - offset(widths[:i]))
			}
			height = max(height, len(lines[i]))
		}
		for n := range height {
			b.WriteString(strings.TrimRight(indent+g.line(row, lines, widths, n), " ") + "\n")
		}
	}
}

// line returns the n-th line of a row.
func (g *grid) line(row []cell, lines [][]string, widths []int, n int) string {
	line := ""
	for i, c := range row {
		text := ""
		if n < len(lines[i]) {
			text = strings.TrimRight(lines[i][n], " ")
		}
		if i > 0 {
			line += strings.Repeat(" ", gap)
		}
		before, after := "", ""
		switch space := strings.Repeat(" ", max(0, widths[i]-words.Width(text))); {
		case c.spans:
		case g.kind(i) == numberKind:
			before = space
		case i < len(row)-1:
			after = space
		}
		line += before + g.style.in(c.paint, text) + after
	}
	return line
}

// lines wraps the text of a cell.
func (c *cell) lines(width int) []string {
	if c.mark != "" {
		lines := wrap(c.text, max(width-words.Width(c.mark), 1))
		for i := range lines {
			lines[i] = strings.Repeat(" ", words.Width(c.mark)) + lines[i]
		}
		lines[0] = c.mark + strings.TrimLeft(lines[0], " ")
		return lines
	}
	if !c.hangs || words.Width(c.text) <= width {
		return wrap(c.text, max(width, 1))
	}
	lines := wrap(c.text, max(width-gap, 1))
	for i := range lines[1:] {
		lines[i+1] = strings.Repeat(" ", gap) + lines[i+1]
	}
	return lines
}
