package beamstore_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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
func quarters(t *testing.T, bt *storetest.Bigtable, n int) (digest string, windows, runs int) {
	t.Helper()
	sum := sha256.New()
	r := plant.NewSampleReader(bt.Client, store.ReaderOptions{Hooks: store.Hooks{End: func(_ context.Context, op store.Operation, _ error) { runs += op.Runs }}})
	for w, err := range r.ByAreasWindows(t.Context(), []string{"north", "south"}, begin, timeOf(n).Add(time.Hour).Truncate(time.Hour), window.Every(15*time.Minute)) {
		check(t, err)
		_, _ = fmt.Fprintf(sum, "%+v\n", w)
		windows++
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), windows, runs
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

// A pipeline summarizes what [store.Rollup] does, and another one changes nothing. With BTGEN_BEAM_KILLS, btgen-live
// is killed that many times while it does the same. With BTGEN_BEAM_APART, events of a series are that many seconds apart:
//
//	BTGEN_BEAM_EVENTS=10000000 BTGEN_BEAM_APART=1 BTGEN_BEAM_KILLS=50 go test -run 'TestRollup$' -v -timeout 0
func TestRollup(t *testing.T) {
	inThisProcess()
	n, kills := number(t, "BTGEN_BEAM_EVENTS", 20_000), number(t, "BTGEN_BEAM_KILLS", 0)
	defer func(before time.Duration) { apart = before }(apart)
	apart = time.Duration(number(t, "BTGEN_BEAM_APART", 36)) * time.Second
	bt := planttest.New(t)
	conn := connection(bt.Addr)
	begun := time.Now()
	fill(t, bt, "samples", n)
	want, windows, fromRuns := quarters(t, bt, n)
	t.Logf("%d events written in %v, %d windows", n, time.Since(begun), windows)
	if fromRuns != 0 {
		t.Fatalf("%d buckets from runs", fromRuns)
	}
	begun = time.Now()
	seal := func(s beam.Scope) error {
		return plantbeam.Sample.Rollup(s, conn, beamstore.RollupOptions{Wait: 1})
	}
	counters := must(t, seal)
	t.Logf("summarized by a pipeline in %v: %v", time.Since(begun), counters)
	runs := runsOf(t, bt)
	rows := int64(sensors * (int(timeOf(n-1).Sub(begin)/time.Hour) + 1))
	if int64(len(runs)) != rows || counters["buckets_noted"] > rows || counters["buckets_sealed"] > rows || counters["buckets_left"] != 0 {
		t.Fatalf("%d of %d rows: %v", len(runs), rows, counters)
	}
	if got, _, fromRuns := quarters(t, bt, n); got != want || fromRuns != len(runs) {
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
	begun = time.Now()
	if kills > 0 {
		rollupKilled(t, bt, kills, n)
	} else if _, err := plant.RollupSample(t.Context(), bt.Client, store.RollupOptions{All: true}); err != nil {
		t.Fatal(err)
	}
	t.Logf("summarized by btgen-live, with %d kills, in %v", kills, time.Since(begun))
	if !maps.Equal(runs, runsOf(t, bt)) {
		t.Error("runs differ")
	}
	if counters := must(t, seal); counters["buckets_noted"] != 0 {
		t.Errorf("after all: %v", counters)
	}
}

// rollupKilled summarizes with btgen-live, which is killed at random moments and started again.
func rollupKilled(t *testing.T, bt *storetest.Bigtable, kills, events int) {
	t.Helper()
	dir := t.TempDir()
	live := filepath.Join(dir, "btgen-live")
	build := exec.Command("go", "build", "-o", live, "./cmd/btgen-live")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := newMeter(t, bt.Addr)
	start := func() (*exec.Cmd, <-chan error) {
		cmd := exec.Command(live, "rollup", "Sample", "--all", "--schemas", "example/schemas", "--checkpoint", filepath.Join(dir, "progress"),
			"--project", storetest.Project, "--instance", storetest.Instance)
		cmd.Env, cmd.Stderr = append(os.Environ(), "BIGTABLE_EMULATOR_HOST="+m.Addr().String()), os.Stderr
		check(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		return cmd, ended
	}
	random := rand.New(rand.NewPCG(30, uint64(kills)))
	for killed := 0; killed < kills; {
		now := make(chan bool, 1)
		m.after(1+random.Int64N(int64(events)*80/int64(kills)), func() { now <- true })
		cmd, ended := start()
		select {
		case err := <-ended:
			check(t, err)
			t.Logf("it ended after %d kills", killed)
			return
		case <-now:
		}
		if cmd.Process.Kill() == nil {
			killed++
		}
		<-ended
	}
	m.after(1<<62, nil)
	if _, ended := start(); <-ended != nil {
		t.Fatal("btgen-live failed, although nothing was killed")
	}
}
