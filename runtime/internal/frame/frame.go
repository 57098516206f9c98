// Package frame groups the cells of rows, and aligns them as events: as columns of which the k-th event has the k-th cells. It knows
// neither keys nor values.
package frame

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Frame contains events as columns of cells: the k-th event has the k-th cell of each
// column. They are the events of a bucket in order of time, or those of single-event
// rows in the order of the rows.
type Frame struct {
	Times     []time.Time
	Sequences []uint32 // sequence numbers, if events have them
	class     int      // class of all events, unless mixed
	classes   []int    // class of each event, if mixed
	Mixed     bool
	Columns   []FrameColumn
	Rows      []wire.Row // row of each event, for single-event rows
	Turned    bool       // the last event comes first
}

// FrameColumn contains the cells of a column: one per event, or none at all.
type FrameColumn struct {
	Row   wire.Row // contains the values
	Cells []wire.Cell
	Holes int         // number of events without a cell
	own   []wire.Cell // memory for cells that are not those of a group
	ranks []int       // number of newer cells in the same column; see rank
}

// hole marks an event without a cell.
var hole = wire.Cell{Value: wire.Text{Begin: 1}}

// IsHole reports whether c is a hole.
func IsHole(c *wire.Cell) bool { return c.Value.Begin > c.Value.End }

// Reset empties the frame, for events with the given number of columns.
func (f *Frame) Reset(columns int) {
	clear(f.Rows)
	f.Times, f.Sequences, f.classes, f.Rows = f.Times[:0], f.Sequences[:0], f.classes[:0], f.Rows[:0]
	f.Mixed, f.Turned = false, false
	f.Columns = slices.Grow(f.Columns[:0], columns)[:columns]
	for i := range f.Columns {
		c := &f.Columns[i]
		*c = FrameColumn{own: c.own[:0], ranks: c.ranks[:0]}
	}
}

// Fill fills the frame with the data of a bucket. fetched says what the read includes.
func (f *Frame) Fill(groups []*Group, fetched scan.Projection) {
	f.Reset(len(groups[0].Columns))
	for i := range f.Columns {
		f.Columns[i].Row = groups[0].Columns[i].Row
	}
	if g := only(groups); g != nil && g.agree() {
		f.align(g)
		return
	}
	f.Mixed, f.class = len(groups) > 1, groups[0].Class
	for {
		var next *Group
		var first Instant
		for _, g := range groups {
			if at, ok := g.earliest(); ok && (next == nil || at.Compare(first) < 0) {
				next, first = g, at
			}
		}
		if next == nil {
			break
		}
		f.merge(next, first, fetched)
	}
	for i := range f.Columns {
		f.Columns[i].Cells = f.Columns[i].own
	}
}

// align adds the data of a group whose columns agree.
func (f *Frame) align(g *Group) {
	lead := g.lead()
	f.class = g.Class
	f.Sequences = append(f.Sequences, lead.sequences...)
	f.Times = slices.Grow(f.Times, len(lead.Cells))[:len(lead.Cells)]
	if lead.times != nil {
		for k, micros := range lead.times {
			f.Times[k] = time.UnixMicro(micros).UTC() // codec.FromMicros, inlined
		}
	} else {
		for k := range lead.Cells {
			f.Times[k] = time.UnixMicro(lead.Cells[k].Micros).UTC()
		}
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		if c.Cells = g.Columns[i].Cells; len(c.Cells) == 0 {
			c.Holes = len(f.Times)
		}
	}
}

// merge adds the events of a group at one instant. Columns with several data at that
// instant make as many events as the column with the most, among those fetched with
// their values; the others repeat their last datum.
func (f *Frame) merge(g *Group, at Instant, fetched scan.Projection) {
	sequenced := slices.ContainsFunc(g.Columns, func(c Column) bool { return c.sequences != nil })
	for n := range g.take(at, fetched) {
		f.Times, f.classes = append(f.Times, codec.FromMicros(at.Micros)), append(f.classes, g.Class)
		if sequenced {
			f.Sequences = append(f.Sequences, at.Sequence)
		}
		for i := range f.Columns {
			c, from := &f.Columns[i], &g.Columns[i]
			if from.at == from.end {
				c.Holes++
				c.own = append(c.own, hole)
			} else {
				c.own = append(c.own, from.Cells[min(from.at+n, from.end-1)])
			}
		}
	}
	g.advance()
}

