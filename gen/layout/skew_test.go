package layout_test

import (
	"math"
	"testing"

	"github.com/btgen-dev/btgen/gen/layout"
)

// TestHarmonic compares the weight of all series with the sum of their weights.
func TestHarmonic(t *testing.T) {
	for _, s := range []float64{0, 0.5, 0.99, 1, 1.2, 3} {
		for _, n := range []int64{1, 2, 1000, 1001, 200_000} {
			want := 0.0
			for k := range n {
				want += math.Pow(float64(k+1), -s)
			}
			if got := layout.Harmonic(n, s); math.Abs(got-want) > 1e-9*want {
				t.Errorf("%d series with skew %v: %v, want %v", n, s, got, want)
			}
		}
	}
}
