package wire

import (
	"bytes"
	"slices"
	"sync"

	"cloud.google.com/go/bigtable"
)

// Row is the cells of a row, by column. Those of a family follow one another in
// the order in which they came. What columns and cells refer to is in one piece of
// memory, so that a row is a few slices without a pointer however many cells it has.
type Row struct {
	key     string
	columns []Column
	cells   []Cell
	memory  []byte
}

// Text is bytes of a row, see [Row.Bytes]. No row comes near what 32 bits can count.
type Text struct{ Begin, End uint32 }

// Column is the cells of a column that came in succession.
type Column struct {
	Family, Qualifier Text
	begin, end        int // of its cells
}

// Cell is a version of a value.
type Cell struct {
	Micros int64 // its timestamp, since 1970
	Value  Text
}

// rows holds rows whose memory may be used again.
var rows = sync.Pool{New: func() any { return new(Row) }}

// maxKept is how much memory of a row is kept for the next one, in bytes.
const maxKept = 4 << 20

// ordinary returns a row with the cells of one of the client; nil if they are more
// than a row can have.
func ordinary(row bigtable.Row) *Row {
	r := rows.Get().(*Row)
	r.key = row.Key()
	for name, items := range row {
		family := r.keep([]byte(name))
		for i, item := range items {
			if i == 0 || item.Column != items[i-1].Column {
				r.begin(family, r.keep([]byte(item.Column[len(name)+1:])))
			}
			if len(r.memory)+len(item.Value) > 2*maxRow {
				return nil
			}
			r.add(int64(item.Timestamp), item.Value)
		}
	}
	r.finish()
	return r
}

// Key returns the row key. It is good after Release too.
func (r *Row) Key() string { return r.key }

// Columns returns the columns. They are good until Release.
func (r *Row) Columns() []Column { return r.columns }

// Cells returns the cells of a column, which are the caller's until Release.
func (r *Row) Cells(c *Column) []Cell { return r.cells[c.begin:c.end:c.end] }

// Bytes returns a text of the row, which nobody may change or add to. It is good
// until Release.
func (r *Row) Bytes(t Text) []byte { return r.memory[t.Begin:t.End] }

// Same reports whether two columns of the row have the same name.
func (r *Row) Same(a, b *Column) bool {
	return r.equal(a.Qualifier, b.Qualifier) && r.equal(a.Family, b.Family)
}

func (r *Row) equal(a, b Text) bool { return a == b || bytes.Equal(r.Bytes(a), r.Bytes(b)) }

// Release gives the memory of the row back. It need not be called.
func (r *Row) Release() {
	if cap(r.memory) > maxKept || cap(r.cells) > maxKept/16 {
		return
	}
	*r = Row{columns: r.columns[:0], cells: r.cells[:0], memory: r.memory[:0]}
	rows.Put(r)
}

// keep adds bytes to the memory.
func (r *Row) keep(b []byte) Text {
	begin := len(r.memory)
	r.memory = append(r.memory, b...)
	return Text{uint32(begin), uint32(len(r.memory))}
}

// begin begins a column.
func (r *Row) begin(family, qualifier Text) {
	r.columns = append(r.columns, Column{Family: family, Qualifier: qualifier, begin: len(r.cells)})
}

// add adds a cell to the last column.
func (r *Row) add(micros int64, value []byte) {
	r.cells = append(r.cells, Cell{Micros: micros, Value: r.keep(value)})
}

// finish says where columns end, and brings those of each family together, as the
// client does.
func (r *Row) finish() {
	end := len(r.cells)
	for i := len(r.columns) - 1; i >= 0; i-- {
		r.columns[i].end = end
		end = r.columns[i].begin
	}
	byFamily := func(a, b Column) int {
		if a.Family == b.Family {
			return 0
		}
		return bytes.Compare(r.Bytes(a.Family), r.Bytes(b.Family))
	}
	if !slices.IsSortedFunc(r.columns, byFamily) {
		slices.SortStableFunc(r.columns, byFamily)
	}
}
