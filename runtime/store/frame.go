package store

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// frame contains events as columns of cells: the k-th event has the k-th cell of each
// column. They are the events of a bucket in order of time, or those of single-event
// rows in the order of the rows.
type frame struct {
	times     []time.Time
	sequences []uint32 // sequence numbers, if events have them
	class     int      // class of all events, unless mixed
	classes   []int    // class of each event, if mixed
	mixed     bool
	columns   []frameColumn
	rows      []wire.Row // row of each event, for single-event rows
	turned    bool       // the last event comes first
}

// frameColumn contains the cells of a column: one per event, or none at all.
type frameColumn struct {
	row   wire.Row // contains the values
	cells []wire.Cell
	holes int         // number of events without a cell
	own   []wire.Cell // memory for cells that are not those of a group
	ranks []int       // number of newer cells in the same column; see rank
}

// hole marks an event without a cell.
var hole = wire.Cell{Value: wire.Text{Begin: 1}}

// isHole reports whether c is a hole.
func isHole(c *wire.Cell) bool { return c.Value.Begin > c.Value.End }

// reset empties the frame, for events with the given number of columns.
func (f *frame) reset(columns int) {
	clear(f.rows)
	f.times, f.sequences, f.classes, f.rows = f.times[:0], f.sequences[:0], f.classes[:0], f.rows[:0]
	f.mixed, f.turned = false, false
	f.columns = slices.Grow(f.columns[:0], columns)[:columns]
	for i := range f.columns {
		c := &f.columns[i]
		*c = frameColumn{own: c.own[:0], ranks: c.ranks[:0]}
	}
}

// fill fills the frame with the data of a bucket. fetched says what the read includes.
func (f *frame) fill(groups []*group, fetched scan.Projection) {
	f.reset(len(groups[0].columns))
	for i := range f.columns {
		f.columns[i].row = groups[0].columns[i].row
	}
	if g := only(groups); g != nil && g.agree() {
		f.align(g)
		return
	}
	f.mixed, f.class = len(groups) > 1, groups[0].class
	for {
		var next *group
		var first instant
		for _, g := range groups {
			if at, ok := g.earliest(); ok && (next == nil || at.compare(first) < 0) {
				next, first = g, at
			}
		}
		if next == nil {
			break
		}
		f.merge(next, first, fetched)
	}
	for i := range f.columns {
		f.columns[i].cells = f.columns[i].own
	}
}

// align adds the data of a group whose columns agree.
func (f *frame) align(g *group) {
	lead := g.lead()
	f.class = g.class
	f.sequences = append(f.sequences, lead.sequences...)
	f.times = slices.Grow(f.times, len(lead.cells))[:len(lead.cells)]
	if lead.times != nil {
		for k, micros := range lead.times {
			f.times[k] = time.UnixMicro(micros).UTC() // codec.FromMicros, inlined
		}
	} else {
		for k := range lead.cells {
			f.times[k] = time.UnixMicro(lead.cells[k].Micros).UTC()
		}
	}
	for i := range f.columns {
		c := &f.columns[i]
		if c.cells = g.columns[i].cells; len(c.cells) == 0 {
			c.holes = len(f.times)
		}
	}
}

// merge adds the events of a group at one instant. Columns with several data at that
// instant make as many events as the column with the most, among those fetched with
// their values; the others repeat their last datum.
func (f *frame) merge(g *group, at instant, fetched scan.Projection) {
	sequenced := slices.ContainsFunc(g.columns, func(c column) bool { return c.sequences != nil })
	for n := range g.take(at, fetched) {
		f.times, f.classes = append(f.times, codec.FromMicros(at.micros)), append(f.classes, g.class)
		if sequenced {
			f.sequences = append(f.sequences, at.sequence)
		}
		for i := range f.columns {
			c, from := &f.columns[i], &g.columns[i]
			if from.at == from.end {
				c.holes++
				c.own = append(c.own, hole)
			} else {
				c.own = append(c.own, from.cells[min(from.at+n, from.end-1)])
			}
		}
	}
	g.advance()
}

