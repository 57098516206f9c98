package main

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// extent returns the times of the first and the last event in a window of all times that has a value of one of the fields, which are
// indexes; zero times if there is none.
func (s *selected) extent(windows iter.Seq2[dynamic.Window, error], fields []int) (first, last time.Time, err error) {
	for w, err := range windows {
		if err != nil {
			return first, last, err
		}
		for _, i := range fields {
			f := &s.schema.Layout().Fields[i]
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
func (s *selected) outward(from, to time.Time) (begin, end time.Time) {
	begin, end = from, to
	for _, every := range s.rollups() {
		if at := rollupStart(every, from); at.Before(begin) {
			begin = at
		}
		if at := rollupStart(every, to.Add(-1)).Add(every); at.After(end) {
			end = at
		}
	}
	return begin, end
}

// rollups returns the widths of the rollups of the layouts of the table that is read.
func (s *selected) rollups() (out []time.Duration) {
	for _, t := range s.readTable().Periods() {
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
func (s *selected) cuts(t time.Time) bool {
	for _, every := range s.rollups() {
		if !rollupStart(every, t).Equal(t) {
			return true
		}
	}
	return false
}

// rollupWidth returns the width of the widest rollup of layouts whose events in the range may have expired, so that there are no
// narrower windows of them; 0 if there is none.
func (s *selected) rollupWidth() (widest time.Duration) {
	for _, t := range s.readTable().Periods() {
		if age := t.Age(); t.Rollup != nil && age > 0 && s.from.Before(time.Now().Add(-age)) {
			widest = max(widest, t.Rollup.Every)
		}
	}
	return widest
}

// ranges answers with the range of the events of a selection, extended to whole windows of rollups. It ends after the last event.
func (a *api) ranges(ctx context.Context, q url.Values) ([]byte, error) {
	var w windowing
	s, err := a.selected(q, &w.selection, func(f *pflag.FlagSet) { f.StringSliceVar(&w.fields, "fields", nil, "") })
	if err != nil {
		return nil, err
	}
	fields, err := w.picked("fields", "field", s.schema.Layout().Fields, w.fields)
	if err != nil {
		return nil, err
	}
	out := struct {
		From        string `json:"from"` // empty without events
		To          string `json:"to"`
		Undecodable int    `json:"undecodable"`
		Cost        *cost  `json:"cost"`
	}{Cost: new(cost)}
	windows := s.windows(ctx, a.client, a.counted(out.Cost), window.Whole(), store.WindowOptions{Fields: fieldsOf(s.schema.Layout(), fields)})
	first, last, err := s.extent(decodable(windows, func(error) { out.Undecodable++ }), fields)
	if err != nil {
		return nil, err
	}
	if !first.IsZero() { // pages count in milliseconds
		from, to := s.outward(first.Truncate(time.Millisecond), last.Truncate(time.Millisecond).Add(time.Millisecond))
		out.From, out.To = from.UTC().Format(time.RFC3339Nano), to.UTC().Format(time.RFC3339Nano)
	}
	return json.Marshal(&out)
}
