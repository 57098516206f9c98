package parquet

import (
	"fmt"
	"io"
	"strings"
	"time"

	pq "github.com/parquet-go/parquet-go"
	pqformat "github.com/parquet-go/parquet-go/format"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// NewReader returns a reader of the events of a schema in a Parquet file. Its lines are the rows of
// the file. The table conversions lists which types columns may have. It trusts the file. If the columns do not fit the
// schema, the error is that of [format.HeaderError].
func NewReader(in io.ReaderAt, size int64, l *layout.Layout, o format.ReaderOptions) (format.Reader, error) {
	file, err := open(in, size)
	if err != nil {
		return nil, err
	}
	builder, err := format.NewBuilder(l, o)
	if err != nil {
		return nil, err
	}
	r := &reader{builder: builder, file: file, buffer: make([]pq.Row, writeRows)}
	stored := leaves(file)
	paths := file.Schema().Columns()
	if len(stored) != len(paths) {
		return nil, fmt.Errorf("its schema has %d columns, and describes %d", len(paths), len(stored))
	}
	for k, path := range paths {
		s, err := r.source(path, stored[k], o)
		if err != nil {
			return nil, format.HeaderError(path[0], err)
		}
		r.sources = append(r.sources, s)
	}
	if err := r.checkUnit(o.Unit); err != nil {
		return nil, err
	}
	if missing := r.builder.Missing(); missing != "" {
		return nil, format.HeaderError(missing, format.ErrMissing)
	}
	return r, nil
}

// leaves returns the elements of the schema of a file that are no groups, in the order of the columns.
func leaves(file *pq.File) []*pqformat.SchemaElement {
	var out []*pqformat.SchemaElement
	for i := range file.Metadata().Schema {
		if e := &file.Metadata().Schema[i]; e.Type.Valid {
			out = append(out, e)
		}
	}
	return out
}

// source returns the source of a column of the file.
func (r *reader) source(path []string, stored *pqformat.SchemaElement, o format.ReaderOptions) (source, error) {
	leaf, _ := r.file.Schema().Lookup(path...)
	i, err := r.builder.Find(path[0])
	s := source{index: i, builder: r.builder, options: o}
	switch {
	case err != nil || i < 0:
		return s, err
	case len(path) > 1 || leaf.Node.Repeated():
		return s, errNested
	}
	s.column = r.builder.Column(i)
	if logical := leaf.Node.Type().LogicalType(); logical != nil {
		s.logical = logical.Value
	}
	own := strings.HasPrefix(r.file.Metadata().CreatedBy, createdBy)
	if s.column.Type == schema.Duration && own {
		s.options.Unit = time.Nanosecond // as Writer writes them
	}
	from := typeName(leaf.Node.Type(), stored)
	if s.conversion, err = find(from, s.column.Type, &s.options); err != nil || s.column.Name != "time" {
		return s, err
	}
	_, s.checked = s.logical.(*pqformat.TimestampType)
	s.checked = s.checked && o.Unit == 0 && !own
	return s, nil
}

// checkUnit returns an error for --time-unit if no column needs it, and the time has another one by its type.
func (r *reader) checkUnit(unit time.Duration) error {
	var err error
	for i := range r.sources {
		s := &r.sources[i]
		if unit == 0 || s.column == nil || s.column.Type != schema.Timestamp && s.column.Type != schema.Duration {
			continue
		}
		own := s.ownUnit()
		if own == 0 && s.need != zone {
			return nil
		}
		if s.column.Name == "time" && own != unit {
			err = format.HeaderError(s.column.Name, fmt.Errorf("its type has the unit %v, which --time-unit does not change: "+
				"leave out the flag, or write the file with the right unit", own))
		}
	}
	return err
}

// early returns an error for a time in 1970, if times are checked: usually, its unit is not that of its type.
func (s *source) early(at time.Time) error {
	if !s.checked || at.Year() != 1970 || at.Unix() == 0 && at.Nanosecond() == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s is in 1970, in the unit of the type, %v: write the file with the right one, or add it as --time-unit if it is right", format.ErrValue, at.Format(time.RFC3339Nano), s.ownUnit())
}

// errNested is the error of a column that is a list or a group.
var errNested = fmt.Errorf("%w: want a single value", format.ErrValue)

// open opens a file. The library panics for some damaged files.
func open(in io.ReaderAt, size int64) (file *pq.File, err error) {
	defer recovered(&err)
	return pq.OpenFile(in, size, pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
}

// recovered turns a panic of the library into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("it is damaged: %v", p)
	}
}

// reader implements [NewReader].
type reader struct {
	builder *format.Builder
	sources []source // per column of the file
	file    *pq.File
	next    int      // index of the next row group
	rows    pq.Rows  // of the current row group
	buffer  []pq.Row // memory of ready
	ready   []pq.Row // rows that are read
	row     int      // number of the last row, counted from 1
}

// source is a column of the file.
type source struct {
	conversion
	index   int // of the column of the event; -1 to ignore
	column  *format.Column
	builder *format.Builder
	options format.ReaderOptions
	logical pqformat.LogicalTypeValue // nil if there is none
	checked bool                      // whether times in 1970 are errors
}

// Next implements [format.Reader].
func (r *reader) Next() (dynamic.Event, int, error) {
	if len(r.ready) == 0 {
		if err := r.fill(); err != nil {
			return dynamic.Event{}, r.row + 1, err
		}
	}
	row := r.ready[0]
	r.ready = r.ready[1:]
	r.row++
	e := r.builder.Start()
	for _, v := range row {
		s := &r.sources[v.Column()]
		if s.index < 0 || v.IsNull() {
			continue
		}
		value, err := s.read(s, v)
		if err != nil {
			return *e, r.row, &format.InputError{Line: r.row, Column: 1, Name: s.column.Name, Err: err}
		}
		r.builder.Set(e, s.index, value)
	}
	if missing := r.builder.Complete(e); missing != "" {
		return *e, r.row, &format.InputError{Line: r.row, Column: 1, Name: missing, Err: format.ErrMissing}
	}
	return *e, r.row, nil
}

// fill reads rows. It returns io.EOF at the end.
func (r *reader) fill() (err error) {
	defer recovered(&err)
	for {
		if r.rows == nil {
			groups := r.file.RowGroups()
			if r.next == len(groups) {
				return io.EOF
			}
			r.rows = groups[r.next].Rows()
			r.next++
		}
		n, err := r.rows.ReadRows(r.buffer)
		r.ready = r.buffer[:n]
		if err == io.EOF {
			err = r.rows.Close()
			r.rows = nil
		}
		if n > 0 || err != nil {
			return err
		}
	}
}
