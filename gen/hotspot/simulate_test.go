package hotspot

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// layoutOf resolves a schema with a key.
func layoutOf(t testing.TB, segments, expect string) *layout.Layout {
	t.Helper()
	s, found := schema.Parse("s.yaml", []byte(fmt.Sprintf(`btgen: v1
package: p
name: P
series:
  region: {type: string, cardinality: 4}
  id: {type: uuid}
time: {precision: 1s}
fields:
  value: int64
tables:
  p:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [%s]}
    family: m
    ttl: {max_age: 30d}
expect: {%s}
`, segments, expect)))
	l, more := layout.Resolve(s)
	if found = append(found, more...); found.HasErrors() {
		t.Fatal(found)
	}
	return l
}

// simulate simulates the writes of a layout.
func simulate(l *layout.Layout) Result {
	return Simulate(l, l.Tables[0], Load{Load: l.Load(), Seed: Seed})
}

// TestClosedForms compares simulations with what is known without one.
func TestClosedForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, segments, expect string
		want                   float64 // share of the hottest tablet
		last                   float64 // of the last tablet; negative if any
	}{
		{"uniform hash", "id, region, time", "series: 2000, rate: 1/s", 1.0 / fewTablets, -1},
		{"time first", "time, region, id", "series: 2000, rate: 1/s", 1, 1},
		{"bucketless time after few values", "region, time, id", "series: 2000, rate: 1/s", 0.25, -1},
		{"2 salts", "{hash: [id], buckets: 2}, time, region, id", "series: 2048, rate: 1/s", 0.5, -1},
		{"8 salts", "{hash: [id], buckets: 8}, time, region, id", "series: 2048, rate: 1/s", 0.125, -1},
		{"time first, at night too", "time, region, id", "series: 2000, rate: 1/s, arrival: daily", 1, 1},
		{"time first, skewed", "time, region, id", "series: 2000, rate: 1/s, skew: 1.2", 1, 1},
	} {
		l := layoutOf(t, c.segments, c.expect)
		got := simulate(l)
		// Salts and regions are hashes, so their parts differ by chance: for n series of
		// which a share p is in a part, by the square root of p(1-p)/n.
		slack := 0.0
		if c.want < 1 && c.want > 1.0/fewTablets {
			slack = 4 * math.Sqrt(c.want*(1-c.want)/2000)
		}
		if c.name == "bucketless time after few values" {
			slack = 1e-3 // all regions have 500 series
		}
		if math.Abs(got.Tablet.Mean-c.want) > slack+1e-9 {
			t.Errorf("%s: the hottest tablet has %v, want %v", c.name, got.Tablet.Mean, c.want)
		}
		if c.last >= 0 && (math.Abs(got.Last.Mean-c.last) > 1e-9 || math.Abs(got.Last.Peak-c.last) > 1e-9) {
			t.Errorf("%s: the last tablet has %v, want %v", c.name, got.Last, c.last)
		}
	}
}

// TestBusiestSeries checks that a series whose writes are more than those of a tablet stays
// in one: rows cannot be split. Its writes come to one end.
func TestBusiestSeries(t *testing.T) {
	t.Parallel()
	l := layoutOf(t, "region, id, time", "series: 100000, rate: 1/s, skew: 1.5")
	load := l.Load()
	if got := simulate(l); got.Tablet.Peak < load.Busiest()-1e-9 || got.Tablet.Mean > 1.5*load.Busiest() {
		t.Errorf("the hottest tablet has %v, the busiest series %v", got.Tablet, load.Busiest())
	}
}

// TestRanks checks that the busiest series are spread over the key space.
func TestRanks(t *testing.T) {
	l := layoutOf(t, "region, id, time", "series: 1000000, rate: 1/s, skew: 0.9")
	w := population(nil, l, l.Tables[0], l.Load(), Seed, writers)
	total, regions := 0.0, map[any]int{}
	for i := range w {
		total += w[i].weight
		if i < 100 {
			regions[valueOf(l, l.Tables[0], 0, w[i].number, uint64(l.Load().Series))]++
		}
	}
	if math.Abs(total-1) > 1e-6 || len(regions) != 4 || slices.Max(slices.Collect(values(regions))) > 40 {
		t.Errorf("weights of %v, regions of the busiest: %v", total, regions)
	}
}

