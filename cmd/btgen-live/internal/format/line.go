package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// lineScanner scans records that a function parses: one on each line, unless a frame says otherwise.
type lineScanner struct {
	in     *bufio.Reader
	frame  frame
	quotes quotes
	parse  func(p *line)
	line   int    // number of the next line, counted from 1; 0 before the first
	record []byte // that is not whole in the memory of in
	last   line
}

func newLineScanner(in io.Reader, f frame, q quotes, parse func(p *line)) lineScanner {
	return lineScanner{in: bufio.NewReaderSize(in, 64<<10), frame: f, quotes: q, parse: parse}
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
func scanLines(frame func() frame, q quotes, parse func(p *line)) func(io.Reader, ReaderOptions) (Scanner, error) {
	return func(in io.Reader, _ ReaderOptions) (Scanner, error) {
		s := newLineScanner(in, frame(), q, parse)
		return &s, nil
	}
}

// Scan implements [Scanner].
func (s *lineScanner) Scan(r *Record) error {
	for {
		text, number, err := s.next()
		if r.reset(text, number); err != nil {
			return err
		}
		s.last = line{Record: r}
		switch s.parse(&s.last); {
		case s.last.err == nil && r.more:
			return &InputError{Line: number, Column: 1, Err: errManyValues}
		case s.last.err != errNoRecord:
			return broken(s.last.err, text, s.quotes)
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

// next returns the next record without the line break at its end, and the number of its first line. The record
// is valid until the next call. One that is too long is an *InputError, or a *BrokenError if it has several lines.
func (s *lineScanner) next() ([]byte, int, error) {
	if s.line == 0 {
		if err := s.begin(); err != nil {
			return nil, 1, err
		}
	}
	s.record = s.record[:0]
	for number, long := s.line, false; ; { // long says that more than maxLine was skipped
		text, err := s.in.ReadSlice('\n')
		last := err == io.EOF && (long || len(text)+len(s.record) > 0)
		switch {
		case err == nil || last:
			s.line++
		case err != bufio.ErrBufferFull:
			return nil, number, err
		}
		ends := s.frame.add(text) || last
		if !ends || long || len(s.record) > 0 {
			s.record = append(s.record, text...)
			text = s.record
		}
		if len(text) > maxLine {
			s.record, long = s.record[:0], true
		}
		if number == 1 {
			if err := foreign(text); err != nil {
				return nil, number, err
			}
		}
		switch {
		case !ends:
			continue
		case long:
			return nil, number, s.tooLong(number)
		case !last:
			text = text[:len(text)-1]
		}
		return bytes.TrimSuffix(text, []byte("\r")), number, nil
	}
}

// tooLong returns the error of the record that was consumed, and begins on a line.
func (s *lineScanner) tooLong(number int) error {
	failed := InputError{Line: number, Column: 1, Err: ErrTooLong}
	if s.line > number+1 {
		return &BrokenError{failed}
	}
	return &failed
}

// line is a line that is parsed, from an offset on. After an error, nothing is left of it.
type line struct {
	*Record
	at  int
	err error // the first one
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

// token is word for a text with backslashes before some characters, which it removes.
func (p *line) token(ends, escaped string) []byte {
	from, kept := p.at, len(p.arena)
	for ; p.at < len(p.text) && strings.IndexByte(ends, p.text[p.at]) < 0; p.at++ {
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
