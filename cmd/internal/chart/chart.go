// Package chart draws values over time: as text for a terminal, as SVG, and as an HTML page that
// shows values under the pointer. It knows neither schemas nor Bigtable. Equal charts give equal
// bytes.
//
// It is written by hand, since no library for Go draws what is needed here. gonum.org/v1/plot
// refuses NaN, joins its points across gaps, places ticks at round numbers of seconds instead of
// local hours and months, has no dark mode, and adds nine modules with fonts and a PDF writer.
// go-echarts needs ECharts (1 MB of JavaScript), which it loads from a server. ntcharts is a part of
// Bubble Tea, an event loop. asciigraph has no dependencies, but draws one value a column without
// bands, with ticks at equal distances.
//
// A chart has one panel for each field, since fields have different units, and one line for each
// series in it; a terminal has a panel for each series, so that lines are told apart without colors.
// A line shows windows, usually their means, and a band behind it their minima and maxima. It ends
// where windows are missing. Single events are dots.
package chart

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/words"
)

// MaxSeries is the largest number of series that a chart draws: six colors, each with a solid and a
// dashed line. It draws the first ones of more, and says so.
const MaxSeries = 2 * colors

// MaxFields is the largest number of fields that a chart draws.
const MaxFields = 24

// Chart is what is drawn. Its text is untrusted: it may contain anything.
type Chart struct {
	Title    string
	From, To time.Time // if From is not before To, the range of the points
	Zone     *time.Location
	Width    string   // the width of windows, for people: "12h"
	Line     string   // what lines show: "mean" if it is empty
	Series   []string // names
	Fields   []Field
	Notes    []string // what the reader has to know, such as what is missing
}

// Field is a panel of a chart.
type Field struct {
	Name, Unit string
	Lines      [][]Point // one for each of Chart.Series, each in order of time
}

// Point summarizes the values of a window, or is the value of one event.
type Point struct {
	Start, End     time.Time // equal for one event
	Min, Max, Mean float64   // Mean is what the line shows
	Count          int64     // number of values; without any, the line has a gap
	Inexact        bool      // the window may differ from the events that were written
}

// At returns the point of one event.
func At(at time.Time, value float64) Point {
	return Point{Start: at, End: at, Min: value, Max: value, Mean: value, Count: 1}
}

// single reports whether the point is one event.
func (p *Point) single() bool { return !p.End.After(p.Start) }

// middle returns the middle of the window.
func (p *Point) middle() time.Time { return p.Start.Add(p.End.Sub(p.Start) / 2) }

// finite reports whether the point can be drawn.
func (p *Point) finite() bool {
	sum := p.Min - p.Min + p.Max - p.Max + p.Mean - p.Mean // 0, or NaN
	return sum == 0
}

// view is a chart with what all formats derive from it. Its text is printable.
type view struct {
	title           string
	notes           []string
	series          []string
	panels          []panel
	time            timeScale
	longest         int  // the largest number of points of a line
	windows, events bool // what the points are
	bands           bool
	inexact         inexact
	width, shows    string // Width and Line of Chart
}

// inexact are the drawn windows of a panel that are inexact.
type inexact struct {
	count    int
	from, to time.Time
}

// add adds a point.
func (n *inexact) add(p *Point) {
	if n.count++; n.count == 1 || p.Start.Before(n.from) {
		n.from = p.Start
	}
	if p.End.After(n.to) {
		n.to = p.End
	}
}

// panel is a field with its scale.
type panel struct {
	name, unit string
	lines      []line
	low, high  float64 // of all lines
	empty      bool    // without values
}

// line is the points of a series that can be drawn, as runs without gaps. Single events are runs of
// their own.
type line struct {
	runs  [][]Point
	stats stats
}

// stats summarizes all points of a line.
type stats struct {
	count          int64
	min, max, mean float64
	last           float64
}

// The maximum numbers of columns of texts.
const (
	maxName = 64
	maxUnit = 16
)