// Within returns the range of events with a time in [from, to).
func (f *Frame) Within(from, to time.Time) (begin, end int) {
	end = len(f.Times)
	for begin < end && f.Times[begin].Before(from) {
		begin++
	}
	for end > begin && !f.Times[end-1].Before(to) {
		end--
	}
	return begin, end
}

// ClassOf returns the class of the k-th event.
func (f *Frame) ClassOf(k int) int {
	if f.Mixed {
		return f.classes[k]
	}
	return f.class
}

// Cell returns the cell of the k-th event in a column; nil if it has none.
func (f *Frame) Cell(column, k int) *wire.Cell {
	c := &f.Columns[column]
	if !c.has(k) {
		return nil
	}
	return &c.Cells[k]
}

// has reports whether the k-th event has a cell.
func (c *FrameColumn) has(k int) bool {
	return c.Holes == 0 || len(c.Cells) > 0 && !IsHole(&c.Cells[k])
}

// First returns the index of the first column in which the k-th event has a cell; -1 if
// there is none.
func (f *Frame) First(k int) int {
	for i := range f.Columns {
		if f.Columns[i].has(k) {
			return i
		}
	}
	return -1
}

// Rank returns how many cells of a column are newer than that of the k-th event. Event
// times must be the timestamps of the cells.
func (f *Frame) Rank(column, k int) int {
	c := &f.Columns[column]
	if c.Holes == 0 && !f.Mixed {
		return len(c.Cells) - 1 - k
	}
	if len(c.ranks) == 0 {
		c.ranks = slices.Grow(c.ranks, len(c.Cells))[:len(c.Cells)]
		newer := map[int]int{} // by class, because each has a separate column
		for n := len(c.Cells) - 1; n >= 0; n-- {
			if class := f.ClassOf(n); !IsHole(&c.Cells[n]) {
				c.ranks[n] = newer[class]
				newer[class]++
			}
		}
	}
	return c.ranks[k]
}

// RowOf returns the key of the row that contains the datum of a column of the k-th
// event, or should contain it.
func (f *Frame) RowOf(column, k int) string {
	if len(f.Rows) > 0 {
		return f.Rows[k].Key()
	}
	if row := f.Columns[column].Row; row.Exists() {
		return row.Key()
	}
	for i := range f.Columns {
		if f.Cell(i, k) != nil {
			return f.Columns[i].Row.Key()
		}
	}
	return ""
}

// Begin adds a single-event row with a cell of a column; of none if column is negative.
func (f *Frame) Begin(row wire.Row, at time.Time, class, column int, cell *wire.Cell) {
	if len(f.Times) == 0 {
		f.class = class
	}
	if class != f.class && !f.Mixed {
		f.Mixed = true
		for range f.Times {
			f.classes = append(f.classes, f.class)
		}
	}
	if f.Mixed {
		f.classes = append(f.classes, class)
	}
	f.Times, f.Rows = append(f.Times, at), append(f.Rows, row)
	for i := range f.Columns {
		c := &f.Columns[i]
		if i == column {
			c.own = append(c.own, *cell)
		} else {
			c.own, c.Holes = append(c.own, hole), c.Holes+1
		}
		c.Row, c.Cells = row, c.own
	}
}

// Together reports whether two events have the same series, time and sequence number.
func (f *Frame) Together(a, b int) bool {
	if len(f.Rows) > 0 {
		return f.Rows[a] == f.Rows[b]
	}
	return f.Times[a].Equal(f.Times[b]) && (len(f.Sequences) == 0 || f.Sequences[a] == f.Sequences[b])
}

// SortClasses sorts the events of a single-event row, which begin with the given one, by class: a
// row has its families in any order.
func (f *Frame) SortClasses(begin int, falling bool) {
	for k := begin + 1; k < len(f.Times); k++ {
		for i := k; i > begin && f.classes[i] != f.classes[i-1] && (f.classes[i] < f.classes[i-1]) != falling; i-- {
			f.classes[i], f.classes[i-1] = f.classes[i-1], f.classes[i]
			for c := range f.Columns {
				cells := f.Columns[c].Cells
				cells[i], cells[i-1] = cells[i-1], cells[i]
			}
		}
	}
}

// Put adds a cell to the last event unless it has a newer one.
func (f *Frame) Put(column int, cell *wire.Cell) {
	c := &f.Columns[column]
	switch last := &c.Cells[len(c.Cells)-1]; {
	case IsHole(last):
		c.Holes--
		*last = *cell
	case cell.Micros >= last.Micros:
		*last = *cell
	}
}
