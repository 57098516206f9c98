package wire

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// errWire says that bytes are not the wire form of their message.
var errWire = errors.New("not a ReadRows response")

// chunk is a CellChunk whose parts are those of the response. As in the client's
// message, a key or a value is there if it is not empty.
type chunk struct {
	rowKey        []byte
	family        optional
	qualifier     optional
	micros        int64
	labelled      bool
	value         []byte
	valueSize     int32
	reset, commit bool
}

// optional is the value of a wrapper message, which may be there and empty.
type optional struct {
	value []byte
	given bool
}

// The numbers of the fields of the messages.
const (
	fieldChunks = 1

	fieldRowKey     = 1
	fieldFamilyName = 2
	fieldQualifier  = 3
	fieldTimestamp  = 4
	fieldLabels     = 5
	fieldValue      = 6
	fieldValueSize  = 7
	fieldResetRow   = 8
	fieldCommitRow  = 9

	fieldWrapped = 1
)

// The first bytes of the fields of most chunks, the greatest length that is one
// byte, and how many bytes must be left for a timestamp, and for a chunk with one, to
// be looked at.
const (
	tagWrapped    = fieldWrapped<<3 | byte(protowire.BytesType)
	tagChunks     = fieldChunks<<3 | byte(protowire.BytesType)
	tagRowKey     = fieldRowKey<<3 | byte(protowire.BytesType)
	tagFamilyName = fieldFamilyName<<3 | byte(protowire.BytesType)
	tagQualifier  = fieldQualifier<<3 | byte(protowire.BytesType)
	tagTimestamp  = fieldTimestamp<<3 | byte(protowire.VarintType)
	tagValue      = fieldValue<<3 | byte(protowire.BytesType)
	tagCommit     = fieldCommitRow<<3 | byte(protowire.VarintType)
	maxShort      = 1<<7 - 1
	minTime       = 1 + 8
	minPlain      = 2 + minTime
)

// shortVarint decodes a number of up to 8 bytes at the beginning of at least as many;
// n is its length, 0 if it is longer. It is [protowire.ConsumeVarint] without a
// branch for each byte: the groups of 7 bits move together by twos.
func shortVarint(b []byte) (v uint64, n int) {
	const last = 0x8080808080808080 // the bits that say that a byte is not the last one
	v = binary.LittleEndian.Uint64(b)
	ends := ^v & last
	if ends == 0 {
		return 0, 0
	}
	v &= ends ^ (ends - 1) // up to the last bit of the first end
	v = v&0x007f007f007f007f | v&0x7f007f007f007f00>>1
	v = v&0x00003fff00003fff | v&0x3fff00003fff0000>>2
	v = v&0x000000000fffffff | v&0x0fffffff00000000>>4
	return v, bits.TrailingZeros64(ends)/8 + 1
}

// field is a field of a message: a number, or bytes. Fields of other types are
// none that the messages know.
type field struct {
	number  protowire.Number
	wire    protowire.Type
	varint  uint64
	content []byte
}

// is reports whether it is a field with a number and a type. A known number with
// another type counts as unknown, as in any message.
func (f *field) is(number protowire.Number, wire protowire.Type) bool {
	return f.number == number && f.wire == wire
}

// next takes the first field off a message; n is its length, negative if there is
// none.
func (f *field) next(message []byte) (n int) {
	if n = f.short(message); n > 0 {
		return n
	}
	var tag, rest int
	f.number, f.wire, tag = protowire.ConsumeTag(message)
	if tag < 0 || f.number > protowire.MaxValidNumber {
		return -1
	}
	switch body := message[tag:]; f.wire {
	case protowire.VarintType:
		f.varint, rest = protowire.ConsumeVarint(body)
	case protowire.BytesType:
		f.content, rest = protowire.ConsumeBytes(body)
	default:
		rest = protowire.ConsumeFieldValue(f.number, f.wire, body)
	}
	if rest < 0 {
		return -1
	}
	return tag + rest
}

// short is next for the fields that nearly all are: of a number below 16, with a
// number or with bytes of short length. It returns 0 for any other.
func (f *field) short(message []byte) (n int) {
	if len(message) < 2 || message[0] > maxShort || message[0] < 1<<3 {
		return 0
	}
	f.number, f.wire = protowire.Number(message[0]>>3), protowire.Type(message[0]&7)
	first := message[1]
	switch {
	case f.wire == protowire.BytesType && first <= maxShort && 2+int(first) <= len(message):
		f.content = message[2 : 2+int(first)]
		return 2 + int(first)
	case f.wire == protowire.VarintType && first <= maxShort:
		f.varint = uint64(first)
		return 2
	case f.wire == protowire.VarintType && len(message) > 8:
		if f.varint, n = shortVarint(message[1:]); n > 0 {
			return 1 + n
		}
	}
	return 0
}

