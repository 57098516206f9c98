package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/internal/chart"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// plot is a chart and what it is made from.
type plot struct {
	*selected
	chart.Chart
	client      store.Client
	options     store.ReaderOptions
	layout      *layout.Layout
	param       func(name string) string // of parameters in messages
	fields      []int                    // of layout.Fields: those of Chart.Fields
	statistic   dynamic.Statistic
	every       window.Width
	begins      bool           // the user names the first time
	ends        bool           // and the last
	fixed       bool           // every is what the user wants
	pixels      int            // largest number of windows of a line
	lines       map[string]int // by series, as text
	more        bool           // there are more series than a chart has
	undecodable int            // in the read that met most of them, which may be the one for the range
	lacking     int            // windows whose events have expired, and that no rollup has
	cut         bool           // some of them do not consist of windows of the rollup
	progress    *meter
}

// choose chooses the fields to draw: those with the names, or all that can be drawn.
func (d *plot) choose(names []string) error {
	l := d.layout
	var drawable []string
	for i := range l.Fields {
		f := &l.Fields[i]
		if _, ok := d.statistic.Type(f); !ok || !d.isNumber(f) {
			continue
		}
		if drawable = append(drawable, f.Name); names == nil {
			d.add(i)
		}
	}
	if len(drawable) == 0 {
		return fmt.Errorf("schema %s has no field that is a number or a duration: there is nothing to draw", l.Name)
	}
	if names != nil && len(names) == 0 {
		return fmt.Errorf("%s: no fields are given; the schema has %s", d.param("fields"), strings.Join(drawable, ", "))
	}
	for _, name := range names {
		i := slices.IndexFunc(l.Fields, func(f layout.Field) bool { return f.Name == name })
		if i < 0 || !slices.Contains(drawable, name) {
			return fmt.Errorf("%s: the schema has no number or duration %q; it has %s", d.param("fields"), name, strings.Join(drawable, ", "))
		}
		d.add(i)
	}
	return nil
}

// isNumber reports whether the statistic of a field is a number.
func (d *plot) isNumber(f *layout.Field) bool {
	_, number := dynamic.Max.Type(f)
	return number || d.statistic == dynamic.Count
}

// add adds a field, once.
func (d *plot) add(i int) {
	if slices.Contains(d.fields, i) {
		return
	}
	f := &d.layout.Fields[i]
	unit := f.Unit
	if f.Type == schema.Duration {
		unit = "s"
	}
	switch d.statistic {
	case dynamic.Count:
		unit = ""
	case dynamic.Rate:
		unit += "/s"
	}
	d.fields = append(d.fields, i)
	d.Fields = append(d.Fields, chart.Field{Name: f.Name, Unit: unit})
}

// read reads what the chart shows.
func (d *plot) read(ctx context.Context) error {
	if err := d.span(ctx); err != nil {
		return err
	}
	if !d.fixed {
		d.setWidth(d.to.Sub(d.from)/time.Duration(d.pixels), d.rollupWidth())
	}
	err := d.summarize(ctx)
	if err == nil && !d.fixed {
		err = d.adapt(ctx)
	}
	d.cover()
	for k, i := range d.fields {
		if d.layout.Fields[i].Type == schema.Duration && d.statistic != dynamic.Count && d.statistic != dynamic.Rate {
			scaleDurations(&d.Fields[k])
		}
	}
	if d.more {
		d.Notes = append(d.Notes, fmt.Sprintf("only the first %d series are drawn: select fewer", chart.MaxSeries))
	}
	if d.lacking > 0 {
		d.Notes = append(d.Notes, countOf(d.lacking, "window")+" may lack events, which have expired"+d.advice())
	}
	if d.undecodable > 0 {
		d.Notes = append(d.Notes, undecodableText(d.undecodable)+": the chart lacks "+words.Plural(d.undecodable, "it", "them"))
	}
	return err
}

// advice says what windows that may lack events want, of which some cut those of a rollup.
func (d *plot) advice() string {
	if !d.cut {
		return ""
	}
	width := schema.FormatDuration(slices.Max(d.rollups()))
	return fmt.Sprintf(": the rollup has whole windows of %[1]s; use %[2]s %[1]s or a multiple, and such times as %[3]s and %[4]s", width, d.param("every"), d.param("from"), d.param("to"))
}

