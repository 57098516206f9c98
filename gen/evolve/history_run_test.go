package evolve_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/inmemory"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// The environment variables of TestHistories.
const (
	casesVariable = "BTGEN_EDITS"      // how many edits to try
	seedVariable  = "BTGEN_EDITS_SEED" // the seed of the first history
	// failuresVariable is after how many histories that fail to stop; by default, the first.
	failuresVariable = "BTGEN_EDITS_FAILURES"

	maxMemory = 1 << 30 // in bytes
)

// TestHistories applies random edits to the schemas of random projects, and to their locks. An edit that is neither refused nor
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
	r := &run{t: t, begun: time.Now(), kinds: map[string]int{}}
	r.failures = number(t, failuresVariable, 1)
	r.next.Store(uint64(number(t, seedVariable, 1)))
	r.cases = number(t, casesVariable, testlong.Pick(60, 5_000))
	var workers sync.WaitGroup
	for range min(1+r.cases/1000, runtime.GOMAXPROCS(0)) {
		server := new(inmemory.Bigtable)
		client, err := server.Connect(t.Context())
		assert.Must(t, err)
		workers.Go(func() { r.work(server, client) })
	}
	workers.Wait()
	r.report()
	r.variety()
}

// rarely is in how many edits each kind must be drawn once.
const rarely = 2000

// variety fails the test if a kind of edit, or of read, is hardly drawn any more.
func (r *run) variety() {
	var all []string
	for _, e := range edits {
		all = append(all, e.name)
	}
	for _, e := range exchanges {
		all = append(all, e.name)
	}
	all = append(all, staleLocks...)
	all = append(all, revertSchemas, oneSchema)
	least := r.count.cases() / rarely
	for _, kind := range all {
		if r.kinds[kind] < least {
			r.t.Errorf("%q was drawn %d times in %d edits, want %d", kind, r.kinds[kind], r.count.cases(), least)
		}
	}
	for name, n := range map[string]int{
		"with several layouts": r.count.Layouts, "with older columns": r.count.Moved, "with TTL classes": r.count.Classes, "of two schemas": r.count.Two,
		"of summarized buckets": r.count.Runs, "after a backfill": r.count.Copied, "after other locks": r.count.Stale, "after acceptances": r.count.Accepted,
	} {
		if n < r.count.cases()/100 {
			r.t.Errorf("%d reads %s in %d edits", n, name, r.count.cases())
		}
	}
	r.t.Log(r.kinds)
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

	failures int // after which to stop
	failed   atomic.Int64

	mu    sync.Mutex
	count counts
	kinds map[string]int // how often each kind of edit was drawn
	last  time.Duration  // of the last report
}

// work runs histories until there are enough cases, or one fails.
func (r *run) work(server *inmemory.Bigtable, client *bigtable.Client) {
	for !r.enough() {
		seed := r.next.Add(1) - 1
		count, kinds, err := live(r.t.Context(), server, client, seed)
		if err != nil {
			r.t.Errorf("%s=%d %s=1: %v", seedVariable, seed, casesVariable, err)
			if r.failed.Add(1) >= int64(r.failures) {
				return
			}
		}
		r.finish(count, kinds)
	}
}

// enough reports whether to begin no more histories.
func (r *run) enough() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count.cases() >= r.cases || r.failed.Load() >= int64(r.failures)
}

// finish records a completed history.
func (r *run) finish(count counts, kinds map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count.add(count)
	for kind, n := range kinds {
		r.kinds[kind] += n
	}
	if took := time.Since(r.begun); took-r.last > 20*time.Second {
		r.last = took
		r.report()
	}
}

// report logs the progress.
func (r *run) report() {
	took := time.Since(r.begun)
	r.t.Logf("%v: %d of %d edits, %.0f/s; continue with %s=%d; %+v", took.Round(time.Second), r.count.cases(), r.cases, float64(r.count.cases())/took.Seconds(), seedVariable, r.next.Load(), r.count)
}
