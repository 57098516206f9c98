package main_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/compress"
	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// TestStoredBytes writes events of the example schemas to an in-memory server, and compares
// the bytes that it stores with the bounds of [estimate.Estimate]: each cell with its row key,
// family, qualifier, timestamp and value. If the sizes of values are declared, the bounds are
// at most a factor of 1.3 apart.
func TestStoredBytes(t *testing.T) {
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	inputs := corpus.Inputs(t, "../../schemas/*.yaml")
	if len(inputs) < 12 {
		t.Fatal(len(inputs))
	}
	for k, in := range testlong.Sample(inputs, 14) {
		path, result := in.Name, gen.Resolve([]gen.Input{in})
		assert.Must(t, result.Diagnostics.Err())
		l := result.Layouts[0]
		for i, table := range l.Tables {
			if table.Pattern.NewestOnly() {
				continue // of the events of a call, a row gets only the newest
			}
			events := eventsOf(l, table, 9)
			stored := 0.0 // bytes an event
			eachStored(t, b, "few", l, table, events, func(c bigtable.ReadItem) {
				stored += float64(len(c.Row)+len(c.Column)-len(":")+8+len(c.Value)) / float64(len(events))
			})
			if bounds := estimate.Of(l, table).Event; stored < bounds.Lower || stored > bounds.Upper {
				t.Errorf("%s, table %s: %.1f bytes an event, not %v", path, table.ID, stored, bounds)
			}
			declared := *l
			declared.Expect.Widths = widthsOf(l, events)
			bounds := estimate.Of(&declared, table).Event
			if stored < bounds.Lower || stored > bounds.Upper {
				t.Errorf("%s, table %s, sizes declared: %.1f bytes an event, not %v", path, table.ID, stored, bounds)
			}
			if bounds.Upper > 1.3*bounds.Lower {
				t.Errorf("%s, table %s: the bounds %v are too far apart", path, table.ID, bounds)
			}
			if table.Metrics() || !testlong.Enabled() && k+i > 0 {
				continue // a row of metrics has no events, only fields of them
			}
			checkCompressed(t, b, result.Schemas[0], l, table)
		}
	}
}

// checkCompressed compares the compressed bytes that a server stores with the range that a sample of
// the same events promises: between Zstandard and Snappy, a third codec should be.
func checkCompressed(t *testing.T, b *storetest.Bigtable, s *schema.Schema, l *layout.Layout, table *layout.Table) {
	t.Helper()
	e := estimate.Of(l, table)
	events := eventsOf(l, table, int(max(100, 3*compress.BlockBytes/e.Event.Typical)))
	stored := compress.NewBlocks()
	var plain bytes.Buffer
	deflated := 0
	flush := func() {
		var out bytes.Buffer
		w, _ := flate.NewWriter(&out, flate.DefaultCompression)
		_, _ = w.Write(plain.Bytes())
		_ = w.Close()
		deflated += out.Len()
		plain.Reset()
	}
	eachStored(t, b, "many", l, table, events, func(c bigtable.ReadItem) {
		family, qualifier, _ := strings.Cut(c.Column, ":")
		stored.Add(c.Row, family, qualifier, int64(c.Timestamp), c.Value)
		fmt.Fprint(&plain, c.Row, family, qualifier)
		plain.Write(binary.BigEndian.AppendUint64(nil, uint64(c.Timestamp)))
		plain.Write(c.Value)
		if plain.Len() >= compress.BlockBytes {
			flush()
		}
	})
	flush()
	n := float64(len(events))
	all := compress.Measure(s, l, table.ID, sampleOf(events))
	sizes := stored.Sizes()
	if got := float64(sizes.Stored) / n; math.Abs(got-all.Designs[0].Stored) > 0.01 {
		t.Errorf("table %s stores %.2f bytes an event, and %.2f are measured", table.ID, got, all.Designs[0].Stored)
	}
	promised := compress.Measure(s, l, table.ID, sampleOf(events[:len(events)/2])).Designs[0]
	if got := float64(deflated) / n; got < 0.9*promised.Zstd || got > 1.1*promised.Snappy {
		t.Errorf("table %s: %.2f bytes an event with flate, not %+v", table.ID, got, promised)
	}
	for what, sizes := range map[string][2]float64{"zstd": {float64(sizes.Zstd) / n, promised.Zstd}, "snappy": {float64(sizes.Snappy) / n, promised.Snappy}} {
		if math.Abs(sizes[0]-sizes[1]) > 0.15*sizes[0] {
			t.Errorf("table %s: %.2f bytes an event with %s, and %.2f are promised", table.ID, sizes[0], what, sizes[1])
		}
	}
}