// lacks counts a window whose events have expired.
func (d *plot) lacks(w *dynamic.Window) {
	d.lacking++
	d.cut = d.cut || d.cuts(codec.Later(w.Start, d.from)) || d.cuts(codec.Earlier(w.End, d.to))
}

// adapt reads again where windows of about a pixel are no good choice: events that are few, and windows that would have gaps
// because events are typically further apart.
func (d *plot) adapt(ctx context.Context) error {
	if values := d.values(); d.statistic == dynamic.Mean && d.few() {
		if err := d.events(ctx); err != nil || d.values() >= values {
			return err
		}
		return d.summarize(ctx) // some have expired, and only a rollup has their windows
	}
	if apart := d.apart(); apart > 0 {
		d.setWidth(apart, d.rollupWidth())
		return d.summarize(ctx)
	}
	return nil
}

// each yields windows of what is selected. It reports events that cannot be decoded, unless a read before has done so.
func (d *plot) each(ctx context.Context, width window.Width) iter.Seq2[dynamic.Window, error] {
	begun, events, undecodable := time.Now(), 0, 0
	windows := d.selected.windows(ctx, d.client, d.options, width, store.WindowOptions{Fields: fieldsOf(d.layout, d.fields)})
	all := decodable(windows, func(err error) {
		if undecodable++; undecodable > d.undecodable {
			d.undecodable = undecodable
			d.progress.reportUndecodable(err, undecodable)
		}
	})
	return func(yield func(dynamic.Window, error) bool) {
		for w, err := range all {
			events += int(w.Events)
			d.progress.show(func() string { return rateText(events, "event", begun) })
			if !yield(w, err) || err != nil {
				return
			}
		}
	}
}

// errNoValues is the error for a range of events without any.
var errNoValues = errors.New("nothing is drawn, since no event that is selected has a value of these fields; with --from and --to, the chart is empty")

// span sets the range of the chart: an end that the user does not name is that of the events, and what is read extends to whole
// windows of rollups there.
func (d *plot) span(ctx context.Context) error {
	d.From, d.To = d.from, d.to
	if d.begins, d.ends = !d.from.IsZero(), d.to.Before(scan.MaxTime); d.begins && d.ends {
		return nil
	}
	first, last, err := d.extent(d.each(ctx, window.Whole()), d.fields)
	if err != nil {
		return err
	}
	if first.IsZero() {
		return errNoValues
	}
	from, to := d.outward(first, last.Add(1))
	if !d.begins {
		d.from, d.From = from, first
	}
	if !d.ends {
		d.to, d.To = to, last
	}
	return nil
}

// scaleDurations changes the unit of a field from seconds to the largest one that its values have.
func scaleDurations(f *chart.Field) {
	largest := 0.0
	each := func(do func(p *chart.Point)) {
		for _, line := range f.Lines {
			for i := range line {
				do(&line[i])
			}
		}
	}
	each(func(p *chart.Point) { largest = max(largest, math.Abs(p.Min), math.Abs(p.Max)) })
	seconds := 1.0
	for _, unit := range []struct {
		name    string
		seconds float64
	}{{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}} {
		if largest >= unit.seconds {
			f.Unit, seconds = unit.name, unit.seconds
			break
		}
	}
	each(func(p *chart.Point) { p.Min, p.Max, p.Mean = p.Min/seconds, p.Max/seconds, p.Mean/seconds })
}

// cover extends the ends of the chart that the user does not name over windows that hold them, unless
// these are so wide that the chart would show more times without events than with them.
func (d *plot) cover() {
	widest := d.To.Sub(d.From) / 2
	for _, line := range d.all() {
		for i := range line {
			if line[i].End.Sub(line[i].Start) > widest {
				continue
			}
			if line[i].Start.Before(d.From) && !d.begins {
				d.From = line[i].Start
			}
			if line[i].End.After(d.To) && !d.ends {
				d.To = line[i].End
			}
		}
	}
}

