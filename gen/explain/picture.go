package explain

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
)

// The numbers of events in the picture of a pattern, in a bucket and in the next one.
const (
	pictured     = 6
	morePictured = 2
)

// The measures of the picture of a pattern, in pixels, and its limits.
const (
	square      = 11.0 // a cell
	squareStep  = 13.0
	panelWidth  = 344.0
	panelRows   = 8
	panelCells  = 7  // columns of a row
	panelLabel  = 22 // characters of a key
	panelLabelW = panelLabel*6.3 + 12
)

// pictures draws each possible pattern once.
func pictures(of *document.Section, all []*choice) {
	out := &document.Pictures{Note: "The same few events in each pattern: a square is a cell, and a stack is a column of " +
		"a row. Newer cells have a stronger color. Cells of later buckets have a different color."}
	for _, c := range all {
		if c.table != nil && (c.chosen || c.pattern != all[0].pattern) {
			out.All = append(out.All, drawPattern(c))
		}
	}
	of.Add(document.Part{Pictures: out})
}

// drawing is a picture of the events of a pattern.
type drawing struct {
	svg          strings.Builder
	events, next int // in all, and in later buckets
	y            float64
}

// drawPattern draws a pattern.
func drawPattern(c *choice) document.Picture {
	events := sample.Events(c.layout, c.table, pictured, morePictured)
	rows := sample.Rows(c.layout, c.table, events)
	d := drawing{events: len(events), next: nextEvents(c.table, events), y: 4}
	for i := range rows[:min(len(rows), panelRows)] {
		d.row(rows[i].Key, stacks(c.table, &rows[i]))
	}
	if n := len(rows) - panelRows; n > 0 {
		d.text(7, d.y+9, count(n, "more row"))
		d.y += 16
	}
	out := document.Picture{Title: c.name(), Width: panelWidth, Height: d.y + 2, SVG: d.svg.String()}
	out.Caption = []string{d.words(c), "full row: " + rowWords(&c.size) + ": " + c.size.Row.String()}
	if c.chosen {
		out.Title, out.Style = out.Title+" (chosen)", document.Chosen
	}
	return out
}

// nextEvents returns how many events are after the bucket of the first event, or would be if
// there were buckets. These events are the last ones.
func nextEvents(t *layout.Table, events []sample.Event) int {
	if !t.Pattern.Bucketed() || t.Endless() {
		return max(0, len(events)-pictured)
	}
	n := 0
	for i := range events {
		if !t.Bucket.Start(events[i].Time).Equal(t.Bucket.Start(events[0].Time)) {
			n++
		}
	}
	return n
}

// words says which events the picture shows.
func (d *drawing) words(c *choice) string {
	first := count(d.events-d.next, "event")
	switch {
	case c.bucket == "":
		return first
	case c.bucket == noBucket:
		return first + " in one row"
	case d.next == 0:
		return first + " in one bucket"
	}
	return fmt.Sprintf("%s in one bucket, %d later", first, d.next)
}

// stacks returns the events with cells in each column of a row, oldest first.
func stacks(t *layout.Table, row *sample.Row) [][]int {
	var names []string
	var out [][]int
	for _, c := range slices.Backward(row.Cells) { // the newest are first
		if t.Columns[c.Column].Field == layout.WrittenAt {
			continue
		}
		i := slices.Index(names, c.Qualifier)
		if i < 0 {
			i, names, out = len(names), append(names, c.Qualifier), append(out, nil)
		}
		out[i] = append(out[i], c.Event)
	}
	slices.Reverse(out)
	return out
}

// text draws a text.
func (d *drawing) text(x, y float64, text string) {
	fmt.Fprintf(&d.svg, `<text class="small" x="%g" y="%g">%s</text>`, round(x), y, html.EscapeString(text))
}

// row draws a row.
func (d *drawing) row(key string, stacks [][]int) {
	drawn := stacks[:min(len(stacks), panelCells)]
	highest := 1
	for _, stack := range drawn {
		highest = max(highest, len(stack))
	}
	height := float64(highest)*squareStep + 6
	middle := d.y + height/2 + 4
	fmt.Fprintf(&d.svg, `<rect class="row" x="0.5" y="%g" width="%g" height="%g" rx="4"/>`, d.y, panelWidth-1, height)
	d.text(7, middle, cutFront(sample.ShowKey(key), panelLabel))
	x := panelLabelW + 6
	for _, stack := range drawn {
		for n, event := range stack {
			class, opacity := d.look(event)
			fmt.Fprintf(&d.svg, `<rect class="%s" x="%g" y="%g" width="%g" height="%g" rx="2" fill-opacity="%.2g"/>`,
				class, round(x), round(d.y+height-3-float64(n)*squareStep-square), square, square, opacity)
		}
		x += squareStep + 8
	}
	if n := len(stacks) - panelCells; n > 0 {
		d.text(x+2, middle, fmt.Sprintf("+%d", n))
	}
	d.svg.WriteString("\n")
	d.y += height + 5
}

// look returns the class and the opacity of a cell of an event: newer events of a bucket are stronger.
func (d *drawing) look(event int) (class string, opacity float64) {
	class, n, of := "cell", event, d.events-d.next
	if event >= of {
		class, n, of = "next", event-of, d.next
	}
	return class, 0.3 + 0.7*float64(n+1)/float64(of)
}

// round rounds to a tenth of a pixel.
func round(x float64) float64 { return math.Round(x*10) / 10 }

// cutFront shortens a text at its start.
func cutFront(text string, to int) string {
	runes := []rune(text)
	if len(runes) <= to {
		return text
	}
	return "…" + string(runes[len(runes)-to+1:])
}

// The measures of the picture of a simulation, in pixels.
const (
	heatStep = 7.0
	heatBand = 6.0
)

// draw draws a simulation: adjacent steps of a part of the key space with the same share are a rectangle.
func (h *Heat) draw() document.Picture {
	out := document.Picture{
		Title: h.name(), Caption: []string{h.Key, h.words(), h.seen()},
		Width: float64(len(h.Bands[0]))*heatStep + 2, Height: float64(len(h.Bands))*heatBand + 2,
	}
	if h.Chosen {
		out.Style = document.Chosen
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<rect class=\"row\" x=\"0.5\" y=\"0.5\" width=\"%g\" height=\"%g\"/>\n", out.Width-1, out.Height-1)
	for band, digits := range h.Bands {
		for step := 0; step < len(digits); {
			end := step + 1
			for end < len(digits) && digits[end] == digits[step] {
				end++
			}
			if digits[step] != '0' {
				fmt.Fprintf(&b, `<rect class="heat" x="%g" y="%g" width="%g" height="%g" fill-opacity="%.2f"/>`,
					1+float64(step)*heatStep, 1+float64(band)*heatBand, float64(end-step)*heatStep, heatBand,
					float64(digits[step]-'0')/9)
			}
			step = end
		}
	}
	out.SVG = b.String() + "\n"
	return out
}
