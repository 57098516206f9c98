package request_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/btgen-dev/btgen/runtime/internal/frame"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

func TestSortByTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var c frame.Column
	for _, n := range []int{0, 1, 2, 255, 256, 5000} {
		for _, width := range []int64{1, 2, 1000, 1 << 22, 1 << 40, 1 << 62} {
			c.Own = make([]wire.Cell, n)
			for i := range c.Own {
				c.Own[i] = wire.Cell{Micros: random.Int64N(width) - width/3, Value: wire.Text{Begin: uint32(i)}}
			}
			want := slices.Clone(c.Own)
			slices.SortStableFunc(want, func(a, b wire.Cell) int { return cmp.Compare(a.Micros, b.Micros) })
			for range 2 { // what is sorted, too
				if c.Sort(); !slices.Equal(c.Cells, want) {
					t.Errorf("%d cells over %d", n, width)
				}
			}
		}
	}
}

// Data that do not arrive newest first are sorted, with one per time.
func TestAscend(t *testing.T) {
	c := frame.Column{Cells: []wire.Cell{{Micros: 2}, {Micros: 3}, {Micros: 3}, {Micros: 1}}}
	if c.Ascend(); !slices.Equal(c.Cells, []wire.Cell{{Micros: 1}, {Micros: 2}, {Micros: 3}}) {
		t.Errorf("%+v", c.Cells)
	}
}
