package frame

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

func TestSortByTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var spare []wire.Cell
	for _, n := range []int{0, 1, 2, manyToOrder - 1, manyToOrder, 5000} {
		for _, width := range []int64{1, 2, 1000, 1 << 22, 1 << 40, 1 << 62} {
			cells := make([]wire.Cell, n)
			for i := range cells {
				cells[i] = wire.Cell{Micros: random.Int64N(width) - width/3, Value: wire.Text{Begin: uint32(i)}}
			}
			want := slices.Clone(cells)
			slices.SortStableFunc(want, byTime)
			var got []wire.Cell
			if got, spare = sortByTime(cells, spare); !slices.Equal(got, want) {
				t.Errorf("%d cells over %d", n, width)
			}
			if again, _ := sortByTime(got, nil); !slices.Equal(again, want) {
				t.Errorf("%d sorted cells over %d", n, width)
			}
		}
	}
}

// Data that do not arrive newest first are sorted, with one per time.
func TestAscend(t *testing.T) {
	c := Column{Cells: []wire.Cell{{Micros: 2}, {Micros: 3}, {Micros: 3}, {Micros: 1}}}
	if c.Ascend(); !slices.Equal(c.Cells, []wire.Cell{{Micros: 1}, {Micros: 2}, {Micros: 3}}) {
		t.Errorf("%+v", c.Cells)
	}
}