// view prepares a chart.
func (c *Chart) view() *view {
	v := &view{title: words.Printable(c.Title), width: short(c.Width, maxName), shows: short(cmp.Or(c.Line, "mean"), maxUnit), time: timeScale{zone: c.Zone}}
	if v.time.zone == nil {
		v.time.zone = time.UTC
	}
	for _, note := range c.Notes {
		v.notes = append(v.notes, words.Printable(note))
	}
	drawn := min(len(c.Series), MaxSeries)
	for _, name := range c.Series[:drawn] {
		v.series = append(v.series, short(name, maxName))
	}
	if more := len(c.Series) - drawn; more > 0 {
		v.note("%s not drawn: a chart has at most %d", words.Count(float64(more), "more series is", "more series are"), MaxSeries)
	}
	if drawn == 0 {
		v.series, drawn = []string{""}, 1 // for panels without values
	}
	fields := c.Fields[:min(len(c.Fields), MaxFields)]
	if more := len(c.Fields) - len(fields); more > 0 {
		v.note("%s not drawn: a chart has at most %d", words.Count(float64(more), "more field is", "more fields are"), MaxFields)
	}
	v.time.cover(c, fields, drawn)
	var most inexact // of all panels, which usually have the same ones
	for i := range fields {
		v.inexact = inexact{}
		if v.add(&fields[i], drawn); v.inexact.count > most.count {
			most = v.inexact
		}
	}
	if form := v.timeForm(); most.count > 0 {
		v.note("%s inexact, between %s: events had expired before the rollup had all of their changes, or windows this narrow",
			words.Count(float64(most.count), "window is", "windows are"), most.from.In(v.time.zone).Format(form)+" and "+most.to.In(v.time.zone).Format(form))
	}
	return v
}

func (v *view) note(format string, args ...any) {
	v.notes = append(v.notes, fmt.Sprintf(format, args...))
}

// short returns a text that is printable, with at most a number of columns.
func short(text string, columns int) string {
	if text = words.Printable(text); words.Width(text) <= columns {
		return text
	}
	head, _ := cut(text, columns-1)
	return head + "…"
}

