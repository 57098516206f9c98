package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// colors is the number of colors of lines.
const colors = 6

// palettes are the colors of lines on a light and on a dark background. They differ in lightness and
// hue, so that they are told apart with protanopia, deuteranopia and tritanopia, and have a contrast
// of at least 3 to the background (WCAG 2.1, success criterion 1.4.11); TestPalettes verifies both.
var palettes = [2][colors]string{
	{"#0969da", "#d67319", "#1a6326", "#9d4888", "#191f77", "#580917"},
	{"#58a6ff", "#e2a961", "#29fce4", "#cc4c75", "#5d64d7", "#f3ff62"},
}

// theme is the colors of everything else.
type theme struct{ background, text, muted, grid, axis string }

var themes = [2]theme{
	{"#ffffff", "#1f2328", "#59636e", "#e4e8ec", "#8c959f"},
	{"#0d1117", "#e6edf3", "#9198a1", "#262c36", "#6e7681"},
}

// fonts is the font of text in drawings.
const fonts = `system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif`

// style is the style sheet of drawings. It has no variables, which viewers of SVG outside browsers
// do not know; those without media queries, too, see the light colors.
func style() string {
	var b strings.Builder
	fmt.Fprintf(&b, "text{font:12px %s}.head{font-size:17px;font-weight:600}.name{font-size:13px;font-weight:600}.end{text-anchor:end}.mid{text-anchor:middle}", fonts)
	b.WriteString(".grid,.axis,.line{fill:none}.grid,.axis{vector-effect:non-scaling-stroke}.grid,.axis{stroke-width:1;shape-rendering:crispEdges}.line{stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round}.dense .line{stroke-width:1}.dash{stroke-dasharray:5 4}.band{stroke:none;fill-opacity:.22}.many .band{fill-opacity:.1}")
	for i := range themes {
		t := &themes[i]
		if i == 1 {
			b.WriteString("@media(prefers-color-scheme:dark){")
		}
		fmt.Fprintf(&b, ".back{fill:%s}text{fill:%s}.muted{fill:%s}.grid{stroke:%s}.axis{stroke:%s}", t.background, t.text, t.muted, t.grid, t.axis)
		for j, color := range palettes[i] {
			fmt.Fprintf(&b, ".l%d{stroke:%s}.b%d,.d%d{fill:%s}", j, color, j, j, color)
		}
	}
	b.WriteString("}")
	return b.String()
}

// Sizes in drawings, in pixels.
const (
	svgWidth    = 960
	narrowWidth = 380 // for telephones
	sideGap     = 16
	textHeight  = 18
	digitWidth  = 7.0 // of the widest digit
	svgColumns  = (svgWidth - 2*sideGap) / 7
	timeLabels  = 44 // below a panel
)

// drawing is an SVG that is written.
type drawing struct {
	strings.Builder
	view   *view
	width  float64
	left   float64 // of panels
	right  float64
	scales []*valueScale
	ticks  []timeTick
}

func (d *drawing) line(format string, args ...any) {
	fmt.Fprintf(d, format, args...)
	d.WriteByte('\n')
}

// textWidth estimates the width of a text in 12 pixels.
func textWidth(text string) float64 { return digitWidth * float64(words.Width(text)) }

