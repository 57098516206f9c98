package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/internal/chart"
	"github.com/btgen-dev/btgen/cmd/internal/web"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Limits of a chart and of what the page opens with.
const (
	leastWidth  = 200 // pixels
	mostWidth   = 4000
	maxOpened   = 50 // schemas that are asked for data
	firstSeries = 8  // of a schema, whose newest events are compared
	maxOpening  = 5 * time.Second
)

// chart answers with a chart, as plot draws it. An end of the range that is not given is that of the events.
func (a *api) chart(ctx context.Context, q url.Values) ([]byte, error) {
	w := plotting{show: "mean"}
	width := 0
	s, err := a.selected(q, &w.selection, func(f *pflag.FlagSet) {
		f.StringArrayVar(&w.several, "series", nil, "")
		f.StringSliceVar(&w.fields, "fields", nil, "")
		f.StringVar(&w.every, "every", "", "")
		f.StringVar(&w.show, "show", w.show, "")
		f.Var(number(&width, 960, leastWidth, mostWidth), "width", "")
	})
	if err != nil {
		return nil, err
	}
	d, err := w.chart(s, min(plotPixels, width))
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
	}{Cost: new(cost)}
	d.client, d.options, d.progress = a.client, a.counted(out.Cost), &meter{out: io.Discard}
	if err := d.read(ctx); err != nil && !errors.Is(err, errNoValues) {
		return nil, err
	} else if err == nil {
		if out.Drawn, err = d.Draw(float64(width)); err != nil {
			return nil, err
		}
		out.From, out.To = d.From.In(w.zone).Format(time.RFC3339Nano), d.To.In(w.zone).Format(time.RFC3339Nano)
	}
	out.Every, out.Values, out.Undecodable = d.Width, d.values(), d.undecodable
	text, err := json.Marshal(&out)
	if len(text) > maxAnswer {
		return nil, web.NewProblem("too large", http.StatusUnprocessableEntity, fmt.Sprintf("the chart is larger than %d MiB: select fewer series or fields", maxAnswer>>20))
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
func (a *api) open(ctx context.Context, q url.Values) ([]byte, error) {
	if len(q) > 0 {
		return nil, errors.New("there are no parameters")
	}
	ctx, cancel := context.WithTimeout(ctx, maxOpening)
	defer cancel()
	found := make([]opened, min(len(a.names), maxOpened))
	errs := make([]error, len(found))
	running := make(chan struct{}, maxReading)
	var all sync.WaitGroup
	for i := range found {
		all.Go(func() {
			running <- struct{}{}
			defer func() { <-running }()
			found[i], errs[i] = a.newest(ctx, a.names[i])
		})
	}
	all.Wait()
	newest := opened{Series: json.RawMessage("null")}
	for i := range found {
		if found[i].Schema != "" && (newest.Schema == "" || found[i].newest.After(newest.newest)) {
			newest = found[i]
		}
	}
	if i := slices.IndexFunc(errs, unread); newest.Schema == "" && i >= 0 {
		return nil, errs[i]
	}
	return json.Marshal(&newest)
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
