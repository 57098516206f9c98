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
	groupBytes = 64 << 20  // maximum size of the events of a row group in memory, about
	readRows   = 256       // number of events that are read at a time
)

// Writer writes events. One row group is in memory at a time.
type Writer struct {
	columns []column
	out     *pq.GenericWriter[any]
	row     pq.Row // memory of a row
	bytes   int    // size of the events of the row group, about
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
	w := &Writer{}
	root := group{Group: pq.Group{}}
	for _, c := range columns {
		as := newColumn(c, l)
		w.columns = append(w.columns, as)
		root.Group[c.Name] = as.node
		root.order = append(root.order, c.Name)
	}
	w.out = pq.NewGenericWriter[any](out, pq.NewSchema(l.Name, root), pq.Compression(&pq.Snappy),
		pq.CreatedBy(createdBy, "", ""), pq.MaxRowsPerRowGroup(groupRows))
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
	w.row = w.row[:0]
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
		w.row = append(w.row, as.Level(0, definition, i))
	}
	w.bytes += format.Bytes(e)
	if _, err := w.out.WriteRows([]pq.Row{w.row}); err != nil || w.bytes < groupBytes {
		return err
	}
	w.bytes = 0
	return w.out.Flush()
}

// Close writes the remaining events and the end of the file.
func (w *Writer) Close() error { return w.out.Close() }
