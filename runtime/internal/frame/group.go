package frame

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Group contains the data of a bucket for events of one class, or all of it if events
// have no class.
type Group struct {
	Class   int
	Columns []Column
}

// Column contains the data of a column in order of time. The values are in one row.
type Column struct {
	Cells     []wire.Cell
	Row       wire.Row
	times     []int64     // event times in microseconds since the Unix epoch, unless the timestamps of the cells are
	sequences []uint32    // sequence numbers, if events have them
	at, end   int         // range of the data at the current instant
	Own       []wire.Cell // cells that are not the row's
	spare     []wire.Cell // memory for sorting them
}

// Instant is the time of an event in microseconds since the Unix epoch, and its
// sequence number.
type Instant struct {
	Micros   int64
	Sequence uint32
}

func (t Instant) Compare(o Instant) int {
	return cmp.Or(cmp.Compare(t.Micros, o.Micros), cmp.Compare(t.Sequence, o.Sequence))
}

// instant returns the instant of the k-th datum.
func (c *Column) instant(k int) (t Instant) {
	if c.times != nil {
		t.Micros = c.times[k]
	} else {
		t.Micros = c.Cells[k].Micros
	}
	if c.sequences != nil {
		t.Sequence = c.sequences[k]
	}
	return t
}

// Reset empties the column.
func (c *Column) Reset(row wire.Row) {
	*c = Column{Row: row, Own: c.Own[:0], spare: c.spare[:0], times: c.times[:0], sequences: c.sequences[:0]}
}

// AddOffsets adds the data of columns with one event each, whose qualifiers are times. It
// stops at the first qualifier that is not, and returns the index of its column.
func (c *Column) AddOffsets(row wire.Row, columns []wire.Column, in *codec.OffsetsIn, sequenced bool) int {
	times, own := slices.Grow(c.times, len(columns)), slices.Grow(c.Own, len(columns))
	i := 0
	for ; i < len(columns); i++ {
		micros, sequence, ok := in.Parse(row.Bytes(columns[i].Qualifier))
		if !ok {
			break
		}
		if i > 0 && micros == times[len(times)-1] && row.Same(&columns[i-1], &columns[i]) {
			continue // an older cell of the same event
		}
		times = append(times, micros)
		own = append(own, row.Cells(&columns[i])[0]) // the newest
		if sequenced {
			c.sequences = append(c.sequences, sequence)
		}
	}
	c.times, c.Own = times, own
	return i
}

// Ascend sorts the data, which arrive newest first, in order of time and keeps one per
// time.
func (c *Column) Ascend() {
	cells := c.Cells
	falling := true
	for i := 1; i < len(cells); i++ {
		falling = falling && cells[i].Micros < cells[i-1].Micros
	}
	slices.Reverse(cells)
	if !falling {
		slices.SortStableFunc(cells, byTime)
		c.Cells = slices.CompactFunc(cells, func(a, b wire.Cell) bool { return a.Micros == b.Micros })
	}
}

// Sort sorts its own data in order of time. It is stable.
func (c *Column) Sort() {
	c.Own, c.spare = sortByTime(c.Own, c.spare)
	c.Cells = c.Own
}

// only returns the only group with data; nil if there are several or none.
func only(groups []*Group) (one *Group) {
	for _, g := range groups {
		switch {
		case g.lead() == nil:
		case one != nil:
			return nil
		default:
			one = g
		}
	}
	return one
}

// lead returns the first column with data; nil if there is none.
func (g *Group) lead() *Column {
	for i := range g.Columns {
		if len(g.Columns[i].Cells) > 0 {
			return &g.Columns[i]
		}
	}
	return nil
}

// agree reports whether all columns with data have exactly one datum at each of the
// same instants, so that the k-th event consists of the k-th datum of each.
func (g *Group) agree() bool {
	lead := g.lead()
	if !lead.rises() {
		return false
	}
	for i := range g.Columns {
		if c := &g.Columns[i]; c != lead && len(c.Cells) > 0 && !c.agrees(lead) {
			return false
		}
	}
	return true
}

// rises reports whether the instants are strictly ascending.
func (c *Column) rises() bool {
	switch {
	case c.sequences != nil:
		for k := 1; k < len(c.Cells); k++ {
			if c.instant(k-1).Compare(c.instant(k)) >= 0 {
				return false
			}
		}
	case c.times != nil:
		for k := 1; k < len(c.times); k++ {
			if c.times[k-1] >= c.times[k] {
				return false
			}
		}
	default:
		for k := 1; k < len(c.Cells); k++ {
			if c.Cells[k-1].Micros >= c.Cells[k].Micros {
				return false
			}
		}
	}
	return true
}

// agrees reports whether two columns have data at the same times. Their times must be
// the timestamps of the cells.
func (c *Column) agrees(o *Column) bool {
	if len(c.Cells) != len(o.Cells) {
		return false
	}
	for k := range c.Cells {
		if c.Cells[k].Micros != o.Cells[k].Micros {
			return false
		}
	}
	return true
}

// earliest returns the first instant at which a column has data.
func (g *Group) earliest() (first Instant, found bool) {
	for i := range g.Columns {
		c := &g.Columns[i]
		if c.at < len(c.Cells) && (!found || c.instant(c.at).Compare(first) < 0) {
			first, found = c.instant(c.at), true
		}
	}
	return first, found
}

// take sets the range of the data at an instant. It returns the largest number of data
// in a column that is fetched with its values, at least 1.
func (g *Group) take(at Instant, fetched scan.Projection) int {
	most := 1
	for i := range g.Columns {
		c := &g.Columns[i]
		c.end = c.at
		for c.end < len(c.Cells) && c.instant(c.end).Compare(at) == 0 {
			c.end++
		}
		if fetched.HasValues(i) {
			most = max(most, c.end-c.at)
		}
	}
	return most
}

// advance moves to the next instant.
func (g *Group) advance() {
	for i := range g.Columns {
		g.Columns[i].at = g.Columns[i].end
	}
}

// Without removes data at the instants of another column. The instants of both must be the
// timestamps of the cells.
func (c *Column) Without(newer *Column) {
	if len(c.Cells) == 0 || len(newer.Cells) == 0 {
		return
	}
	at := 0
	c.Cells = slices.DeleteFunc(c.Cells, func(cell wire.Cell) bool {
		for at < len(newer.Cells) && newer.Cells[at].Micros < cell.Micros {
			at++
		}
		return at < len(newer.Cells) && newer.Cells[at].Micros == cell.Micros
	})
}

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
