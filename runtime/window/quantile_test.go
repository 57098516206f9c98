package window

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestQuantiles compares quantiles with those of all numbers, however these are divided, added and merged.
func TestQuantiles(t *testing.T) {
	sizes := []*rapid.Generator[float64]{rapid.Float64(), rapid.Float64Range(-50, 50), rapid.Float64Range(1e-3, 1e6), rapid.Map(rapid.IntRange(-300, 300), func(n int) float64 { return float64(n) }),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-1022, -0x1p-1022})}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SampledFrom(sizes).Draw(t, "sizes"), 1, 200).Draw(t, "values")
		all, parts := quantilesOf(values), []Quantiles{{}, {}, {}}
		for _, v := range rapid.Permutation(values).Draw(t, "order") {
			parts[rapid.IntRange(0, 2).Draw(t, "part")].add(v, false)
		}
		var merged Quantiles
		for i := range parts {
			merged.combine(&parts[i])
		}
		if diff := cmp.Diff(all, merged, bitwise); diff != "" {
			t.Fatal(diff)
		}
		var parsed Quantiles
		if encoded := all.appendTo(nil); !parsed.parse(encoded, numbers{count: int64(len(values))}) || string(parsed.appendTo(nil)) != string(encoded) {
			t.Fatalf("%x", encoded)
		}
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1, rapid.Float64Range(0, 1).Draw(t, "q")} {
			checkQuantile(t, &all, values, q)
		}
	})
}

func quantilesOf(values []float64) (s Quantiles) {
	for _, v := range values {
		s.add(v, false)
	}
	return s
}

// checkQuantile checks that a quantile is as near to the exact one as is promised.
func checkQuantile(t rapid.TB, s *Quantiles, values []float64, q float64) {
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v != v })
	slices.Sort(values)
	got := s.Quantile(q)
	if len(values) == 0 {
		if got == got {
			t.Fatalf("%v without values", got)
		}
		return
	}
	rank, part := math.Modf(q * float64(len(values)-1))
	low := values[int(rank)]
	high, want := low, low
	if part > 0 {
		high = values[int(rank)+1]
		want = between(low, high, part)
	}
	off := (1 + 1e-9) / 129 * (math.Abs(low)*(1-part) + math.Abs(high)*part)
	if math.IsInf(off, 0) || math.IsInf(want, 0) || want != want {
		return
	}
	if !(math.Abs(got-want) <= off+0x1p-1022) || got < values[0] || got > values[len(values)-1] {
		t.Fatalf("quantile %v of %v is %v, want %v ± %v", q, values, got, want, off)
	}
}

// TestUnknownQuantiles checks that numbers of all sizes make quantiles unknown once they are in too many buckets, in
// whatever order and parts.
func TestUnknownQuantiles(t *testing.T) {
	for octaves, unknown := range map[int]bool{256: false, 257: true} {
		var values []float64
		for i := range octaves * 64 {
			values = append(values, math.Ldexp(1+float64(i%64)/64, i/64-120))
		}
		up := quantilesOf(values)
		slices.Reverse(values)
		down, half := quantilesOf(values), quantilesOf(values[len(values)/2:])
		rest := quantilesOf(values[:len(values)/2])
		half.combine(&rest)
		if diff := cmp.Diff([]Quantiles{up, up}, []Quantiles{down, half}, bitwise); diff != "" || up.unknown != unknown {
			t.Errorf("%d octaves, unknown %v: %s", octaves, up.unknown, diff)
		}
		for q := range 101 {
			if got := up.Quantile(float64(q) / 100); !unknown {
				checkQuantile(t, &up, values, float64(q)/100)
			} else if got == got {
				t.Errorf("quantile %d of %d octaves is %v", q, octaves, got)
			}
		}
	}
}

// TestWholeQuantiles checks that quantiles of small integers are integers, and that filled windows have those on the
// line between their neighbors.
func TestWholeQuantiles(t *testing.T) {
	var s, later Quantiles
	part := With[Quantiles](IntPart[int64]("n", 2)).sketches[0]
	part.add(&s, make([]time.Time, 5), &[]int64{3, 3, 4, 100, 127}, 0, 5)
	part.add(&later, make([]time.Time, 1), &[]int64{10}, 0, 1)
	for q, want := range map[float64]float64{0: 3, 0.25: 3, 0.375: 3.5, 0.5: 4, 0.75: 100, 1: 127} {
		if got := s.Quantile(q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	var line, kept Quantiles
	part.between(&line, &s, &later, share{exact: rational(int64(1)), near: 0.5})
	part.previous(&kept, &s)
	for _, q := range []float64{-1, 2, math.NaN()} {
		if s.Quantile(q) == s.Quantile(q) || line.Quantile(q) == line.Quantile(q) {
			t.Errorf("quantile %v", q)
		}
	}
	if got := [2]float64{line.Quantile(0.5), kept.Quantile(0.75)}; got != [2]float64{7, 0} && got != [2]float64{7, 100} {
		t.Errorf("filled: %v", got)
	}
}

// TestRunWithoutQuantiles parses a run from before a field had quantiles: all else of it is there, and quantiles are none,
// also of windows that are added up and of those that are stored or sent again.
func TestRunWithoutQuantiles(t *testing.T) {
	type later struct {
		Window
		Series string
		Uint   struct {
			Int[uint64]
			Quantiles
		}
	}
	spec := NewSpec[string, later](With[Quantiles](IntPart[uint64]("uint", 3)))
	var r, again Run
	must(t, spec.ParseRun(&r, exampleRun(t)))
	encoded, err := spec.AppendRun(nil, &r)
	must(t, err)
	must(t, spec.ParseRun(&again, encoded))
	sum, sent := spec.new(), spec.new()
	spec.add(sum, Slices{nil, &[]time.Time{runStart}, nil, &[]uint64{7}}, 0, 1)
	for _, of := range []*Run{&r, &again} {
		w := of.Windows[0].Window.(*later)
		if of.LacksSketches != (of == &r) || of.Lacks || w.Uint.Count != 1 || w.Uint.Last != 5 || w.Uint.Quantile(0.5) == w.Uint.Quantile(0.5) {
			t.Errorf("%+v of %+v", w, of)
		}
		spec.Combine(sum, of.Windows[0])
	}
	must(t, spec.Parse(sent, spec.Append(nil, sum)))
	for _, w := range []*Summary{sum, sent} {
		if n := w.Window.(*later).Uint; n.Count != 3 || n.Max != 7 || n.Quantile(0.5) == n.Quantile(0.5) {
			t.Errorf("%+v", n)
		}
	}
}
