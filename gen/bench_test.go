package gen_test

import (
	"fmt"
	"go/format"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/internal/parallel"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/golden/cputime"
)

// BenchmarkGenerate compares generating with only formatting, which every generator
// needs, on equally many processors. The metrics are the ratios of wall time and of CPU
// time, which depends less on other processes, and the peak memory of generating.
func BenchmarkGenerate(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			inputs := many(n)
			files := slices.DeleteFunc(generate(b, inputs).Files, func(f output.File) bool { return !strings.HasSuffix(f.Path, ".go") })
			var generating, formatting cost
			peak := uint64(0)
			for b.Loop() {
				stop := watchMemory()
				generating.add(func() { generate(b, inputs) })
				peak = max(peak, stop())
				formatting.add(func() { formatAll(b, files) })
			}
			b.ReportMetric(float64(generating.time)/float64(formatting.time), "x-format")
			b.ReportMetric(float64(generating.cpu)/float64(formatting.cpu), "x-format-cpu")
			b.ReportMetric(float64(peak)/1e6, "peak-MB")
		})
	}
}

// formatAll formats files and discards the results.
func formatAll(b *testing.B, files []output.File) {
	parallel.For(len(files), func(i int) {
		if _, err := format.Source(files[i].Content); err != nil {
			b.Error(err)
		}
	})
}

// cost is the time that some work took.
type cost struct{ time, cpu time.Duration }

// add adds the cost of f, which starts with a garbage-collected heap.
func (c *cost) add(f func()) {
	runtime.GC()
	start, cpu := time.Now(), cputime.Spent()
	f()
	c.time += time.Since(start)
	c.cpu += cputime.Spent() - cpu
}

// watchMemory samples the heap size, including garbage, every few milliseconds. The
// function that it returns stops sampling and returns the maximum.
func watchMemory() func() uint64 {
	done, peak := make(chan bool), make(chan uint64)
	go func() {
		most, sample := uint64(0), []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for tick := time.Tick(5 * time.Millisecond); ; {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-tick:
			case <-done:
				peak <- most
				return
			}
		}
	}()
	return func() uint64 { done <- true; return <-peak }
}
