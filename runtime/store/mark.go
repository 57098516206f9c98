package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// markPrefix begins the names of the columns with marks in a table of states. The cell of a mark has
// the time up to which the row does not tell which event is the newest.
const markPrefix = "deleting "

// markOfNone is the column of the mark that belongs to no call: another table has an event that the row may
// lack. A row has one, up to the newest of these events.
const markOfNone = markPrefix + "none"

// newMark returns the name of a column that only one call uses.
func newMark() string { return fmt.Sprintf("%s%016x", markPrefix, rand.Uint64()) }

// isMark reports whether a column has a mark.
func isMark(row wire.Row, c *wire.Column) bool {
	name := row.Bytes(c.Qualifier)
	return len(name) >= len(markPrefix) && string(name[:len(markPrefix)]) == markPrefix
}

// mark adds the mutation that marks a row up to a time, which it rounds down to a millisecond.
func (l *mapping) mark(m *bigtable.Mutation, column string, micros int64, now time.Time) {
	m.Set(l.Table.Families[0].Name, column, bigtable.Timestamp(max(0, micros-micros%1000)), binary.BigEndian.AppendUint64(nil, uint64(now.UnixMicro())))
}

// markedAt returns when a mark was set, given its value; the zero time if it cannot be decoded.
func markedAt(value []byte) time.Time {
	if len(value) != 8 {
		return time.Time{}
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(value)))
}

// marked returns the time of the last mark of a row, in microseconds; -1 if it has none.
func (a *rowAssembler) marked(row wire.Row) int64 {
	last := int64(-1)
	for _, c := range a.columnsOf(row) {
		if isMark(row, c) {
			last = max(last, row.Cells(c)[0].Micros)
		}
	}
	return last
}
