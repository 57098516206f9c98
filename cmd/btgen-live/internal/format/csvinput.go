package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/words"
)

// HeaderError returns the error of a column of a file that does not fit a schema, or of the whole header if the name is
// empty.
func HeaderError(name string, err error) error {
	if name == "" {
		return fmt.Errorf("header: %w", err)
	}
	return fmt.Errorf("header: column %s: %w", shown([]byte(name)), err)
}

// Errors of headers.
var (
	errNoHeader    = errors.New("the input is empty: want the names of the columns")
	errNotInHeader = errors.New("the header has no such column")
)

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

	cql bool // see Format.cql
}

var csvFormat = Format{
	Name: "csv", Title: "comma-separated values", Extensions: []string{".csv"}, Cells: true,
	NewWriter: encoded(NewCSV), NewScanner: scanCells,
}

// cellScanner scans comma-separated values (RFC 4180) with a header, whose columns may be in any order. An empty cell
// without quotes is a missing value, which is left out.
type cellScanner struct {
	lineScanner
	CSVOptions
	names  []string
	labels [][]byte // the same
	joins  [][2]int // columns that are joined, which are the last ones
}

// scanCells returns a scanner of cells. It reads the header.
func scanCells(in io.Reader, o ReaderOptions) (Scanner, error) {
	s := &cellScanner{CSVOptions: o.CSV}
	s.Delimiter = cmp.Or(s.Delimiter, ',')
	s.lineScanner = newLineScanner(in, doubledQuotes, s.split)
	if s.cql {
		s.quotes = escapedQuotes
	}
	err := s.header()
	return s, Uncommented(s.names, err)
}

// Names implements [ColumnScanner].
func (s *cellScanner) Names() []string { return s.names }

// Bind implements [ColumnScanner]: texts are parsed as any type.
func (s *cellScanner) Bind([]*Column, ReaderOptions) error { return nil }

// header reads the header, unless the names of the columns are given.
func (s *cellScanner) header() error {
	if d := s.Delimiter; d == '"' || d == '\n' || d == '\r' || d >= utf8.RuneSelf || d == '\\' && s.cql {
		return fmt.Errorf("the delimiter %q: want one ASCII character that is no quote and no line break", d)
	}
	if s.names = slices.Clone(s.Columns); s.names == nil {
		var r Record
		if err := s.lineScanner.Scan(&r); err == io.EOF {
			return HeaderError("", errNoHeader)
		} else if err != nil {
			return HeaderError("", err)
		}
		for _, v := range r.Values {
			s.names = append(s.names, string(v.Text))
		}
		if i := strings.IndexAny(s.names[0], ",;\t|"); len(s.names) == 1 && i > 0 && !r.quoted(&r.Values[0]) {
			d := s.names[0][i]
			err := fmt.Errorf("the columns are separated by %q, so that there is only one: add --delimiter %q", d, d)
			return HeaderError("", err)
		}
	}
	for _, name := range s.Joined {
		first, second, _ := strings.Cut(name, "+")
		of := [2]int{slices.Index(s.names, first), slices.Index(s.names, second)}
		if !slices.Contains(s.names, name) && of[0] >= 0 && of[1] >= 0 {
			s.joins, s.names = append(s.joins, of), append(s.names, name)
		}
	}
	for _, name := range s.names {
		s.labels = append(s.labels, []byte(name))
	}
	return nil
}

// Uncommented adds to an error of a file with columns that a comment is perhaps taken for the header.
func Uncommented(columns []string, err error) error {
	if err == nil || len(columns) == 0 || !strings.HasPrefix(columns[0], "#") {
		return err
	}
	return fmt.Errorf("%w; if lines that begin with # are comments, remove them: grep -v '^#' FILE > FILE.csv", err)
}

