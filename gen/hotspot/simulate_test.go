package hotspot

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// layoutOf resolves a schema with a key.
func layoutOf(t testing.TB, segments, expect string) *layout.Layout {
	t.Helper()
	return testschema.Layout(t, fmt.Sprintf(`btgen: v1
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
`, segments, expect))
}

// simulate simulates the writes of a layout.
func simulate(l *layout.Layout) Result {
	return Simulate(l, l.Tables[0], Load{Load: l.Load(), Seed: Seed})
}

// TestClosedForms compares simulations with what is known without one.
func TestClosedForms(t *testing.T) {
	for _, c := range []struct {
		name, segments, expect string
		want, slack            float64 // mean share of the hottest part
	}{
		{"uniform hash", "id, region, time", "series: 2000, rate: 1/s", 1.0 / Bands, 0.02},
		{"time first", "time, region, id", "series: 2000, rate: 1/s", 1, 0.06}, // a step may be in two parts
		{"time after few values", "region, time, id", "series: 2000, rate: 1/s", 0.25, 0.02},
		{"2 salts", "{hash: [id], buckets: 2}, time, region, id", "series: 2048, rate: 1/s", 0.5, 0.06},
		{"8 salts", "{hash: [id], buckets: 8}, time, region, id", "series: 2048, rate: 1/s", 0.125, 0.04},
		{"time first, at night too", "time, region, id", "series: 2000, rate: 1/s, arrival: daily", 1, 0.06},
		{"time first, skewed", "time, region, id", "series: 2000, rate: 1/s, skew: 1.2", 1, 0.06},
	} {
		got := simulate(layoutOf(t, c.segments, c.expect))
		if math.Abs(got.Hottest.Mean-c.want) > c.slack || c.want == 1 && got.Hottest.Peak < 0.999 {
			t.Errorf("%s: the hottest part has %v, want %v", c.name, got.Hottest, c.want)
		}
		for step := range Steps {
			sum := 0.0
			for band := range Bands {
				sum += got.Heat[band][step]
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("%s: the shares of step %d add up to %v", c.name, step, sum)
			}
		}
	}
}

// TestBusiestSeries checks that the writes of the busiest series come to one end.
func TestBusiestSeries(t *testing.T) {
	l := layoutOf(t, "region, id, time", "series: 100000, rate: 1/s, skew: 1.5")
	load := l.Load()
	if got := simulate(l); got.Hottest.Peak < load.Busiest()-1e-9 || got.Hottest.Mean > 1.5*load.Busiest() {
		t.Errorf("the hottest part has %v, the busiest series %v", got.Hottest, load.Busiest())
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
	if math.Abs(total-1) > 1e-6 || len(regions) != 4 || slices.Max(slices.Collect(maps.Values(regions))) > 40 {
		t.Errorf("weights of %v, regions of the busiest: %v", total, regions)
	}
}

// TestDeterministic checks that the same seed has the same result.
func TestDeterministic(t *testing.T) {
	l := layoutOf(t, "region, id, time", "series: 5000, rate: 1/s, skew: 1, arrival: daily")
	if simulate(l) != simulate(l) {
		t.Error("two results of one seed")
	}
}

// TestCounted compares the hottest share with that of random events of all series.
func TestCounted(t *testing.T) {
	for _, segments := range []string{"region, time, id", "id, region, time", "{hash: [id], buckets: 16}, time, region, id"} {
		l := layoutOf(t, segments, "series: 20000, rate: 1/s, skew: 0.8")
		load := Load{Load: l.Load(), Seed: Seed}
		starts := newSimulation(l, l.Tables[0], load, writers).halves()
		all := newSimulation(l, l.Tables[0], load, 20_000)
		var cumulative []float64
		sum, mean := 0.0, 0.0
		for i := range all.writers {
			sum += all.writers[i].weight
			cumulative = append(cumulative, sum)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for step := range Steps {
			counts := make([]int, halves)
			for range 2000 {
				i, _ := slices.BinarySearch(cumulative, random.Float64()*sum)
				when := all.middle(step).Add(time.Duration((random.Float64() - 0.5) * float64(all.step)))
				if key, ok := all.key(min(i, len(all.writers)-1), when); ok {
					counts[halfOf(starts, key)]++
				}
			}
			most := 0
			for i := range halves - 1 {
				most = max(most, counts[i]+counts[i+1])
			}
			mean += float64(most) / 2000 / Steps
		}
		if got := simulate(l); math.Abs(got.Hottest.Mean-mean) > 0.15*mean {
			t.Errorf("%s: the hottest part has %v, counted %v", segments, got.Hottest.Mean, mean)
		}
	}
}

// TestLongKeys simulates keys as long as Bigtable allows, whose writers are fewer.
func TestLongKeys(t *testing.T) {
	l := layoutOf(t, "{const: "+strings.Repeat("x", 2000)+"}, time, id, region, {const: "+strings.Repeat("y", 1900)+"}", "series: 5000000, rate: 1/m, skew: 1")
	if got := simulate(l); got.Hottest.Peak < 0.999 {
		t.Errorf("the hottest part has %v", got.Hottest)
	}
}
