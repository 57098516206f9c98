package gen_test

import (
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Events between the old and the new beginning of a layout are hidden, and so are those of a layout
// that is removed. A new layout that begins at a time hides nothing that was written before.
func TestMovedLayouts(t *testing.T) {
	const days = `btgen: v1
package: p
name: P
series: {region: string}
time: {precision: 1s}
fields: {value: int64}
tables:
  readings:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [region, bucket]}
    family: m
    ttl: {max_age: 400d}
    bucket: 1d
`
	hours := strings.Replace(days, "bucket: 1d", "bucket: 1h\n    since: 2021-03-08\n    before: [{bucket: 1d}]", 1)
	lab := dynamictest.NewLab(t)
	edge := time.Date(2021, 3, 8, 0, 0, 0, 0, time.UTC)
	var events []dynamic.Event
	for h := -48; h < 48; h += 12 {
		events = append(events, dynamic.Event{Series: []any{"eu"}, Time: edge.Add(time.Duration(h) * time.Hour), Values: []any{int64(h)}})
	}
	for _, tt := range []struct {
		name, old, new string
		events         []dynamic.Event
		safe           bool
	}{
		{"added before its time", days, hours, events[:4], true},
		{"added after its time", days, hours, events, false},
		{"moved", hours, strings.Replace(hours, "03-08", "03-09", 1), events, false},
		{"removed", hours, strings.Replace(days, "1d", "1h", 1), events, false},
		{"unchanged", hours, hours, events, true},
	} {
		old, new := dynamic.New(dynamictest.Resolve(t, []byte(tt.old))), dynamic.New(dynamictest.Resolve(t, []byte(tt.new)))
		got, err := lab.Compare(t.Context(), dynamictest.Edit{Old: old, New: new, Now: edge.AddDate(0, 0, 10)}, tt.events, dynamictest.Range{To: edge.AddDate(0, 0, 10)})
		assert.Must(t, err)
		if got.Events == 0 || got.Safe() != tt.safe {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// Windows fold the events of several layouts in order of time, also if only the older one has a rollup.
func TestWindowsAcrossRollups(t *testing.T) {
	l := dynamictest.Resolve(t, []byte(`{btgen: v1, package: p, name: E, series: {host: string}, time: {precision: 1m}, fields: {v: float64}, tables: {
  a: {pattern: bucket_new_cells, bucket: 1h, key: {delimiter: "#", segments: [host, bucket]}, family: m, ttl: {max_age: 30d}, since: 2083-01-11,
    before: [{family: m, rollup: {every: 1h, family: h, ttl: {max_age: 104w}}}]}}}`))
	s := dynamic.New(l)
	bt := dynamictest.Start(t, s)
	edge := time.Date(2083, 1, 11, 0, 0, 0, 0, time.UTC)
	now := func() time.Time { return edge.AddDate(0, 0, 5) }
	for _, h := range []int{-40, -20, 5} {
		e := dynamic.Event{Series: []any{"eu"}, Time: edge.Add(time.Duration(h) * time.Hour), Values: []any{float64(h)}}
		assert.Must(t, s.NewWriter(bt.Client, store.WriterOptions{Now: now}).Write(t.Context(), e))
	}
	r := s.NewReader(bt.Client, store.ReaderOptions{Now: now})
	for to, last := range map[time.Time]float64{edge: -20, edge.Add(2 * time.Hour): -20, edge.Add(24 * time.Hour): 5} {
		n := 0
		for w, err := range r.Windows(t.Context(), dynamic.Series([]any{"eu"}), edge.AddDate(0, 0, -7), to, window.Whole()) {
			assert.Must(t, err)
			first, newest := dynamic.First.Of(&w, &l.Fields[0], 0), dynamic.Last.Of(&w, &l.Fields[0], 0)
			if n++; first != -40.0 || newest != last {
				t.Errorf("until %v: from %v to %v, want from -40 to %v", to, first, newest, last)
			}
		}
		assert.Same(t, 1, n)
	}
}

// The newest event of a series is found among the rows of several layouts, whose keys
// interleave.
func TestLatestAcrossLayouts(t *testing.T) {
	const weeks = `btgen: v1
package: p
name: P
series: {region: string}
time: {precision: 1s}
fields: {value: int64, other: {type: int64, optional: true}}
tables:
  readings:
    pattern: PATTERN
    key: {delimiter: "#", segments: [region, METRIC, bucket]}
    family: m
    ttl: {max_age: 400d}
    bucket: {every: 1w, label: iso_week}
    since: 2021-03-08
    before: [{bucket: 6h}]
`
	edge := time.Date(2021, 3, 8, 0, 0, 0, 0, time.UTC)
	for pattern, metric := range map[string]string{"bucket_new_columns": "metric, ", "bucket_new_cells": ""} {
		for _, swapped := range []bool{false, true} { // which of the two sorts last
			text := strings.NewReplacer("PATTERN", pattern, "METRIC, ", metric).Replace(weeks)
			if swapped {
				text = strings.NewReplacer(`bucket: {every: 1w, label: iso_week}`, "bucket: 6h", "[{bucket: 6h}]", `[{bucket: {every: 1w, label: iso_week}}]`).Replace(text)
			}
			s := dynamic.New(dynamictest.Resolve(t, []byte(text)))
			for _, hours := range []int{-50, -1, 30} { // each is the newest of those before it
				b := dynamictest.Start(t, s)
				now := func() time.Time { return edge.Add(40 * time.Hour) }
				var events []dynamic.Event
				for h := -60; h <= hours; h += 10 {
					events = append(events, dynamic.Event{Series: []any{"eu"}, Time: edge.Add(time.Duration(h) * time.Hour), Values: []any{int64(h), nil}})
				}
				assert.Must(t, s.NewWriter(b.Client, store.WriterOptions{Now: now}).WriteAll(t.Context(), events))
				got, err := s.NewReader(b.Client, store.ReaderOptions{Now: now}).Latest(t.Context(), []any{"eu"})
				if want := events[len(events)-1]; err != nil || !dynamictest.Equal(&got, &want) {
					t.Errorf("%s, swapped %v: %v, %v; want %v", pattern, swapped, got, err, want)
				}
			}
		}
	}
}