// sampleOf returns events as rows are drawn from them.
func sampleOf(events []dynamic.Event) []sample.Event {
	var out []sample.Event
	for _, e := range events {
		out = append(out, sample.Event{
			Series: e.Series, Time: e.Time, Sequence: e.Sequence, Values: e.Values, Class: e.Class, TTL: e.TTL, ExpiresAt: e.ExpiresAt,
			WrittenAt: events[0].Time, // by the clock of the writer
		})
	}
	return out
}

// eventsOf returns up to n events of a table with all fields.
func eventsOf(l *layout.Layout, t *layout.Table, n int) []dynamic.Event {
	var series []any
	for i := range l.Series {
		series = append(series, sample.SeriesValue(l, t, i))
	}
	var out []dynamic.Event
	for _, e := range sample.Events(l, t, n, 0) {
		if slices.Contains(e.Values, nil) {
			continue
		}
		out = append(out, dynamic.Event{
			Series: series, Time: e.Time, Sequence: e.Sequence, Values: e.Values, Class: e.Class, TTL: e.TTL, ExpiresAt: e.ExpiresAt,
		})
	}
	return out
}

// widthsOf returns the average sizes of values: of numbers and times as text.
func widthsOf(l *layout.Layout, events []dynamic.Event) map[string]int64 {
	out := map[string]int64{}
	average := func(f *layout.Field, of func(e *dynamic.Event) any) {
		total := 0
		for i := range events {
			switch v := of(&events[i]).(type) {
			case []byte:
				total += len(v)
			default:
				total += len(sample.ShowValue(f, v))
			}
		}
		out[f.Name] = int64(float64(total)/float64(len(events)) + 0.5)
	}
	for i := range l.Series {
		average(&l.Series[i], func(e *dynamic.Event) any { return e.Series[i] })
	}
	for i := range l.Fields {
		average(&l.Fields[i], func(e *dynamic.Event) any { return e.Values[i] })
	}
	return out
}

// eachStored writes events to a table, and calls a function with each cell that it then stores, in order,
// but for the marks of a rollup, which are of rows rather than of events, and go when these are summarized.
func eachStored(t *testing.T, b *storetest.Bigtable, name string, l *layout.Layout, table *layout.Table, events []dynamic.Event, each func(c bigtable.ReadItem)) {
	t.Helper()
	s := dynamic.New(l)
	prefix := l.Package + "-" + l.Name
	prefix = name + "-" + prefix[:min(len(prefix), 15)] + "-"
	_, err := setup.Setup(t.Context(), b.Admin, b.Client, s.Tables(), setup.Options{TablePrefix: prefix})
	assert.Must(t, err)
	now := func() time.Time { return events[0].Time }
	assert.Must(t, s.NewWriter(b.Client, store.WriterOptions{TablePrefix: prefix, Now: now, Tables: []string{table.ID}}).WriteAll(t.Context(), events))
	total := 0
	err = b.Client.Open(prefix+table.ID).ReadRows(t.Context(), bigtable.RowRange{}, func(row bigtable.Row) bool {
		for _, family := range slices.Sorted(maps.Keys(row)) {
			if f := table.RollupFamily; f != nil && family == f.Name {
				continue
			}
			for _, c := range row[family] {
				each(c)
				total++
			}
		}
		return true
	})
	if err != nil || total == 0 {
		t.Fatal(total, err)
	}
}
