package store

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// byTime compares data by event time.
func byTime(a, b wire.Cell) int { return cmp.Compare(a.Micros, b.Micros) }

// The number of bits of a time per counting pass, and the number of cells from which on
// counting is faster than comparing.
const (
	digitBits   = 11
	manyToOrder = 256
)

// sortByTime sorts cells by time and is stable. The result is in one of the two slices;
// the other is free, and other grows to the necessary length. Cells that arrive in the
// order of their data are not sorted by time at all, and counting the digits of their
// times takes a few steps per cell, independent of their number.
func sortByTime(cells, other []wire.Cell) (sorted, free []wire.Cell) {
	low, high, ordered := span(cells)
	switch {
	case ordered:
		return cells, other
	case len(cells) < manyToOrder:
		slices.SortStableFunc(cells, byTime)
		return cells, other
	}
	other = slices.Grow(other[:0], len(cells))[:len(cells)]
	for shift := 0; shift < bits.Len64(uint64(high-low)); shift += digitBits {
		var ends [1 << digitBits]int
		for i := range cells {
			ends[digit(cells[i].Micros-low, shift)]++
		}
		begin := 0
		for i, n := range ends {
			ends[i] = begin
			begin += n
		}
		for i := range cells {
			d := digit(cells[i].Micros-low, shift)
			other[ends[d]] = cells[i]
			ends[d]++
		}
		cells, other = other, cells
	}
	return cells, other
}

// digit returns the digit of a time at the given bit.
func digit(micros int64, shift int) uint64 {
	return uint64(micros) >> shift & (1<<digitBits - 1)
}

// span returns the earliest and the latest time, and whether the cells are in order.
func span(cells []wire.Cell) (low, high int64, ordered bool) {
	ordered = true
	for i := range cells {
		if i == 0 {
			low, high = cells[i].Micros, cells[i].Micros
		}
		ordered = ordered && cells[i].Micros >= high
		low, high = min(low, cells[i].Micros), max(high, cells[i].Micros)
	}
	return low, high, ordered
}