// cut cuts a text after at most a number of columns.
func cut(text string, columns int) (head, rest string) {
	for i, r := range text {
		if columns -= words.Width(string(r)); columns < 0 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// wrap breaks a text into lines of at most a number of columns, between words if it can.
func wrap(text string, columns int) []string {
	var out []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && words.Width(line+" "+word) > columns {
			out = append(out, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
		for words.Width(line) > columns {
			head, rest := cut(line, columns)
			out, line = append(out, head), rest
		}
	}
	return append(out, line)
}

// add adds a panel.
func (v *view) add(f *Field, drawn int) {
	p := panel{name: short(f.Name, maxName), unit: short(f.Unit, maxUnit), low: math.Inf(1), high: math.Inf(-1)}
	undrawn := 0
	for i := range drawn {
		var points []Point
		if i < len(f.Lines) {
			points = f.Lines[i]
		}
		l, not := v.line(points)
		undrawn += not
		if l.stats.count > 0 {
			p.low, p.high = min(p.low, l.stats.min), max(p.high, l.stats.max)
		}
		p.lines = append(p.lines, l)
	}
	if p.low > p.high {
		p.low, p.high, p.empty = 0, 1, true
	}
	if undrawn > 0 {
		v.note("%s: %s, since NaN and infinities cannot be drawn", p.name, words.Count(float64(undrawn), "gap", "gaps"))
	}
	v.panels = append(v.panels, p)
}

// line splits points into runs, and returns how many cannot be drawn.
func (v *view) line(points []Point) (l line, undrawn int) {
	var joined []Point
	drawn := 0
	end := func() {
		if len(joined) > 0 {
			l.runs = append(l.runs, joined)
		}
		drawn, joined = drawn+len(joined), nil
	}
	for _, p := range points {
		switch {
		case p.Count == 0 || !v.time.holds(&p):
			continue // the next point is not adjacent
		case !p.finite():
			undrawn++
			continue
		}
		p.Min, p.Max = min(p.Min, p.Max, p.Mean), max(p.Min, p.Max, p.Mean)
		if n := len(joined); n > 0 && (p.single() || joined[n-1].single() || !p.Start.Equal(joined[n-1].End)) {
			end()
		}
		joined = append(joined, p)
		if l.stats.add(&p); p.Inexact {
			v.inexact.add(&p)
		}
		v.windows = v.windows || !p.single()
		v.bands = v.bands || p.Min < p.Max
		v.events = v.events || p.single()
	}
	end()
	v.longest = max(v.longest, drawn)
	return l, undrawn
}

// points yields all points that are drawn.
func (v *view) points() iter.Seq[*Point] {
	return func(yield func(*Point) bool) {
		for i := range v.panels {
			for _, l := range v.panels[i].lines {
				for _, run := range l.runs {
					for k := range run {
						if !yield(&run[k]) {
							return
						}
					}
				}
			}
		}
	}
}

// add adds a point. The mean is that of all values, computed so that it cannot overflow.
func (s *stats) add(p *Point) {
	if s.count == 0 {
		s.min, s.max = p.Min, p.Max
	}
	s.min, s.max, s.last = min(s.min, p.Min), max(s.max, p.Max), p.Mean
	s.count += p.Count
	share := float64(p.Count) / float64(s.count)
	s.mean = s.mean*(1-share) + p.Mean*share
}

// about says what lines, bands and dots are.
func (v *view) about() string {
	var parts []string
	if v.windows {
		text := "line: " + v.shows
		if v.bands {
			text += ", band: minimum to maximum"
		}
		parts = append(parts, text+" of each "+cmp.Or(v.width, "window"))
	}
	if v.events {
		parts = append(parts, "dot: one event")
	}
	return strings.Join(parts, "; ")
}

// heading is the name of a field with its unit.
func (p *panel) heading() string {
	if p.unit == "" {
		return p.name
	}
	return p.name + " (" + p.unit + ")"
}

// summary describes a panel in a sentence, for those who do not see it.
func (v *view) summary(p *panel) string {
	var parts []string
	for i := range p.lines {
		s := &p.lines[i].stats
		if s.count == 0 {
			continue
		}
		text := fmt.Sprintf("%s to %s, mean %s", number(s.min), number(s.max), number(s.mean))
		if len(v.series) > 1 {
			text = v.series[i] + ": " + text
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return p.heading() + ": no values"
	}
	return p.heading() + ": " + strings.Join(parts, "; ")
}

// timeForm returns the layout of times.
func (v *view) timeForm() string {
	form := "2006-01-02 15:04"
	switch step := v.time.seconds(); {
	case step < 10:
		form = "2006-01-02 15:04:05.999999999"
	case step < 600:
		form = "2006-01-02 15:04:05"
	}
	return form
}

// times returns the range of the chart and its time zone, for people.
func (v *view) times() string {
	form := v.timeForm()
	from, to := v.time.from.In(v.time.zone), v.time.to.In(v.time.zone)
	return from.Format(form) + " to " + to.Format(form) + ", " + zoneName(from, to)
}

// zoneName names the time zone of a range.
func zoneName(from, to time.Time) string {
	name := from.Location().String()
	if name == "UTC" {
		return name
	}
	abbreviations := []string{from.Format("MST"), from.Add(to.Sub(from) / 2).Format("MST"), to.Format("MST")}
	abbreviations = slices.Compact(abbreviations)
	if n := len(abbreviations); n == 3 && abbreviations[0] == abbreviations[2] {
		abbreviations = abbreviations[:2]
	}
	return fmt.Sprintf("%s (%s)", name, strings.Join(abbreviations, ", "))
}
