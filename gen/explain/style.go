package explain

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// style writes text in colour, or plainly.
type style struct{ coloured bool }

// paint is a colour or a weight, as terminals know them.
type paint string

// What is painted how.
const (
	plain   paint = ""
	bold    paint = "1"
	dim     paint = "2"
	chosen  paint = "1;32"
	refused paint = "31"
	warned  paint = "33"
)

// segmentPaints are those of the segments of a key, in turn.
var segmentPaints = []paint{"36", "32", "33", "35", "34"}

// segmentPaint is that of the i-th segment.
func segmentPaint(i int) paint { return segmentPaints[i%len(segmentPaints)] }

// in paints a text.
func (s style) in(p paint, text string) string {
	if !s.coloured || p == plain || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// columns is how many columns of a terminal a text takes.
func columns(text string) int {
	n := 0
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// pad fills a text up to some columns.
func pad(text string, to int) string {
	return text + strings.Repeat(" ", max(0, to-columns(text)))
}

// padLeft is pad for numbers.
func padLeft(text string, to int) string {
	return strings.Repeat(" ", max(0, to-columns(text))) + text
}

// grid is a table of text.
type grid struct {
	style style
	right []bool // which columns are numbers
	rows  [][]cell
}

// cell is a text and how it is painted.
type cell struct {
	text  string
	paint paint
	// spans lets it run over the columns behind it.
	spans bool
}

// add adds a row.
func (g *grid) add(cells ...cell) { g.rows = append(g.rows, cells) }

// write writes the rows, each behind a text, with its columns aligned.
func (g *grid) write(b *strings.Builder, indent string) {
	var widths []int
	for _, row := range g.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if !c.spans {
				widths[i] = max(widths[i], columns(c.text))
			}
		}
	}
	for _, row := range g.rows {
		line := ""
		for i, c := range row {
			text := c.text
			if i < len(g.right) && g.right[i] && !c.spans {
				text = padLeft(text, widths[i])
			} else if i < len(row)-1 {
				text = pad(text, widths[i])
			}
			if i > 0 {
				line += "  "
			}
			line += g.style.in(c.paint, text)
		}
		b.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
}
