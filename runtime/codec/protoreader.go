package codec

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// ProtoReader iterates over the fields of a protobuf message:
//
//	r := codec.NewProtoReader(b)
//	for r.Next() {
//		switch r.Number() {
//		case 1:
//			e.Pressure = r.Int64()
//		}
//	}
//	err := r.Err()
//
// It skips fields that the caller does not read, so it accepts messages with newer fields. If a field occurs more
// than once, a loop like this keeps the last value. The reader keeps the first error and then stops.
type ProtoReader struct {
	message []byte
	at      int            // offset after the field
	number  int            // field number
	typ     protowire.Type // wire type of the field, or taken
	value   uint64         // the number, or the length of the bytes that end at offset at
	err     error
}

// taken is the type of a field that was already read, or of no field. It is not a wire type.
const taken protowire.Type = 7

// NewProtoReader returns a reader of the message b. The values that it returns do not alias b.
func NewProtoReader(b []byte) ProtoReader { return ProtoReader{message: b, typ: taken} }

// maxShort is the largest varint of one byte.
const maxShort = 1<<7 - 1

// Next advances to the next field. It returns false at the end and after an error.
func (r *ProtoReader) Next() bool {
	at := r.at + 1
	b := r.message
	if at > len(b) {
		r.typ = taken
		return false
	}
	if at == len(b) || b[at-1] < 1<<3 || b[at-1] > maxShort {
		return r.next()
	}
	tag, first := b[at-1], uint64(b[at])
	switch { // the fast path: a tag of one byte and a varint of up to three, or a fixed64
	case tag&7 == byte(protowire.Fixed64Type) && at+8 <= len(b):
		r.value, at = binary.LittleEndian.Uint64(b[at:]), at+8
	case tag&7 != byte(protowire.VarintType):
		return r.next()
	case first <= maxShort:
		r.value, at = first, at+1
	case at+1 < len(b) && b[at+1] <= maxShort:
		r.value, at = first&maxShort|uint64(b[at+1])<<7, at+2
	case at+2 < len(b) && b[at+2] <= maxShort:
		r.value, at = first&maxShort|uint64(b[at+1]&maxShort)<<7|uint64(b[at+2])<<14, at+3
	default:
		return r.next()
	}
	r.number, r.typ, r.at = int(tag>>3), protowire.Type(tag&7), at
	return true
}

// next is Next for every kind of field.
func (r *ProtoReader) next() bool {
	r.typ = taken
	if r.err != nil || r.at == len(r.message) {
		return false
	}
	number, typ, n := protowire.ConsumeTag(r.message[r.at:])
	if r.number = int(number); n < 0 {
		r.fail(protowire.ParseError(n))
		return false
	}
	r.at += n
	switch rest := r.message[r.at:]; typ {
	case protowire.VarintType:
		r.value, n = protowire.ConsumeVarint(rest)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(rest)
		r.value = uint64(v)
	case protowire.Fixed64Type:
		r.value, n = protowire.ConsumeFixed64(rest)
	case protowire.BytesType:
		var v []byte
		v, n = protowire.ConsumeBytes(rest)
		r.value = uint64(len(v))
	default:
		n = protowire.ConsumeFieldValue(number, typ, rest)
	}
	if n < 0 {
		r.fail(protowire.ParseError(n))
		return false
	}
	r.at += n
	r.typ = typ
	return true
}

// Number returns the number of the current field.
func (r *ProtoReader) Number() int { return r.number }

// Err returns the first error, which wraps [ErrValue].
func (r *ProtoReader) Err() error { return r.err }

// Text reads a field of type string.
func (r *ProtoReader) Text() string {
	b := r.bytes()
	if !utf8.Valid(b) {
		r.fail(ErrUTF8)
		return ""
	}
	return string(b)
}

// Bytes reads a field of type bytes. It returns nil if the value is empty.
func (r *ProtoReader) Bytes() []byte { return append([]byte(nil), r.bytes()...) }

// Bool reads a field of type bool.
func (r *ProtoReader) Bool() bool { return r.take(protowire.VarintType) != 0 }

// Int32 reads a field of type int32. Like protobuf, it truncates larger numbers to 32 bits.
func (r *ProtoReader) Int32() int32 { return int32(r.take(protowire.VarintType)) }

// Int64 reads a field of type int64.
func (r *ProtoReader) Int64() int64 { return int64(r.take(protowire.VarintType)) }

