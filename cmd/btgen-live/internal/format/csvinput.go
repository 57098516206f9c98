package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
)

// HeaderError reports a header of CSV that does not fit a schema.
type HeaderError struct {
	Name string // of the column; empty if there is no header
	Err  error
}

// Error returns the column and the problem.
func (e *HeaderError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("header: %v", e.Err)
	}
	return fmt.Sprintf("header: column %s: %v", shown([]byte(e.Name)), e.Err)
}

// Unwrap returns the problem.
func (e *HeaderError) Unwrap() error { return e.Err }

// errNoHeader is the error of an empty file.
var errNoHeader = errors.New("the input is empty: want the names of the columns")

// CSVOptions describe files of comma-separated values that are not as in RFC 4180. The zero value
// describes those that are.
type CSVOptions struct {
	// Delimiter is the ASCII character between cells; 0 is a comma.
	Delimiter byte
	// Columns are the names of the columns of a file without a header.
	Columns []string
	// Nulls are the texts of cells without quotes that are missing values, besides empty ones.
	Nulls []string
	// Joined are names of columns that are two of the file, with a space between their texts: date+time, unless there is a
	// column with that name.
	Joined []string

	escape byte // precedes quotes in cells; 0 if they are doubled
	ofCQL  bool // whether bytes are hexadecimal digits after 0x, and times may be timeuuids
}

var csvFormat = Format{
	Name: "csv", Title: "comma-separated values", Extensions: []string{".csv"}, Cells: true,
	NewReader: NewCSVReader, NewWriter: encoded(NewCSV),
	scan: func(in io.Reader, o ReaderOptions) (Scanner, error) { return newCellScanner(in, o) },
}

// check returns an error for delimiters that CSV cannot have.
func (o *CSVOptions) check() error {
	if d := o.Delimiter; d == '"' || d == '\n' || d == '\r' || d >= utf8.RuneSelf || d != 0 && d == o.escape {
		return fmt.Errorf("the delimiter %q: want one ASCII character that is no quote and no line break", d)
	}
	return nil
}

// NewCSVReader returns a reader of comma-separated values (RFC 4180) with a header, whose
// columns may be in any order. An empty cell without quotes is a missing value. If the header
// does not fit the schema, the error is a *HeaderError.
func NewCSVReader(in io.Reader, l *layout.Layout, o ReaderOptions) (Reader, error) {
	p, err := NewBuilder(l, o)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(o.Names)) {
		if strings.Contains(name, "+") {
			o.CSV.Joined = append(o.CSV.Joined, name)
		}
	}
	r := &csvReader{csvScanner: newCSVScanner(in, o.CSV), Builder: p}
	err = r.open()
	return r, Uncommented(r.names, err)
}

// csvReader implements [NewCSVReader].
type csvReader struct {
	csvScanner
	*Builder
	index []int // per cell, the column; -1 to ignore
}

// csvScanner reads records of cells.
type csvScanner struct {
	lines
	CSVOptions
	frame csvFrame
	names []string
	joins [][2]int // columns that are joined
	cells []cell   // of the current record
}

func newCSVScanner(in io.Reader, o CSVOptions) csvScanner {
	if o.Delimiter == 0 {
		o.Delimiter = ','
	}
	return csvScanner{lines: newLines(in), CSVOptions: o, frame: csvFrame{delimiter: o.Delimiter, escape: o.escape}}
}

// cell is a cell of a record.
type cell struct {
	text   []byte // without quotes
	quoted bool
	line   int    // number, counted from 1
	before []byte // the line before the cell
}

// fail returns an error at the cell.
func (c *cell) fail(name string, err error) error {
	return &InputError{Line: c.line, Column: utf8.RuneCount(c.before) + 1, Name: name, Err: err}
}

// header reads the header, unless the names of the columns are given.
func (r *csvScanner) header() error {
	if err := r.check(); err != nil {
		return err
	}
	if r.names = slices.Clone(r.Columns); r.names != nil {
		r.join()
		return nil
	}
	if _, err := r.record(); err == io.EOF {
		return &HeaderError{Err: errNoHeader}
	} else if err != nil {
		return &HeaderError{Err: err}
	}
	for _, c := range r.cells {
		r.names = append(r.names, string(c.text))
	}
	if i := bytes.IndexAny(r.cells[0].text, ",;\t|"); len(r.cells) == 1 && i > 0 && !r.cells[0].quoted {
		d := r.cells[0].text[i]
		return &HeaderError{Err: fmt.Errorf("the columns are separated by %q, so that there is only one: add --delimiter %q", d, d)}
	}
	r.join()
	return nil
}

