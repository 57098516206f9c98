package chart

import (
	"math"
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// Sizes of text charts, in characters.
const (
	defaultColumns = 80
	mostColumns    = 400
	leastPlot      = 36 // columns of a panel, when several are side by side
	narrowest      = 9  // columns of a panel
)

// paints are the escape sequences of series. Each has panels of its own: they only help the eye.
var paints = []string{"\x1b[34m", "\x1b[33m", "\x1b[36m", "\x1b[35m", "\x1b[32m", "\x1b[31m"}

// Escape sequences; empty without colors.
const (
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	reset = "\x1b[0m"
)

// Text returns the chart as lines of text with a number of columns, 0 if it is unknown. Lines are
// drawn in Braille characters, and bands shaded, so that they are told apart without colors. If a chart
// does not fit, the text says so.
func (c *Chart) Text(columns int, colored bool) []byte {
	if columns <= 0 {
		columns = defaultColumns
	}
	w := &textWriter{view: c.view(), columns: min(columns, mostColumns), colored: colored}
	w.write()
	return []byte(w.String())
}

// textWriter writes a chart as text.
type textWriter struct {
	strings.Builder
	view    *view
	columns int
	colored bool
	labels  int // width of the labels of values
	beside  int // number of series side by side
	plot    int // columns of a panel
	height  int // lines of a panel
}

// in paints a text.
func (w *textWriter) in(paint, text string) string {
	if !w.colored || text == "" {
		return text
	}
	return paint + text + reset
}

// line writes a line without trailing blanks.
func (w *textWriter) line(text string) {
	w.WriteString(strings.TrimRight(text, " "))
	w.WriteByte('\n')
}

// fit pads or cuts a text to a number of columns.
func fit(text string, columns int) string {
	text = short(text, columns)
	return text + strings.Repeat(" ", max(columns-words.Width(text), 0))
}

// write writes the chart.
func (w *textWriter) write() {
	v := w.view
	if w.measure(); w.plot < narrowest {
		for _, text := range wrap("too narrow for a chart: it needs "+words.Count(float64(w.labels+4+narrowest), "column", "columns"), w.columns) {
			w.line(text)
		}
		return
	}
	for _, text := range wrap(v.title, w.columns) {
		w.line(w.in(bold, text))
	}
	for _, text := range []string{v.times(), strings.Replace(v.about(), "band:", "░:", 1)} {
		for _, text := range wrap(text, w.columns) {
			w.line(w.in(dim, text))
		}
	}
	for i := range v.panels {
		p := &v.panels[i]
		for begin := 0; begin < len(p.lines); begin += w.beside {
			w.row(p, begin, min(begin+w.beside, len(p.lines)))
		}
	}
	w.times()
	for _, note := range v.notes {
		for _, text := range wrap(note, w.columns) {
			w.line(text)
		}
	}
}

// measure decides the sizes of panels.
func (w *textWriter) measure() {
	series := len(w.view.series)
	w.beside = max(1, min(w.columns/(leastPlot+8), series))
	switch rows := len(w.view.panels) * (series + w.beside - 1) / w.beside; {
	case rows <= 1:
		w.height = 10
	case rows <= 4:
		w.height = 8
	default:
		w.height = 5
	}
	for i := range w.view.panels {
		for _, t := range w.scale(&w.view.panels[i]).ticks {
			w.labels = max(w.labels, words.Width(t.label))
		}
	}
	w.plot = w.columns/w.beside - w.labels - 4
}

// scale returns the scale of a panel.
func (w *textWriter) scale(p *panel) *valueScale { return valuesOf(p.low, p.high, w.height/4) }

// row draws the panels of some series of a field side by side.
func (w *textWriter) row(p *panel, begin, end int) {
	w.line("")
	scale := w.scale(p)
	head := ""
	var blocks [][]string
	for i := begin; i < end; i++ {
		name := p.heading()
		if len(w.view.series) > 1 {
			name += " · " + w.view.series[i]
		}
		head += strings.Repeat(" ", w.labels+2) + w.in(bold, fit(name, w.plot)) + "  "
		blocks = append(blocks, w.panel(&p.lines[i], scale, i, p.empty))
	}
	w.line(head)
	for row := range w.height {
		line := ""
		for _, block := range blocks {
			line += block[row]
		}
		w.line(line)
	}
}

// panel draws a panel: its lines have equal widths.
func (w *textWriter) panel(l *line, scale *valueScale, series int, empty bool) []string {
	c := w.canvas(l, scale)
	labels := make([]string, w.height)
	for _, t := range scale.ticks {
		row := min(int((1-scale.at(t.value))*float64(w.height-1)+0.5), w.height-1)
		labels[row] = t.label
	}
	var out []string
	for row := range w.height {
		label, edge := labels[row], "│"
		if label != "" {
			edge = "┤"
		}
		text := strings.TrimRight(c.text(row), " ")
		if l.stats.count == 0 && row == w.height/2 {
			text = strings.Repeat(" ", max(w.plot/2-5, 0)) + "no values"
		}
		if empty {
			label, edge = "", "│"
		}
		pad := strings.Repeat(" ", max(w.plot-words.Width(text), 0)+2)
		out = append(out, strings.Repeat(" ", max(w.labels-words.Width(label), 0))+label+" "+edge+w.in(paints[series%len(paints)], text)+pad)
	}
	return out
}

// canvas is a panel of Braille characters, with 2 by 4 dots in each, before a shaded band.
type canvas struct {
	columns, rows int
	dots          []byte
	shade         []bool
	events        []bool
}

// canvas draws a line.
func (w *textWriter) canvas(l *line, scale *valueScale) *canvas {
	n := w.plot * w.height
	c := &canvas{columns: w.plot, rows: w.height, dots: make([]byte, n), shade: make([]bool, n), events: make([]bool, n)}
	x := func(share float64) int { return min(int(share*float64(2*c.columns)), 2*c.columns-1) }
	y := func(v float64) int { return int((1-scale.at(v))*float64(4*c.rows-1) + 0.5) }
	for _, run := range l.runs {
		lastX, lastY := -1, 0
		for i := range run {
			p := &run[i]
			left, right := x(w.view.time.at(p.Start)), x(w.view.time.at(p.End))
			middle := x(w.view.time.at(p.middle()))
			if p.single() {
				c.events[y(p.Mean)/4*c.columns+left/2] = true
				continue
			}
			c.band(left, right, y(p.Max), y(p.Min))
			if lastX < 0 {
				lastX, lastY = left, y(p.Mean)
			}
			c.line(lastX, lastY, middle, y(p.Mean))
			lastX, lastY = middle, y(p.Mean)
			if i == len(run)-1 && right > middle {
				c.line(middle, lastY, max(right-1, middle), lastY)
			}
		}
	}
	return c
}

// dot sets a dot, given in dots from the upper left.
func (c *canvas) dot(x, y int) {
	bits := [2][4]byte{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}
	if x >= 0 && x < 2*c.columns && y >= 0 && y < 4*c.rows {
		c.dots[y/4*c.columns+x/2] |= bits[x%2][y%4]
	}
}

// line draws a line between two dots.
func (c *canvas) line(x0, y0, x1, y1 int) {
	n := max(x1-x0, y1-y0, y0-y1, 1)
	for i := range n + 1 {
		share := float64(i) / float64(n)
		c.dot(x0+int(math.Round(share*float64(x1-x0))), y0+int(math.Round(share*float64(y1-y0))))
	}
}

// band shades the characters of which at least half are between two heights. The shortest band is
// not shaded: the line covers it.
func (c *canvas) band(left, right, top, bottom int) {
	if bottom-top < 2 {
		return
	}
	for row := (top + 1) / 4; row <= (bottom-1)/4; row++ {
		if min(bottom+1, 4*row+4)-max(top, 4*row) < 2 {
			continue
		}
		for column := left / 2; column <= max(right-1, left)/2; column++ {
			c.shade[row*c.columns+column] = true
		}
	}
}

// text returns a row.
func (c *canvas) text(row int) string {
	var b strings.Builder
	for i := row * c.columns; i < (row+1)*c.columns; i++ {
		switch {
		case c.events[i]:
			b.WriteRune('•')
		case c.dots[i] != 0:
			b.WriteRune(0x2800 + rune(c.dots[i]))
		case c.shade[i]:
			b.WriteRune('░')
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// times writes the axis of times below the last panels.
func (w *textWriter) times() {
	if len(w.view.panels) == 0 {
		w.line("no fields")
		return
	}
	ticks := w.view.time.ticks(w.plot / 12)
	axis := []rune(strings.Repeat("─", w.plot))
	labels, contexts := []rune(strings.Repeat(" ", w.plot+2)), []rune(strings.Repeat(" ", w.plot+2))
	put := func(row []rune, at int, text string) {
		runes := []rune(text)
		at = max(0, min(at-len(runes)/2, len(row)-len(runes)))
		if len(runes) > len(row) || at > 0 && row[at-1] != ' ' {
			return
		}
		for _, r := range row[at : at+len(runes)] {
			if r != ' ' {
				return
			}
		}
		copy(row[at:], runes)
	}
	for i := len(ticks) - 1; i >= 0; i-- {
		at := min(int(w.view.time.at(ticks[i].at)*float64(w.plot)), w.plot-1)
		axis[at] = '┬'
		put(labels, at, ticks[i].label)
		put(contexts, at, ticks[i].context)
	}
	left := strings.Repeat(" ", w.labels+1)
	for _, row := range []string{left + "└" + string(axis) + "  ", left + " " + string(labels), left + " " + string(contexts)} {
		w.line(w.in(dim, strings.TrimRight(strings.Repeat(row, w.beside), " ")))
	}
}