func values(m map[any]int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for _, n := range m {
			if !yield(n) {
				return
			}
		}
	}
}

// TestDeterministic checks that the same seed has the same result.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	l := layoutOf(t, "region, id, time", "series: 5000, rate: 1/s, skew: 1, arrival: daily")
	if simulate(l) != simulate(l) {
		t.Error("two results of one seed")
	}
}

var counted = flag.Int("keys", 0, "number of keys that TestCounted counts, such as 20000000")

// TestCounted compares the hottest tablet's share with that of random events whose keys are
// counted. To count 20,000,000: go test ./gen/hotspot -run Counted -keys 20000000.
func TestCounted(t *testing.T) {
	t.Parallel()
	events := max(*counted, testlong.Pick(300_000, 2_000_000))
	for _, segments := range []string{"region, time, id", "id, region, time", "{hash: [id], buckets: 16}, time, region, id"} {
		l := layoutOf(t, segments, "series: 50000, rate: 1/s, skew: 0.8")
		table, mean := l.Tables[0], 0.0
		load := Load{Load: l.Load(), Seed: Seed}
		all := newSimulation(new(Simulator), l, table, load, 50_000)
		cumulative := make([]float64, len(all.writers))
		sum := 0.0
		for i := range all.writers {
			sum += all.writers[i].weight
			cumulative[i] = sum
		}
		var key keyList
		random := rand.New(rand.NewPCG(1, 2))
		load.trace = func(step int, at time.Time, starts []string) {
			counts := make([]int, len(starts))
			for range events / Steps / 3 {
				i, _ := slices.BinarySearch(cumulative, random.Float64()*sum)
				when := at.Add(time.Duration((random.Float64() - 0.5) * float64(30*time.Minute)))
				key.empty()
				if all.add(&key, min(i, len(all.writers)-1), when) {
					counts[partOf(starts, all.at(&key, 0, nil))]++
				}
			}
			mean += float64(slices.Max(counts)) / float64(events/Steps/3) / Steps
		}
		got := Simulate(l, table, load)
		if math.Abs(got.Tablet.Mean-mean) > 0.1*mean {
			t.Errorf("%s: the hottest tablet has %v, counted %v", segments, got.Tablet.Mean, mean)
		}
	}
}

// TestMemory checks that a simulation takes at most 16 MB of memory, also if keys are as long as
// Bigtable allows, and that the next one takes the same memory. All memory that a run allocates
// is counted, so that this is no less than what is live at any time.
func TestMemory(t *testing.T) {
	testlong.SkipRaced(t)
	allocated := func(simulate func()) (bytes uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		simulate()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, segments := range []string{
		"region, id, time",
		"time, {hash: [id], buckets: 16}, region, {const: " + strings.Repeat("x", 200) + "}, id",
		"{const: " + strings.Repeat("x", 2000) + "}, id, time, region, {const: " + strings.Repeat("y", 1900) + "}",
	}[testlong.Pick(2, 0):] { // the longest take the most
		l := layoutOf(t, segments, "series: 5000000, rate: 1/m, skew: 1")
		m, load := new(Simulator), Load{Load: l.Load(), Seed: Seed}
		if bytes := allocated(func() { m.Simulate(l, l.Tables[0], load) }); bytes > 16e6 {
			t.Errorf("%.40s: %d bytes", segments, bytes)
		}
		if bytes := allocated(func() { m.Simulate(l, l.Tables[0], load) }); bytes > 4e6 {
			t.Errorf("%.40s: %d more bytes in the next run", segments, bytes)
		}
		if first, again := Simulate(l, l.Tables[0], load), m.Simulate(l, l.Tables[0], load); first != again {
			t.Errorf("%.40s: another result in used memory", segments)
		}
	}
}

func BenchmarkSimulate(b *testing.B) {
	l := layoutOf(b, "region, id, time", "series: 5000000, rate: 1/m, skew: 1")
	b.ReportAllocs()
	for b.Loop() {
		simulate(l)
	}
}
