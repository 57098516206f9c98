package dynamictest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/dynamic/dynamictest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TestBackfill fills each table of all kinds of schemas from another one: cell by cell, it is
// what writers would have stored, and Verify finds no difference.
func TestBackfill(t *testing.T) {
	fewChecks(t, 3)
	copied := 0
	for name, l := range deletable(t, 1) {
		traffic, ok := dynamictest.NewTraffic(l)
		if !ok || len(l.Tables) < 2 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			d := newDeletion(t, l, traffic)
			dir := t.TempDir()
			rapid.Check(t, func(t *rapid.T) { copied += d.backfill(t, dir) })
		})
	}
	if copied == 0 {
		t.Error("nothing was copied")
	}
}

// backfill writes events to all tables with the prefix all_, and to one table with rest_, and
// fills another one.
func (d *deletion) backfill(t *rapid.T, dir string) (copied int) {
	ctx := context.Background()
	for _, prefix := range []string{"all_", "rest_"} {
		if _, err := setup.Setup(ctx, d.server.Admin, d.server.Client, d.schema.Tables(), setup.Options{TablePrefix: prefix, AllowDrafts: true}); err != nil {
			t.Fatal(err)
		}
	}
	defer d.drop(ctx)
	mappings := d.schema.Mappings()
	sources := slices.DeleteFunc(slices.Clone(mappings), func(m *store.Mapping[dynamic.Event]) bool { return m.Pattern.NewestOnly() })
	source := rapid.SampledFrom(sources).Draw(t, "source").Table.ID
	target := rapid.SampledFrom(mappings).Draw(t, "target")
	o := store.BackfillOptions{
		TablePrefix: "rest_", Source: source, Target: target.Table.ID, RenewAges: true, Now: d.clock, Checkpoint: filepath.Join(dir, "checkpoint"+rapid.StringMatching("[a-z]{20}").Draw(t, "file")),
	}
	states := target.Pattern.NewestOnly()
	if states {
		o.Checkpoint = ""
	}
	only := d.schema.NewWriter(d.server.Client, store.WriterOptions{TablePrefix: "rest_", Now: d.clock, Tables: []string{source}})
	distinct, series := map[string]bool{}, map[string]bool{}
	for _, e := range d.traffic.Events(t, 12) {
		if e.TTL = 0; distinct[d.at(&e)] {
			continue // tables may keep more than one
		}
		distinct[d.at(&e)], series[fmt.Sprint(e.Series)] = true, true
		d.write(ctx, t, "all_", e)
		if err := only.Write(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	// Two ranges of rows that are read at the same time may both fill the row of a series.
	least, most := len(distinct), len(distinct)
	if states {
		least = len(series)
	}
	report, err := store.Backfill(ctx, d.server.Client, mappings, o)
	var refused *store.BackfillError
	switch {
	case errors.As(err, &refused):
		return 0
	case err != nil:
		t.Fatal(err)
	case report.Events < int64(least) || report.Events > int64(most) || report.Expired+report.Undecodable+report.Changed+report.Deleted+report.Unsettled != 0:
		t.Fatalf("%+v", report)
	}
	for _, p := range target.Periods() {
		if states {
			break // calls with other events leave other versions
		}
		if diff := cmp.Diff(dynamictest.Rows(ctx, d.server.Client, "all_"+p.Table.ID), dynamictest.Rows(ctx, d.server.Client, "rest_"+p.Table.ID)); diff != "" {
			t.Fatalf("table %s from %s: (-want +got)\n%s", p.Table.ID, source, diff)
		}
	}
	if o.Verify = true; !states {
		o.To = d.traffic.Now.AddDate(100, 0, 0)
	}
	if report, err = store.Backfill(ctx, d.server.Client, mappings, o); err != nil || len(report.Differences) > 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	return len(distinct)
}

// at identifies the place of an event.
func (d *deletion) at(e *dynamic.Event) string {
	return fmt.Sprint(e.Series, codec.Truncate(e.Time, d.layout.Precision), e.Sequence)
}

// clock is the clock of writers and readers.
func (d *deletion) clock() time.Time { return d.traffic.Now }
