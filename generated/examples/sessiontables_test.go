package examples_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/schemas"
)

// table is a schema with events of one series, and the clock of its writers and readers.
type table struct {
	name   string
	schema *dynamic.Schema
	events []dynamic.Event
	now    func() time.Time
}

// tables cover each pattern, labels that sort and ones that do not, salts, text and
// binary keys, several families, and each way to expire.
func tables(t *testing.T) (out []table) {
	t.Helper()
	for _, name := range []string{
		"balloon_new_cells", "balloon_new_columns", "balloon_combined", "balloon_serialized", "balloon_unserialized", "metrics_samples", "metrics_points",
		"market_ticks", "device_readings", "transit_positions", "feed_activities", "usage_one_second",
	} {
		l := testschema.Layout(t, schemas.All()[name])
		trip, ok := sample.NewRoundTrip(l)
		if !ok {
			t.Fatalf("no events of %s", name)
		}
		tab := table{name: name, schema: dynamic.New(l), now: func() time.Time { return trip.Now }}
		for i, at := range trip.Times {
			e := trip.Stored[min(i, len(trip.Stored)-1)]
			tab.events = append(tab.events, dynamic.Event{Series: e.Series, Time: at, Values: e.Values, Class: e.Class, ExpiresAt: e.ExpiresAt})
		}
		out = append(out, tab)
	}
	return out
}

// writer returns a writer.
func (tab *table) writer(client store.Client, hooks store.Hooks) *dynamic.Writer {
	return tab.schema.NewWriter(client, store.WriterOptions{Now: tab.now, Hooks: hooks})
}

// read reads events as strings.
type read func(ctx context.Context) ([]string, error)

// reads returns several ways to read.
func (tab *table) reads(client store.Client, hooks store.Hooks) map[string]read {
	r := tab.schema.NewReader(client, store.ReaderOptions{Now: tab.now, Hooks: hooks})
	series, one, last := tab.events[0].Series, tab.events[1].Time, len(tab.events)-1
	query := func(from, to time.Time, o store.ReadOptions) read {
		return func(ctx context.Context) ([]string, error) {
			return shown(r.Read(ctx, dynamic.Series(series), from, to, o))
		}
	}
	begin, end := tab.events[0].Time, tab.events[last].Time.Add(1)
	return map[string]read{
		"all":               query(begin, end, store.ReadOptions{}),
		"one":               query(one, one.Add(1), store.ReadOptions{}),
		"newest first":      query(begin, end, store.ReadOptions{NewestFirst: true}),
		"one, newest first": query(one, one.Add(1), store.ReadOptions{NewestFirst: true}),
		"first":             query(begin, end, store.ReadOptions{Limit: 1}),
		"last":              query(begin, end, store.ReadOptions{Limit: 1, NewestFirst: true}),
		"latest only":       query(begin, end, store.ReadOptions{LatestOnly: true}),
		"latest":            func(ctx context.Context) ([]string, error) { return shown(r.LatestMany(ctx, [][]any{series})) },
	}
}

// shown returns events as strings.
func shown(events iter.Seq2[dynamic.Event, error]) (out []string, err error) {
	for e, err := range events {
		if err != nil {
			return out, err
		}
		out = append(out, fmt.Sprintf("%+v", e))
	}
	return out, nil
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