// summarize reads the windows of the chart.
func (d *plot) summarize(ctx context.Context) error {
	d.clear()
	for w, err := range d.each(ctx, d.every) {
		if err != nil {
			return err
		}
		line, ok := d.line(w.Series)
		if !ok {
			break
		}
		if w.Inexact && w.Events == 0 {
			d.lacks(&w)
		}
		for k, i := range d.fields {
			if p, ok := d.point(&w, i); ok {
				if err := d.append(k, line, p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// maxPoints is the largest number of points of a line. It bounds memory.
const maxPoints = 20_000

// append appends a point to a line of a field.
func (d *plot) append(field, line int, p chart.Point) error {
	lines := d.Fields[field].Lines
	if lines[line] = append(lines[line], p); len(lines[line]) > maxPoints {
		return fmt.Errorf("a series has more than %s windows of %s, and nothing is drawn: use wider ones (%s), or a shorter range", words.Number(maxPoints), d.Width, d.param("every"))
	}
	return nil
}

// clear removes all lines.
func (d *plot) clear() {
	d.Series, d.lines, d.more = nil, map[string]int{}, false
	d.lacking, d.cut = 0, false
	for k := range d.Fields {
		d.Fields[k].Lines = nil
	}
	if d.of == ofSeries && d.many != nil { // so that each has the same color in all ranges
		for _, series := range d.wholes() {
			d.line(series)
		}
	}
}

// line returns the number of the line of a series, which it adds if the chart has none. It returns
// false if there are too many.
func (d *plot) line(series []any) (int, bool) {
	name := string(format.AppendSeries(nil, format.Columns(d.layout)[:len(d.layout.Series)], &dynamic.Event{Series: series}))
	i, known := d.lines[name]
	switch {
	case known:
		return i, true
	case len(d.Series) == chart.MaxSeries:
		d.more = true
		return 0, false
	}
	i = len(d.Series)
	d.lines[name] = i
	d.Series = append(d.Series, name)
	for k := range d.Fields {
		d.Fields[k].Lines = append(d.Fields[k].Lines, nil)
	}
	return i, true
}

// point returns the point of a field in a window; false if it has none.
func (d *plot) point(w *dynamic.Window, i int) (chart.Point, bool) {
	f := &d.layout.Fields[i]
	of := func(s dynamic.Statistic) (float64, bool) { return asFloat(s.Of(w, f, i)) }
	count, _ := dynamic.Count.Of(w, f, i).(int64)
	v, ok := of(d.statistic)
	if !ok || count == 0 {
		return chart.Point{}, false
	}
	p := chart.Point{Start: w.Start, End: w.End, Min: v, Max: v, Mean: v, Count: count, Inexact: w.Inexact}
	if d.statistic == dynamic.Mean {
		p.Min, _ = of(dynamic.Min)
		p.Max, _ = of(dynamic.Max)
	}
	return p, true
}

// asFloat converts a number. Durations are in seconds.
func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	case time.Duration:
		return v.Seconds(), true
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, true
	}
	return 0, false
}

// fewEvents is the largest number of events of a line that are drawn one by one.
const fewEvents = 100

// few reports whether all lines have few events.
func (d *plot) few() bool {
	for _, line := range d.all() {
		count := int64(0)
		for i := range line {
			count += line[i].Count
		}
		if count > fewEvents {
			return false
		}
	}
	return true
}

// values returns the number of values of all lines.
func (d *plot) values() (n int64) {
	for _, line := range d.all() {
		for i := range line {
			n += line[i].Count
		}
	}
	return n
}

// all returns the lines of all fields.
func (d *plot) all() [][]chart.Point {
	var out [][]chart.Point
	for k := range d.Fields {
		out = append(out, d.Fields[k].Lines...)
	}
	return out
}

// events reads single events.
func (d *plot) events(ctx context.Context) error {
	d.clear()
	events := d.selected.events(ctx, d.client, d.options, store.ReadOptions{Fields: fieldsOf(d.layout, d.fields)})
	for e, err := range decodable(events, func(error) {}) { // which were counted before
		if err != nil {
			return err
		}
		line, ok := d.line(e.Series)
		if !ok {
			return nil
		}
		for k, i := range d.fields {
			if v, ok := asFloat(e.Values[i]); ok {
				if err := d.append(k, line, chart.At(e.Time, v)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// leastDistances is the least number of distances in a line that tell how far its events are
// typically apart.
const leastDistances = 10

// apart returns the typical distance of windows with events: the median, or one window more if that
// holds for nine of ten, so that windows of regular events have no gaps. It is 0 if typical windows are
// adjacent. A line whose typical window has several values does not count: its events are closer
// than windows, and gaps are pauses, which stay visible.
func (d *plot) apart() time.Duration {
	var distances []time.Duration
	longest := time.Duration(0) // window
	for _, line := range d.all() {
		if len(line) <= leastDistances || medianCount(line) > 1 {
			continue
		}
		for i := 1; i < len(line); i++ {
			distances = append(distances, line[i].Start.Sub(line[i-1].Start))
			longest = max(longest, line[i].End.Sub(line[i].Start))
		}
	}
	if len(distances) == 0 {
		return 0
	}
	slices.Sort(distances)
	typical := distances[len(distances)/2]
	if most := distances[len(distances)*9/10]; most <= typical+longest {
		typical = most
	}
	if typical <= longest {
		return 0
	}
	return typical
}

// medianCount returns the number of values of the typical window of a line.
func medianCount(line []chart.Point) int64 {
	var counts []int64
	for i := range line {
		counts = append(counts, line[i].Count)
	}
	slices.Sort(counts)
	return counts[len(counts)/2]
}

// plotWidths are the widths of windows that a chart chooses, in ascending order.
var plotWidths = func() []plotWidth {
	const day = 24 * time.Hour
	var out []plotWidth
	add := func(unit time.Duration, name string, numbers ...int) {
		for _, n := range numbers {
			out = append(out, plotWidth{time.Duration(n) * unit, strconv.Itoa(n) + name})
		}
	}
	add(time.Second, "s", 1, 2, 5, 10, 15, 30)
	add(time.Minute, "m", 1, 2, 5, 10, 15, 30)
	add(time.Hour, "h", 1, 2, 3, 6, 12)
	add(day, "d", 1, 2, 3)
	add(7*day, "w", 1, 2)
	add(30*day, "mo", 1, 3)
	add(365*day, "y", 1, 2, 5, 10, 20, 50, 100)
	return out
}()

// plotWidth is a width of windows, and about how long they are.
type plotWidth struct {
	length time.Duration
	text   string
}

// setWidth chooses the width of windows: at least a duration, and the precision of the schema. If a rollup has a width, which is then
// not 0, they consist of its windows.
func (d *plot) setWidth(least, rollup time.Duration) {
	least = min(max(least, rollup, d.layout.Precision, 1), plotWidths[len(plotWidths)-1].length)
	for unit := time.Duration(1); unit < time.Second; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if width := n * unit; width >= least {
				d.every, d.Width = window.Every(width), width.String()
				return
			}
		}
	}
	for _, w := range plotWidths {
		if rollup > 0 && (w.length > 5*least || !d.consists(w, rollup)) {
			continue
		}
		if width, err := window.Parse(w.text, d.Zone); err == nil {
			d.every, d.Width = width, w.text
		}
		if w.length >= least {
			return
		}
	}
	if rollup > 0 { // no usual width near the least one is a multiple
		n := (least + rollup - 1) / rollup
		d.every, d.Width = window.Every(n*rollup), multipleText(n*rollup)
	}
}

// consists reports whether windows consist of those of a rollup.
func (d *plot) consists(w plotWidth, rollup time.Duration) bool {
	const day = 24 * time.Hour
	switch {
	case w.length < day:
		return w.length%rollup == 0
	case w.length >= 30*day: // calendar months
		return day%rollup == 0 && d.wholeOffsets(rollup)
	}
	return w.length%rollup == 0 && d.wholeOffsets(rollup)
}

// wholeOffsets reports whether the offsets of the time zone in the range are whole multiples of a width, as far as those of a year and
// that of the end show.
func (d *plot) wholeOffsets(width time.Duration) bool {
	whole := func(at time.Time) bool {
		_, seconds := at.In(d.Zone).Zone()
		return time.Duration(seconds)*time.Second%width == 0
	}
	for month := range 12 {
		if at := d.From.AddDate(0, month, 0); at.Before(d.To) && !whole(at) {
			return false
		}
	}
	return whole(d.To)
}

// multipleText returns a width of whole seconds in its largest unit that does not depend on a time zone.
func multipleText(width time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}} {
		if width%unit.of == 0 {
			return strconv.FormatInt(int64(width/unit.of), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(width/time.Second), 10) + "s"
}
