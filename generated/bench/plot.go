package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// series is one implementation of the cases.
type series struct {
	class, title string
	path         string
	line         int // whose suffix the path has, of the case's lines; -1 if none has
}

// plotted are the series in order. Filled marks are the best by hand, and
// generated code with the options.
var plotted = []series{
	{"common", "by hand, common", "common", -1},
	{"best", "by hand, best", "best", -1},
	{"ordinary", "generated", "ordinary", 0},
	{"columns", "generated, with ClientOptions", "wire", 0},
	{"events", "the same, event by event", "wire", 1},
	{"transport", "transport of the bytes alone", "transport", -1},
}

// The measures of the plot, in pixels.
const (
	plotWidth  = 860
	plotLeft   = 210
	plotRight  = 800
	plotTop    = 116
	laneHeight = 13
	caseGap    = 12
	titleGap   = 24
)

// style makes the plot readable on light and dark pages.
const style = `
svg { --page: #ffffff; --ink: #1f2328; --soft: #59636e; --grid: #d8dee4; --hand: #59636e; --ours: #0969da; --events: #bc4c00; --transport: #1a7f37; }
@media (prefers-color-scheme: dark) {
svg { --page: #0d1117; --ink: #e6edf3; --soft: #9198a1; --grid: #2d333b; --hand: #9198a1; --ours: #58a6ff; --events: #f0883e; --transport: #3fb950; }
}
text { font: 12px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: var(--ink); }
.title { font-size: 15px; font-weight: 600; }
.head { font-weight: 600; }
.soft, .value { fill: var(--soft); }
.value { font-size: 10px; paint-order: stroke; stroke: var(--page); stroke-width: 3px; }
.page { fill: var(--page); }
.grid { stroke: var(--grid); }
.minor { stroke: var(--grid); stroke-opacity: 0.5; }
.lead { stroke: var(--grid); stroke-dasharray: 1 3; }
.common { fill: none; stroke: var(--hand); stroke-width: 1.6; }
.best { fill: var(--hand); stroke: var(--hand); stroke-width: 1.6; }
.ordinary { fill: none; stroke: var(--ours); stroke-width: 1.6; }
.columns { fill: var(--ours); stroke: var(--ours); stroke-width: 1.6; }
.events { fill: var(--events); stroke: var(--events); stroke-width: 1.6; }
.transport { fill: none; stroke: var(--transport); stroke-width: 2; }
`

// plotGroup contains the cases under one heading.
type plotGroup struct {
	title string
	cases []benchCase
}

// plotGroups are the cases of many events.
var plotGroups = []plotGroup{
	{"Reading a week of events", patternCases},
	{"Reading less, or more series", []benchCase{otherReads[0], otherReads[2], otherReads[3]}},
	{"Writing", writesShown[1:]},
}

// plotMark is a measured case.
type plotMark struct {
	series int
	value  float64
}

// marksOf returns the measurements of a case.
func marksOf(m *medians, c benchCase) []plotMark {
	var out []plotMark
	for i, s := range plotted {
		suffix := ""
		switch {
		case s.line >= len(c.lines):
			continue
		case s.line >= 0:
			suffix = c.lines[s.line].suffix
		}
		out = append(out, plotMark{i, m.get(c.benchmark+"/path="+s.path+suffix, perEvent)})
	}
	return out
}

