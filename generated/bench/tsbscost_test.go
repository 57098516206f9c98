package main

import (
	"context"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/cputime"
	"github.com/btgen-dev/btgen/runtime/store"
)

// costRuns is the number of measurements of which the median counts.
const costRuns = 5

// costOf measures the CPU time of the client in a read, in milliseconds, and the bytes on the wire, both ways.
func costOf(t *testing.T, on *bed, read func() error) (spent float64, received int64) {
	t.Helper()
	var all []time.Duration
	for range 1 + costRuns {
		runtime.GC() // the garbage of what was measured before
		traffic, begin := on.traffic.Load(), cputime.Spent()
		assert.Must(t, read())
		all = append(all, cputime.Spent()-begin)
		received = on.traffic.Load() - traffic
	}
	all = all[1:]
	slices.Sort(all)
	return all[costRuns/2].Seconds() * 1000, received
}

// TestTSBSCosts prints the table of docs/reference/tsbs.md, but for its last column: what the answer to each query takes, with
// generated code, of which the answer as a whole is no part, and with code by hand on the official client, and what
// Bigtable's nodes would read for it. Both answers must be the same.
func TestTSBSCosts(t *testing.T) {
	if os.Getenv(fleetHosts) == "" {
		t.Skipf("it measures: %s=100 runs it", fleetHosts)
	}
	f := longFleet()
	on := newBed(t, startAway(t, "fleet"))
	inside := newServer(f.tables()) // its counts can be read
	counted := fleetReader(inProcess(t, inside).wire, f)
	cells := 0
	o := store.ReaderOptions{Now: f.end, Timeout: store.NoTimeout}
	o.Hooks.End = func(_ context.Context, done store.Operation, _ error) { cells += done.Cells }
	r := examples.NewUsageReader(on.wire, o)
	for _, q := range queries(f, rand.New(rand.NewPCG(29, 3))) {
		got, err := q.read(t.Context(), r)
		assert.Must(t, err)
		if want, err := q.byHand(t.Context(), on.ordinary); err != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%s: generated code answers %d rows, and code by hand %d others, %v", q.name, len(got), len(want), err)
		}
		generated, received := costOf(t, on, func() error {
			cells = 0
			return q.each(t.Context(), r, func(func() answer) {})
		})
		byHand, _ := costOf(t, on, func() error { _, err := q.byHand(t.Context(), on.ordinary); return err })
		nodes := inside.scannedBy(func() {
			assert.Must(t, q.each(t.Context(), counted, func(func() answer) {}))
		})
		t.Logf("| `%s` | %s | %s | %.1f | %.1f | %.1f |", q.name, count(float64(cells)), count(float64(received)/1000), generated, byHand, nodes.bound())
	}
}

// What Google states for a node with SSD (https://cloud.google.com/bigtable/docs/performance), per second.
const (
	nodeReads = 17_000 // of single rows
	nodeScan  = 220e6  // in bytes, of adjacent rows
)

// bound is the time that one node takes at these rates, in milliseconds.
func (s scanned) bound() float64 {
	return 1000 * (float64(s.places)/nodeReads + float64(s.Bytes)/nodeScan)
}
