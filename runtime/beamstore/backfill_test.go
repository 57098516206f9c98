package beamstore_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/btgen-dev/btgen/runtime/beamstore"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant/plantbeam"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant/planttest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// program writes, rewrites and deletes random events of the first n in all tables, the source first, until
// it is stopped.
func program(t *testing.T, bt *storetest.Bigtable, n int) (stop func() (changes int)) {
	w := plant.NewSampleWriter(bt.Client)
	ended, done := make(chan int), make(chan bool)
	random := rand.New(rand.NewPCG(27, uint64(n)))
	ctx := context.WithoutCancel(t.Context())
	go func() {
		for changes := 0; ; changes++ {
			select {
			case <-done:
				ended <- changes
				return
			default:
			}
			e := event(random.IntN(n))
			e.Value += int64(random.IntN(1000))
			var err error
			if random.IntN(2) == 0 {
				_, err = w.Delete(ctx, []plant.SampleEvent{e})
			} else {
				err = w.Write(ctx, e)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}()
	return func() int { close(done); return <-ended }
}

// agree fails the test unless both tables have the same events. It returns their number.
func agree(t *testing.T, bt *storetest.Bigtable) int64 {
	t.Helper()
	mappings, _ := plant.BeamSample()
	got, err := store.Backfill(t.Context(), bt.Client, mappings, store.BackfillOptions{Source: "samples", Target: "samples_salted", To: begin.AddDate(9, 0, 0), Verify: true})
	if err != nil || len(got.Differences) > 0 {
		t.Fatalf("%v, %v", got.Differences, err)
	}
	return got.Events
}

// A backfill leaves no copy of what a program rewrites and deletes while it runs.
func TestBackfillAmongPrograms(t *testing.T) {
	inThisProcess()
	bt := planttest.New(t)
	const n = 20_000
	fill(t, bt, "samples", n)
	stop := program(t, bt, n)
	counters := must(t, func(s beam.Scope) error {
		return plantbeam.Sample.Backfill(s, connection(bt.Addr), beamstore.BackfillOptions{To: begin.AddDate(9, 0, 0), Timeout: brief})
	})
	changes := stop()
	t.Logf("%d changes: %v", changes, counters)
	if agree(t, bt) < n/4 || changes < 100 || counters["events_unsettled"] > 0 {
		t.Errorf("%d changes: %v", changes, counters)
	}
}

// A request that arrives after everything was copied is repaired, and so is, if asked to, what an
// earlier backfill has left in the target.
func TestLateRequests(t *testing.T) {
	inThisProcess()
	for _, repair := range []bool{false, true} {
		bt := planttest.New(t)
		const n = 1000
		fill(t, bt, "samples", n)
		salted := plant.NewSampleWriter(bt.Client, store.WriterOptions{Tables: []string{"samples_salted"}})
		if err := salted.Write(t.Context(), event(1500)); err != nil { // left by an earlier one
			t.Fatal(err)
		}
		arrived := make(chan bool)
		go func() {
			defer close(arrived)
			for copied := 0; copied < n+1; time.Sleep(50 * time.Millisecond) {
				copied = 0
				for row, err := range scan(t, bt, "samples_salted") {
					if copied += len(row.Events); err != nil {
						t.Error(err)
						return
					}
				}
			}
			time.Sleep(time.Second) // everything is copied and settled
			if _, err := plant.NewSampleWriter(bt.Client).Delete(t.Context(), []plant.SampleEvent{event(8)}); err != nil {
				t.Error(err)
			}
			older := event(7)
			older.Value = -1
			if err := salted.WriteAll(t.Context(), []plant.SampleEvent{older, event(8)}); err != nil {
				t.Error(err)
			}
			if _, err := salted.Delete(t.Context(), []plant.SampleEvent{event(9)}); err != nil {
				t.Error(err)
			}
		}()
		counters := must(t, func(s beam.Scope) error {
			return plantbeam.Sample.Backfill(s, connection(bt.Addr), beamstore.BackfillOptions{To: begin.AddDate(9, 0, 0), Repair: repair, Timeout: brief})
		})
		<-arrived
		t.Logf("repair %t: %v", repair, counters) // Prism loses counts of some bundles if it is busy
		contains(t, bt, "samples_salted", 2000, func(i int) bool { return i < n && i != 8 || i == 1500 && !repair })
	}
}
