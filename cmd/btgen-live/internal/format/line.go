package format

import (
	"io"
	"strings"
)

// lineScanner scans records that a function parses: one on each line, unless a frame says otherwise.
type lineScanner struct {
	lines
	frame  frame
	quoted bool // whether lines have strings in quotes, or are comments
	parse  func(p *line) error
	last   line
}

// scanLines returns the scan of a format of lines.
func scanLines(quoted bool, parse func(p *line) error) func(io.Reader, ReaderOptions) (Scanner, error) {
	return func(in io.Reader, _ ReaderOptions) (Scanner, error) {
		return &lineScanner{lines: newLines(in), frame: lineFrame{}, quoted: quoted, parse: parse}, nil
	}
}

// Scan implements [Scanner].
func (s *lineScanner) Scan(r *Record) error {
	for {
		text, number, err := s.record(s.frame)
		if r.reset(text, number); err != nil {
			return err
		}
		p := &s.last
		*p = line{Record: r}
		switch p.blanks(" \t"); {
		case p.at == len(text) || s.quoted && p.peek() == '#':
		case s.quoted:
			return broken(s.parse(p), text)
		default:
			return s.parse(p)
		}
	}
}

// line is a line that is parsed, from an offset on.
type line struct {
	*Record
	at int
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
	begin, from := p.at, len(p.arena)
	copied := false
	for ; p.at < len(p.text) && strings.IndexByte(ends, p.text[p.at]) < 0; p.at++ {
		if p.text[p.at] == '\\' && p.at+1 < len(p.text) && strings.IndexByte(escaped, p.text[p.at+1]) >= 0 {
			p.arena, copied = append(p.arena, p.text[begin:p.at]...), true
			p.at++
			begin = p.at
		}
	}
	if !copied {
		return p.text[begin:p.at]
	}
	p.arena = append(p.arena, p.text[begin:p.at]...)
	return p.arena[from:]
}
