package wire

import (
	"bytes"
	"slices"
	"sync"

	"cloud.google.com/go/bigtable"
)

// Rows contains rows that arrived together, in order. Columns and cells refer to the memory of the responses, so any
// number of rows and cells takes only a few slices without pointers.
type Rows struct {
	text    []byte // the keys, concatenated
	keys    string // text, if a key was asked for as a string
	rows    []row
	columns []Column
	cells   []Cell
	memory  []byte
	apart   bool // each row has a separate placeholder
	left    int  // number of rows that are not released
}

// Some is a range of rows that arrived together.
type Some struct {
	of         *Rows
	begin, end int
}

// row contains the ends of a row's key in keys, of its columns in columns and of its cells in cells, and its
// approximate size on the wire.
type row struct{ key, columns, cells, bytes uint32 }

// Row contains the cells of a row by column. The columns of a family are adjacent and
// in the order in which they arrived. The zero Row is no row.
type Row struct {
	of    *Rows
	index int
}

// Text refers to bytes of a row, see [Row.Bytes]. 32 bits suffice, because a Rows has less than 4 GiB.
type Text struct{ Begin, End uint32 }

// Len returns the number of bytes.
func (t Text) Len() int { return int(t.End - t.Begin) }

// Column contains consecutive cells of a column.
type Column struct {
	Family, Qualifier Text
	begin, end        uint32 // range in Rows.cells
}

// Cell is one version of a value.
type Cell struct {
	Micros int64 // timestamp in microseconds since the Unix epoch
	Value  Text
}

// pool contains rows whose memory can be reused.
var pool = sync.Pool{New: func() any { return new(Rows) }}

// maxKept is the maximum size of the memory that a pooled Rows keeps, in bytes.
const maxKept = 4 << 20

// ordinary converts a row of the client; nil if it is larger than a row may be.
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
	r.text = append(r.text, r.keys...)
	r.end(len(r.keys), len(r.keys)+len(r.memory)+16*len(r.cells))
	r.sort(0)
	return r
}

// Len returns the number of rows.
func (s Some) Len() int { return s.end - s.begin }

// At returns the i-th row.
func (s Some) At(i int) Row { return s.of.At(s.begin + i) }

// At returns the i-th row.
func (r *Rows) At(i int) Row { return Row{r, i} }

// Exists reports whether r is a row, rather than the zero Row.
func (r Row) Exists() bool { return r.of != nil }

// With reports whether r and o arrived together.
func (r Row) With(o Row) bool { return r.of == o.of }

// Last returns false only if another row that arrived together with r is certain to follow.
func (r Row) Last() bool { return r.of.apart || r.index == len(r.of.rows)-1 }

// Size returns the approximate size in bytes of all rows that arrived together.
func (r Row) Size() int {
	return len(r.of.text) + len(r.of.memory) + 16*len(r.of.rows) + 16*len(r.of.cells) + 24*len(r.of.columns)
}

// Key returns the row key. It remains valid after Release. It allocates memory for the keys of all rows that arrived
// together at once, but for that of the first row alone: readers of one series need no other.
func (r Row) Key() string {
	if r.of.keys == "" {
		if r.index == 0 {
			return string(r.KeyBytes())
		}
		r.of.keys = string(r.of.text)
	}
	begin, end := r.key()
	return r.of.keys[begin:end]
}

// KeyBytes returns the row key. It must not be modified, and is valid until Release.
func (r Row) KeyBytes() []byte {
	begin, end := r.key()
	return r.of.text[begin:end]
}

// key returns the range of the key in the keys of all rows.
func (r Row) key() (begin, end uint32) {
	if r.index > 0 {
		begin = r.of.rows[r.index-1].key
	}
	return begin, r.of.rows[r.index].key
}

// Received returns the number of cells, and about how many bytes the row took on the wire.
func (r Row) Received() (cells, bytes int) {
	begin := uint32(0)
	if r.index > 0 {
		begin = r.of.rows[r.index-1].cells
	}
	of := &r.of.rows[r.index]
	return int(of.cells - begin), int(of.bytes)
}

