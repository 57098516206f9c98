package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// errWire is the error for bytes that are not a valid message.
var errWire = errors.New("not a ReadRows response")

// chunk is a CellChunk whose parts refer to the memory of the response. As in the
// client's message, a key or value is present if it is not empty.
type chunk struct {
	rowKey        Text
	address       Text // the fields with family and qualifier, if both are short and follow each other
	family        optional
	qualifier     optional
	micros        int64
	labelled      bool
	value         Text
	valueSize     int32
	reset, commit bool
}

// optional is the value of a wrapper message, which may be present and empty.
type optional struct {
	value Text
	given bool
}

// Field numbers of the messages.
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

// The tags of the fields of most chunks, the largest length that takes one byte, and the minimum number of remaining
// bytes to decode a timestamp, or a chunk with a timestamp, on the fast path.
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

// shortVarint decodes a varint of up to 8 bytes from a slice of at least 8. n is its length, or 0 if it is longer. It
// is [protowire.ConsumeVarint] without a branch per byte: it merges groups of 7 bits in pairs.
func shortVarint(b []byte) (v uint64, n int) {
	const last = 0x8080808080808080 // set in the last byte of a varint
	v = binary.LittleEndian.Uint64(b)
	ends := ^v & last
	if ends == 0 {
		return 0, 0
	}
	v &= ends ^ (ends - 1) // the bits up to the end of the first varint
	v = v&0x007f007f007f007f | v&0x7f007f007f007f00>>1
	v = v&0x00003fff00003fff | v&0x3fff00003fff0000>>2
	v = v&0x000000000fffffff | v&0x0fffffff00000000>>4
	return v, bits.TrailingZeros64(ends)/8 + 1
}

// field is a field of a message: a number or bytes. The messages decoded here have no other types.
type field struct {
	number  protowire.Number
	wire    protowire.Type
	varint  uint64
	content []byte
}

// is reports whether the field has the given number and type. A known number with
// another type counts as unknown, as in protobuf.
func (f *field) is(number protowire.Number, wire protowire.Type) bool {
	return f.number == number && f.wire == wire
}

// next decodes the first field of a message. n is its length, or negative if it is invalid.
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

// short is the fast path of next for fields with a number below 16 that contain a
// varint or few bytes. It returns 0 for any other.
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

// parse decodes the chunk in memory[at:].
func (c *chunk) parse(memory []byte, at int) error {
	if c.short(memory, at) {
		return nil
	}
	*c = chunk{}
	var f field
	for at < len(memory) {
		n := f.next(memory[at:])
		if n < 0 {
			return errWire
		}
		at += n
		if err := c.set(&f, memory, at); err != nil {
			return err
		}
	}
	return nil
}

// short is the fast path of parse for chunks that contain just a cell and whose fields are in ascending order, and
// short but for the value. It returns false for any other. The chunk before it in the same
// memory must be in c, whose family and qualifier it mostly has.
func (c *chunk) short(memory []byte, at int) bool {
	before := chunk{address: c.address, family: c.family, qualifier: c.qualifier}
	*c = chunk{}
	c.rowKey, at = shortText(memory, at, tagRowKey)
	if same := at + before.address.Len(); same > at && same <= len(memory) && bytes.Equal(memory[at:same], memory[before.address.Begin:before.address.End]) {
		c.address, c.family, c.qualifier, at = before.address, before.family, before.qualifier, same
	} else if at = c.shortAddress(memory, at); at < 0 {
		return false
	}
	if len(memory)-at >= minTime && memory[at] == tagTimestamp {
		micros, n := shortVarint(memory[at+1:])
		if n == 0 {
			return false
		}
		c.micros, at = int64(micros), at+1+n
	}
	if n, value := length(memory, at, tagValue); value > 0 {
		at = value + n
		c.value = Text{uint32(value), uint32(at)}
	}
	if len(memory)-at == 2 && memory[at] == tagCommit && memory[at+1] == 1 {
		c.commit, at = true, at+2
	}
	return at == len(memory)
}

// whole is a row of one cell.
type whole struct {
	key, value Text
	micros     int64
	size       int // of the chunk
}

// maxWhole is the largest size in memory of a row that wholeRow decodes, in bytes, with what the client needs for it.
const maxWhole = maxShort + 16 + 24 + 16 + 512

