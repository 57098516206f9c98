package parquet

import (
	"fmt"
	"io"
	"slices"
	"time"

	pq "github.com/parquet-go/parquet-go"
	pqformat "github.com/parquet-go/parquet-go/format"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/dynamic/format"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// NewReader returns a reader of the events of a schema in a Parquet file. Its lines are the
// rows of the file. Columns may have the types that Writer writes; timestamps any unit, or integers
// of the unit of the options; and
// strings the forms of package format. A file that takes too much memory is a [*LimitError]. If
// the columns do not fit the schema, the error is a
// [*format.HeaderError].
func NewReader(in io.ReaderAt, size int64, l *layout.Layout, o format.ReaderOptions) (format.Reader, error) {
	file, err := open(in, size)
	if err != nil {
		return nil, err
	}
	builder, err := format.NewBuilder(l, o)
	if err != nil {
		return nil, err
	}
	r := &reader{builder: builder, guard: newGuard(in, size, file), groups: file.RowGroups(), buffer: make([]pq.Row, writeRows)}
	for _, path := range file.Schema().Columns() {
		leaf, _ := file.Schema().Lookup(path...)
		i, err := r.builder.Find(path[0])
		switch {
		case err != nil:
			return nil, &format.HeaderError{Name: path[0], Err: err}
		case i >= 0 && (len(path) > 1 || leaf.Node.Repeated()):
			return nil, &format.HeaderError{Name: path[0], Err: errNested}
		}
		s := source{index: i, builder: builder}
		if i >= 0 {
			s.column = r.builder.Column(i)
			if logical := leaf.Node.Type().LogicalType(); logical != nil {
				s.logical = logical.Value
			}
		}
		r.sources = append(r.sources, s)
	}
	if missing := r.builder.Missing(); missing != "" {
		return nil, &format.HeaderError{Name: missing, Err: format.ErrMissing}
	}
	return r, nil
}

// errNested is the error of a column that is a list or a group.
var errNested = fmt.Errorf("%w: want a single value", format.ErrValue)

// open opens a file. The library panics for some damaged files.
func open(in io.ReaderAt, size int64) (file *pq.File, err error) {
	defer recovered(&err)
	if err := checkFooter(in, size); err != nil {
		return nil, err
	}
	return pq.OpenFile(in, size, pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
}

// recovered turns a panic of the library into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = damaged("%v", p)
	}
}

// reader implements [NewReader].
type reader struct {
	builder *format.Builder
	sources []source // per column of the file
	guard   *guard
	groups  []pq.RowGroup
	next    int      // index of the next row group
	rows    pq.Rows  // of the current row group
	buffer  []pq.Row // memory of ready
	ready   []pq.Row // rows that are read
	row     int      // number of the last row, counted from 1
}

// source is a column of the file.
type source struct {
	index   int // of the column of the event; -1 to ignore
	column  *format.Column
	builder *format.Builder
	logical pqformat.LogicalTypeValue // nil if there is none
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
		value, err := s.value(v)
		if err != nil {
			return e, r.row, &format.InputError{Line: r.row, Column: 1, Name: s.column.Name, Err: err}
		}
		r.builder.Set(&e, s.index, value)
	}
	if missing := r.builder.Complete(&e); missing != "" {
		return e, r.row, &format.InputError{Line: r.row, Column: 1, Name: missing, Err: format.ErrMissing}
	}
	return e, r.row, nil
}

// fill reads rows. It returns io.EOF at the end.
func (r *reader) fill() (err error) {
	defer recovered(&err)
	for {
		if r.rows == nil {
			if r.next == len(r.groups) {
				return io.EOF
			}
			if err := r.guard.check(r.next); err != nil {
				return err
			}
			r.rows = r.groups[r.next].Rows()
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

// value converts a value of the file to the Go type of its column.
func (s *source) value(v pq.Value) (any, error) {
	t := s.column.Type
	switch v.Kind() {
	case pq.Boolean:
		if t == schema.Bool {
			return v.Boolean(), nil
		}
	case pq.Int32, pq.Int64:
		return s.integer(v)
	case pq.Float:
		if t == schema.Float32 || t == schema.Float64 {
			return float64(v.Float()), nil
		}
	case pq.Double:
		if t == schema.Float64 {
			return v.Double(), nil
		}
	case pq.FixedLenByteArray:
		if fixed := columnTypes[t].fixed; fixed != nil {
			if value, ok := fixed(v.ByteArray()); ok {
				return value, nil
			}
		}
	case pq.ByteArray:
		if _, text := s.logical.(*pqformat.StringType); t == schema.Bytes && !text {
			return append([]byte{}, v.ByteArray()...), nil
		}
		return format.ParseText(&s.column.Field, slices.Clone(v.ByteArray()))
	}
	return nil, s.refuse(v)
}

// refuse returns the error of a value of another type.
func (s *source) refuse(v pq.Value) error {
	return fmt.Errorf("%w: %s is no %s", format.ErrValue, v.Kind(), s.column.Type)
}

// integer converts an integer.
func (s *source) integer(v pq.Value) (any, error) {
	logical, ok := s.logical.(*pqformat.IntType)
	unsigned := ok && !logical.IsSigned
	var n int64
	switch {
	case v.Kind() == pq.Int64:
		n = v.Int64()
	case unsigned:
		n, unsigned = int64(uint32(v.Int32())), false // it fits
	default:
		n = int64(v.Int32())
	}
	switch own := s.column.Type.Traits(); {
	case own.Number == schema.Signed:
		if unsigned && n < 0 || own.Bits == 32 && n != int64(int32(n)) {
			break
		}
		return n, nil
	case own.Number == schema.Unsigned:
		if !unsigned && n < 0 || own.Bits == 32 && n != int64(uint32(n)) {
			break
		}
		return uint64(n), nil
	case s.column.Type == schema.Duration:
		return time.Duration(n), nil
	case s.column.Type == schema.Timestamp:
		return s.timestamp(v, n)
	}
	return nil, s.refuse(v)
}

// timestamp converts a timestamp.
func (s *source) timestamp(v pq.Value, n int64) (any, error) {
	logical, ok := s.logical.(*pqformat.TimestampType)
	if !ok {
		if t, ok := s.builder.Time(n); ok {
			return t, nil
		}
		return nil, s.refuse(v)
	}
	switch logical.Unit.Value.(type) {
	case *pqformat.MilliSeconds:
		return time.UnixMilli(n).UTC(), nil
	case *pqformat.MicroSeconds:
		return time.UnixMicro(n).UTC(), nil
	}
	return time.Unix(0, n).UTC(), nil
}
