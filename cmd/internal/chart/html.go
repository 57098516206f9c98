package chart

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/words"
)

//go:embed page.html
var pageText string

//go:embed chart.css
var pageStyle string

//go:embed chart.js
var script string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Script returns the script of pages with charts: its function follow shows values under the pointer.
func Script() string { return script }

// Style returns the style of pages with charts, in the light or dark mode of the browser.
func Style() string { return variables() + style() + "\n" + pageStyle }

// Drawn is a chart for a page that has [Script] and [Style].
type Drawn struct {
	Times       string          `json:"times"` // the range and its time zone, for people
	About       string          `json:"about"` // what lines, bands and dots are
	Description string          `json:"description"`
	Notes       []string        `json:"notes"`
	Series      []string        `json:"series"`
	Drawing     template.HTML   `json:"drawing"` // SVG
	Data        json.RawMessage `json:"data"`    // for the script
	Summary     [][]string      `json:"summary"` // of each line: field, series, values, minimum, mean, maximum, last
}

// Draw draws the chart in a number of pixels.
func (c *Chart) Draw(width float64) (*Drawn, error) { return c.view().drawn(width) }

// drawn draws the chart in a number of pixels.
func (v *view) drawn(width float64) (*Drawn, error) {
	data, err := v.data()
	return &Drawn{
		Times: v.times(), About: v.about(), Description: v.description(), Notes: v.notes, Series: v.series,
		Drawing: v.embedded(width), Data: data, Summary: v.table(),
	}, err
}

// page is what the template of the page needs.
type page struct {
	*Drawn
	Title   string
	Style   template.CSS
	Script  template.JS
	Data    template.JS
	Narrow  template.HTML
	Several bool
}

// HTML returns the chart as a self-contained page, in the light or dark mode of the browser. It
// shows the values under the pointer, and without scripts, the drawing and a table.
func (c *Chart) HTML() ([]byte, error) {
	v := c.view()
	drawn, err := v.drawn(svgWidth)
	if err != nil {
		return nil, err
	}
	p := page{
		Drawn: drawn, Title: v.title, Style: template.CSS(Style()), Script: template.JS(script), Data: template.JS(drawn.Data),
		Narrow: v.embedded(narrowWidth), Several: len(v.series) > 1,
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, &p); err != nil {
		return nil, err
	}
	return words.LogHTML(b.Bytes()), nil
}

// variables are the colors of the page.
func variables() string {
	var b strings.Builder
	for i := range themes {
		t := &themes[i]
		text := fmt.Sprintf(":root{--back:%s;--text:%s;--muted:%s;--grid:%s;--axis:%s}", t.background, t.text, t.muted, t.grid, t.axis)
		if i == 1 {
			text = "@media(prefers-color-scheme:dark){" + text + "}"
		}
		b.WriteString(text)
	}
	return b.String()
}

// embedded returns the drawing of all panels for a width of the page. The page describes it.
func (v *view) embedded(width float64) template.HTML {
	d := v.drawing(width)
	bottom := d.panels(0)
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %s %s" aria-hidden="true">`+"\n", px(width), px(bottom)) + d.String() + "</svg>")
}

// LineClass returns the classes of the line of a series in the legend.
func (p *page) LineClass(i int) string { return "line" + lineClass(i) }

// table lists the statistics of each line.
func (v *view) table() [][]string {
	var out [][]string
	for i := range v.panels {
		p := &v.panels[i]
		for j := range p.lines {
			name := ""
			if len(v.series) > 1 {
				name = v.series[j]
			}
			row := []string{p.heading(), name, "0", "", "", "", ""}
			if s := &p.lines[j].stats; s.count > 0 {
				row = []string{p.heading(), name, number(float64(s.count)), number(s.min), number(s.mean), number(s.max), number(s.last)}
			}
			out = append(out, row)
		}
	}
	return out
}

// data is what the script of the page needs: only numbers, so that it contains no text of a schema or
// an event, except for the abbreviations of the time zone. Times are counted from a start, in a unit
// that keeps them exact.
type data struct {
	From    string       `json:"from"` // nanoseconds since 1970
	Unit    int64        `json:"unit"` // nanoseconds
	Length  float64      `json:"length"`
	Zone    [][3]any     `json:"zone"` // from when, offset in seconds, name
	Date    int          `json:"date"` // number of characters of a time that are shown
	Colors  int          `json:"colors"`
	Times   [][][2]int64 `json:"times"`
	Fields  [][]values   `json:"fields"`
	indexes map[string]int
}

