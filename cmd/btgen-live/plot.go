package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/cmd/internal/chart"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// draw draws a chart.
func draw(ctx context.Context, r *request) error {
	pixels := plotPixels
	if r.format == "text" {
		pixels = 2 * cmp.Or(columns(r.cmd.OutOrStdout()), 80)
	}
	p, err := r.plot(pixels)
	if err != nil {
		return err
	}
	title := append([]string{r.name}, r.args...)
	if r.query != "" {
		title = slices.Insert(title, 1, r.query)
	}
	p.Title, p.progress = strings.Join(title, " "), newMeter(r.cmd)
	err = p.read(ctx)
	p.progress.end()
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted: nothing is drawn")
	case err != nil:
		return err
	}
	if err := r.writeChart(&p.Chart); err != nil {
		return err
	}
	return p.progress.done()
}

// plot returns the chart that the parameters describe, without lines.
func (r *request) plot(pixels int) (*plot, error) {
	p := &plot{request: r, pixels: pixels, fixed: r.every != "", lines: map[string]int{}}
	p.Zone, p.Line = r.zone, r.show
	var err error
	if p.statistic, err = dynamic.ParseStatistic(r.show); err != nil || p.statistic == dynamic.FirstTime || p.statistic == dynamic.LastTime {
		return nil, fmt.Errorf("%s %q: must be %s", r.param("show"), r.show, expanded("{shown}"))
	}
	if p.fixed {
		if p.wide, err = r.width(); err != nil {
			return nil, err
		}
		if p.Width = r.every; p.wide == window.Whole() {
			p.Width = "series"
		}
	}
	return p, p.chooseFields(r.fields)
}

// writeChart writes the chart to stdout or a file.
func (r *request) writeChart(c *chart.Chart) (err error) {
	out := r.cmd.OutOrStdout()
	var text []byte
	switch r.format {
	case "svg":
		text = c.SVG()
	case "html":
		text, err = c.HTML()
	default:
		text = c.Text(columns(out), r.output == "" && cli.Colored(out))
	}
	switch {
	case err != nil:
		return err
	case r.output != "":
		return cli.Write(r.cmd.Context(), r.output, text)
	case r.format != "text":
		out = cli.Unguarded(out)
	}
	_, err = out.Write(text)
	return err
}

// columns returns the width of a chart as text: that of the terminal, or else that of the environment
// variable COLUMNS; 0 if neither is known.
func columns(out io.Writer) int {
	n, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return cmp.Or(cli.Width(out), max(n, 0))
}

// plotPixels is the largest number of windows of a line of a drawing.
const plotPixels = 800

// plot is a chart of what a request selects.
type plot struct {
	*request
	chart.Chart
	drawn     []int // indexes in the layout of the fields of the chart
	statistic dynamic.Statistic
	wide      window.Width
	begins    bool           // the user names the first time
	ends      bool           // and the last
	fixed     bool           // the user names the width
	pixels    int            // largest number of windows of a line
	lines     map[string]int // by series, as text
	more      bool           // there are more series than a chart has
	unknown   int            // windows whose statistics of a sketch are unknown
	lacking   int            // windows whose events have expired, and that no rollup has
	cut       bool           // some of them do not consist of windows of the rollup
	progress  *meter         // whose undecodable events are those of the read that met most of them
}

