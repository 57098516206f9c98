package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// frame finds the ends of records whose strings may contain line breaks. It knows what precedes, so that a
// record is read once.
type frame interface {
	// end returns the offset of the line break that ends the record, in a text whose first bytes it has seen;
	// -1 if there is none. It then forgets the record.
	end(text []byte, seen int) int
}

// lineFrame is the frame of records that are lines.
type lineFrame struct{}

func (lineFrame) end(text []byte, seen int) int {
	if i := bytes.IndexByte(text[seen:], '\n'); i >= 0 {
		return seen + i
	}
	return -1
}

// plainLine returns the offset of the line break if the text begins with a line without the given characters;
// otherwise -1.
func plainLine(text []byte, special string) int {
	i := bytes.IndexByte(text, '\n')
	if i >= 0 && bytes.ContainsAny(text[:i], special) {
		return -1
	}
	return i
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
func broken(err error, text []byte) error {
	at, ok := errors.AsType[*InputError](err)
	if ok && errors.Is(err, ErrSyntax) && (bytes.IndexByte(text, '\n') >= 0 || oddQuotes(text)) {
		return &BrokenError{*at}
	}
	return err
}

// oddQuotes reports whether a text has a quote without another one, not counting those after a backslash.
func oddQuotes(text []byte) bool {
	odd := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			odd = !odd
		}
	}
	return odd
}

// record returns the next record without the line break at its end, and the number of its first line. The record
// is valid until the next call. One that is too long is an *InputError, or a *BrokenError if it has several lines.
func (l *lines) record(f frame) ([]byte, int, error) {
	if !l.begun {
		l.begun = true
		if err := l.skipMark(); err != nil {
			return nil, l.line, err
		}
	}
	for searched := 0; ; {
		rest, number := l.rest(), l.line
		if number == 1 {
			if err := foreign(rest); err != nil {
				return nil, number, err
			}
		}
		i := f.end(rest, searched)
		switch {
		case i < 0 && len(rest) > maxLine:
			return nil, number, l.skip(f)
		case i > maxLine:
			l.take(rest[:i], i+1)
			return nil, number, l.tooLong(number)
		case i >= 0:
			return l.take(rest[:i], i+1), number, nil
		}
		searched = len(rest)
		if err := l.fill(); err != nil {
			if rest = l.rest(); err != io.EOF || len(rest) == 0 { // fill has moved it
				return nil, number, err
			}
			return l.take(rest, len(rest)), number, nil
		}
	}
}

// take consumes a record, and returns it.
func (l *lines) take(record []byte, size int) []byte {
	l.begin += size
	l.line += 1 + bytes.Count(record, []byte("\n"))
	return bytes.TrimSuffix(record, []byte("\r"))
}

// skip skips a record that is too long, of which the frame has seen the rest that is in memory.
func (l *lines) skip(f frame) error {
	number := l.line
	for seen := len(l.rest()); ; seen = 0 {
		i := f.end(l.rest(), seen)
		if i >= 0 {
			l.take(l.rest()[:i], i+1)
			break
		}
		l.line += bytes.Count(l.rest(), []byte("\n"))
		l.begin = l.end
		if err := l.fill(); err == io.EOF {
			l.line++
			break
		} else if err != nil {
			return err
		}
	}
	return l.tooLong(number)
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
