package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// Programs may write versions of an event, with other values, at the same time. Then one of them may come last
// in the tables of events, and another one in the row of a table of states. So each write of an event to its row
// adds, in the same mutation, a number that depends on the version to a cell with the time of the event, in a
// family of sums. While all writes had the same version, however often and late they arrived, the sum is a multiple of its
// number. Otherwise it is none, but for one of 2^42 cases, and readers search.
//
// TestStateOrders explores when sums may be removed.

// sumColumn is the column of the sums.
const sumColumn = "sum"

// versionBits is the size of the number of a version, whose highest and lowest bits are set: it is no multiple of
// another one, and half a million writes of an event do not exceed an int64.
const versionBits = 44

// versionHash identifies the values of an event.
type versionHash struct{ hash uint64 }

// add adds a cell of the event. The order of cells does not matter.
func (v *versionHash) add(column, value []byte) {
	const prime = 1099511628211
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range column {
		h = (h ^ uint64(b)) * prime
	}
	h *= prime // the end of the name
	for _, b := range value {
		h = (h ^ uint64(b)) * prime
	}
	for range 2 { // so that differences of bytes do not show in the sum of several hashes
		h = (h ^ h>>33) * 0xff51afd7ed558ccd
	}
	v.hash += h ^ h>>33
}

func (v versionHash) number() int64 {
	return int64(v.hash>>(64-versionBits) | 1<<(versionBits-1) | 1)
}

// appendVersion appends the mutation that adds the number of the version of an event to the sum, given
// the mutations that set its cells.
func (l *mapping) appendVersion(dst, cells []byte) []byte {
	var v versionHash
	var at int64
	wire.EachCell(cells, func(column []byte, micros int64, value []byte) {
		v.add(column, value)
		at = micros
	})
	return wire.AppendAddToCell(dst, l.sumFamily(), sumColumn, at, v.number())
}

// forgetVersions adds the mutation that deletes the sums of events up to a time, in microseconds.
func (l *mapping) forgetVersions(m *bigtable.Mutation, up int64) {
	m.DeleteTimestampRange(l.sumFamily(), sumColumn, 0, bigtable.Timestamp(up+1000))
}

// oneVersion reports whether a row has had no version of its newest event, which has the given time, but the one that it
// has, in each write of a program that knows the sums.
func (a *rowAssembler) oneVersion(row wire.Row, micros int64) bool {
	var v versionHash
	var sum int64
	columns := row.Columns()
	for i := range columns {
		c := &columns[i]
		cell := row.Cells(c)[0]
		if string(row.Bytes(c.Family)) != a.shape.Sums {
			if cell.Micros == micros && !isMark(row, c) {
				v.add(row.Bytes(c.Qualifier), row.Bytes(cell.Value))
			}
			continue
		}
		value := row.Bytes(cell.Value)
		if cell.Micros != micros || len(value) != 8 {
			return false
		}
		sum = int64(binary.BigEndian.Uint64(value))
	}
	return sum > 0 && sum%v.number() == 0
}

// markPrefix begins the names of the columns with marks in a table of states. The cell of a mark has
// the time up to which the row does not tell which event is the newest.
const markPrefix = "deleting "

// markOfNone is the column of the mark that belongs to no call: another table has an event that the row may
// lack. A row has one, up to the newest of these events.
const markOfNone = markPrefix + "none"

// newMark returns the name of a column that only one call uses.
func newMark() string { return fmt.Sprintf("%s%016x", markPrefix, rand.Uint64()) }

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