// Uncommented adds to an error of a file with columns that a comment is perhaps taken for the header.
func Uncommented(columns []string, err error) error {
	if err == nil || len(columns) == 0 || !strings.HasPrefix(columns[0], "#") {
		return err
	}
	return fmt.Errorf("%w; if lines that begin with # are comments, remove them: grep -v '^#' FILE > FILE.csv", err)
}

// join adds the columns that are two joined ones.
func (r *csvScanner) join() {
	for _, name := range r.Joined {
		first, second, _ := strings.Cut(name, "+")
		of := [2]int{slices.Index(r.names, first), slices.Index(r.names, second)}
		if !slices.Contains(r.names, name) && of[0] >= 0 && of[1] >= 0 {
			r.joins, r.names = append(r.joins, of), append(r.names, name)
		}
	}
}

// open reads the header, and finds its columns.
func (r *csvReader) open() error {
	if err := r.header(); err != nil {
		return err
	}
	for _, name := range r.names {
		i, err := r.Find([]byte(name))
		if err != nil {
			return &HeaderError{Name: name, Err: err}
		}
		r.index = append(r.index, i)
	}
	for _, name := range slices.Sorted(maps.Keys(r.options.Names)) {
		if !slices.Contains(r.names, name) {
			return &HeaderError{Name: name, Err: errNotInHeader}
		}
	}
	if missing := r.Missing(); missing != "" {
		return &HeaderError{Name: missing, Err: ErrMissing}
	}
	return nil
}

// errNotInHeader is the error of a renamed column that the file does not have.
var errNotInHeader = errors.New("the header has no such column")

// scan reads the next record, which must have a cell for each column, and returns its line.
func (r *csvScanner) scan() (int, error) {
	number, err := r.record()
	if want := len(r.names) - len(r.joins); err == nil && len(r.cells) != want {
		err = &InputError{Line: number, Column: 1, Err: syntax(fmt.Sprintf("%s for %s", words.Count(float64(len(r.cells)), "cell", "cells"), words.Count(float64(want), "column", "columns")))}
	}
	for _, of := range r.joins {
		if err == nil {
			first, second := r.cells[of[0]], r.cells[of[1]]
			first.text = bytes.TrimSpace(slices.Concat(first.text, []byte(" "), second.text))
			r.cells = append(r.cells, first)
		}
	}
	return number, err
}

// absent reports whether a cell is a missing value.
func (r *csvScanner) absent(c *cell) bool {
	return !c.quoted && (len(c.text) == 0 || slices.Contains(r.Nulls, string(c.text)))
}

// Next implements [Reader].
func (r *csvReader) Next() (dynamic.Event, int, error) {
	number, err := r.scan()
	if err != nil {
		return dynamic.Event{}, number, err
	}
	e := r.Start()
	for k, c := range r.cells {
		i := r.index[k]
		if i < 0 || r.absent(&c) {
			continue
		}
		v, err := r.Parse(i, c.text, TextKind)
		if err != nil {
			return e, number, c.fail(r.names[k], err)
		}
		r.Set(&e, i, v)
	}
	if name := r.Complete(&e); name != "" {
		return e, number, lacks(number, name)
	}
	return e, number, nil
}

// csvFrame is the frame of records of CSV.
type csvFrame struct {
	delimiter, escape byte
	inCell            bool // whether a cell without quotes has begun
	quoted            bool
	escaped           bool // whether a backslash precedes the next character
}

func (f *csvFrame) end(text []byte, seen int) int {
	empty := csvFrame{delimiter: f.delimiter, escape: f.escape}
	if seen == 0 && *f == empty {
		if i := plainLine(text, "\"\\"); i >= 0 {
			return i
		}
	}
	for i := seen; i < len(text); i++ {
		switch c := text[i]; {
		case f.escaped:
			f.escaped = false
		case f.escape != 0 && c == f.escape:
			f.escaped = true
		case c == '"' && !f.inCell: // after the closing quote, another one is a part of the cell
			f.quoted = !f.quoted
		case f.quoted:
		case c == '\n':
			*f = empty
			return i
		default:
			f.inCell = c != f.delimiter
		}
	}
	return -1
}

// record reads the cells of the next record that is not empty, and returns the number of its
// first line. The cells are valid until the next call.
func (r *csvScanner) record() (int, error) {
	for {
		text, number, err := r.lines.record(&r.frame)
		if err != nil {
			return number, err
		}
		if len(text) == 0 {
			continue
		}
		err = broken(r.split(text, number), text)
		if at, ok := errors.AsType[*InputError](err); ok && r.escape == 0 && errors.Is(err, ErrSyntax) && bytes.Count(text, []byte{'"'})%2 != 0 {
			return number, &BrokenError{*at}
		}
		return number, err
	}
}

