package format

import (
	"bytes"
	"errors"
	"fmt"
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
