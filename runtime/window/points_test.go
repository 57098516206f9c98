package window

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPoints checks, for random values, that each pixel keeps its first, lowest, highest and last
// value, and nothing else.
func TestPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := time.Unix(1_700_000_000, 0)
		n, width := rapid.IntRange(1, 20).Draw(t, "pixels"), rapid.IntRange(1, 100).Draw(t, "seconds")
		to := from.Add(time.Duration(n*width) * time.Second)
		p := NewPoints(from, to, n)
		all := map[int][]Point{}
		for i := range n * width {
			if !rapid.Bool().Draw(t, "some") {
				continue
			}
			v := Point{from.Add(time.Duration(i) * time.Second), float64(rapid.IntRange(-9, 9).Draw(t, "value"))}
			p.Add(v.Time, v.Value)
			p.Add(v.Time, math.NaN())
			all[i/width] = append(all[i/width], v)
		}
		got := p.All()
		if len(got) > 4*n {
			t.Fatalf("%d points", len(got))
		}
		of := map[int][]Point{}
		for i, v := range got {
			if i > 0 && !got[i-1].Time.Before(v.Time) {
				t.Fatalf("%v is not after %v", v, got[i-1])
			}
			pixel := int(v.Time.Sub(from)/time.Second) / width
			of[pixel] = append(of[pixel], v)
		}
		for pixel, values := range all {
			kept := of[pixel]
			if kept[0] != values[0] || kept[len(kept)-1] != values[len(values)-1] || extremes(kept) != extremes(values) {
				t.Fatalf("pixel %d: %v of %v", pixel, kept, values)
			}
		}
		if len(of) != len(all) {
			t.Fatal("a pixel is lost")
		}
	})
}

func extremes(points []Point) (out [2]float64) {
	out = [2]float64{math.Inf(1), math.Inf(-1)}
	for _, p := range points {
		out = [2]float64{min(out[0], p.Value), max(out[1], p.Value)}
	}
	return out
}