// split splits a record into cells.
func (r *csvScanner) split(text []byte, line int) error {
	r.cells = r.cells[:0]
	lineBegin := 0
	for at := 0; ; at++ {
		c := cell{line: line, before: text[lineBegin:at]}
		if len(r.cells) == maxValues {
			return &InputError{Line: line, Column: 1, Err: errManyValues}
		}
		end, err := r.cell(text, at, &c)
		if err != nil {
			return err
		}
		r.cells = append(r.cells, c)
		if breaks := bytes.Count(text[at:end], []byte("\n")); breaks > 0 {
			line, lineBegin = line+breaks, at+bytes.LastIndexByte(text[at:end], '\n')+1
		}
		switch {
		case end == len(text):
			return nil
		case text[end] != r.Delimiter:
			c = cell{line: line, before: text[lineBegin:end]}
			problem := "want " + r.delimiterName() + " or a line break after the cell"
			if bytes.HasSuffix(text[:end], []byte(`\"`)) {
				problem += ": quotes in cells are doubled, or follow a backslash with --format cassandra"
			}
			return c.fail("", syntax(problem))
		}
		at = end
	}
}

// cell parses the cell at an offset, and returns the offset after it. In quotes, a quote is doubled; in files with an escape
// character, that precedes quotes, delimiters and itself, in all cells.
func (r *csvScanner) cell(text []byte, at int, c *cell) (int, error) {
	fail := func(i int, why string) (int, error) {
		c.before = text[at-len(c.before) : i]
		return 0, c.fail("", syntax(why))
	}
	i := at
	if c.quoted = i < len(text) && text[i] == '"'; c.quoted {
		i++
	}
	begin, copied := i, false // of what is not copied to the cell
	next := -1                // after the closing quote
scan:
	for ; i < len(text); i++ {
		b := text[i]
		if b != '"' && b != r.Delimiter && b != '\n' && b != '\r' && b != r.escape {
			continue
		}
		switch {
		case b == r.escape && b != 0:
			if i+1 == len(text) {
				return fail(i, "a backslash at the end")
			}
			if after := text[i+1]; after != '"' && after != r.escape && after != r.Delimiter {
				return fail(i, "a backslash before another character than a quote, a backslash or a delimiter: "+
					"old versions of cqlsh write control characters in this way")
			}
			c.text, copied, begin = append(c.text, text[begin:i]...), true, i+1
			i++
		case c.quoted && b == '"' && r.escape == 0 && i+1 < len(text) && text[i+1] == '"':
			i++
			c.text, copied, begin = append(c.text, text[begin:i]...), true, i+1
		case c.quoted && b == '"':
			next = i + 1
			break scan
		case b == '"':
			return fail(i, "a quote in a cell without quotes")
		case !c.quoted && b != 0:
			break scan
		}
	}
	if c.quoted && next < 0 {
		return fail(at, "the quoted cell has no end")
	}
	if copied {
		c.text = append(c.text, text[begin:i]...)
	} else {
		c.text = text[begin:i]
	}
	return max(next, i), nil
}

// delimiterName returns the delimiter for an error.
func (r *csvScanner) delimiterName() string {
	if r.Delimiter == ',' {
		return "a comma"
	}
	return fmt.Sprintf("%q", r.Delimiter)
}

// cellScanner reads the records of CSV.
type cellScanner struct{ csvScanner }

// newCellScanner returns a scanner of CSV, after its header.
func newCellScanner(in io.Reader, o ReaderOptions) (Scanner, error) {
	s := &cellScanner{newCSVScanner(in, o.CSV)}
	if err := s.header(); err != nil {
		return nil, Uncommented(s.names, err)
	}
	seen := map[string]bool{}
	for _, name := range s.names {
		if seen[name] {
			return nil, &HeaderError{Name: shown([]byte(name)), Err: ErrTwice}
		}
		seen[name] = true
	}
	return s, nil
}

// Scan implements [Scanner]. Values that a record lacks are left out.
func (s *cellScanner) Scan(r *Record) error {
	number, err := s.scan()
	r.reset(nil, number)
	if r.Columns = s.names; err != nil {
		return err
	}
	for i := range s.cells {
		if c := &s.cells[i]; !s.absent(c) {
			r.add(Value{Name: []byte(s.names[i]), Text: c.text})
		}
	}
	return nil
}