// values are the values of a line: Min, Mean and Max are equal for single events, and only Mean is set.
type values struct {
	Times int           `json:"t"` // index of Times
	Mean  []json.Number `json:"m"`
	Min   []json.Number `json:"a,omitempty"`
	Max   []json.Number `json:"b,omitempty"`
}

// data returns the data of the script.
func (v *view) data() ([]byte, error) {
	from := new(big.Int).Mul(big.NewInt(v.time.from.Unix()), big.NewInt(1e9))
	from.Add(from, big.NewInt(int64(v.time.from.Nanosecond())))
	out := &data{From: from.String(), Unit: v.unit(), Colors: colors, Times: [][][2]int64{}, Fields: [][]values{}, indexes: map[string]int{}}
	out.Length = v.time.seconds() * 1e9 / float64(out.Unit)
	for _, o := range v.time.offsets() {
		out.Zone = append(out.Zone, [3]any{count(v.time.from, o.from, out.Unit), o.seconds, words.Printable(o.name)})
	}
	out.Date = v.precision(out.Unit)
	for i := range v.panels {
		lines := []values{}
		for j := range v.panels[i].lines {
			lines = append(lines, out.values(&v.panels[i].lines[j], v.time.from))
		}
		out.Fields = append(out.Fields, lines)
	}
	return json.Marshal(out)
}

// unit returns the largest unit in which all times of a chart are whole numbers, but none in which
// numbers of JavaScript cannot count its range.
func (v *view) unit() int64 {
	unit := int64(1e9)
	for p := range v.points() {
		for _, t := range []time.Time{p.Start, p.End} {
			for unit > 1 && (int64(t.Nanosecond())-int64(v.time.from.Nanosecond()))%unit != 0 {
				unit /= 1000
			}
		}
	}
	for v.time.seconds()*1e9/float64(unit) > 1<<52 {
		unit *= 1000
	}
	return unit
}

// count returns the number of units between two times.
func count(from, to time.Time, unit int64) int64 {
	seconds, nanos := to.Unix()-from.Unix(), int64(to.Nanosecond()-from.Nanosecond())
	if unit >= 1e9 {
		return seconds / (unit / 1e9)
	}
	return seconds*(1e9/unit) + nanos/unit
}

// precision returns how many characters of a time such as 2021-03-05 12:00:00.000000000 tell the
// points of a chart apart.
func (v *view) precision(unit int64) int {
	if unit < 1e9 {
		return len("2021-03-05 12:00:00.000000000") - len(strconv.FormatInt(unit, 10)) + 1
	}
	length := len(time.DateOnly)
	for p := range v.points() {
		switch hour, minute, second := p.Start.In(v.time.zone).Clock(); {
		case second != 0:
			return len(time.DateTime)
		case hour != 0 || minute != 0:
			length = len("2021-03-05 12:00")
		}
	}
	return length
}

// values adds a line. Lines with equal times share them.
func (d *data) values(l *line, from time.Time) values {
	out := values{Mean: []json.Number{}}
	times := [][2]int64{}
	single := true
	for _, run := range l.runs {
		for i := range run {
			p := &run[i]
			times = append(times, [2]int64{count(from, p.Start, d.Unit), count(from, p.End, d.Unit)})
			out.Mean = append(out.Mean, rounded(p.Mean, 9))
			out.Min, out.Max = append(out.Min, rounded(p.Min, -1)), append(out.Max, rounded(p.Max, -1))
			if single = single && p.single(); p.single() {
				out.Mean[len(out.Mean)-1] = rounded(p.Mean, -1)
			}
		}
	}
	if single {
		out.Min, out.Max = nil, nil
	}
	key := fmt.Sprint(times)
	at, known := d.indexes[key]
	if !known {
		at = len(d.Times)
		d.indexes[key] = at
		d.Times = append(d.Times, times)
	}
	out.Times = at
	return out
}

// rounded returns a value with a number of significant digits; -1 for all.
func rounded(v float64, digits int) json.Number {
	return json.Number(strconv.FormatFloat(v, 'g', digits, 64))
}
