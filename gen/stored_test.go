package gen

import (
	"context"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
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
	inputs := examples(t)
	if len(inputs) < 12 {
		t.Fatal(len(inputs))
	}
	for _, in := range inputs {
		path, result := in.Name, Resolve([]Input{in})
		if err := result.Diagnostics.Err(); err != nil {
			t.Fatal(err)
		}
		l := result.Layouts[0]
		for _, table := range l.Tables {
			events := completeEvents(l, table)
			stored := storedBytes(t, b, l, table, events) / float64(len(events))
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
		}
	}
}

// completeEvents returns events of a table with all fields.
func completeEvents(l *layout.Layout, t *layout.Table) []dynamic.Event {
	var series []any
	for i := range l.Series {
		series = append(series, sample.SeriesValue(l, t, i))
	}
	var out []dynamic.Event
	for _, e := range sample.Events(l, t, 9, 0) {
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

// storedBytes writes events and returns the bytes that a table then stores.
func storedBytes(t *testing.T, b *storetest.Bigtable, l *layout.Layout, table *layout.Table, events []dynamic.Event) float64 {
	t.Helper()
	s := dynamic.New(l)
	prefix := l.Package + "-" + l.Name + "-" + table.ID + "-"
	prefix = prefix[:min(len(prefix), 20)]
	if _, err := setup.Setup(t.Context(), b.Admin, b.Client, s.Tables(), setup.Options{TablePrefix: prefix}); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return events[len(events)-1].Time }
	if err := s.NewWriter(b.Client, store.WriterOptions{TablePrefix: prefix, Now: now}).WriteAll(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	total := 0
	err := b.Client.Open(prefix+table.ID).ReadRows(t.Context(), bigtable.RowRange{}, func(row bigtable.Row) bool {
		for _, cells := range row {
			for _, c := range cells {
				total += len(c.Row) + len(c.Column) - len(":") + 8 + len(c.Value)
			}
		}
		return true
	})
	if err != nil || total == 0 {
		t.Fatal(total, err)
	}
	return float64(total)
}
