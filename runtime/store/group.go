package store

import (
	"cmp"
	"slices"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// group contains the data of a bucket for events of one class, or all of it if events
// have no class.
type group struct {
	class   int
	columns []column
}

// column contains the data of a column in order of time. The values are in one row.
type column struct {
	cells     []wire.Cell
	row       wire.Row
	times     []int64     // event times in microseconds since the Unix epoch, unless the timestamps of the cells are
	sequences []uint32    // sequence numbers, if events have them
	at, end   int         // range of the data at the current instant
	own       []wire.Cell // cells that are not the row's
	spare     []wire.Cell // memory for sorting them
}

// instant is the time of an event in microseconds since the Unix epoch, and its
// sequence number.
type instant struct {
	micros   int64
	sequence uint32
}

func (t instant) compare(o instant) int {
	return cmp.Or(cmp.Compare(t.micros, o.micros), cmp.Compare(t.sequence, o.sequence))
}

// instant returns the instant of the k-th datum.
func (c *column) instant(k int) (t instant) {
	if c.times != nil {
		t.micros = c.times[k]
	} else {
		t.micros = c.cells[k].Micros
	}
	if c.sequences != nil {
		t.sequence = c.sequences[k]
	}
	return t
}

// reset empties the column.
func (c *column) reset(row wire.Row) {
	*c = column{row: row, own: c.own[:0], spare: c.spare[:0], times: c.times[:0], sequences: c.sequences[:0]}
}

// addOffsets adds the data of columns with one event each, whose qualifiers are times. It
// stops at the first qualifier that is not, and returns the index of its column.
func (c *column) addOffsets(row wire.Row, columns []wire.Column, in *codec.OffsetsIn, sequenced bool) int {
	times, own := slices.Grow(c.times, len(columns)), slices.Grow(c.own, len(columns))
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
	c.times, c.own = times, own
	return i
}

// ascend sorts the data, which arrive newest first, in order of time and keeps one per
// time.
func (c *column) ascend() {
	cells := c.cells
	falling := true
	for i := 1; i < len(cells); i++ {
		falling = falling && cells[i].Micros < cells[i-1].Micros
	}
	slices.Reverse(cells)
	if !falling {
		slices.SortStableFunc(cells, byTime)
		c.cells = slices.CompactFunc(cells, func(a, b wire.Cell) bool { return a.Micros == b.Micros })
	}
}

// sort sorts its own data in order of time. It is stable.
func (c *column) sort() {
	c.own, c.spare = sortByTime(c.own, c.spare)
	c.cells = c.own
}

// only returns the only group with data; nil if there are several or none.
func only(groups []*group) (one *group) {
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
func (g *group) lead() *column {
	for i := range g.columns {
		if len(g.columns[i].cells) > 0 {
			return &g.columns[i]
		}
	}
	return nil
}

// agree reports whether all columns with data have exactly one datum at each of the
// same instants, so that the k-th event consists of the k-th datum of each.
func (g *group) agree() bool {
	lead := g.lead()
	if !lead.rises() {
		return false
	}
	for i := range g.columns {
		if c := &g.columns[i]; c != lead && len(c.cells) > 0 && !c.agrees(lead) {
			return false
		}
	}
	return true
}

// rises reports whether the instants are strictly ascending.
func (c *column) rises() bool {
	switch {
	case c.sequences != nil:
		for k := 1; k < len(c.cells); k++ {
			if c.instant(k-1).compare(c.instant(k)) >= 0 {
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
		for k := 1; k < len(c.cells); k++ {
			if c.cells[k-1].Micros >= c.cells[k].Micros {
				return false
			}
		}
	}
	return true
}

// agrees reports whether two columns have data at the same times. Their times must be
// the timestamps of the cells.
func (c *column) agrees(o *column) bool {
	if len(c.cells) != len(o.cells) {
		return false
	}
	for k := range c.cells {
		if c.cells[k].Micros != o.cells[k].Micros {
			return false
		}
	}
	return true
}

// earliest returns the first instant at which a column has data.
func (g *group) earliest() (first instant, found bool) {
	for i := range g.columns {
		c := &g.columns[i]
		if c.at < len(c.cells) && (!found || c.instant(c.at).compare(first) < 0) {
			first, found = c.instant(c.at), true
		}
	}
	return first, found
}

// take sets the range of the data at an instant. It returns the largest number of data
// in a column that is fetched with its values, at least 1.
func (g *group) take(at instant, fetched scan.Projection) int {
	most := 1
	for i := range g.columns {
		c := &g.columns[i]
		c.end = c.at
		for c.end < len(c.cells) && c.instant(c.end).compare(at) == 0 {
			c.end++
		}
		if fetched.HasValues(i) {
			most = max(most, c.end-c.at)
		}
	}
	return most
}

// advance moves to the next instant.
func (g *group) advance() {
	for i := range g.columns {
		g.columns[i].at = g.columns[i].end
	}
}
