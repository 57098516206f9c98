package main

import (
	"context"
	"runtime"
	"testing"

	"github.com/btgen-dev/btgen/golden/cputime"
)

// size is how much a case reads or writes in one run.
type size struct{ events, cells int }

// measure measures what run takes: the processor's time in this process, in user mode and
// in the system, and the bytes on the wire. What it allocates is counted by testing.
func measure(b *testing.B, on *bed, s size, run func(context.Context) error) {
	b.Helper()
	b.ReportAllocs()
	if err := run(b.Context()); err != nil { // for connections, and memory that is reused
		b.Fatal(err)
	}
	runtime.GC() // the garbage of what was measured before
	traffic, begin := on.traffic.Load(), cputime.Spent()
	for b.Loop() {
		if err := run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	took, n := float64((cputime.Spent() - begin).Nanoseconds()), float64(b.N)
	b.ReportMetric(took/n/float64(s.events), "cpu-ns/event")
	b.ReportMetric(took/n/float64(s.cells), "cpu-ns/cell")
	b.ReportMetric(float64(on.traffic.Load()-traffic)/n, "wire-B/op")
	b.ReportMetric(0, "ns/op") // waiting is not the measure
}

// heap returns the bytes of the objects that are reachable. What pools hold is
// given up in two steps.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