// parse sets the chunk from its wire form.
func (c *chunk) parse(message []byte) error {
	if c.short(message) {
		return nil
	}
	*c = chunk{}
	var f field
	for len(message) > 0 {
		n := f.next(message)
		if n < 0 {
			return errWire
		}
		message = message[n:]
		if err := c.set(&f); err != nil {
			return err
		}
	}
	return nil
}

// short is parse for the chunks that nearly all are: no more than a cell, whose fields
// are in the order of their numbers and short. It returns false for any other.
func (c *chunk) short(message []byte) bool {
	rowKey, message := shortBytes(message, tagRowKey)
	family, message := shortBytes(message, tagFamilyName)
	qualifier, message := shortBytes(message, tagQualifier)
	if family != nil && (!wrapped(family) || !utf8.Valid(family[2:])) || qualifier != nil && !wrapped(qualifier) {
		return false
	}
	*c = chunk{rowKey: rowKey}
	if family != nil {
		c.family = optional{family[2:], true}
	}
	if qualifier != nil {
		c.qualifier = optional{qualifier[2:], true}
	}
	if len(message) > 8 && message[0] == tagTimestamp {
		micros, n := shortVarint(message[1:])
		if n == 0 {
			return false
		}
		c.micros, message = int64(micros), message[1+n:]
	}
	c.value, message = shortBytes(message, tagValue)
	if len(message) == 2 && message[0] == tagCommit && message[1] == 1 {
		c.commit, message = true, nil
	}
	return len(message) == 0
}

// shortBytes takes the first field off a message if it has this tag and a short length;
// else the content is nil.
func shortBytes(message []byte, tag byte) (content, rest []byte) {
	if len(message) < 2 || message[0] != tag || message[1] > maxShort || 2+int(message[1]) > len(message) {
		return nil, message
	}
	return message[2 : 2+int(message[1])], message[2+int(message[1]):]
}

// set takes a field in. The last one of a number counts, and of reset and commit
// the last one of both.
func (c *chunk) set(f *field) error {
	switch f.wire {
	case protowire.VarintType:
		c.setNumber(f.number, f.varint)
	case protowire.BytesType:
		return c.setBytes(f.number, f.content)
	}
	return nil
}

func (c *chunk) setNumber(number protowire.Number, v uint64) {
	switch number {
	case fieldTimestamp:
		c.micros = int64(v)
	case fieldValueSize:
		c.valueSize = int32(v)
	case fieldResetRow:
		c.reset, c.commit = protowire.DecodeBool(v), false
	case fieldCommitRow:
		c.reset, c.commit = false, protowire.DecodeBool(v)
	}
}

func (c *chunk) setBytes(number protowire.Number, b []byte) error {
	switch number {
	case fieldRowKey:
		c.rowKey = b
	case fieldValue:
		c.value = b
	case fieldQualifier:
		return c.qualifier.unwrap(b)
	case fieldFamilyName:
		if err := c.family.unwrap(b); err != nil || !utf8.Valid(c.family.value) {
			return errWire
		}
	case fieldLabels:
		c.labelled = true
		if !utf8.Valid(b) {
			return errWire
		}
	}
	return nil
}

// wrapped reports whether a wrapper message is a short value and no more.
func wrapped(message []byte) bool {
	return len(message) >= 2 && message[0] == tagWrapped && int(message[1]) == len(message)-2 && message[1] <= maxShort
}

// unwrap sets the value from a wrapper message. One that lacks it leaves that of an
// earlier one, as messages are merged.
func (o *optional) unwrap(message []byte) error {
	o.given = true
	if wrapped(message) {
		o.value = message[2:]
		return nil
	}
	var f field
	for len(message) > 0 {
		n := f.next(message)
		if n < 0 {
			return errWire
		}
		if f.is(fieldWrapped, protowire.BytesType) {
			o.value = f.content
		}
		message = message[n:]
	}
	return nil
}

// addressed reports whether the chunk says of which cell it is.
func (c *chunk) addressed() bool {
	return len(c.rowKey) > 0 || c.family.given || c.qualifier.given || c.micros != 0
}
