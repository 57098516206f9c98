package dynamictest_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/dynamic/dynamictest"
	"github.com/btgen-dev/btgen/gen/internal/model"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// deletable are the example schemas, and random ones of all patterns, strategies and
// orders of key segments, from a number of seeds.
func deletable(t *testing.T, seeds int) map[string]*layout.Layout {
	t.Helper()
	out := map[string]*layout.Layout{}
	files, err := filepath.Glob("../../../schemas/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		yaml, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(file)] = dynamictest.Resolve(t, yaml)
	}
	for seed := range seeds {
		for i, s := range append(model.Matrix(seed), model.Random(seed)) {
			s.Name = s.Name + string(rune('a'+i%26))
			out[s.Name] = dynamictest.Resolve(t, []byte(s.YAML()))
		}
	}
	return out
}

// fewChecks makes properties try n cases in this test, also in a long run: there are many
// schemas.
func fewChecks(t *testing.T, n int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	if err := f.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(before) })
}

// TestDelete deletes random events of all kinds of schemas. What is then stored is what
// would be if they had never been written.
func TestDelete(t *testing.T) {
	dynamictest.Checks(t, 2)
	for name, l := range deletable(t, testlong.Pick(1, 2)) {
		traffic, ok := dynamictest.NewTraffic(l)
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			d := newDeletion(t, l, traffic)
			rapid.Check(t, d.check)
		})
	}
}

// deletion is a schema whose tables are stored twice: with the prefix all_, with all
// events that are written, and with rest_, with those that are not deleted.
type deletion struct {
	schema  *dynamic.Schema
	layout  *layout.Layout
	traffic *dynamictest.Traffic
	server  *storetest.Bigtable
}

func newDeletion(t *testing.T, l *layout.Layout, traffic *dynamictest.Traffic) *deletion {
	d := &deletion{schema: dynamic.New(l), layout: l, traffic: traffic}
	d.server = storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	return d
}

func (d *deletion) check(t *rapid.T) {
	ctx := context.Background()
	for _, prefix := range []string{"all_", "rest_"} {
		if _, err := setup.Setup(ctx, d.server.Admin, d.server.Client, d.schema.Tables(), setup.Options{TablePrefix: prefix, AllowDrafts: true}); err != nil {
			t.Fatal(err)
		}
	}
	defer d.drop(ctx)
	events := d.traffic.Events(t, 12)
	deleted, run := d.draw(t, events)
	for _, e := range events {
		d.write(ctx, t, "all_", e)
		if !deleted(&e) {
			d.write(ctx, t, "rest_", e)
		}
	}
	if _, err := run(d.writer("all_")); err != nil {
		t.Fatal(err)
	}
	for _, table := range d.layout.AllPeriods() {
		want, got := dynamictest.EventRows(ctx, d.server.Client, "rest_", table), dynamictest.EventRows(ctx, d.server.Client, "all_", table)
		if table.Pattern.NewestOnly() { // what a deletion leaves has no older versions
			want, got = newestCells(t, want), newestCells(t, got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("table %s: (-want +got)\n%s", table.ID, diff)
		}
	}
}

// newestCells returns the cells of each row that have its newest timestamp.
func newestCells(t *rapid.T, rows map[string][]string) map[string][]string {
	out := map[string][]string{}
	for key, cells := range rows {
		newest := int64(math.MinInt64)
		for _, cell := range cells {
			var column string
			var at int64
			if _, err := fmt.Sscanf(cell, "%q %d", &column, &at); err != nil {
				t.Fatal(cell, err)
			}
			if at > newest {
				newest, out[key] = at, nil
			}
			if at == newest {
				out[key] = append(out[key], cell)
			}
		}
	}
	return out
}

func (d *deletion) writer(prefix string) *store.Writer[dynamic.Event] {
	return d.schema.NewWriter(d.server.Client, store.WriterOptions{TablePrefix: prefix, Now: func() time.Time { return d.traffic.Now }})
}

func (d *deletion) write(ctx context.Context, t *rapid.T, prefix string, e dynamic.Event) {
	if err := d.writer(prefix).Write(ctx, e); err != nil {
		t.Fatal(err)
	}
}

func (d *deletion) drop(ctx context.Context) {
	ids, _ := d.server.Admin.Tables(ctx)
	for _, id := range ids {
		_ = d.server.Admin.DeleteTable(ctx, id)
	}
}

// draw draws a call that deletes, and returns which events it should delete.
func (d *deletion) draw(t *rapid.T, events []dynamic.Event) (deleted func(e *dynamic.Event) bool, run func(w *store.Writer[dynamic.Event]) (store.Deletion, error)) {
	ctx := context.Background()
	ofSeries := func(series []any, e *dynamic.Event) bool { return slices.EqualFunc(series, e.Series, value.Equal) }
	at := func(e *dynamic.Event) int64 { return codec.Truncate(e.Time, d.layout.Precision).UnixNano() }
	series := rapid.SampledFrom(d.traffic.Series()).Draw(t, "of")
	base := dynamic.Event{Series: series}
	switch rapid.SampledFrom([]string{"range", "series", "events"}).Draw(t, "delete") {
	case "series":
		return func(e *dynamic.Event) bool { return ofSeries(series, e) },
			func(w *store.Writer[dynamic.Event]) (store.Deletion, error) {
				return w.DeleteAll(ctx, store.SeriesOf(base))
			}
	case "range":
		edges := d.traffic.Edges()
		i := rapid.IntRange(0, len(edges)-1).Draw(t, "from")
		from, to := edges[i], rapid.SampledFrom(edges[i:]).Draw(t, "to")
		return func(e *dynamic.Event) bool {
				stored := codec.Truncate(e.Time, d.layout.Precision)
				return ofSeries(series, e) && !stored.Before(from) && stored.Before(to)
			},
			func(w *store.Writer[dynamic.Event]) (store.Deletion, error) {
				return w.DeleteRange(ctx, store.SeriesOf(base), from, to)
			}
	}
	chosen := rapid.SliceOf(rapid.SampledFrom(events)).Draw(t, "events")
	return func(e *dynamic.Event) bool {
			return slices.ContainsFunc(chosen, func(c dynamic.Event) bool {
				return ofSeries(c.Series, e) && at(&c) == at(e) && c.Sequence == e.Sequence
			})
		},
		func(w *store.Writer[dynamic.Event]) (store.Deletion, error) { return w.Delete(ctx, chosen) }
}
