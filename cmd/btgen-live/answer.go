package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // for --zone, where the system has no time zones

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// answer is what is read for a request: rows, as events with columns. The command line prints it, and the API encodes it as JSON.
type answer struct {
	columns []format.Column
	rows    func(ctx context.Context) iter.Seq2[*dynamic.Event, error]
	one     string      // describes a row
	n       int         // rows that were returned
	events  int         // of the rows, if they are windows
	page    *store.Page // of the API; nil if the answer has no pages
	all     bool        // an answer of the API without all rows is of no use
	texts   bool        // it has all values as text
}

// readEvents prints events.
func readEvents(ctx context.Context, r *request) error {
	a, err := r.eventAnswer(nil)
	if err != nil {
		return err
	}
	err = r.print(ctx, a)
	switch {
	case r.marked > 0:
		newMeter(r.cmd).line("%s", markedText(r.marked))
	case err == nil && a.n == 0 && r.whole == "":
		newMeter(r.cmd).line("no event is selected; %s", r.example(ctx))
	}
	return err
}

// example describes the first event of the table that is read, for those who selected nothing: another spelling of a
// value, for example, or another time.
func (r *request) example(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	all := request{schema: r.schema, selected: selected{whole: r.reads.ID}, to: scan.MaxTime, client: r.client, options: r.options}
	for e, err := range all.tableEvents(ctx) {
		if err != nil {
			return err.Error()
		}
		series := nameSeries(r.schema.Layout(), e.Series)
		return fmt.Sprintf("the first in table %q is of %s at %s", r.reads.ID, series, e.Time.Format(time.RFC3339Nano))
	}
	return fmt.Sprintf("table %q has none", r.reads.ID)
}

// eventAnswer returns the answer with the events of the request, or with those of a page unless that is nil.
func (r *request) eventAnswer(page *store.Page) (*answer, error) {
	switch {
	case r.whole == "":
	case r.latest:
		return nil, fmt.Errorf("the newest event of each series (%s) needs series values, or those of a query", r.param("latest"))
	case r.newest:
		return nil, fmt.Errorf("events with the newest first (%s) need series values, or those of a query", r.param("newest-first"))
	case r.order == "time": // of the API
		return nil, errors.New("events in order of time (order=time) need series values, or those of a query")
	}
	l := r.schema.Layout()
	o := store.ReadOptions{LatestOnly: r.latest, NewestFirst: r.newest, TimeOrder: r.order == "time", Page: page}
	if r.cmd != nil {
		o.Limit = r.limit
	}
	columns := format.Columns(l)
	if r.fields != nil {
		fields, err := r.picked("fields", "field", l.Fields, r.fields)
		if err != nil {
			return nil, err
		}
		o.Fields = r.fieldsOf(fields)
		columns = slices.DeleteFunc(columns, func(c format.Column) bool { return c.OfField() && !slices.Contains(r.fields, c.Name) })
	}
	return &answer{columns: columns, one: "event", page: page, rows: func(ctx context.Context) iter.Seq2[*dynamic.Event, error] {
		return func(yield func(*dynamic.Event, error) bool) {
			for e, err := range r.events(ctx, o) {
				if o.TimeOrder && (errors.Is(err, store.ErrOrder) || errors.Is(err, store.ErrPage)) {
					err = errors.New("order=time: the rows of these events are in another order: leave it out, and sort the events, " +
						"or select one series")
				}
				if !yield(&e, err) {
					return
				}
			}
		}
	}}, nil
}

// readWindows prints windows.
func readWindows(ctx context.Context, r *request) error {
	a, err := r.windowAnswer(r.windowsOf)
	if err != nil {
		return err
	}
	if err = r.print(ctx, a); errors.Is(err, format.ErrValue) {
		err = fmt.Errorf("%w: a sum exceeds 64 bits; leave out sum, or write --format ndjson or csv", err)
	}
	return err
}

// checkWindows checks the parameters of windows.
func (r *request) checkWindows() error {
	if r.every == "" {
		return fmt.Errorf("the width of the windows is missing: write, for example, %s 1h", r.param("every"))
	}
	if _, err := r.width(); err != nil {
		return err
	}
	if r.before > 0 && r.fromText == "" {
		return errors.New("--before: nothing precedes the first event: add --from, or leave it out")
	}
	if r.fill != "none" && r.toText == "" {
		return fmt.Errorf("%s %s: windows would be filled without end; add %[3]s, such as %[3]s 2026-03-05 or, for now, %[3]s 0s",
			r.param("fill"), r.fill, r.param("to"))
	}
	return nil
}

