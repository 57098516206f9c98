package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
)

// Reader reads events from text.
type Reader interface {
	// Next returns the next event and the line on which it begins, counted from 1. At the end,
	// the error is [io.EOF]. If the error is an *InputError, Next may be called again and
	// continues with the next line.
	Next() (dynamic.Event, int, error)
}

// InputError reports an event that cannot be parsed.
type InputError struct {
	Line   int    // the line on which the event begins, counted from 1
	Column int    // the character of the line at which the problem is, counted from 1
	Name   string // the column of the event; empty if the problem is not in a value
	Err    error
}

// Error returns the position and the problem.
func (e *InputError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%d:%d: %v", e.Line, e.Column, e.Err)
	}
	return fmt.Sprintf("%d:%d: %s: %v", e.Line, e.Column, e.Name, e.Err)
}

// Unwrap returns the problem.
func (e *InputError) Unwrap() error { return e.Err }

// Errors of events that cannot be parsed.
var (
	ErrSyntax  = errors.New("syntax error")
	ErrUnknown = errors.New("the schema has no such value")
	ErrTwice   = errors.New("the value is given twice")
	ErrMissing = errors.New("the value is missing")
	ErrTooLong = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)
)

// maxLine is the maximum size of a line in bytes. An event is much smaller: a request to
// Bigtable may have 256 MiB, and a row should have less than 100 MB.
const maxLine = 64 << 20

// ReaderOptions configure a [Reader].
type ReaderOptions struct {
	// IgnoreUnknown ignores values that the schema does not have, instead of rejecting them.
	IgnoreUnknown bool
}

// syntax returns a syntax error.
func syntax(text string) error { return fmt.Errorf("%w: %s", ErrSyntax, text) }

// lines is the part of the input that is in memory.
type lines struct {
	in         io.Reader
	buf        []byte
	begin, end int // what is not consumed
	line       int // number of the line at begin, counted from 1
	ended      bool
}

func newLines(in io.Reader) lines { return lines{in: in, buf: make([]byte, 64<<10), line: 1} }

// fill reads more input. It returns io.EOF at the end.
func (l *lines) fill() error {
	if l.ended {
		return io.EOF
	}
	if l.begin > 0 {
		l.end = copy(l.buf, l.buf[l.begin:l.end])
		l.begin = 0
	}
	if l.end == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	n, err := l.in.Read(l.buf[l.end:])
	l.end += n
	switch {
	case err == io.EOF:
		l.ended = true
		if n == 0 {
			return io.EOF
		}
	case err != nil:
		return err
	}
	return nil
}

// byteOrderMark is what some programs write at the beginning of a text in UTF-8.
const byteOrderMark = "\ufeff"

// skipMark skips a byte order mark at the beginning of the input.
func (l *lines) skipMark() error {
	for len(l.rest()) < len(byteOrderMark) {
		if err := l.fill(); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	if bytes.HasPrefix(l.rest(), []byte(byteOrderMark)) {
		l.begin += len(byteOrderMark)
	}
	return nil
}

// rest returns what is in memory and not consumed.
func (l *lines) rest() []byte { return l.buf[l.begin:l.end] }

// next returns the next line without its line break, and its number. The line is valid until
// the next call. A line that is too long is an *InputError.
func (l *lines) next() ([]byte, int, error) {
	for searched := 0; ; {
		rest := l.rest()
		number := l.line
		if i := bytes.IndexByte(rest[searched:], '\n'); i >= 0 {
			l.begin += searched + i + 1
			l.line++
			return bytes.TrimSuffix(rest[:searched+i], []byte("\r")), number, nil
		}
		if len(rest) > maxLine {
			return nil, number, l.skip()
		}
		searched = len(rest)
		if err := l.fill(); err != nil {
			if err != io.EOF || len(rest) == 0 {
				return nil, number, err
			}
			l.begin = l.end
			l.line++
			return rest, number, nil
		}
	}
}

// skip skips a line that is too long.
func (l *lines) skip() error {
	number := l.line
	for {
		i := bytes.IndexByte(l.rest(), '\n')
		if i >= 0 {
			l.begin += i + 1
			break
		}
		l.begin = l.end
		if err := l.fill(); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	l.line++
	return &InputError{Line: number, Column: 1, Err: ErrTooLong}
}

// parser makes events of the values of a line.
type parser struct {
	layout  *layout.Layout
	columns []Column
	parse   []func(text []byte) (any, error) // per column
	byName  map[string]int
	seen    []bool // per column, in the current line
	ignore  bool   // unknown values
}

func newParser(l *layout.Layout, o ReaderOptions) *parser {
	p := &parser{layout: l, columns: inputColumns(l), byName: map[string]int{}, ignore: o.IgnoreUnknown}
	for i := range p.columns {
		f := &p.columns[i].Field
		p.byName[f.Name] = i
		p.parse = append(p.parse, parserOf(f))
	}
	p.seen = make([]bool, len(p.columns))
	return p
}

// start starts an event.
func (p *parser) start() dynamic.Event {
	clear(p.seen)
	return dynamic.Event{Series: make([]any, len(p.layout.Series)), Values: make([]any, len(p.layout.Fields))}
}

// column returns the index of a column, or -1 if it is unknown and ignored.
func (p *parser) column(name []byte) (int, error) {
	i, ok := p.byName[string(name)]
	switch {
	case ok && p.seen[i]:
		return i, ErrTwice
	case ok:
		p.seen[i] = true
		return i, nil
	case p.ignore:
		return -1, nil
	}
	return -1, p.unknown(string(name))
}

// unknown returns the error of a name that the schema does not have.
func (p *parser) unknown(name string) error {
	var names []string
	for i := range p.columns {
		names = append(names, p.columns[i].Name)
	}
	if strings.HasPrefix(strings.ToLower(name), "time") || strings.EqualFold(name, "ts") {
		return fmt.Errorf("%w %q: the time of an event is named time, and has a form such as 2021-03-05T12:00:00.5Z", ErrUnknown, name)
	}
	if near, ok := diag.Nearest(name, names); ok {
		return fmt.Errorf("%w %q; did you mean %s?", ErrUnknown, name, near)
	}
	return fmt.Errorf("%w %q; it has %s", ErrUnknown, name, strings.Join(names, ", "))
}

// complete sets the defaults of an event. It returns the name of the first column that is
// missing; empty if there is none.
func (p *parser) complete(e *dynamic.Event) string {
	for i := range p.columns {
		if c := &p.columns[i]; !p.seen[i] && c.part == fieldPart && c.Default != nil && !c.Optional {
			c.set(e, c.Default)
		}
	}
	return p.missing()
}

// missing returns the name of the first column that an event must have and that was not
// given; empty if there is none.
func (p *parser) missing() string {
	for i := range p.columns {
		if !p.seen[i] && p.columns[i].Required() {
			return p.columns[i].Name
		}
	}
	return ""
}

// position returns the character of a line at an offset, counted from 1.
func position(line []byte, offset int) int {
	return utf8.RuneCount(line[:min(offset, len(line))]) + 1
}

// lacks returns the error of an event without a value.
func lacks(line int, name string) error {
	return &InputError{Line: line, Column: 1, Name: name, Err: ErrMissing}
}
