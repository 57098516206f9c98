package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// lineScanner scans records that a function parses: lines, of which a string in quotes may go on in the next one.
type lineScanner struct {
	in     *bufio.Reader
	quotes quotes
	parse  func(p *line)
	line   int    // number of the next line, counted from 1; 0 before the first
	record []byte // the lines of the current record, with their line breaks
	last   line
}

func newLineScanner(in io.Reader, q quotes, parse func(p *line)) lineScanner {
	return lineScanner{in: bufio.NewReaderSize(in, 64<<10), quotes: q, parse: parse}
}

// quotes say how strings of records contain quotes.
type quotes int

const (
	noQuotes      quotes = iota // a record has no strings in quotes
	escapedQuotes               // after a backslash
	doubledQuotes
)

// errNoRecord is the error of a line that is empty or a comment.
var errNoRecord = errors.New("no record")

// scanLines returns the scan of a format of lines.
func scanLines(q quotes, parse func(p *line)) func(io.Reader, ReaderOptions) (Scanner, error) {
	return func(in io.Reader, _ ReaderOptions) (Scanner, error) {
		s := newLineScanner(in, q, parse)
		return &s, nil
	}
}

// Scan implements [Scanner].
func (s *lineScanner) Scan(r *Record) error {
	for {
		number := max(1, s.line)
		err := s.next()
		if r.Reset(s.text(), number); err == ErrTooLong {
			return &InputError{Line: number, Column: 1, Err: err}
		} else if err != nil {
			return err
		}
		s.last = line{Record: r, lines: s}
		s.parse(&s.last)
		if number == 1 {
			if err := foreign(r.text); err != nil {
				return err
			}
		}
		switch {
		case s.last.err == nil && r.more:
			return &InputError{Line: number, Column: 1, Err: errManyValues}
		case s.last.err != errNoRecord:
			return broken(s.last.err, r.text, s.quotes)
		}
	}
}

// maxValues is the maximum number of values of a record.
const maxValues = 100_000

// errManyValues is the error of a record with more than maxValues values.
var errManyValues = fmt.Errorf("the record has more than %d values", maxValues)

// byteOrderMark is what some programs write at the beginning of a text in UTF-8.
const byteOrderMark = "\ufeff"

// begin skips a byte order mark. It returns an error for an input of another system that is not read.
func (s *lineScanner) begin() error {
	s.line = 1
	begin, err := s.in.Peek(len(byteOrderMark))
	if len(begin) == 0 {
		return err
	}
	if string(begin) == byteOrderMark {
		_, _ = s.in.Discard(len(byteOrderMark))
	}
	begin, _ = s.in.Peek(s.in.Buffered())
	return foreign(begin)
}

// next starts a record with the next line.
func (s *lineScanner) next() error {
	if s.line == 0 {
		if err := s.begin(); err != nil {
			return err
		}
	}
	s.record = s.record[:0]
	return s.add()
}

// add adds the next line to the record. One with which the record is longer than maxLine is [ErrTooLong], and left
// out.
func (s *lineScanner) add() error {
	begin, long := len(s.record), false
	for {
		text, err := s.in.ReadSlice('\n')
		if s.record = append(s.record, text...); len(s.record) > maxLine {
			s.record, long = s.record[:begin], true
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && !long && len(s.record) == begin, err != nil && err != io.EOF:
			return err
		}
		if s.line++; long {
			return ErrTooLong
		}
		return nil
	}
}

// text returns the record without the line break at its end.
func (s *lineScanner) text() []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(s.record, []byte("\n")), []byte("\r"))
}

// line is a record that is parsed, from an offset on: a line, and those after it that more has added.
type line struct {
	*Record
	lines *lineScanner
	at    int
	err   error // the first one
}

// more adds the next line to the record, whose text so far ends within a string. It returns false if there is none;
// the line break at the end of the input is then a part of the string.
func (p *line) more() bool {
	switch err := p.lines.add(); err {
	case nil:
		p.text = p.lines.text()
		return true
	case io.EOF:
		p.text = p.lines.record
	case ErrTooLong:
		p.err = &BrokenError{InputError{Line: p.Line, Column: 1, Err: err}}
	default:
		p.err = err
	}
	return false
}