// Columns returns the columns. They are valid until Release.
func (r Row) Columns() []Column {
	begin := uint32(0)
	if r.index > 0 {
		begin = r.of.rows[r.index-1].columns
	}
	return r.of.columns[begin:r.of.rows[r.index].columns]
}

// Cells returns the cells of a column. The caller may modify the slice until Release.
func (r Row) Cells(c *Column) []Cell { return r.of.cells[c.begin:c.end:c.end] }

// Bytes returns the bytes of a text in this row or in one that arrived with it. They
// must not be modified or appended to, and are valid until Release.
func (r Row) Bytes(t Text) []byte { return r.of.memory[t.Begin:t.End] }

// Same reports whether two columns of the row have the same family and qualifier.
func (r Row) Same(a, b *Column) bool {
	return r.equal(a.Qualifier, b.Qualifier) && r.equal(a.Family, b.Family)
}

// SameFamily reports whether two columns of the row have the same family.
func (r Row) SameFamily(a, b *Column) bool { return r.equal(a.Family, b.Family) }

func (r Row) equal(a, b Text) bool { return a == b || sameName(r.Bytes(a), r.Bytes(b)) }

// sameName is [bytes.Equal], optimized for names that usually differ in the last byte.
func sameName(a, b []byte) bool {
	n := len(a)
	return n == len(b) && (n == 0 || a[n-1] == b[n-1] && bytes.Equal(a, b))
}

// Release releases the row. The memory is reused once all rows that arrived together
// are released. Calling Release is optional, but it must not be called twice.
func (r Row) Release() {
	if r.of.left--; r.of.left == 0 {
		r.of.release()
	}
}

// release returns the memory of all rows to the pool.
func (r *Rows) release() {
	if cap(r.memory) > maxKept || cap(r.text) > maxKept || cap(r.cells) > maxKept/16 || cap(r.columns) > maxKept/24 || cap(r.rows) > maxKept/16 {
		return
	}
	*r = Rows{text: r.text[:0], rows: r.rows[:0], columns: r.columns[:0], cells: r.cells[:0], memory: r.memory[:0]}
	pool.Put(r)
}

// keep appends bytes to the memory.
func (r *Rows) keep(b []byte) Text {
	begin := len(r.memory)
	r.memory = append(r.memory, b...)
	return Text{uint32(begin), uint32(len(r.memory))}
}

// begin starts a column.
func (r *Rows) begin(family, qualifier Text) {
	at := uint32(len(r.cells))
	r.columns = append(r.columns, Column{family, qualifier, at, at})
}

// add adds a cell to the last column.
func (r *Rows) add(micros int64, value Text) {
	r.cells = append(r.cells, Cell{micros, value})
	r.columns[len(r.columns)-1].end = uint32(len(r.cells))
}

// end completes a row of about so many bytes whose key ends at the given offset in keys.
func (r *Rows) end(key, bytes int) {
	r.rows = append(r.rows, row{uint32(key), uint32(len(r.columns)), uint32(len(r.cells)), uint32(bytes)})
	r.left++
}

// sort makes the columns of each family adjacent, from the given column on, like the client.
func (r *Rows) sort(from int) {
	slices.SortStableFunc(r.columns[from:], func(a, b Column) int {
		if a.Family == b.Family {
			return 0
		}
		return bytes.Compare(r.bytes(a.Family), r.bytes(b.Family))
	})
}

// mark is a position in columns and cells.
type mark struct{ columns, cells int }

// mark returns the current end.
func (r *Rows) mark() mark { return mark{len(r.columns), len(r.cells)} }

// forget drops columns and cells after a mark, but not their memory.
func (r *Rows) forget(m mark) { r.columns, r.cells = r.columns[:m.columns], r.cells[:m.cells] }

// cut moves the columns and cells after a mark to a new Rows.
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

// bytes returns the bytes of a text.
func (r *Rows) bytes(t Text) []byte { return r.memory[t.Begin:t.End] }
