// Package parquet writes the events of any schema as Apache Parquet, and reads them. What it
// writes, it reads without loss.
//
// Each value of an event is a column with the name and the type of the schema. Timestamps
// have the logical type TIMESTAMP in UTC, in microseconds for event times with such a
// precision and in nanoseconds otherwise; durations are nanoseconds as INT64. Strings, enums,
// uuids and json values have the logical types STRING, STRING, UUID and JSON. Values that
// events may lack are optional.
package parquet

import (
	"fmt"
	"io"
	"slices"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// createdBy is the name of the program in files of Writer, whose integers are durations in nanoseconds.
const createdBy = "btgen"

func init() {
	format.Register(&format.Format{
		Name: "parquet", Title: "Apache Parquet", Extensions: []string{".parquet"}, Binary: true, NewScanner: scan,
		NewWriter: func(out io.Writer, l *layout.Layout, columns []format.Column, _ format.WriterOptions) format.Writer {
			return NewWriter(out, l, columns)
		},
	})
}

const (
	groupRows  = 128 << 10 // maximum number of events of a row group
	groupBytes = 32 << 20  // approximate maximum size of a row group before compression
	writeRows  = 256       // number of events that are handed to the library at a time
)

// Writer writes events. One row group is in memory at a time.
type Writer struct {
	columns []column
	out     *pq.GenericWriter[any]
	rows    []pq.Row // that are not handed to the library
	n       int      // number of rows
	inGroup int      // events of the row group
	bytes   int      // their size
}

// column is a column of the file.
type column struct {
	format.Column
	node     pq.Node
	optional bool
	unit     time.Duration // of a timestamp
}

// NewWriter returns a Writer of the given columns of the events of a schema.
func NewWriter(out io.Writer, l *layout.Layout, columns []format.Column) *Writer {
	w := &Writer{rows: make([]pq.Row, writeRows)}
	root := group{Group: pq.Group{}}
	for _, c := range columns {
		as := newColumn(c, l)
		w.columns = append(w.columns, as)
		root.Group[c.Name] = as.node
		root.order = append(root.order, c.Name)
	}
	w.out = pq.NewGenericWriter[any](out, pq.NewSchema(l.Name, root), pq.Compression(&pq.Snappy), pq.CreatedBy(createdBy, "", ""))
	return w
}

// group is a group whose columns are in a given order.
type group struct {
	pq.Group
	order []string
}

// Fields returns the columns in order.
func (g group) Fields() []pq.Field {
	fields := slices.Clone(g.Group.Fields())
	slices.SortFunc(fields, func(a, b pq.Field) int {
		return slices.Index(g.order, a.Name()) - slices.Index(g.order, b.Name())
	})
	return fields
}

// newColumn decides the type of a column.
func newColumn(c format.Column, l *layout.Layout) column {
	out := column{Column: c, optional: !c.Always(), node: nodes[c.Type]()}
	if c.Type == schema.Timestamp {
		out.unit = time.Nanosecond
		if c.Micros(l.Precision) {
			out.node, out.unit = pq.Timestamp(pq.Microsecond), time.Microsecond
		}
	}
	if out.optional {
		out.node = pq.Optional(out.node)
	}
	return out
}

// Write writes an event. It keeps a copy until there are enough for a row group. The error
// is a *format.InputError without a position if a timestamp is beyond the range of Parquet.
func (w *Writer) Write(e *dynamic.Event) error {
	row := w.rows[w.n][:0]
	for i := range w.columns {
		c := &w.columns[i]
		v := c.Value(e)
		if v == nil && !c.optional {
			return fmt.Errorf("%s: %w", c.Name, format.ErrMissing)
		}
		as, err := c.value(v)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		definition := 0
		if c.optional && v != nil {
			definition = 1
		}
		row = append(row, as.Level(0, definition, i))
		w.bytes += size(as)
	}
	w.rows[w.n] = row
	w.n++
	w.inGroup++
	switch {
	case w.inGroup == groupRows || w.bytes >= groupBytes:
		w.inGroup, w.bytes = 0, 0
		if err := w.flush(); err != nil {
			return err
		}
		return w.out.Flush()
	case w.n == writeRows:
		return w.flush()
	}
	return nil
}

// flush hands the rows to the library.
func (w *Writer) flush() error {
	_, err := w.out.WriteRows(w.rows[:w.n])
	w.n = 0
	return err
}

// Close writes the remaining events and the end of the file.
func (w *Writer) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.out.Close()
}

// size returns the approximate size of a value in bytes.
func size(v pq.Value) int {
	switch v.Kind() {
	case pq.ByteArray, pq.FixedLenByteArray:
		return 8 + len(v.ByteArray())
	}
	return 8
}
