package gen

import (
	"fmt"
	"go/format"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/internal/parallel"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/golden/cputime"
)

// BenchmarkGenerate compares generating with formatting alone, which no
// generator can do without, on as many processors. The metrics are the ratios of
// the two, in time and in the processors' time, which depends less on what else
// runs, and the most memory that was in use while generating.
func BenchmarkGenerate(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			inputs := many(n)
			files := rendered(generate(b, inputs).Files)
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

// rendered returns the Go files.
func rendered(files []output.File) []output.File {
	var out []output.File
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".go") {
			out = append(out, f)
		}
	}
	return out
}

// formatAll formats files, and keeps nothing.
func formatAll(b *testing.B, files []output.File) {
	parallel.For(len(files), func(i int) {
		if _, err := format.Source(files[i].Content); err != nil {
			b.Error(err)
		}
	})
}

// cost is what some work took.
type cost struct{ time, cpu time.Duration }

// add adds what f takes, from a heap without garbage.
func (c *cost) add(f func()) {
	runtime.GC()
	start, cpu := time.Now(), cputime.Spent()
	f()
	c.time += time.Since(start)
	c.cpu += cputime.Spent() - cpu
}

// watchMemory looks every few milliseconds how many bytes the heap has, garbage
// included, until the function that it returns is called, which returns the most.
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