// chooseFields chooses the fields to draw: those with the names, or all that can be drawn.
func (d *plot) chooseFields(names []string) error {
	l := d.schema.Layout()
	var drawable []string
	for i := range l.Fields {
		_, has := d.statistic.Type(&l.Fields[i])
		_, number := dynamic.Max.Type(&l.Fields[i])
		if has && (number || d.statistic == dynamic.Count) {
			drawable = append(drawable, l.Fields[i].Name)
		}
	}
	wanted, sketch := "number or duration", d.statistic.Sketch()
	if sketch != nil {
		wanted = "field with `" + sketch.Key + ": true`"
	}
	switch {
	case len(drawable) == 0 && sketch != nil:
		return fmt.Errorf("%s %s: schema %s has no %s", d.param("show"), d.statistic, l.Name, wanted)
	case len(drawable) == 0:
		return fmt.Errorf("schema %s has no field that is a number or a duration: there is nothing to draw", l.Name)
	case names == nil:
		names = drawable
	case len(names) == 0:
		return fmt.Errorf("%s: no fields are given; the schema has %s", d.param("fields"), strings.Join(drawable, ", "))
	}
	for _, name := range names {
		if !slices.Contains(drawable, name) {
			return fmt.Errorf("%s: the schema has no %s %q; it has %s", d.param("fields"), wanted, name, strings.Join(drawable, ", "))
		}
		i := slices.IndexFunc(l.Fields, func(f layout.Field) bool { return f.Name == name })
		if slices.Contains(d.drawn, i) {
			continue
		}
		unit := l.Fields[i].Unit
		if l.Fields[i].Type == schema.Duration {
			unit = "s"
		}
		switch d.statistic {
		case dynamic.Count:
			unit = ""
		case dynamic.Rate:
			unit += "/s"
		}
		d.drawn, d.Fields = append(d.drawn, i), append(d.Fields, chart.Field{Name: name, Unit: unit})
	}
	return nil
}

// read reads what the chart shows.
func (d *plot) read(ctx context.Context) error {
	if err := d.span(ctx); err != nil {
		return err
	}
	if !d.fixed {
		d.setWidth(d.to.Sub(d.from)/time.Duration(d.pixels), d.rollupWidth())
	}
	err := d.readWindows(ctx)
	if err == nil && !d.fixed {
		err = d.adapt(ctx)
	}
	d.cover()
	for k, i := range d.drawn {
		if d.schema.Layout().Fields[i].Type == schema.Duration && d.statistic != dynamic.Count && d.statistic != dynamic.Rate {
			scaleDurations(&d.Fields[k])
		}
	}
	if d.more {
		d.Notes = append(d.Notes, fmt.Sprintf("only the first %d series are drawn: select fewer", chart.MaxSeries))
	}
	if d.unknown > 0 {
		sketch, have := d.statistic.Sketch(), words.Plural(d.unknown, "has", "have")
		d.Notes = append(d.Notes, fmt.Sprintf("%s %s no %s: %s", countOf(d.unknown, "window"), have, sketch.Plural, sketch.Unknown))
	}
	if d.lacking > 0 {
		note := countOf(d.lacking, "window") + " may lack events, which have expired"
		if d.cut {
			widest := slices.Max(d.rollups())
			width := schema.FormatDuration(widest)
			if !d.consists(widest, widest, d.Zone) {
				width = fmt.Sprintf("%q", width+" in UTC")
			}
			note += fmt.Sprintf(": the rollup has whole windows of %[1]s; use %[2]s %[1]s or a multiple, and such times as %[3]s and %[4]s",
				width, d.param("every"), d.param("from"), d.param("to"))
		}
		d.Notes = append(d.Notes, note)
	}
	if n := d.progress.undecodable; n > 0 {
		d.Notes = append(d.Notes, undecodableText(n)+": the chart lacks "+words.Plural(n, "it", "them"))
	}
	return err
}

// adapt reads again where windows of about a pixel are no good choice: events that are few, and windows that would have gaps
// because events are typically further apart.
func (d *plot) adapt(ctx context.Context) error {
	if values := d.values(); d.statistic == dynamic.Mean && d.few() {
		if err := d.readEvents(ctx); err != nil || d.values() >= values {
			return err
		}
		return d.readWindows(ctx) // some have expired, and only a rollup has their windows
	}
	if apart := d.apart(); apart > 0 {
		d.setWidth(apart, d.rollupWidth())
		return d.readWindows(ctx)
	}
	return nil
}

