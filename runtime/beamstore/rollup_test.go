package beamstore_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/btgen-dev/btgen/runtime/beamstore"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant/plantbeam"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant/planttest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// quarters returns a digest of the windows of all series, and how many buckets came from runs.
func quarters(t *testing.T, bt *storetest.Bigtable, n int) (digest string, runs int) {
	t.Helper()
	sum := sha256.New()
	r := plant.NewSampleReader(bt.Client, store.ReaderOptions{Hooks: store.Hooks{End: func(_ context.Context, op store.Operation, _ error) { runs += op.Runs }}})
	for w, err := range r.ByAreasWindows(t.Context(), []string{"north", "south"}, begin, timeOf(n).Add(time.Hour).Truncate(time.Hour), window.Every(15*time.Minute)) {
		check(t, err)
		_, _ = fmt.Fprintf(sum, "%+v\n", w)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), runs
}

// runsOf returns the run of each row. No row has another cell of the rollup.
func runsOf(t *testing.T, bt *storetest.Bigtable) map[string]string {
	t.Helper()
	runs := map[string]string{}
	err := bt.Client.Open("samples").ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		if cells := row["h"]; len(cells) != 1 || !strings.HasPrefix(cells[0].Column, "h:r") {
			t.Errorf("row %s has %d cells", row.Key(), len(cells))
			return false
		}
		sum := sha256.Sum256(row["h"][0].Value)
		runs[row.Key()] = string(sum[:])
		return true
	}, bigtable.RowFilter(bigtable.FamilyFilter("h")))
	check(t, err)
	return runs
}

// A pipeline summarizes what [store.Rollup] does, and another one changes nothing.
func TestRollup(t *testing.T) {
	inThisProcess()
	const n = 20_000
	bt := planttest.New(t)
	fill(t, bt, "samples", n)
	want, fromRuns := quarters(t, bt, n)
	if fromRuns != 0 {
		t.Fatalf("%d buckets from runs", fromRuns)
	}
	seal := func(s beam.Scope) error {
		return plantbeam.Sample.Rollup(s, connection(bt.Addr), beamstore.RollupOptions{Wait: 1})
	}
	counters := must(t, seal)
	runs := runsOf(t, bt)
	rows := int64(sensors * (int(timeOf(n-1).Sub(begin)/time.Hour) + 1))
	if int64(len(runs)) != rows || counters["buckets_noted"] > rows || counters["buckets_sealed"] > rows || counters["buckets_left"] != 0 {
		t.Fatalf("%d of %d rows: %v", len(runs), rows, counters)
	}
	if got, fromRuns := quarters(t, bt, n); got != want || fromRuns != len(runs) {
		t.Fatalf("windows differ; %d buckets from runs of %d", fromRuns, len(runs))
	}
	if counters := must(t, seal); counters["buckets_noted"] != 0 {
		t.Errorf("again: %v", counters)
	}
	for row := range runs {
		m := bigtable.NewMutation()
		m.DeleteCellsInFamily("h")
		check(t, bt.Client.Open("samples").Apply(t.Context(), row, m))
	}
	_, err := plant.RollupSample(t.Context(), bt.Client, store.RollupOptions{All: true})
	check(t, err)
	if !maps.Equal(runs, runsOf(t, bt)) {
		t.Error("runs differ")
	}
	if counters := must(t, seal); counters["buckets_noted"] != 0 {
		t.Errorf("after all: %v", counters)
	}
}