// Uint32 reads a field of type uint32. Like protobuf, it truncates larger numbers to 32 bits.
func (r *ProtoReader) Uint32() uint32 { return uint32(r.take(protowire.VarintType)) }

// Uint64 reads a field of type uint64.
func (r *ProtoReader) Uint64() uint64 { return r.take(protowire.VarintType) }

// Float32 reads a field of type float.
func (r *ProtoReader) Float32() float32 {
	return math.Float32frombits(uint32(r.take(protowire.Fixed32Type)))
}

// Float64 reads a field of type double.
func (r *ProtoReader) Float64() float64 { return math.Float64frombits(r.take(protowire.Fixed64Type)) }

// Timestamp reads a field of type google.protobuf.Timestamp. The time is in UTC. Times
// outside the years 1 to 9999 are an error.
func (r *ProtoReader) Timestamp() time.Time {
	seconds, nanos, ok := r.secondsNanos()
	if !ok {
		return time.Time{}
	}
	t := time.Unix(seconds, int64(nanos)).UTC()
	if nanos < 0 || nanos >= 1e9 || seconds < (time.Time{}).Unix() || seconds >= year10k.Unix() {
		r.fail(fmt.Errorf("timestamp of %d s and %d ns is out of range", seconds, nanos))
		return time.Time{}
	}
	return t
}

// Duration reads a field of type google.protobuf.Duration. Durations that overflow
// [time.Duration], about 292 years, are an error.
func (r *ProtoReader) Duration() time.Duration {
	seconds, nanos, ok := r.secondsNanos()
	if !ok {
		return 0
	}
	d := time.Duration(seconds)*time.Second + time.Duration(nanos)
	// This also detects too many nanoseconds and different signs.
	if int64(d/time.Second) != seconds || int32(d%time.Second) != nanos {
		r.fail(fmt.Errorf("duration of %d s and %d ns is out of range", seconds, nanos))
		return 0
	}
	return d
}

// Enum reads a field of an enum type. A number that is not in e, including 0, is an error that wraps [ErrEnum].
func (r *ProtoReader) Enum(e Enum) int64 {
	v := int64(int32(r.take(protowire.VarintType)))
	if r.err != nil {
		return 0
	}
	if _, ok := e.Name(v); !ok {
		r.fail(fmt.Errorf("%w: %d%s", ErrEnum, v, editedEnum))
		return 0
	}
	return v
}

// EnumName returns the name of the value of an enum that was stored as a number.
func (r *ProtoReader) EnumName(e Enum) string {
	name, _ := e.Name(r.Enum(e))
	return name
}

// HasProto reports whether the valid message b contains the field with the given number.
func HasProto(b []byte, number int) bool {
	for r := NewProtoReader(b); r.Next(); {
		if r.Number() == number {
			return true
		}
	}
	return false
}

// JSON reads a field of type string that contains JSON.
func (r *ProtoReader) JSON() json.RawMessage {
	b := r.bytes()
	if r.err != nil {
		return nil
	}
	if !json.Valid(b) {
		r.fail(ErrJSON)
		return nil
	}
	return append(json.RawMessage(nil), b...)
}

// secondsNanos reads a Timestamp or Duration message.
func (r *ProtoReader) secondsNanos() (seconds int64, nanos int32, ok bool) {
	m := NewProtoReader(r.bytes())
	for m.Next() {
		switch m.Number() {
		case 1:
			seconds = m.Int64()
		case 2:
			nanos = m.Int32()
		}
	}
	if r.err == nil && m.err != nil {
		r.fail(m.err)
	}
	return seconds, nanos, r.err == nil
}

// bytes returns the value of a length-delimited field. It aliases the message.
func (r *ProtoReader) bytes() []byte {
	n := int(r.take(protowire.BytesType))
	return r.message[r.at-n : r.at : r.at]
}

// take returns the value of the current field if it has the given wire type, else it fails.
func (r *ProtoReader) take(typ protowire.Type) uint64 {
	if r.typ != typ {
		return r.refuse(typ)
	}
	r.typ = taken
	return r.value
}

// refuse fails because the field does not have the given wire type.
func (r *ProtoReader) refuse(typ protowire.Type) uint64 {
	r.fail(fmt.Errorf("wire type %d where %d is expected%s", r.typ, typ, editedType))
	return 0
}

// fail records err, unless there already is an error, and ends the message.
func (r *ProtoReader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: protobuf field %d: %w", ErrValue, r.number, err)
	}
	r.at, r.typ = len(r.message), taken
}
