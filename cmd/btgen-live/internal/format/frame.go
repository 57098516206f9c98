package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// frame finds the ends of records whose strings may contain line breaks.
type frame interface {
	// add adds a line with its line break, or a part of one, to a record. It reports whether the record ends there;
	// it then forgets the record.
	add(text []byte) bool
}

// lineFrame is the frame of records that are lines.
type lineFrame struct{}

func newLineFrame() frame { return lineFrame{} }

func (lineFrame) add(text []byte) bool { return bytes.HasSuffix(text, []byte("\n")) }

// plainLine reports whether a text is a line without some characters.
func plainLine(text []byte, special string) bool {
	return lineFrame{}.add(text) && !bytes.ContainsAny(text, special)
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

// lines reads records.
type lines struct {
	in     *bufio.Reader
	record []byte // that is not whole in the memory of in
	line   int    // number of the next line, counted from 1; 0 before the first
}

func newLines(in io.Reader) lines { return lines{in: bufio.NewReaderSize(in, 64<<10)} }

// byteOrderMark is what some programs write at the beginning of a text in UTF-8.
const byteOrderMark = "\ufeff"

// begin skips a byte order mark. It returns an error for an input of another system that is not read.
func (l *lines) begin() error {
	l.line = 1
	begin, err := l.in.Peek(len(byteOrderMark))
	if len(begin) == 0 {
		return err
	}
	if string(begin) == byteOrderMark {
		_, _ = l.in.Discard(len(byteOrderMark))
	}
	begin, _ = l.in.Peek(l.in.Buffered())
	return foreign(begin)
}

// next returns the next record without the line break at its end, and the number of its first line. The record
// is valid until the next call. One that is too long is an *InputError, or a *BrokenError if it has several lines.
func (l *lines) next(f frame) ([]byte, int, error) {
	if l.line == 0 {
		if err := l.begin(); err != nil {
			return nil, 1, err
		}
	}
	l.record = l.record[:0]
	for number, long := l.line, false; ; { // long says that more than maxLine was skipped
		text, err := l.in.ReadSlice('\n')
		last := err == io.EOF
		if err != nil && err != bufio.ErrBufferFull && !(last && (long || len(text)+len(l.record) > 0)) {
			return nil, number, err
		}
		if err != bufio.ErrBufferFull {
			l.line++
		}
		ends := f.add(text) || last
		if !ends || long || len(l.record) > 0 {
			l.record = append(l.record, text...)
			text = l.record
		}
		if len(text) > maxLine {
			l.record, long = l.record[:0], true
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
			return nil, number, l.tooLong(number)
		case !last:
			text = text[:len(text)-1]
		}
		return bytes.TrimSuffix(text, []byte("\r")), number, nil
	}
}

// tooLong returns the error of the record that was consumed, and begins on a line.
func (l *lines) tooLong(number int) error {
	failed := InputError{Line: number, Column: 1, Err: ErrTooLong}
	if l.line > number+1 {
		return &BrokenError{failed}
	}
	return &failed
}

// maxValues is the maximum number of values of a record.
const maxValues = 100_000

// errManyValues is the error of a record with more than maxValues values.
var errManyValues = fmt.Errorf("the record has more than %d values", maxValues)
