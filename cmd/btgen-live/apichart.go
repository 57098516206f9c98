package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/internal/chart"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Limits of a chart and of what the page opens with.
const (
	leastPixels = 200 // pixels
	mostPixels  = 4000
	maxOpened   = 50 // schemas that are asked for data
	firstSeries = 8  // of a schema, whose newest events are compared
	maxOpening  = 5 * time.Second
)

// chart answers with a chart, as plot draws it. An end of the range that is not given is that of the events.
func (a *api) chart(ctx context.Context, r *request) (any, error) {
	p, err := r.plot(min(plotPixels, r.pixels))
	if err != nil {
		return nil, err
	}
	out := struct {
		From   string `json:"from"` // empty without values, if an end is not given
		To     string `json:"to"`
		Every  string `json:"every"`
		Values int64  `json:"values"` // that are drawn
		*chart.Drawn
		Undecodable int   `json:"undecodable"`
		Cost        *cost `json:"cost"`
	}{Cost: r.counted()}
	p.progress = &meter{out: io.Discard}
	if err := p.read(ctx); err != nil && !errors.Is(err, errNoValues) {
		return nil, err
	} else if err == nil {
		if out.Drawn, err = p.Draw(float64(r.pixels)); err != nil {
			return nil, err
		}
		out.From, out.To = p.From.In(r.zone).Format(time.RFC3339Nano), p.To.In(r.zone).Format(time.RFC3339Nano)
	}
	out.Every, out.Values, out.Undecodable = p.Width, p.values(), p.progress.undecodable
	text, err := json.Marshal(&out)
	if len(text) > maxAnswer {
		return nil, tooMuch("too large", "the chart is larger than %d MiB: select fewer series or fields", maxAnswer>>20)
	}
	return text, err
}

// opened is what the page opens with.
type opened struct {
	Schema string          `json:"schema"` // empty if no schema has events
	Series json.RawMessage `json:"series"` // as in the rows of series
	Newest string          `json:"newest"`
	newest time.Time
}

// open answers with the first series of the schema that has the newest event, as far as the first series of schemas tell within a
// moment. If none has one, the error is the first one of those that could not be read, other than that of a missing table.
func (a *api) open(ctx context.Context, _ *request) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, maxOpening)
	defer cancel()
	found := make([]opened, min(len(a.names), maxOpened))
	errs := make([]error, len(found))
	var all errgroup.Group
	all.SetLimit(maxReading)
	for i := range found {
		all.Go(func() error {
			found[i], errs[i] = a.newest(ctx, a.names[i])
			return nil
		})
	}
	_ = all.Wait() // errs has the errors
	newest := opened{Series: json.RawMessage("null")}
	for i := range found {
		if found[i].Schema != "" && (newest.Schema == "" || found[i].newest.After(newest.newest)) {
			newest = found[i]
		}
	}
	if i := slices.IndexFunc(errs, unread); newest.Schema == "" && i >= 0 {
		return nil, errs[i]
	}
	return &newest, nil
}

// unread reports whether an error says that a table could not be read, and not only that it does not exist, or has an event
// that cannot be decoded.
func unread(err error) bool {
	_, missing := errors.AsType[*store.MissingTableError](err)
	return err != nil && !missing && !isUndecodable(err)
}

// newest returns the first series of a schema, and the time of the newest event that its first series have.
func (a *api) newest(ctx context.Context, name string) (out opened, failed error) {
	schema := a.schemas[name]
	l := schema.Layout()
	reader := schema.NewReader(a.client, a.options)
	var series [][]any
	of := dynamic.Series(nil)
	if len(l.Series) > 0 {
		of = dynamic.Table(l.Read.ID)
	}
	for values, err := range reader.ReadSeries(ctx, of, time.Time{}, scan.MaxTime, store.SeriesOptions{Page: &store.Page{Size: firstSeries}}) {
		if failed = cmp.Or(failed, err); err == nil {
			series = append(series, values)
		}
	}
	for e, err := range reader.LatestMany(ctx, series) {
		if failed = cmp.Or(failed, err); err == nil && e.Time.After(out.newest) {
			out.newest = e.Time
		}
	}
	if out.newest.IsZero() {
		return out, failed
	}
	columns := format.Columns(l)[:len(l.Series)]
	out.Schema, out.Newest = name, out.newest.UTC().Format(time.RFC3339Nano)
	out.Series = format.NewTextJSON(columns).Append(nil, &dynamic.Event{Series: series[0]})
	return out, nil
}