// each yields windows of what is selected. It reports events that cannot be decoded, unless a read before has done so.
func (d *plot) each(ctx context.Context, width window.Width) iter.Seq2[dynamic.Window, error] {
	begun, events, undecodable := time.Now(), 0, 0
	windows := d.windowsOf(ctx, width, store.WindowOptions{Fields: d.fieldsOf(d.drawn)})
	all := decodable(windows, func(err error) {
		if undecodable++; undecodable > d.progress.undecodable {
			d.progress.skip(err)
		}
	})
	return func(yield func(dynamic.Window, error) bool) {
		for w, err := range all {
			events += int(w.Events)
			d.progress.show(func() string { return rateText(events, begun) })
			if !yield(w, err) || err != nil {
				return
			}
		}
	}
}

// errNoValues is the error for a range of events without any.
var errNoValues = errors.New("nothing is drawn, since no event that is selected has a value of these fields; " +
	"with --from and --to, the chart is empty")

// span sets the range of the chart: an end that the user does not name is that of the events, and what is read extends to whole
// windows of rollups there.
func (d *plot) span(ctx context.Context) error {
	d.From, d.To = d.from, d.to
	if d.begins, d.ends = !d.from.IsZero(), d.to.Before(scan.MaxTime); d.begins && d.ends {
		return nil
	}
	first, last, err := d.extent(d.each(ctx, window.Whole()), d.drawn)
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
	for _, line := range f.Lines {
		for _, p := range line {
			largest = max(largest, math.Abs(p.Min), math.Abs(p.Max))
		}
	}
	for _, unit := range []struct {
		name    string
		seconds float64
	}{{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}} {
		if largest < unit.seconds {
			continue
		}
		f.Unit = unit.name
		for _, line := range f.Lines {
			for i := range line {
				p := &line[i]
				p.Min, p.Max, p.Mean = p.Min/unit.seconds, p.Max/unit.seconds, p.Mean/unit.seconds
			}
		}
		return
	}
}

// cover extends the ends of the chart that the user does not name over windows that hold them, unless
// these are so wide that the chart would show more times without events than with them.
func (d *plot) cover() {
	widest := d.To.Sub(d.From) / 2
	for _, line := range d.all() {
		for _, p := range line {
			if p.End.Sub(p.Start) > widest {
				continue
			}
			if !d.begins {
				d.From = codec.Earlier(d.From, p.Start)
			}
			if !d.ends {
				d.To = codec.Later(d.To, p.End)
			}
		}
	}
}

