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
	number, long := l.line, false // more than maxLine was skipped
	take := func(record []byte, size int) ([]byte, int, error) {
		l.begin += size
		l.line += 1 + bytes.Count(record, []byte("\n"))
		if long || len(record) > maxLine {
			return nil, number, l.tooLong(number)
		}
		return bytes.TrimSuffix(record, []byte("\r")), number, nil
	}
	for searched := 0; ; {
		rest := l.rest()
		if number == 1 && !long {
			if err := foreign(rest); err != nil {
				return nil, number, err
			}
		}
		if i := f.end(rest, searched); i >= 0 {
			return take(rest[:i], i+1)
		}
		if searched = len(rest); searched > maxLine {
			l.line += bytes.Count(rest, []byte("\n"))
			l.begin, searched, long = l.end, 0, true
		}
		if err := l.fill(); err != nil {
			if rest = l.rest(); err != io.EOF || len(rest) == 0 && !long { // fill has moved it
				return nil, number, err
			}
			return take(rest, len(rest))
		}
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
