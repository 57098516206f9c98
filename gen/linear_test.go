package gen_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
)

// queriesSchema returns a schema with n queries.
func queriesSchema(n int) []byte {
	var b strings.Builder
	b.WriteString(`btgen: v1
package: cpu
name: Cpu
series: {host: string}
time: {precision: 1s}
fields: {v: float64}
tables:
  cpu: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}, bucket: 6h, family: m, ttl: {keep: forever}}
queries:
`)
	for i := range n {
		fmt.Fprintf(&b, "  Q%d: {by: [host]}\n", i)
	}
	return []byte(b.String())
}

// TestLinear resolves schemas with n and 4n queries. The class of faults: work for each query that grows with
// the number of queries. It compares the bytes that both allocate: 4 times as many, and not 16 times.
func TestLinear(t *testing.T) {
	allocated := func(n int) float64 {
		text := queriesSchema(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := gen.Resolve([]gen.Input{{Name: "cpu.yaml", Text: text}})
		runtime.ReadMemStats(&after)
		if r.Diagnostics.HasErrors() {
			t.Fatal(r.Diagnostics.Err())
		}
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	const n, most = 2000, 6
	allocated(n) // what is initialized once
	if few, many := allocated(n), allocated(4*n); many > most*few {
		t.Errorf("4 times as many queries take %.1f times as much memory", many/few)
	}
}