// px formats a coordinate.
func px(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

// SVG returns the chart as a self-contained file, in the light or dark mode of the viewer.
func (c *Chart) SVG() []byte {
	v := c.view()
	d := v.drawing(svgWidth)
	top := 30.0
	var head drawing
	head.view, head.width = v, svgWidth
	head.line(`<text class="head" x="%d" y="%s">%s</text>`, sideGap, px(top), html.EscapeString(short(v.title, svgColumns*3/4)))
	top = head.muted(top, v.times(), v.about())
	bottom := d.panels(head.legend(top + 14))
	bottom = d.muted(bottom, v.notes...)
	var b strings.Builder
	height := px(bottom + 14)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%s" viewBox="0 0 %d %s" role="img" aria-labelledby="title desc">`+"\n", svgWidth, height, svgWidth, height)
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>%s</style>\n", html.EscapeString(v.title), html.EscapeString(v.description()), style())
	fmt.Fprintf(&b, `<rect class="back" width="%d" height="%s"/>`+"\n", svgWidth, height)
	return []byte(b.String() + head.String() + d.String() + "</svg>\n")
}

// muted draws texts below a height, and returns the height of the last line.
func (d *drawing) muted(top float64, texts ...string) float64 {
	for _, text := range texts {
		for _, line := range wrap(text, svgColumns) {
			if line != "" {
				top += textHeight
				d.line(`<text class="muted" x="%d" y="%s">%s</text>`, sideGap, px(top), html.EscapeString(line))
			}
		}
	}
	return top
}

// description describes the chart in sentences, for those who do not see it.
func (v *view) description() string {
	text := v.times() + "."
	for i := range v.panels {
		text += " " + v.summary(&v.panels[i]) + "."
	}
	return text
}

// drawing returns a drawing with the scales of all panels.
func (v *view) drawing(width float64) *drawing {
	d := &drawing{view: v, width: width}
	labels := 0.0
	for i := range v.panels {
		p := &v.panels[i]
		s := valuesOf(p.low, p.high, int(v.panelHeight()/36))
		if p.empty {
			s.ticks = nil
		}
		d.scales = append(d.scales, s)
		for _, t := range s.ticks {
			labels = max(labels, textWidth(t.label))
		}
	}
	d.left, d.right = labels+sideGap+8, width-sideGap
	d.ticks = v.time.ticks(int((d.right - d.left) / 68))
	return d
}

// panelHeight returns the height of each panel: less if there are several.
func (v *view) panelHeight() float64 {
	switch len(v.panels) {
	case 1:
		return 320
	case 2:
		return 200
	}
	return 130
}

// legend draws the names of series from a height on, and returns the height below them. A single
// series is named in the title.
func (d *drawing) legend(top float64) float64 {
	if len(d.view.series) < 2 {
		return top
	}
	x := float64(sideGap)
	top += textHeight
	for i, name := range d.view.series {
		width := 34 + textWidth(name) + 16
		if x > sideGap && x+width > d.width {
			x, top = sideGap, top+textHeight
		}
		d.line(`<path class="line%s" d="M%s %sh24"/><text x="%s" y="%s">%s</text>`, lineClass(i), px(x), px(top-4), px(x+32), px(top), html.EscapeString(name))
		x += width
	}
	return top + 8
}

// lineClass returns the classes of the line of a series, after a space.
func lineClass(i int) string {
	class := " l" + strconv.Itoa(i%colors)
	if i >= colors {
		class += " dash"
	}
	return class
}

// panels draws all panels from a height on, and returns the height below them.
func (d *drawing) panels(top float64) float64 {
	class := ""
	if len(d.view.series) > 3 {
		class += " many"
	}
	if d.view.longest > int(d.right-d.left) {
		class += " dense"
	}
	d.line(`<g class="panels%s">`, class)
	defer d.line("</g>")
	for i := range d.view.panels {
		p := &d.view.panels[i]
		top += 32
		d.line(`<text class="name" x="%s" y="%s">%s</text>`, px(d.left), px(top-10), html.EscapeString(short(p.heading(), int((d.right-d.left)/(digitWidth+1)))))
		d.panel(p, d.scales[i], top, top+d.view.panelHeight())
		top += d.view.panelHeight()
	}
	if len(d.view.panels) == 0 {
		top += textHeight
		d.line(`<text class="muted" x="%d" y="%s">no fields</text>`, sideGap, px(top))
		return top
	}
	d.timeLabels(top)
	return top + timeLabels
}

// x returns the horizontal place of a share of the range.
func (d *drawing) x(share float64) float64 { return d.left + share*(d.right-d.left) }

// panel draws a panel between two heights.
func (d *drawing) panel(p *panel, s *valueScale, top, bottom float64) {
	y := func(v float64) float64 { return bottom - s.at(v)*(bottom-top) }
	for _, t := range d.ticks {
		d.line(`<path class="grid" d="M%s %sV%s"/>`, px(d.x(d.view.time.at(t.at))), px(top), px(bottom))
	}
	for _, t := range s.ticks {
		d.line(`<path class="grid" d="M%s %sH%s"/><text class="end muted" x="%s" y="%s">%s</text>`,
			px(d.left), px(y(t.value)), px(d.right), px(d.left-8), px(y(t.value)+4), html.EscapeString(t.label))
	}
	d.line(`<path class="axis" d="M%s %sH%s"/>`, px(d.left), px(bottom), px(d.right))
	if p.empty {
		d.line(`<text class="mid muted" x="%s" y="%s">no values</text>`, px((d.left+d.right)/2), px((top+bottom)/2))
	}
	// x, y, width, height, low, high: for the script of the page
	d.line(`<g class="plot" data-box="%s %s %s %s %v %v">`, px(d.left), px(top), px(d.right-d.left), px(bottom-top), s.low, s.high)
	var lines strings.Builder // in front of all bands
	for i := range p.lines {
		d.series(i, &p.lines[i], y, &lines)
	}
	d.WriteString(lines.String())
	d.line("</g>")
}

// series draws the band of a series, and appends its line and its single events to lines.
func (d *drawing) series(i int, l *line, y func(float64) float64, lines *strings.Builder) {
	var path, band, dots strings.Builder
	for _, run := range l.runs {
		if run[0].single() {
			fmt.Fprintf(&dots, `<circle cx="%s" cy="%s" r="2.5"/>`, px(d.x(d.view.time.at(run[0].Start))), px(y(run[0].Mean)))
			continue
		}
		d.run(run, y, &path, &band)
	}
	if band.Len() > 0 {
		d.line(`<path class="s%d band b%d" d="%s"/>`, i, i%colors, band.String())
		fmt.Fprintf(lines, "<path class=\"s%d line%s\" d=\"%s\"/>\n", i, lineClass(i), path.String())
	}
	if dots.Len() > 0 {
		fmt.Fprintf(lines, "<g class=\"s%d d%d\">%s</g>\n", i, i%colors, dots.String())
	}
}

// leastWidth is the smallest width of a run, so that a single window is visible.
const leastWidth = 2

// run draws adjacent windows: from the start of the first one, through the middles of all, to the
// end of the last one.
func (d *drawing) run(run []Point, y func(float64) float64, path, band *strings.Builder) {
	last := &run[len(run)-1]
	left, right := d.x(d.view.time.at(run[0].Start)), d.x(d.view.time.at(last.End))
	if right-left < leastWidth {
		left, right = (left+right-leastWidth)/2, (left+right+leastWidth)/2
	}
	type place struct{ x, low, mean, high string }
	at := func(x float64, p *Point) place { return place{px(x), px(y(p.Min)), px(y(p.Mean)), px(y(p.Max))} }
	places := []place{at(left, &run[0])}
	for i := range run[:len(run)-1] {
		places = append(places, at(d.x(d.view.time.at(run[i].middle())), &run[i]))
	}
	if len(run) > 1 {
		places = append(places, at(d.x(d.view.time.at(last.middle())), last))
	}
	places = append(places, at(right, last))
	letter := "M"
	for _, p := range places {
		path.WriteString(letter + p.x + " " + p.mean)
		band.WriteString(letter + p.x + " " + p.high)
		letter = "L"
	}
	for i := len(places) - 1; i >= 0; i-- {
		band.WriteString("L" + places[i].x + " " + places[i].low)
	}
	band.WriteString("Z")
}

// timeLabels draws the labels of times below a height, and their contexts below them, except where
// one covers the next.
func (d *drawing) timeLabels(top float64) {
	next := math.Inf(1)
	for i := len(d.ticks) - 1; i >= 0; i-- {
		t := &d.ticks[i]
		x := d.x(d.view.time.at(t.at))
		d.line(`<path class="axis" d="M%s %sv5"/><text class="mid muted" x="%s" y="%s">%s</text>`, px(x), px(top), px(d.within(x, t.label)), px(top+19), html.EscapeString(t.label))
		half := textWidth(t.context) / 2
		if place := d.within(x, t.context); t.context != "" && place+half+8 <= next {
			d.line(`<text class="mid" x="%s" y="%s">%s</text>`, px(place), px(top+36), html.EscapeString(t.context))
			next = place - half
		}
	}
}

// within returns the middle of a text that is at a place, but within the drawing.
func (d *drawing) within(x float64, text string) float64 {
	half := textWidth(text) / 2
	return max(half+4, min(x, d.width-half-4))
}