// Scan implements [Scanner]. A record must have a cell for each column.
func (s *cellScanner) Scan(r *Record) error {
	err := s.lineScanner.Scan(r)
	if r.Columns = s.names; err != nil || r.more {
		return err
	}
	if want := len(s.names) - len(s.joins); len(r.Values) != want {
		cells := words.Count(float64(len(r.Values)), "cell", "cells")
		columns := words.Count(float64(want), "column", "columns")
		return &InputError{Line: r.Line, Column: 1, Err: syntax(cells + " for " + columns)}
	}
	for _, of := range s.joins {
		joined := r.Values[of[0]]
		joined.Text = bytes.TrimSpace(slices.Concat(joined.Text, []byte(" "), r.Values[of[1]].Text))
		r.Values = append(r.Values, joined)
	}
	for i := range r.Values {
		r.Values[i].Name = s.labels[i]
	}
	r.Values = slices.DeleteFunc(r.Values, func(v Value) bool { return s.absent(r, &v) })
	return nil
}

// absent reports whether a cell is a missing value.
func (s *cellScanner) absent(r *Record, cell *Value) bool {
	isText := func(null string) bool { return null == string(cell.Text) }
	return (len(cell.Text) == 0 || slices.ContainsFunc(s.Nulls, isText)) && !r.quoted(cell)
}

// quoted reports whether a cell has quotes.
func (r *Record) quoted(cell *Value) bool { return cell.at < len(r.text) && r.text[cell.at] == '"' }

// split parses a record. An error does not end that: a cell after it may have line breaks.
func (s *cellScanner) split(p *line) {
	if len(p.text) == 0 {
		p.err = errNoRecord
		return
	}
	for more := true; more; more = p.skip(s.Delimiter) {
		begin := p.at
		p.add(Value{Text: s.cell(p, p.skip('"')), at: begin})
		for p.at < len(p.text) && p.peek() != s.Delimiter {
			s.wantEnd(p)
			s.cell(p, p.skip('"'))
		}
	}
}

// wantEnd marks a character after a cell that is no delimiter.
func (s *cellScanner) wantEnd(p *line) {
	problem := "want a comma or a line break after the cell"
	if s.Delimiter != ',' {
		problem = fmt.Sprintf("want %q or a line break after the cell", s.Delimiter)
	}
	if bytes.HasSuffix(p.text[:p.at], []byte(`\"`)) {
		problem += ": quotes in cells are doubled, or follow a backslash with --format cassandra"
	}
	p.mark(p.at, problem)
}

// cell parses a cell, after the quote before it if there is one. In quotes, a quote is doubled; in files of cqlsh, a
// backslash precedes quotes, delimiters and itself, in all cells.
func (s *cellScanner) cell(p *line, quoted bool) []byte {
	begin, kept := p.at-1, len(p.arena)
	from := p.at // of what is not in the arena
	for ; p.at < len(p.text) || quoted && p.more(); p.at++ {
		switch b, next := p.text[p.at], p.text[p.at+1:]; {
		case b == '\\' && s.cql && len(next) == 0:
			p.mark(p.at, "a backslash at the end")
			p.more()
		case b == '\\' && s.cql:
			if next[0] != '"' && next[0] != '\\' && next[0] != s.Delimiter {
				p.mark(p.at, "a backslash before another character than a quote, a backslash or a delimiter: "+
					"old versions of cqlsh write control characters in this way")
			}
			p.arena = append(p.arena, p.text[from:p.at]...)
			p.at++
			from = p.at
		case b == '"' && !quoted:
			p.mark(p.at, "a quote in a cell without quotes")
		case b == '"' && !s.cql && len(next) > 0 && next[0] == '"':
			p.at++
			p.arena = append(p.arena, p.text[from:p.at]...)
			from = p.at + 1
		case b == '"':
			p.at++
			return p.joined(kept, from, p.at-1)
		case !quoted && b == s.Delimiter:
			return p.joined(kept, from, p.at)
		case !quoted && b == '\r':
			s.wantEnd(p)
		}
	}
	p.check(!quoted, begin, "the quoted cell has no end")
	return p.joined(kept, from, p.at)
}
