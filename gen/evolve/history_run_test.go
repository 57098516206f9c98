package evolve_test

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// The environment variables of TestHistories.
const (
	casesVariable = "BTGEN_EDITS"      // how many edits to try
	seedVariable  = "BTGEN_EDITS_SEED" // the seed of the first history

	maxMemory = 1 << 30 // in bytes
)

// TestHistories applies random edits to random schemas. An edit that is neither refused nor
// accepted by name must not lose, change or hide an event: after each edit, the new code
// must read everything that was written since the beginning. After edits of class SAFE, the
// old code must, too.
//
//	BTGEN_EDITS=1000000 go test ./gen/evolve -run TestHistories -v -timeout 0
//
// tries a million edits, about half of which are refused. It logs the seed with which to
// continue, for BTGEN_EDITS_SEED, and the seed of a history that fails.
func TestHistories(t *testing.T) {
	// A history needs little memory, but two collections pass before that of a writer's pool
	// is free, so the limit must not grow with what is in use.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(maxMemory))
	r := &run{t: t, begun: time.Now(), done: map[uint64]bool{}}
	r.first = uint64(number(t, seedVariable, 1))
	r.next.Store(r.first)
	r.cases = number(t, casesVariable, testlong.Pick(600, 10_000))
	var workers sync.WaitGroup
	for range min(1+r.cases/1000, runtime.GOMAXPROCS(0)) {
		b, err := inMemory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		workers.Go(func() { r.work(b) })
	}
	workers.Wait()
	r.report()
}

// TestHistoriesOnServer does the same on Google's in-memory server.
func TestHistoriesOnServer(t *testing.T) {
	server := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	b, err := onServer(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{t: t, begun: time.Now(), done: map[uint64]bool{}, cases: testlong.Pick(60, 2000)}
	r.work(b)
	r.report()
}

// number returns the number in an environment variable, or the default.
func number(t *testing.T, variable string, usual int) int {
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%s is no number", variable, text)
	}
	return n
}

// run is a run of many histories.
type run struct {
	t     *testing.T
	cases int
	begun time.Time
	next  atomic.Uint64 // seed

	mu    sync.Mutex
	count counts
	first uint64          // the first seed that is not completed
	done  map[uint64]bool // completed seeds after it
	last  time.Duration   // of the last report
}

// work runs histories until there are enough cases, or one fails.
func (r *run) work(b *bench) {
	for !r.enough() {
		seed := r.next.Add(1) - 1
		count, err := live(r.t.Context(), b, seed)
		if err != nil {
			r.t.Errorf("%s=%d %s=1: %v", seedVariable, seed, casesVariable, err)
			return
		}
		r.finish(seed, count)
	}
}

// enough reports whether to begin no more histories.
func (r *run) enough() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count.cases() >= r.cases || r.t.Failed()
}

// finish records a completed history.
func (r *run) finish(seed uint64, count counts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count.add(count)
	r.done[seed] = true
	for r.done[r.first] {
		delete(r.done, r.first)
		r.first++
	}
	if took := time.Since(r.begun); took-r.last > 20*time.Second {
		r.last = took
		r.report()
	}
}

// report logs the progress.
func (r *run) report() {
	took := time.Since(r.begun)
	r.t.Logf("%v: %d of %d edits, %.0f/s; continue with %s=%d; %+v", took.Round(time.Second), r.count.cases(), r.cases, float64(r.count.cases())/took.Seconds(), seedVariable, r.first, r.count)
}
