package main

import (
	"context"
	"runtime"
	"testing"

	"github.com/btgen-dev/btgen/golden/cputime"
)

// size is the amount of data that a case reads or writes in one run.
type size struct{ events, cells int }

// measure measures the CPU time that run takes in this process, in user and
// system mode, and the bytes on the wire. Package testing counts its
// allocations.
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

// heap returns the size of the reachable objects in bytes. Pools release their
// memory in two collections.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