// within returns the range of events with a time in [from, to).
func (f *frame) within(from, to time.Time) (begin, end int) {
	end = len(f.times)
	for begin < end && f.times[begin].Before(from) {
		begin++
	}
	for end > begin && !f.times[end-1].Before(to) {
		end--
	}
	return begin, end
}

// classOf returns the class of the k-th event.
func (f *frame) classOf(k int) int {
	if f.mixed {
		return f.classes[k]
	}
	return f.class
}

// cell returns the cell of the k-th event in a column; nil if it has none.
func (f *frame) cell(column, k int) *wire.Cell {
	c := &f.columns[column]
	if !c.has(k) {
		return nil
	}
	return &c.cells[k]
}

// has reports whether the k-th event has a cell.
func (c *frameColumn) has(k int) bool {
	return c.holes == 0 || len(c.cells) > 0 && !isHole(&c.cells[k])
}

// first returns the index of the first column in which the k-th event has a cell; -1 if
// there is none.
func (f *frame) first(k int) int {
	for i := range f.columns {
		if f.columns[i].has(k) {
			return i
		}
	}
	return -1
}

// rank returns how many cells of a column are newer than that of the k-th event. Event
// times must be the timestamps of the cells.
func (f *frame) rank(column, k int) int {
	c := &f.columns[column]
	if c.holes == 0 && !f.mixed {
		return len(c.cells) - 1 - k
	}
	if len(c.ranks) == 0 {
		c.ranks = slices.Grow(c.ranks, len(c.cells))[:len(c.cells)]
		newer := map[int]int{} // by class, because each has a separate column
		for n := len(c.cells) - 1; n >= 0; n-- {
			if class := f.classOf(n); !isHole(&c.cells[n]) {
				c.ranks[n] = newer[class]
				newer[class]++
			}
		}
	}
	return c.ranks[k]
}

// rowOf returns the key of the row that contains the datum of a column of the k-th
// event, or should contain it.
func (f *frame) rowOf(column, k int) string {
	if len(f.rows) > 0 {
		return f.rows[k].Key()
	}
	if row := f.columns[column].row; row.Exists() {
		return row.Key()
	}
	for i := range f.columns {
		if f.cell(i, k) != nil {
			return f.columns[i].row.Key()
		}
	}
	return ""
}

// begin adds a single-event row with a cell of a column; of none if column is negative.
func (f *frame) begin(row wire.Row, at time.Time, class, column int, cell *wire.Cell) {
	if len(f.times) == 0 {
		f.class = class
	}
	if class != f.class && !f.mixed {
		f.mixed = true
		for range f.times {
			f.classes = append(f.classes, f.class)
		}
	}
	if f.mixed {
		f.classes = append(f.classes, class)
	}
	f.times, f.rows = append(f.times, at), append(f.rows, row)
	for i := range f.columns {
		c := &f.columns[i]
		if i == column {
			c.own = append(c.own, *cell)
		} else {
			c.own, c.holes = append(c.own, hole), c.holes+1
		}
		c.row, c.cells = row, c.own
	}
}

// together reports whether two events have the same series, time and sequence number.
func (f *frame) together(a, b int) bool {
	if len(f.rows) > 0 {
		return f.rows[a] == f.rows[b]
	}
	return f.times[a].Equal(f.times[b]) && (len(f.sequences) == 0 || f.sequences[a] == f.sequences[b])
}

// sortClasses sorts the events of a single-event row, which begin with the given one, by class: a
// row has its families in any order.
func (f *frame) sortClasses(begin int, falling bool) {
	for k := begin + 1; k < len(f.times); k++ {
		for i := k; i > begin && f.classes[i] != f.classes[i-1] && (f.classes[i] < f.classes[i-1]) != falling; i-- {
			f.classes[i], f.classes[i-1] = f.classes[i-1], f.classes[i]
			for c := range f.columns {
				cells := f.columns[c].cells
				cells[i], cells[i-1] = cells[i-1], cells[i]
			}
		}
	}
}

// put adds a cell to the last event unless it has a newer one.
func (f *frame) put(column int, cell *wire.Cell) {
	c := &f.columns[column]
	switch last := &c.cells[len(c.cells)-1]; {
	case isHole(last):
		c.holes--
		*last = *cell
	case cell.Micros >= last.Micros:
		*last = *cell
	}
}