// readWindows reads the windows of the chart.
func (d *plot) readWindows(ctx context.Context) error {
	d.clear()
	for w, err := range d.each(ctx, d.wide) {
		if err != nil {
			return err
		}
		line, ok := d.line(w.Series)
		if !ok {
			break
		}
		if w.Inexact && w.Events == 0 {
			d.lacking++
			d.cut = d.cut || d.cuts(codec.Later(w.Start, d.from)) || d.cuts(codec.Earlier(w.End, d.to))
		}
		for k, i := range d.drawn {
			if p, ok := d.point(&w, i); ok {
				if err := d.append(k, line, p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// readEvents reads single events. Those that cannot be decoded were counted before.
func (d *plot) readEvents(ctx context.Context) error {
	d.clear()
	for e, err := range decodable(d.events(ctx, store.ReadOptions{Fields: d.fieldsOf(d.drawn)}), func(error) {}) {
		if err != nil {
			return err
		}
		line, ok := d.line(e.Series)
		if !ok {
			return nil
		}
		for k, i := range d.drawn {
			if v, ok := asFloat(e.Values[i]); ok {
				if err := d.append(k, line, chart.At(e.Time, v)); err != nil {
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
		return fmt.Errorf("a series has more than %s windows of %s, and nothing is drawn: use wider ones (%s), or a shorter range",
			words.Number(maxPoints), d.Width, d.param("every"))
	}
	return nil
}

// clear removes all lines.
func (d *plot) clear() {
	d.Series, d.lines, d.more = nil, map[string]int{}, false
	d.unknown, d.lacking, d.cut = 0, 0, false
	for k := range d.Fields {
		d.Fields[k].Lines = nil
	}
	if d.several != nil { // so that each has the same color in all ranges
		for _, series := range d.series {
			d.line(series)
		}
	}
}

// line returns the number of the line of a series, which it adds if the chart has none. It returns
// false if there are too many.
func (d *plot) line(series []any) (int, bool) {
	name := nameSeries(d.schema.Layout(), series)
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
	f := &d.schema.Layout().Fields[i]
	of := func(s dynamic.Statistic) (float64, bool) { return asFloat(s.Of(w, f, i)) }
	count, _ := dynamic.Count.Of(w, f, i).(int64)
	v, ok := of(d.statistic)
	if d.statistic.Sketch() != nil && !ok && count > 0 {
		d.unknown++
	}
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

// all returns the lines of all fields.
func (d *plot) all() (out [][]chart.Point) {
	for k := range d.Fields {
		out = append(out, d.Fields[k].Lines...)
	}
	return out
}

// countOfLine returns the number of values of a line.
func countOfLine(line []chart.Point) (n int64) {
	for i := range line {
		n += line[i].Count
	}
	return n
}

// values returns the number of values of all lines.
func (d *plot) values() int64 { return countOfLine(slices.Concat(d.all()...)) }

// fewEvents is the largest number of events of a line that are drawn one by one.
const fewEvents = 100

// few reports whether all lines have few events.
func (d *plot) few() bool {
	return !slices.ContainsFunc(d.all(), func(line []chart.Point) bool { return countOfLine(line) > fewEvents })
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
	for unit := time.Duration(1); unit < time.Second; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			out = append(out, plotWidth{n * unit, (n * unit).String()})
		}
	}
	for _, unit := range []struct {
		length  time.Duration
		name    string
		numbers []time.Duration
	}{
		{time.Second, "s", []time.Duration{1, 2, 5, 10, 15, 30}}, {time.Minute, "m", []time.Duration{1, 2, 5, 10, 15, 30}},
		{time.Hour, "h", []time.Duration{1, 2, 3, 6, 12}}, {day, "d", []time.Duration{1, 2, 3}}, {7 * day, "w", []time.Duration{1, 2}},
		{30 * day, "mo", []time.Duration{1, 3}}, {365 * day, "y", []time.Duration{1, 2, 5, 10, 20, 50, 100}},
	} {
		for _, n := range unit.numbers {
			out = append(out, plotWidth{n * unit.length, strconv.Itoa(int(n)) + unit.name})
		}
	}
	return out
}()

// plotWidth is a width of windows, and about how long they are.
type plotWidth struct {
	length time.Duration
	text   string
}

// setWidth chooses the width of windows: at least a duration, and the precision of the schema. If a rollup has a width, which is then
// not 0, they consist of its windows: in the time zone of the chart if it is whole windows from UTC, and in UTC otherwise.
func (d *plot) setWidth(least, rollup time.Duration) {
	least = min(max(least, rollup, d.schema.Layout().Precision, 1), plotWidths[len(plotWidths)-1].length)
	for _, zone := range []*time.Location{d.Zone, time.UTC} {
		for _, w := range plotWidths {
			if w.length < least || rollup > 0 && (w.length > 5*least || !d.consists(w.length, rollup, zone)) {
				continue
			}
			d.wide, _ = window.Parse(w.text, zone) // which is one
			if d.Width = w.text; zone != d.Zone {
				d.Width = d.wide.String()
			}
			return
		}
	}
	d.wide = window.Every((least + rollup - 1) / rollup * rollup) // no usual width near the least one is a multiple of the rollup
	d.Width = d.wide.String()
}

// consists reports whether windows of a length consist of those of a rollup, in a time zone as far as a few times of the range show.
func (d *plot) consists(length, rollup time.Duration, zone *time.Location) bool {
	const day = 24 * time.Hour
	if length >= 30*day { // calendar months
		length = day
	}
	for _, at := range []time.Time{d.From, d.From.AddDate(0, 6, 0), d.To} {
		if _, seconds := at.In(zone).Zone(); time.Duration(seconds)*time.Second%rollup != 0 {
			return false
		}
	}
	return length%rollup == 0
}