// width returns the width of windows.
func (r *request) width() (window.Width, error) {
	width, err := window.Parse(r.every, r.zone)
	if err != nil {
		err = fmt.Errorf("%s: %w", r.param("every"), err)
	}
	return width, err
}

// windowReader reads windows of a request.
type windowReader func(ctx context.Context, width window.Width, o store.WindowOptions) iter.Seq2[dynamic.Window, error]

// windowAnswer returns the answer with the windows of the request, which restricts the read to what it has.
func (r *request) windowAnswer(read windowReader) (*answer, error) {
	l, o := r.schema.Layout(), store.WindowOptions{Before: r.before, NewestFirst: r.newest}
	width, err := r.width()
	if err != nil {
		return nil, err
	}
	if o.Fill, err = window.ParseFill(r.fill); err != nil {
		return nil, err
	}
	if r.cmd != nil {
		o.Limit = r.limit
	}
	shown := format.WindowOptions{Filled: o.Fill != window.FillNone, Zone: r.zone, Micros: width != window.Whole()}
	if shown.By, err = r.picked("by", "series value", l.Series, r.by); err != nil {
		return nil, err
	}
	if r.by != nil {
		o.By = []store.SeriesValue{}
		for _, i := range shown.By {
			o.By = append(o.By, store.SeriesValue(l.Series[i].Name))
		}
	}
	if shown.Statistics, err = r.statisticsOf(l); err != nil {
		return nil, err
	}
	var summed []int
	for _, s := range shown.Statistics {
		if !slices.Contains(summed, s.Field) {
			summed = append(summed, s.Field)
		}
	}
	if len(summed) < len(l.Fields) { // else the server need not select columns
		o.Fields = r.fieldsOf(summed)
	}
	rows := format.NewWindows(l, shown)
	a := &answer{columns: rows.Columns(), one: "window"}
	a.rows = func(ctx context.Context) iter.Seq2[*dynamic.Event, error] {
		return rows.Rows(func(yield func(dynamic.Window, error) bool) {
			for w, err := range read(ctx, width, o) {
				a.events += int(w.Events)
				if !yield(w, err) {
					return
				}
			}
		})
	}
	return a, nil
}

// statisticsOf returns the statistics of the fields of windows.
func (r *request) statisticsOf(l *layout.Layout) (out []format.Statistic, err error) {
	fields, err := r.picked("fields", "field", l.Fields, r.fields)
	if err != nil {
		return nil, err
	}
	var wanted []dynamic.Statistic
	for _, name := range r.statistics {
		s, err := dynamic.ParseStatistic(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is %w", r.param("statistics"), name, err)
		}
		wanted = append(wanted, s)
	}
	for _, i := range fields {
		f, of, before := &l.Fields[i], wanted, len(out)
		if _, number := dynamic.Mean.Type(f); r.statistics == nil && number {
			of = []dynamic.Statistic{dynamic.Mean, dynamic.Min, dynamic.Max}
		} else if r.statistics == nil {
			of = []dynamic.Statistic{dynamic.Last}
		}
		for _, s := range of {
			if _, ok := s.Type(f); ok && !slices.Contains(out[before:], format.Statistic{Field: i, Statistic: s}) {
				out = append(out, format.Statistic{Field: i, Statistic: s})
			}
		}
		if len(out) == before && r.fields != nil && f.Type.Measures() {
			return nil, withoutSketch(r, "field "+f.Name, wanted[0].Sketch())
		} else if len(out) == before && r.fields != nil {
			return nil, fmt.Errorf("%s %s: field %s has the type %s, and thus only count, first, last, first_time and last_time",
				r.param("statistics"), strings.Join(r.statistics, ","), f.Name, f.Type)
		}
	}
	for _, s := range wanted {
		is := func(o format.Statistic) bool { return o.Statistic == s }
		if x := s.Sketch(); x != nil && !slices.ContainsFunc(out, is) {
			return nil, withoutSketch(r, "schema "+l.Name, x)
		}
	}
	return out, nil
}

// withoutSketch returns the error for statistics of what lacks their sketch.
func withoutSketch(r *request, of string, x *schema.Sketch) error {
	return fmt.Errorf("%s %s: %s has no %s; write `%s: true` at fields in the schema that need them",
		r.param("statistics"), strings.Join(r.statistics, ","), of, x.Plural, x.Key)
}
