package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// The measures of pictures, in pixels.
const (
	charWidth  = 8.4  // of a monospaced character of 14px
	smallWidth = 6.3  // of one of 10.5px
	nameWidth  = 7.4  // of one of the names above segments
	square     = 11.0 // a cell
	squareStep = 13.0
	panelWidth = 344.0
	chartWidth = 720.0
)

// keyPicture is a drawing of the segments of an example key, in lines.
type keyPicture struct {
	Width, Height float64
	Title         string
	Boxes         []keyBox
	Joints        []joint
}

// keyBox is a segment.
type keyBox struct {
	X, Width, Middle        float64
	NameY, Y, TextY, CountY float64
	Paint                   int // index of the color
	Name, Bytes, Count      string
	Length                  float64 // of the bytes
}

// joint is a delimiter.
type joint struct {
	Middle, Y float64
	Text      string
}

// How many characters of a segment are drawn, and the size of a line of segments.
const (
	longSegment   = 44
	keyLine       = 584.0
	keyLineHeight = 96.0
)

// drawKey lays out the segments of the example key of a table.
func drawKey(t *Table) keyPicture {
	parts, delimiter, _ := shownParts(t)
	p := keyPicture{Height: keyLineHeight, Title: "The row key " + t.Key.Form + ", for example " + t.Key.Example.Show}
	gap := 4.0
	if delimiter != "" {
		gap = float64(words.Width(delimiter))*charWidth + 8
	}
	x, y := 1.0, 0.0
	for i, part := range parts {
		box := drawBox(i, part, &t.Key.Segments[i])
		if i > 0 && x+gap+box.Width > keyLine {
			x, y = 1, y+keyLineHeight
			p.Height += keyLineHeight
		}
		if i > 0 {
			if delimiter != "" && !t.Key.Segments[i-1].Joined {
				p.Joints = append(p.Joints, joint{round(x + gap/2), y + 48, delimiter})
			}
			x += gap
		}
		box.at(x, y)
		p.Boxes = append(p.Boxes, box)
		x += box.Width
		p.Width = max(p.Width, round(x+1))
	}
	return p
}

// drawBox lays out a segment without its position.
func drawBox(i int, part string, s *Segment) keyBox {
	part = cut(part, longSegment)
	name := cut(s.Name, longSegment)
	length := float64(words.Width(part)) * charWidth
	return keyBox{
		Width: round(max(length, float64(words.Width(name))*nameWidth, 34) + 18), Paint: i % len(segmentPaints), Name: name, Bytes: part,
		Length: round(length), Count: words.Count(float64(len(s.Example.Hex)/2), "byte", "bytes"),
	}
}

// at positions a box.
func (b *keyBox) at(x, y float64) {
	b.X, b.Middle = round(x), round(x+b.Width/2)
	b.NameY, b.Y, b.TextY, b.CountY = y+16, y+26, y+48, y+80
}

// cut shortens a text to some characters.
func cut(text string, to int) string {
	runes := []rune(text)
	if len(runes) <= to {
		return text
	}
	return string(runes[:to-1]) + "…"
}

// cutFront shortens a text at its start.
func cutFront(text string, to int) string {
	runes := []rune(text)
	if len(runes) <= to {
		return text
	}
	return "…" + string(runes[len(runes)-to+1:])
}

// panel is a picture of the cells of a few events in the rows of a pattern.
type panel struct {
	Name          string
	Chosen        bool
	Width, Height float64
	Title         string
	Rows          []panelRow
	Events        string // which of them
	More          string // rows that are not drawn
	MoreY         float64
	Full          string // what a full row contains
}

// panelRow is a row.
type panelRow struct {
	Y, Height, Middle float64
	Key               string
	Cells             []panelCell
	More              string // columns that are not drawn
	MoreX             float64
}

// panelCell is a cell of an event.
type panelCell struct {
	X, Y, Opacity float64
	Next          bool // of the next bucket
}

// The limits of a picture.
const (
	panelRows    = 8
	panelColumns = 7
	panelLabel   = 22 // characters of a key
	panelLabelW  = panelLabel*smallWidth + 12
)

// drawPanels draws each pattern once.
func drawPanels(t *Table) []panel {
	var out []panel
	for i := range t.Choices {
		c := &t.Choices[i]
		if c.Size == nil || !c.Chosen && c.Pattern == t.Pattern {
			continue
		}
		out = append(out, drawPanel(c))
	}
	return out
}

// drawPanel draws a pattern: a column of a row is a stack of cells.
func drawPanel(c *Choice) panel {
	p := panel{Name: choiceName(c), Chosen: c.Chosen, Width: panelWidth, Full: rowWords(c.Size) + ": " + words.Sizes(c.Size.Row.Lower, c.Size.Row.Upper)}
	p.Events = pictureWords(c)
	p.Title = fmt.Sprintf("%s: %s in %s", p.Name, words.Count(float64(c.PictureEvents), "event", "events"), words.Count(float64(len(c.Picture)), "row", "rows"))
	y := 4.0
	for i := range min(len(c.Picture), panelRows) {
		row := drawRow(c, &c.Picture[i], y)
		p.Rows = append(p.Rows, row)
		y += row.Height + 5
	}
	if n := len(c.Picture) - panelRows; n > 0 {
		p.More, p.MoreY = words.Count(float64(n), "more row", "more rows"), y+9
		y += 16
	}
	p.Height = y + 2
	return p
}