// extent returns the times of the first and the last event in a window of all times that has a value of one of the fields, which are
// indexes; zero times if there is none.
func (r *request) extent(windows iter.Seq2[dynamic.Window, error], fields []int) (first, last time.Time, err error) {
	for w, err := range windows {
		if err != nil {
			return first, last, err
		}
		for _, i := range fields {
			f := &r.schema.Layout().Fields[i]
			if at, ok := dynamic.FirstTime.Of(&w, f, i).(time.Time); ok && (first.IsZero() || at.Before(first)) {
				first = at
			}
			if at, ok := dynamic.LastTime.Of(&w, f, i).(time.Time); ok && at.After(last) {
				last = at
			}
		}
	}
	return first, last, nil
}

// outward extends a range of events to whole windows of the rollups of their table: once its events have expired, a window that the
// range cuts could not be read.
func (r *request) outward(from, to time.Time) (begin, end time.Time) {
	begin, end = from, to
	for _, every := range r.rollups() {
		begin = codec.Earlier(begin, rollupStart(every, from))
		end = codec.Later(end, rollupStart(every, to.Add(-1)).Add(every))
	}
	return begin, end
}

// rollups returns the widths of the rollups of the layouts of the table that is read.
func (r *request) rollups() (out []time.Duration) {
	for _, t := range r.reads.Periods() {
		if t.Rollup != nil {
			out = append(out, t.Rollup.Every)
		}
	}
	return out
}

// rollupStart returns the start of the window of a rollup that holds a time.
func rollupStart(every time.Duration, t time.Time) time.Time {
	return window.Every(every).Back(t.Add(1), time.Time{}, 1)
}

// cuts reports whether a time is within a window of a rollup.
func (r *request) cuts(t time.Time) bool {
	return slices.ContainsFunc(r.rollups(), func(every time.Duration) bool { return !rollupStart(every, t).Equal(t) })
}

// rollupWidth returns the width of the widest rollup of layouts whose events in the range may have expired, so that there are no
// narrower windows of them; 0 if there is none.
func (r *request) rollupWidth() (widest time.Duration) {
	for _, t := range r.reads.Periods() {
		if age := t.Age(); t.Rollup != nil && age > 0 && r.from.Before(time.Now().Add(-age)) {
			widest = max(widest, t.Rollup.Every)
		}
	}
	return widest
}

// ranges answers with the range of the events of a selection, extended to whole windows of rollups. It ends after the last event.
func (a *api) ranges(ctx context.Context, r *request) (any, error) {
	fields, err := r.picked("fields", "field", r.schema.Layout().Fields, r.fields)
	if err != nil {
		return nil, err
	}
	undecodable, out := 0, object{"from": "", "to": "", "cost": r.counted()} // without events
	windows := r.windowsOf(ctx, window.Whole(), store.WindowOptions{Fields: r.fieldsOf(fields)})
	first, last, err := r.extent(decodable(windows, func(error) { undecodable++ }), fields)
	if err == nil && !first.IsZero() { // pages count in milliseconds
		from, to := r.outward(first.Truncate(time.Millisecond), last.Truncate(time.Millisecond).Add(time.Millisecond))
		out["from"], out["to"] = from.UTC(), to.UTC()
	}
	out["undecodable"] = undecodable
	return out, err
}