// refuse ends the parsing with an error at an offset, about a value with a name.
func (p *line) refuse(at int, name string, err error) {
	if p.err == nil {
		p.err = errorAt(p.text, p.Line, at, name, err)
	}
	p.at = len(p.text)
}

// fail ends the parsing with a syntax error at an offset.
func (p *line) fail(at int, why string) { p.refuse(at, "", syntax(why)) }

// mark is fail, but goes on.
func (p *line) mark(at int, why string) {
	next := p.at
	p.fail(at, why)
	p.at = next
}

// check ends the parsing with a syntax error at an offset unless a condition holds.
func (p *line) check(ok bool, at int, why string) {
	if !ok {
		p.fail(at, why)
	}
}

// expect skips a character, or ends the parsing if there is another one.
func (p *line) expect(c byte, why string) { p.check(p.skip(c), p.at, why) }

// isRecord reports whether a line is a record: neither empty nor a comment, which begins with one of some characters.
func (p *line) isRecord(comments string) bool {
	if p.ended() || strings.IndexByte(comments, p.peek()) >= 0 {
		p.err = errNoRecord
	}
	return p.err == nil
}

// peek returns the next character; 0 at the end.
func (p *line) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// skip skips a character. It returns false if there is another one.
func (p *line) skip(c byte) bool {
	is := p.at < len(p.text) && p.text[p.at] == c
	if is {
		p.at++
	}
	return is
}

// blanks skips some characters. It returns false if there are none.
func (p *line) blanks(of string) bool {
	begin := p.at
	for p.at < len(p.text) && strings.IndexByte(of, p.text[p.at]) >= 0 {
		p.at++
	}
	return p.at > begin
}

// ended skips blanks, and reports whether nothing else is left.
func (p *line) ended() bool {
	p.blanks(blank)
	return p.at == len(p.text)
}

// word returns the text before the next of some characters.
func (p *line) word(ends string) []byte {
	begin := p.at
	for p.at < len(p.text) && strings.IndexByte(ends, p.text[p.at]) < 0 {
		p.at++
	}
	return p.text[begin:p.at]
}

// token is word for a text with backslashes before some characters, which it removes. One that ends with a quote may
// have line breaks.
func (p *line) token(ends, escaped string) []byte {
	from, kept := p.at, len(p.arena)
	for ; (p.at < len(p.text) || ends == `"` && p.more()) && strings.IndexByte(ends, p.text[p.at]) < 0; p.at++ {
		if p.text[p.at] == '\\' && p.at+1 < len(p.text) && strings.IndexByte(escaped, p.text[p.at+1]) >= 0 {
			p.arena = append(p.arena, p.text[from:p.at]...)
			p.at++
			from = p.at
		}
	}
	return p.joined(kept, from, p.at)
}

// joined returns what was kept in the arena from an offset on, and a part of the text after it.
func (p *line) joined(kept, from, to int) []byte {
	if len(p.arena) == kept {
		return p.text[from:to]
	}
	p.arena = append(p.arena, p.text[from:to]...)
	return p.arena[kept:]
}

// BrokenError ends the reading at a record whose end is uncertain: a text in it would otherwise be read as the
// next event.
type BrokenError struct{ at InputError }

// Error returns the position and the problem.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("%v; where this record ends is uncertain, so that nothing after it is read", &e.at)
}

// Unwrap returns the problem.
func (e *BrokenError) Unwrap() error { return e.at.Err }

// broken returns the error of a record, as a *BrokenError if its syntax leaves open where it ends: it has line
// breaks, or a quote without another one.
func broken(err error, text []byte, q quotes) error {
	at, ok := errors.AsType[*InputError](err)
	if !ok || q == noQuotes || !errors.Is(err, ErrSyntax) {
		return err
	}
	if bytes.IndexByte(text, '\n') >= 0 || oddQuotes(text, true) || q == doubledQuotes && oddQuotes(text, false) {
		return &BrokenError{*at}
	}
	return err
}

// oddQuotes reports whether a text has a quote without another one; escapes says not to count those after a backslash.
func oddQuotes(text []byte, escapes bool) bool {
	odd := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && escapes:
			i++
		case text[i] == '"':
			odd = !odd
		}
	}
	return odd
}
