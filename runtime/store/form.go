package store

import (
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// rowForm is how the events of a pattern are written to rows, read from them and deleted. What
// else differs between patterns follows from their facts; see [codec.PatternTraits]. The methods
// that delete are in erase.go.
type rowForm interface {
	// set adds the cell of a datum of the current event.
	set(c *eventCells, family, column int, datum []byte)
	// qualifier returns the name of the column in which set stores the datum.
	qualifier(c *eventCells, column int, datum []byte) string
	// events yields the events of a row in order of time, given the time in its key. If each field
	// has its own row, rows are those of a bucket, one per column, and zero where there is none.
	// It does not release them.
	events(a *assembler, at time.Time, rows []wire.Row, yield yielder) bool
	// erase deletes the events of a row, and returns their number. If each field has its own row,
	// that is how many more they are than those of the rows before it; see erasing.most.
	erase(e *erasing, at time.Time, row wire.Row) (events int, err error)
}

// rowForms has the form of each pattern, and that of none.
var rowForms = [...]rowForm{
	0:                        cellRows{},
	codec.BucketNewColumns:   metricRows{},
	codec.BucketNewCells:     cellRows{},
	codec.BucketSerialized:   cellRows{},
	codec.BucketOffsets:      offsetRows{},
	codec.SingleSerialized:   eventRows{},
	codec.SingleUnserialized: eventRows{},
	codec.Latest:             stateRows{},
}

func (l *mapping) form() rowForm {
	if uint(l.Pattern) >= uint(len(rowForms)) {
		return rowForms[0]
	}
	return rowForms[l.Pattern]
}

// fieldColumns are columns with names from the schema.
type fieldColumns struct{}

func (fieldColumns) set(c *eventCells, family, column int, datum []byte) {
	c.setCell(c.setter(family, column).Address(), family, datum)
}

func (fieldColumns) qualifier(c *eventCells, column int, _ []byte) string {
	return c.columns[column].Name
}

// eventRows are rows with one event each.
type eventRows struct{ fieldColumns }

func (eventRows) events(a *assembler, at time.Time, rows []wire.Row, yield yielder) bool {
	f := &a.frame
	more := !a.wanted(at) || !a.place(at, rows[0]) || a.yield(0, len(f.Times), yield)
	f.Reset(len(f.Columns))
	return more
}

// cellRows are the rows of buckets with a cell per event in each column, timed by the events.
type cellRows struct{ fieldColumns }

func (cellRows) events(a *assembler, at time.Time, rows []wire.Row, yield yielder) bool {
	a.empty(rows[0])
	a.split(rows[0])
	return a.inBucket(at, a.reporting(yield)) && a.bucket(yield)
}

// stateRows are the rows of series with their newest event: cellRows of which only the newest time
// counts. Its event may lack a field that older cells have. Up to the time of the last mark, the row
// does not tell which event is the newest.
type stateRows struct{ cellRows }

func (stateRows) events(a *assembler, at time.Time, rows []wire.Row, yield yielder) bool {
	marked := a.marked(rows[0])
	a.empty(rows[0])
	a.split(rows[0])
	a.onlyNewest(marked)
	return a.inBucket(at, a.reporting(yield)) && a.bucket(yield)
}

// metricRows are the rows of buckets with one row per field, in which data are the names of
// columns, and their empty cells are timed by the events.
type metricRows struct{}

func (metricRows) set(c *eventCells, family, _ int, datum []byte) {
	c.setCell(c.addressOf(family, datum), family, nil)
}

func (metricRows) qualifier(_ *eventCells, _ int, datum []byte) string { return string(datum) }

func (metricRows) events(a *assembler, at time.Time, rows []wire.Row, yield yielder) bool {
	a.splitMetrics(rows)
	return a.inBucket(at, a.reporting(yield)) && a.bucket(yield)
}

// offsetRows are the rows of buckets with one column per event, named after its time.
type offsetRows struct{}

func (offsetRows) set(c *eventCells, family, _ int, datum []byte) {
	var name [16]byte
	qualifier := c.offset.Append(name[:0], c.event, c.sequence)
	c.replaceColumn(family, qualifier)
	c.setCell(c.addressOf(family, qualifier), family, datum)
}

func (offsetRows) qualifier(c *eventCells, _ int, _ []byte) string {
	return string(c.offset.Append(nil, c.event, c.sequence))
}

func (offsetRows) events(a *assembler, at time.Time, rows []wire.Row, yield yielder) bool {
	a.empty(rows[0])
	return a.offsets(at, rows[0], a.reporting(yield)) && a.bucket(yield)
}