// plot draws the cost of an event, by case and path, on a logarithmic axis.
func plot(m *medians) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, g := range plotGroups {
		for _, c := range g.cases {
			for _, mark := range marksOf(m, c) {
				low, high = min(low, mark.value), max(high, mark.value)
			}
		}
	}
	p := &plotter{low: math.Floor(math.Log10(low)), high: math.Log10(high), y: plotTop}
	for _, g := range plotGroups {
		p.y += titleGap
		p.text(&p.marks, 16, p.y-6, "head", g.title)
		for _, c := range g.cases {
			p.addCase(c.title, marksOf(m, c))
		}
	}
	height := p.y + 12
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="Client CPU time per event, by pattern and path">`+"\n", plotWidth, height)
	fmt.Fprintf(&out, "<style>%s</style>\n"+`<rect class="page" width="%d" height="%d"/>`+"\n", style, plotWidth, height)
	p.head(&out)
	p.axis(&out, height-8)
	out.WriteString(p.marks.String())
	out.WriteString("</svg>\n")
	return out.String()
}

// plotter draws from top to bottom.
type plotter struct {
	low, high float64 // ends of the axis, as powers of ten; the low one is whole
	y         int
	marks     strings.Builder
}

// x returns the position of a value.
func (p *plotter) x(value float64) float64 {
	return plotLeft + (math.Log10(value)-p.low)/(p.high-p.low)*(plotRight-plotLeft)
}

// text draws a string.
func (p *plotter) text(out *strings.Builder, x, y int, class, text string) {
	fmt.Fprintf(out, `<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, x, y, html.EscapeString(text))
}

// head draws the title and the legend.
func (p *plotter) head(out *strings.Builder) {
	p.text(out, 16, 28, "title", "Client CPU time per event, in ns (lower is better; logarithmic scale)")
	for i, s := range plotted {
		x, y := 24+i/2*230, 54+i%2*20
		p.mark(out, s.class, float64(x), y)
		p.text(out, x+12, y+4, "", s.title)
	}
}

// axis draws the grid lines of the axis down to y.
func (p *plotter) axis(out *strings.Builder, y int) {
	for power := p.low; power <= p.high; power++ {
		for step := 1.0; step < 10 && power+math.Log10(step) <= p.high; step++ {
			value, class := step*math.Pow(10, power), "minor"
			if step == 1 {
				class = "grid"
				fmt.Fprintf(out, `<text class="soft" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", p.x(value), plotTop-8, duration(value))
			}
			fmt.Fprintf(out, `<path class="%s" d="M%.1f %dV%d"/>`+"\n", class, p.x(value), plotTop, y)
		}
	}
}

// duration formats nanoseconds that are a power of ten.
func duration(ns float64) string {
	if ns >= 1000 {
		return count(ns/1000) + " µs"
	}
	return count(ns) + " ns"
}

// addCase draws a case, with a lane for each mark.
func (p *plotter) addCase(title string, marks []plotMark) {
	label, rest, _ := strings.Cut(strings.ReplaceAll(title, "`", ""), ", ")
	middle := p.y + len(marks)*laneHeight/2
	if rest == "" {
		p.text(&p.marks, 24, middle+4, "", label)
	} else {
		p.text(&p.marks, 24, middle-3, "", label)
		p.text(&p.marks, 24, middle+12, "soft", rest)
	}
	for _, m := range marks {
		y, x := p.y+laneHeight/2, p.x(m.value)
		fmt.Fprintf(&p.marks, `<path class="lead" d="M%d %dH%.1f"/>`+"\n", plotLeft, y, x)
		p.mark(&p.marks, plotted[m.series].class, x, y)
		fmt.Fprintf(&p.marks, `<text class="value" x="%.1f" y="%d">%s</text>`+"\n", x+9, y+4, count(m.value))
		p.y += laneHeight
	}
	p.y += caseGap
}

// mark draws a mark: a square for handwritten code, a circle for generated
// code, and a stroke for the transport.
func (p *plotter) mark(out *strings.Builder, class string, x float64, y int) {
	switch class {
	case "common", "best":
		fmt.Fprintf(out, `<rect class="%s" x="%.1f" y="%d" width="7" height="7"/>`+"\n", class, x-3.5, y-3)
	case "transport":
		fmt.Fprintf(out, `<path class="%s" d="M%.1f %dv10"/>`+"\n", class, x, y-5)
	default:
		fmt.Fprintf(out, `<circle class="%s" cx="%.1f" cy="%d" r="4"/>`+"\n", class, x, y)
	}
}
