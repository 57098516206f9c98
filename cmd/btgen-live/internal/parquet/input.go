package parquet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	pq "github.com/parquet-go/parquet-go"
	pqformat "github.com/parquet-go/parquet-go/format"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/schema"
)

// scan returns a scanner of the rows of a file, which it trusts if it is in memory.
func scan(in io.Reader, _ format.ReaderOptions) (format.Scanner, error) {
	content, ok := in.(interface {
		io.ReaderAt
		Size() int64
	})
	if file, is := in.(*os.File); is {
		info, err := file.Stat()
		if err == nil {
			err = try(file)
		}
		if err != nil {
			return nil, err
		}
		content, ok = io.NewSectionReader(file, 0, info.Size()), true
	}
	if !ok {
		return nil, errors.New("want a file that is not compressed: Parquet cannot be read from a stream")
	}
	return open(content, content.Size())
}

// compressions are those that are read. For some files with LZ4_RAW, the library takes other memory for their values.
var compressions = []pqformat.CompressionCodec{
	pqformat.Uncompressed, pqformat.Snappy, pqformat.Gzip, pqformat.Zstd, pqformat.Brotli,
}

// open opens a file. The library panics for some damaged files.
func open(in io.ReaderAt, size int64) (s *scanner, err error) {
	defer recovered(&err)
	file, err := pq.OpenFile(in, size, pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	for _, group := range file.Metadata().RowGroups {
		for i := range group.Columns {
			if of := group.Columns[i].MetaData.Codec; !slices.Contains(compressions, of) {
				return nil, fmt.Errorf("the compression %s is not supported: write the file with snappy, gzip or zstd", of)
			}
		}
	}
	s = &scanner{file: file, buffer: make([]pq.Row, readRows)}
	for i := range file.Metadata().Schema {
		if e := &file.Metadata().Schema[i]; e.Type.Valid {
			s.sources = append(s.sources, source{stored: e})
		}
	}
	if n := len(file.Schema().Columns()); n != len(s.sources) {
		return nil, fmt.Errorf("its schema has %d columns, and describes %d", n, len(s.sources))
	}
	return s, nil
}

// recovered turns a panic of the library into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("it is damaged: %v", p)
	}
}

// scanner scans the rows of a file, whose numbers are the lines of its records. The table conversions lists which types
// columns may have.
type scanner struct {
	file    *pq.File
	sources []source // per column of the file that has values
	next    int      // index of the next row group
	rows    pq.Rows  // of the current row group
	buffer  []pq.Row // memory of ready
	ready   []pq.Row // rows that are read
	row     int      // number of the last row, counted from 1
}

// source is a column of the file.
type source struct {
	conversion
	stored  *pqformat.SchemaElement
	name    []byte
	column  *format.Column // of the event; nil to ignore it
	options format.ReaderOptions
	logical pqformat.LogicalTypeValue // nil if there is none
	checked bool                      // whether times in 1970 are errors
}

// Names implements [format.ColumnScanner].
func (s *scanner) Names() (names []string) {
	for _, field := range s.file.Schema().Fields() {
		names = append(names, field.Name())
	}
	return names
}

// errNested is the error of a column that is a list or a group.
var errNested = fmt.Errorf("%w: want a single value", format.ErrValue)

// Bind implements [format.ColumnScanner].
func (s *scanner) Bind(to []*format.Column, o format.ReaderOptions) error {
	for i, name := range s.Names() {
		if to[i] == nil {
			continue
		}
		if err := s.bind(name, to[i], o); err != nil {
			return format.HeaderError(name, err)
		}
	}
	return s.checkUnit(o.Unit)
}

// bind decides how the values of a column are read as those of a column of the event.
func (s *scanner) bind(name string, to *format.Column, o format.ReaderOptions) (err error) {
	leaf, ok := s.file.Schema().Lookup(name)
	if !ok || leaf.Node.Repeated() {
		return errNested
	}
	from := &s.sources[leaf.ColumnIndex]
	from.name, from.column, from.options = []byte(name), to, o
	if logical := leaf.Node.Type().LogicalType(); logical != nil {
		from.logical = logical.Value
	}
	own := strings.HasPrefix(s.file.Metadata().CreatedBy, createdBy)
	if to.Type == schema.Duration && own {
		from.options.Unit = time.Nanosecond // as Writer writes them
	}
	_, typed := from.logical.(*pqformat.TimestampType)
	from.checked = typed && to.Name == "time" && o.Unit == 0 && !own
	from.conversion, err = find(typeName(leaf.Node.Type(), from.stored), to.Type, &from.options)
	return err
}

// checkUnit returns an error for --time-unit if no column needs it, and the time has another one by its type.
func (s *scanner) checkUnit(unit time.Duration) (err error) {
	for i := range s.sources {
		from := &s.sources[i]
		if unit == 0 || from.column == nil || from.column.Type != schema.Timestamp && from.column.Type != schema.Duration {
			continue
		}
		own := from.ownUnit()
		if own == 0 && from.need != zone {
			return nil
		}
		if from.column.Name == "time" && own != unit {
			err = format.HeaderError("time", fmt.Errorf("its type has the unit %v, which --time-unit does not change: "+
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

// Scan implements [format.Scanner].
func (s *scanner) Scan(r *format.Record) error {
	for len(s.ready) == 0 {
		if err := s.fill(); err != nil {
			return err
		}
	}
	row := s.ready[0]
	s.ready = s.ready[1:]
	s.row++
	r.Reset(nil, s.row)
	for _, v := range row {
		from := &s.sources[v.Column()]
		if from.column == nil || v.IsNull() {
			continue
		}
		read, err := from.read(from, v)
		if err != nil {
			return &format.InputError{Line: s.row, Column: 1, Name: from.column.Name, Err: err}
		}
		value, isText := read.(format.Value)
		if value.Name = from.name; !isText {
			value.Parsed = read
		}
		r.Values = append(r.Values, value)
	}
	return nil
}

// fill reads rows. It returns io.EOF at the end.
func (s *scanner) fill() (err error) {
	defer recovered(&err)
	if s.rows == nil {
		groups := s.file.RowGroups()
		if s.next == len(groups) {
			return io.EOF
		}
		s.rows = groups[s.next].Rows()
		s.next++
	}
	n, err := s.rows.ReadRows(s.buffer)
	s.ready = s.buffer[:n]
	if err == io.EOF {
		err = s.rows.Close()
		s.rows = nil
	}
	return err
}