// wholeRow is chunk.short for the chunk, with its tag and length, at the given offset, if it is a row of one cell in the
// column with the given address. end is the offset after the chunk; 0 if it is any other.
func wholeRow(message []byte, at int, address []byte) (row whole, end int) {
	size, begin := length(message, at, tagChunks)
	if end = begin + size; begin == 0 || end > len(message) {
		return row, 0
	}
	keySize, key := length(message[:end], begin, tagRowKey)
	names := key + keySize
	time := names + len(address)
	if key == 0 || keySize == 0 || keySize > maxShort || time+minTime > len(message) || message[time] != tagTimestamp || !bytes.Equal(message[names:time], address) {
		return row, 0
	}
	micros, n := shortVarint(message[time+1:])
	valueSize, value := length(message[:end], time+1+n, tagValue)
	commit := value + valueSize
	if n == 0 || value == 0 || commit+2 != end || message[commit] != tagCommit || message[commit+1] != 1 {
		return row, 0
	}
	row = whole{Text{uint32(key), uint32(names)}, Text{uint32(value), uint32(commit)}, int64(micros), size}
	return row, end
}

// length decodes a tag, which must be the given one, and a length of up to 14 bits at an offset, and returns the offset
// after them; 0 if there is something else.
func length(message []byte, at int, tag byte) (n, next int) {
	if at+2 >= len(message) || message[at] != tag {
		return 0, 0
	}
	low, high := int(message[at+1]), int(message[at+2])
	switch {
	case low <= maxShort:
		return low, at + 2
	case high <= maxShort:
		return low&maxShort | high<<7, at + 3
	}
	return 0, 0
}

// shortAddress decodes family and qualifier at the given offset, and returns the offset after them; -1 if
// the fast path cannot decode them.
func (c *chunk) shortAddress(memory []byte, at int) (next int) {
	family, next := shortText(memory, at, tagFamilyName)
	qualifier, next := shortText(memory, next, tagQualifier)
	if family.End > 0 {
		if !wrapped(memory[family.Begin:family.End]) || !utf8.Valid(memory[family.Begin+2:family.End]) {
			return -1
		}
		c.family = optional{Text{family.Begin + 2, family.End}, true}
	}
	if qualifier.End > 0 {
		if !wrapped(memory[qualifier.Begin:qualifier.End]) {
			return -1
		}
		c.qualifier = optional{Text{qualifier.Begin + 2, qualifier.End}, true}
	}
	if c.family.given && c.qualifier.given {
		c.address = Text{uint32(at), uint32(next)}
	}
	return next
}

// shortText returns the bytes of the field at the given offset and the offset after it if the field has this tag and
// a short length; else it returns an empty text and the same offset.
func shortText(memory []byte, at int, tag byte) (t Text, next int) {
	if len(memory)-at < 2 || memory[at] != tag || memory[at+1] > maxShort {
		return Text{}, at
	}
	if next = at + 2 + int(memory[at+1]); next > len(memory) {
		return Text{}, at
	}
	return Text{uint32(at + 2), uint32(next)}, next
}

// set sets the field f that ends at the given offset. The last occurrence of a field
// wins, and of reset and commit, which share a oneof, the last of both.
func (c *chunk) set(f *field, memory []byte, end int) error {
	switch f.wire {
	case protowire.VarintType:
		c.setNumber(f.number, f.varint)
	case protowire.BytesType:
		return c.setBytes(f.number, memory, Text{uint32(end - len(f.content)), uint32(end)})
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

func (c *chunk) setBytes(number protowire.Number, memory []byte, t Text) error {
	switch number {
	case fieldRowKey:
		c.rowKey = t
	case fieldValue:
		c.value = t
	case fieldQualifier:
		return c.qualifier.unwrap(memory, t)
	case fieldFamilyName:
		if err := c.family.unwrap(memory, t); err != nil || !utf8.Valid(memory[c.family.value.Begin:c.family.value.End]) {
			return errWire
		}
	case fieldLabels:
		c.labelled = true
		if !utf8.Valid(memory[t.Begin:t.End]) {
			return errWire
		}
	}
	return nil
}

// wrapped reports whether a wrapper message contains only a short value.
func wrapped(message []byte) bool {
	return len(message) >= 2 && message[0] == tagWrapped && int(message[1]) == len(message)-2 && message[1] <= maxShort
}

// unwrap sets the value from a wrapper message. A message without a value keeps the
// previous one, because protobuf merges messages.
func (o *optional) unwrap(memory []byte, message Text) error {
	o.given = true
	if wrapped(memory[message.Begin:message.End]) {
		o.value = Text{message.Begin + 2, message.End}
		return nil
	}
	var f field
	for at := int(message.Begin); at < int(message.End); {
		n := f.next(memory[at:message.End])
		if n < 0 {
			return errWire
		}
		at += n
		if f.is(fieldWrapped, protowire.BytesType) {
			o.value = Text{uint32(at - len(f.content)), uint32(at)}
		}
	}
	return nil
}

// addressed reports whether the chunk identifies its cell.
func (c *chunk) addressed() bool {
	return c.rowKey.Len() > 0 || c.family.given || c.qualifier.given || c.micros != 0
}
