package wire

import (
	"bytes"
	"slices"
	"sync"

	"cloud.google.com/go/bigtable"
)

// Rows is rows that came together, in their order. What their columns and cells refer
// to is in one piece of memory, the responses as they came, so that rows are a few slices
// without a pointer however many of them there are, and however many cells they have.
type Rows struct {
	keys    string // one after the other
	rows    []row
	columns []Column
	cells   []Cell
	memory  []byte
	apart   bool // each row has a placeholder of its own
	left    int  // how many rows are not released
}

// Some is some of the rows that came together.
type Some struct {
	of         *Rows
	begin, end int
}

// row is where the key of a row ends in keys, and its columns in columns.
type row struct{ key, columns uint32 }

// Row is the cells of a row, by column. Those of a family follow one another in
// the order in which they came. The zero Row is none.
type Row struct {
	of    *Rows
	index int
}

// Text is bytes of a row, see [Row.Bytes]. Rows that come together come nowhere near
// what 32 bits can count.
type Text struct{ Begin, End uint32 }

// Len returns the number of bytes.
func (t Text) Len() int { return int(t.End - t.Begin) }

// Column is the cells of a column that came in succession.
type Column struct {
	Family, Qualifier Text
	begin, end        uint32 // of its cells
}

// Cell is a version of a value.
type Cell struct {
	Micros int64 // its timestamp, since 1970
	Value  Text
}

// pool holds rows whose memory may be used again.
var pool = sync.Pool{New: func() any { return new(Rows) }}

// maxKept is how much memory of rows is kept for the next ones, in bytes.
const maxKept = 4 << 20

// ordinary returns a row with the cells of one of the client; nil if they are more
// than a row can have.
func ordinary(arrived bigtable.Row) *Rows {
	r := pool.Get().(*Rows)
	for name, items := range arrived {
		family := r.keep([]byte(name))
		for i, item := range items {
			if i == 0 || item.Column != items[i-1].Column {
				r.begin(family, r.keep([]byte(item.Column[len(name)+1:])))
			}
			if len(r.memory)+len(item.Value) > 2*maxRow {
				return nil
			}
			r.add(int64(item.Timestamp), r.keep(item.Value))
		}
	}
	r.keys = arrived.Key()
	r.end(len(r.keys))
	r.sort(0)
	return r
}

// Len returns the number of rows.
func (s Some) Len() int { return s.end - s.begin }

// At returns the i-th row.
func (s Some) At(i int) Row { return s.of.At(s.begin + i) }

// At returns the i-th row.
func (r *Rows) At(i int) Row { return Row{r, i} }

// Exists reports whether there is a row.
func (r Row) Exists() bool { return r.of != nil }

// With reports whether two rows came together.
func (r Row) With(o Row) bool { return r.of == o.of }

// Last reports whether no row is sure to follow of those that came together.
func (r Row) Last() bool { return r.of.apart || r.index == len(r.of.rows)-1 }

// Size returns about how many bytes the rows take that came together.
func (r Row) Size() int {
	return len(r.of.keys) + len(r.of.memory) + 8*len(r.of.rows) + 16*len(r.of.cells) + 24*len(r.of.columns)
}

// Key returns the row key. It is good after Release too.
func (r Row) Key() string {
	begin := uint32(0)
	if r.index > 0 {
		begin = r.of.rows[r.index-1].key
	}
	return r.of.keys[begin:r.of.rows[r.index].key]
}

// Columns returns the columns. They are good until Release.
func (r Row) Columns() []Column {
	begin := uint32(0)
	if r.index > 0 {
		begin = r.of.rows[r.index-1].columns
	}
	return r.of.columns[begin:r.of.rows[r.index].columns]
}

// Cells returns the cells of a column, which are the caller's until Release.
func (r Row) Cells(c *Column) []Cell { return r.of.cells[c.begin:c.end:c.end] }

// Bytes returns a text of the row, or of one that came with it, which nobody may change
// or add to. It is good until Release.
func (r Row) Bytes(t Text) []byte { return r.of.memory[t.Begin:t.End] }

// Same reports whether two columns of the row have the same name.
func (r Row) Same(a, b *Column) bool {
	return r.equal(a.Qualifier, b.Qualifier) && r.equal(a.Family, b.Family)
}

func (r Row) equal(a, b Text) bool { return a == b || sameName(r.Bytes(a), r.Bytes(b)) }

// sameName is [bytes.Equal] for names in succession, most of which differ at the end.
func sameName(a, b []byte) bool {
	n := len(a)
	return n == len(b) && (n == 0 || a[n-1] == b[n-1] && bytes.Equal(a, b))
}

// Release gives the memory of the row back. It need not be called, but not twice.
// What the row has is good until all rows that came with it are released.
func (r Row) Release() {
	if r.of.left--; r.of.left == 0 {
		r.of.release()
	}
}

// release gives the memory of all rows back.
func (r *Rows) release() {
	if cap(r.memory) > maxKept || cap(r.cells) > maxKept/16 || cap(r.columns) > maxKept/24 {
		return
	}
	*r = Rows{rows: r.rows[:0], columns: r.columns[:0], cells: r.cells[:0], memory: r.memory[:0]}
	pool.Put(r)
}

// keep adds bytes to the memory.
func (r *Rows) keep(b []byte) Text {
	begin := len(r.memory)
	r.memory = append(r.memory, b...)
	return Text{uint32(begin), uint32(len(r.memory))}
}

// begin begins a column.
func (r *Rows) begin(family, qualifier Text) {
	at := uint32(len(r.cells))
	r.columns = append(r.columns, Column{family, qualifier, at, at})
}

// add adds a cell to the last column.
func (r *Rows) add(micros int64, value Text) {
	r.cells = append(r.cells, Cell{micros, value})
	r.columns[len(r.columns)-1].end = uint32(len(r.cells))
}

// end ends a row whose key ends at a place in keys.
func (r *Rows) end(key int) {
	r.rows = append(r.rows, row{uint32(key), uint32(len(r.columns))})
	r.left++
}

// sort brings the columns of each family together, from the given one on, as the client
// does.
func (r *Rows) sort(from int) {
	slices.SortStableFunc(r.columns[from:], func(a, b Column) int {
		if a.Family == b.Family {
			return 0
		}
		return bytes.Compare(r.bytes(a.Family), r.bytes(b.Family))
	})
}

// mark is a place in rows.
type mark struct{ columns, cells int }

// mark returns the end.
func (r *Rows) mark() mark { return mark{len(r.columns), len(r.cells)} }

// forget drops what is behind a mark, but for the memory.
func (r *Rows) forget(m mark) { r.columns, r.cells = r.columns[:m.columns], r.cells[:m.cells] }

// cut moves what is behind a mark to other rows.
func (r *Rows) cut(m mark) *Rows {
	rest := pool.Get().(*Rows)
	var family, moved Text
	for i, c := range r.columns[m.columns:] {
		if i == 0 || c.Family != family {
			family, moved = c.Family, rest.keep(r.bytes(c.Family))
		}
		rest.begin(moved, rest.keep(r.bytes(c.Qualifier)))
		for _, cell := range r.cells[c.begin:c.end] {
			rest.add(cell.Micros, rest.keep(r.bytes(cell.Value)))
		}
	}
	r.forget(m)
	return rest
}

// bytes returns a text of the rows.
func (r *Rows) bytes(t Text) []byte { return r.memory[t.Begin:t.End] }
