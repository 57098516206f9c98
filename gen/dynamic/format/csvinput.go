package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
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
	return fmt.Sprintf("header: column %s: %v", e.Name, e.Err)
}

// Unwrap returns the problem.
func (e *HeaderError) Unwrap() error { return e.Err }

// errNoHeader is the error of an empty file.
var errNoHeader = errors.New("the input is empty: want the names of the columns")

// NewCSVReader returns a reader of comma-separated values (RFC 4180) with a header, whose
// columns may be in any order. An empty cell without quotes is a missing value. If the header
// does not fit the schema, the error is a *HeaderError.
func NewCSVReader(in io.Reader, l *layout.Layout, o ReaderOptions) (Reader, error) {
	r := &csvReader{lines: newLines(in), parser: newParser(l, o)}
	return r, r.header()
}

// csvReader implements [NewCSVReader].
type csvReader struct {
	lines
	*parser
	names []string
	index []int  // per cell, the column; -1 to ignore
	cells []cell // of the current record
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

// header reads the header.
func (r *csvReader) header() error {
	if err := r.skipMark(); err != nil {
		return err
	}
	if _, err := r.record(); err == io.EOF {
		return &HeaderError{Err: errNoHeader}
	} else if err != nil {
		return &HeaderError{Err: err}
	}
	if i := bytes.IndexAny(r.cells[0].text, ";\t|"); len(r.cells) == 1 && i > 0 && !r.cells[0].quoted {
		return &HeaderError{Err: fmt.Errorf("the columns are separated by %q, so that there is only one: separate them by commas", r.cells[0].text[i])}
	}
	for _, c := range r.cells {
		i, err := r.column(c.text)
		if err != nil {
			return &HeaderError{Name: string(c.text), Err: err}
		}
		r.names, r.index = append(r.names, string(c.text)), append(r.index, i)
	}
	if missing := r.missing(); missing != "" {
		return &HeaderError{Name: missing, Err: ErrMissing}
	}
	return nil
}

// Next implements [Reader].
func (r *csvReader) Next() (dynamic.Event, int, error) {
	number, err := r.record()
	if err != nil {
		return dynamic.Event{}, number, err
	}
	e := r.start()
	if len(r.cells) != len(r.index) {
		return e, number, &InputError{Line: number, Column: 1, Err: syntax(fmt.Sprintf("%d cells, but the header has %d", len(r.cells), len(r.index)))}
	}
	for k, c := range r.cells {
		i := r.index[k]
		if i < 0 || len(c.text) == 0 && !c.quoted {
			continue
		}
		v, err := r.parse[i](c.text)
		if err != nil {
			return e, number, c.fail(r.names[k], err)
		}
		r.seen[i] = true
		r.columns[i].set(&e, v)
	}
	if name := r.complete(&e); name != "" {
		return e, number, lacks(number, name)
	}
	return e, number, nil
}

// record reads the cells of the next record that is not empty, and returns the number of its
// first line. The cells are valid until the next call.
func (r *csvReader) record() (int, error) {
	for {
		number := r.line
		size, err := r.split()
		switch {
		case err == errMore && len(r.rest()) > maxLine:
			return number, r.skipFirst(&InputError{Line: number, Column: 1, Err: ErrTooLong})
		case err == errMore:
			if err := r.fill(); err != nil && err != io.EOF {
				return number, err
			}
			continue
		case err == io.EOF:
			return number, err
		case err != nil:
			return number, r.skipFirst(err)
		}
		text := r.rest()[:size]
		r.lines.begin += size
		r.line += bytes.Count(text, []byte("\n"))
		if !bytes.HasSuffix(text, []byte("\n")) {
			r.line++ // the end of the input
		}
		if len(r.cells) > 1 || len(r.cells[0].text) > 0 || r.cells[0].quoted {
			return number, nil
		}
	}
}

// skipFirst skips the first line of a record that cannot be parsed, and returns its error.
func (r *csvReader) skipFirst(failed error) error {
	if i := bytes.IndexByte(r.rest(), '\n'); i >= 0 {
		r.lines.begin += i + 1
		r.line++
		return failed
	}
	err := r.skip()
	if _, long := errors.AsType[*InputError](err); long {
		return failed
	}
	return err
}

// errMore says that the record is not complete.
var errMore = errors.New("more input is needed")

// split splits the record at the beginning of the rest into cells, and returns its size with
// the line break.
func (r *csvReader) split() (int, error) {
	text := r.rest()
	if len(text) == 0 {
		if r.ended {
			return 0, io.EOF
		}
		return 0, errMore
	}
	r.cells = r.cells[:0]
	line, lineBegin := r.line, 0
	for at := 0; ; at++ {
		c := cell{line: line, before: text[lineBegin:at]}
		end, err := r.cell(text, at, &c)
		if err != nil {
			return 0, err
		}
		r.cells = append(r.cells, c)
		if breaks := bytes.Count(text[at:end], []byte("\n")); breaks > 0 {
			line, lineBegin = line+breaks, at+bytes.LastIndexByte(text[at:end], '\n')+1
		}
		switch rest := text[end:]; {
		case len(rest) > 0 && rest[0] == ',':
			at = end
		case len(rest) > 0 && rest[0] == '\n':
			return end + 1, nil
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return end + 2, nil
		case len(rest) == 0 && r.ended:
			return end, nil
		case !r.ended && (len(rest) == 0 || len(rest) == 1 && rest[0] == '\r'):
			return 0, errMore
		default:
			c = cell{line: line, before: text[lineBegin:end]}
			return 0, c.fail("", syntax("want a comma or a line break after the cell"))
		}
	}
}

// cell parses the cell at an offset, and returns the offset after it.
func (r *csvReader) cell(text []byte, at int, c *cell) (int, error) {
	if at < len(text) && text[at] == '"' {
		c.quoted = true
		end := r.unquote(text, at+1, c)
		switch {
		case end >= 0:
			return end, nil
		case r.ended:
			return 0, c.fail("", syntax("the quoted cell has no end"))
		}
		return 0, errMore
	}
	c.text = text[at : at+cellEnd(text[at:])]
	if i := bytes.IndexByte(c.text, '"'); i >= 0 {
		c.before = text[at-len(c.before) : at+i]
		return 0, c.fail("", syntax("a quote in a cell without quotes"))
	}
	return at + len(c.text), nil
}

// cellEnd returns the size of a cell without quotes.
func cellEnd(text []byte) int {
	for i, b := range text {
		if b == ',' || b == '\n' || b == '\r' {
			return i
		}
	}
	return len(text)
}

// unquote sets the text of a cell whose opening quote precedes begin, and returns the offset
// after its closing quote; -1 if that is not in memory.
func (r *csvReader) unquote(text []byte, begin int, c *cell) int {
	copied := false
	for i := begin; i < len(text); i++ {
		switch {
		case text[i] != '"':
		case i+1 < len(text) && text[i+1] == '"':
			i++
			c.text, copied = append(c.text, text[begin:i]...), true
			begin = i + 1
		case i+1 == len(text) && !r.ended:
			return -1
		case copied:
			c.text = append(c.text, text[begin:i]...)
			return i + 1
		default:
			c.text = text[begin:i]
			return i + 1
		}
	}
	return -1
}
