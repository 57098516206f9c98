package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// answer is the result of one entry in a response.
type answer struct {
	index   int64
	given   bool // the response contains a status
	code    int32
	message []byte // aliases the response
}

// Field numbers of the messages.
const (
	fieldAnswers = 1 // in MutateRowsResponse

	fieldAnswerIndex  = 1
	fieldAnswerStatus = 2

	fieldStatusCode    = 1
	fieldStatusMessage = 2
)

// errAnswers is the error for a response with more answers than the request has entries.
var errAnswers = &TooLargeError{"a response has many more results than the request has entries"}

// decodeAnswers appends the answers of a response to dst and also returns the other
// fields of the response. It accepts at most the given number of answers.
func decodeAnswers(dst []answer, message []byte, most int) (answers []answer, rest []byte, err error) {
	var f field
	for len(message) > 0 {
		n := f.next(message)
		switch {
		case n < 0:
			return nil, nil, errWire
		case !f.is(fieldAnswers, protowire.BytesType):
			rest = append(rest, message[:n]...)
			if len(rest) > maxCopied {
				return nil, nil, errHeld
			}
		case len(dst) >= most:
			return nil, nil, errAnswers
		default:
			var a answer
			if err := a.parse(f.content); err != nil {
				return nil, nil, err
			}
			dst = append(dst, a)
		}
		message = message[n:]
	}
	return dst, rest, nil
}

// parse decodes an answer.
func (a *answer) parse(message []byte) error {
	var f field
	for len(message) > 0 {
		n := f.next(message)
		if n < 0 {
			return errWire
		}
		switch {
		case f.is(fieldAnswerIndex, protowire.VarintType):
			a.index = int64(f.varint)
		case f.is(fieldAnswerStatus, protowire.BytesType):
			a.given = true
			if err := a.parseStatus(f.content); err != nil {
				return err
			}
		}
		message = message[n:]
	}
	return nil
}

// parseStatus decodes the status of an answer.
func (a *answer) parseStatus(message []byte) error {
	var f field
	for len(message) > 0 {
		n := f.next(message)
		if n < 0 {
			return errWire
		}
		switch {
		case f.is(fieldStatusCode, protowire.VarintType):
			a.code = int32(f.varint)
		case f.is(fieldStatusMessage, protowire.BytesType):
			if a.message = f.content; !utf8.Valid(a.message) {
				return errWire
			}
		}
		message = message[n:]
	}
	return nil
}