// pictureWords says which events a picture shows.
func pictureWords(c *Choice) string {
	first, count := c.PictureEvents-c.PictureLater, func(n int) string { return words.Count(float64(n), "event", "events") }
	switch {
	case c.Bucket == "":
		return count(c.PictureEvents)
	case c.Bucket == noBucket:
		return count(c.PictureEvents) + " in one row"
	case c.PictureLater == 0:
		return count(first) + " in one bucket"
	}
	return fmt.Sprintf("%s in one bucket, %d later", count(first), c.PictureLater)
}

// drawRow draws a row of a choice at y.
func drawRow(c *Choice, row *PictureRow, y float64) panelRow {
	highest := 1
	for i := range min(len(row.Columns), panelColumns) {
		highest = max(highest, len(row.Columns[i].Events))
	}
	out := panelRow{Y: y, Height: float64(highest)*squareStep + 6, Key: cutFront(row.Key.Show, panelLabel)}
	out.Middle = y + out.Height/2 + 4
	x := panelLabelW + 6
	for i, column := range row.Columns {
		if i == panelColumns {
			out.More, out.MoreX = fmt.Sprintf("+%d", len(row.Columns)-i), round(x+2)
			break
		}
		for n, event := range column.Events {
			bottom := y + out.Height - 3 - float64(n)*squareStep
			out.Cells = append(out.Cells, panelCell{X: round(x), Y: round(bottom - square), Next: event >= c.PictureEvents-c.PictureLater, Opacity: opacity(c, event)})
		}
		x += squareStep + 8
	}
	return out
}

// opacity returns the opacity of a cell, which is higher for newer events of a bucket.
func opacity(c *Choice, event int) float64 {
	first := c.PictureEvents - c.PictureLater
	n, of := event, first
	if event >= first {
		n, of = event-first, c.PictureLater
	}
	return math.Round((0.3+0.7*float64(n+1)/float64(of))*100) / 100
}

// chart is a picture of how a row grows as its bucket fills.
type chart struct {
	Width, Height float64
	Title         string
	Band          []string // polygons between the bounds, one per bucket
	Upper         []string // the upper bound, as lines
	Lines         []chartLine
	Marks         []chartMark
	Left, Right   float64
	Bottom        float64
}

// chartLine is a line of the scale.
type chartLine struct {
	Y     float64
	Text  string
	Limit bool
}

// chartMark is a text below the axis.
type chartMark struct {
	X    float64
	Text string
}

// advisedRow is the maximum row size that Bigtable's documentation recommends.
const advisedRow = 100e6

// drawGrowth draws the size of rows over two buckets; nil for a table without buckets.
func drawGrowth(t *Table) *chart {
	z := &t.Size
	if b := t.Choices[0].Bucket; b == "" || b == noBucket || z.EventsPerRow <= 1 {
		return nil
	}
	c := chart{Width: chartWidth, Height: 210, Left: 84, Right: chartWidth - 12, Bottom: 168}
	c.Title = fmt.Sprintf("A row grows over its bucket to %s", words.Sizes(z.Row.Lower, z.Row.Upper))
	top, step := scale(z.Row.Upper)
	limit := z.Row.Upper > advisedRow/4
	if limit && top < advisedRow {
		top, step = scale(advisedRow)
	}
	at := func(bytes float64) float64 { return c.Bottom - bytes/top*(c.Bottom-16) }
	for n := 0.0; n <= top*1.001; n += step {
		c.Lines = append(c.Lines, chartLine{Y: round(at(n)), Text: scaleText(n)})
	}
	if limit {
		c.Lines = append(c.Lines, chartLine{Y: round(at(advisedRow)), Text: "maximum", Limit: true})
	}
	half := (c.Right - c.Left) / 2
	for i := range 2 {
		x := c.Left + float64(i)*half
		c.Band = append(c.Band, points(x, c.Bottom, x+half, at(z.Row.Upper), x+half, at(z.Row.Lower)))
		c.Upper = append(c.Upper, points(x, c.Bottom, x+half, at(z.Row.Upper), x+half, c.Bottom))
		c.Marks = append(c.Marks, chartMark{round(x + half/2), []string{"", "next "}[i] + t.Choices[0].Bucket + " bucket"})
	}
	return &c
}

// points writes a list of points.
func points(xy ...float64) string {
	var out []string
	for pair := range slices.Chunk(xy, 2) {
		out = append(out, fmt.Sprintf("%g,%g", round(pair[0]), round(pair[1])))
	}
	return strings.Join(out, " ")
}

// round rounds to a tenth of a pixel.
func round(x float64) float64 { return math.Round(x*10) / 10 }

// scale returns the end of a scale from 0 to at least the largest value, and its steps.
func scale(largest float64) (top, step float64) {
	power := math.Pow(10, math.Floor(math.Log10(max(largest, 1))))
	for _, n := range []float64{0.2, 0.25, 0.5, 1, 2, 2.5, 5} {
		if step = n * power; step*5 >= largest {
			break
		}
	}
	return math.Ceil(largest/step) * step, step
}

// scaleText writes a size of a scale.
func scaleText(bytes float64) string {
	if bytes == 0 {
		return "0"
	}
	number, unit, _ := strings.Cut(words.Sizes(bytes, bytes), " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + unit
}
