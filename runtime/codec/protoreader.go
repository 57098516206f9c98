package codec

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// ProtoReader walks over the fields of a protobuf message:
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
// A field that the caller does not take is skipped, so that messages with newer
// fields can be read. Of a field that occurs more than once the last is the one
// that counts; that is the caller's loop. The first error sticks.
type ProtoReader struct {
	rest  []byte // of the message, from the value of the field on if that is next
	tag   uint64 // of the field: its number and its type
	ready bool   // its value is next
	err   error
}

// NewProtoReader returns a reader of the message b. It does not keep parts of b
// in what it returns.
func NewProtoReader(b []byte) ProtoReader { return ProtoReader{rest: b} }

// Next goes on to the next field. It returns false at the end and after an
// error.
func (r *ProtoReader) Next() bool {
	if r.ready || len(r.rest) == 0 || r.rest[0] < 1<<3 || r.rest[0] > maxShort {
		return r.skip()
	}
	r.tag, r.rest, r.ready = uint64(r.rest[0]), r.rest[1:], true // a tag of one byte, as nearly all are
	return true
}

// maxShort is the largest number that takes one byte.
const maxShort = 1<<7 - 1

// skip is Next where the value before was not taken, or the next tag is longer.
func (r *ProtoReader) skip() bool {
	if r.ready && r.err == nil {
		r.advance(protowire.ConsumeFieldValue(r.number(), r.typ(), r.rest))
	}
	if r.err != nil || len(r.rest) == 0 {
		return false
	}
	number, typ, n := protowire.ConsumeTag(r.rest)
	r.tag = protowire.EncodeTag(number, typ)
	r.advance(n)
	r.ready = r.err == nil
	return r.ready
}

func (r *ProtoReader) number() protowire.Number { return protowire.Number(r.tag >> 3) }

func (r *ProtoReader) typ() protowire.Type { return protowire.Type(r.tag & 7) }

// Number returns the number of the field that [ProtoReader.Next] came to.
func (r *ProtoReader) Number() int { return int(r.tag >> 3) }

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

// Bytes reads a field of type bytes; nil if it is empty.
func (r *ProtoReader) Bytes() []byte { return append([]byte(nil), r.bytes()...) }

// Bool reads a field of type bool.
func (r *ProtoReader) Bool() bool { return r.varint() != 0 }

// Int32 reads a field of type int32: the low 32 bits, as protobuf has it.
func (r *ProtoReader) Int32() int32 { return int32(r.varint()) }

// Int64 reads a field of type int64.
func (r *ProtoReader) Int64() int64 { return int64(r.varint()) }

// Uint32 reads a field of type uint32: the low 32 bits, as protobuf has it.
func (r *ProtoReader) Uint32() uint32 { return uint32(r.varint()) }

// Uint64 reads a field of type uint64.
func (r *ProtoReader) Uint64() uint64 { return r.varint() }

// Float32 reads a field of type float.
func (r *ProtoReader) Float32() float32 {
	if !r.take(protowire.Fixed32Type) {
		return 0
	}
	v, n := protowire.ConsumeFixed32(r.rest)
	r.advance(n)
	return math.Float32frombits(v)
}

// Float64 reads a field of type double.
func (r *ProtoReader) Float64() float64 {
	if !r.take(protowire.Fixed64Type) {
		return 0
	}
	v, n := protowire.ConsumeFixed64(r.rest)
	r.advance(n)
	return math.Float64frombits(v)
}

// Timestamp reads a field of type google.protobuf.Timestamp, in UTC. One outside
// the years 1 to 9999 is an error.
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

// Duration reads a field of type google.protobuf.Duration. One that
// [time.Duration] cannot hold (292 years) is an error.
func (r *ProtoReader) Duration() time.Duration {
	seconds, nanos, ok := r.secondsNanos()
	if !ok {
		return 0
	}
	d := time.Duration(seconds)*time.Second + time.Duration(nanos)
	// An overflow, too many nanoseconds and mixed signs all show here.
	if int64(d/time.Second) != seconds || int32(d%time.Second) != nanos {
		r.fail(fmt.Errorf("duration of %d s and %d ns is out of range", seconds, nanos))
		return 0
	}
	return d
}

// UUID reads a field of type bytes that holds 16 bytes.
func (r *ProtoReader) UUID() UUID {
	b := r.bytes()
	if r.err != nil {
		return UUID{}
	}
	if len(b) != len(UUID{}) {
		r.fail(fmt.Errorf("%d bytes are not a UUID", len(b)))
		return UUID{}
	}
	return UUID(b)
}

// Enum reads a field of an enum type. A number that is not in e, be it 0, gives
// [ErrEnum].
func (r *ProtoReader) Enum(e Enum) int64 {
	v := int64(int32(r.varint()))
	if r.err != nil {
		return 0
	}
	if _, ok := e.Name(v); !ok {
		r.fail(fmt.Errorf("%w: %d", ErrEnum, v))
		return 0
	}
	return v
}

// HasProto reports whether the message b, which was read without an error, has a field.
func HasProto(b []byte, number int) bool {
	for r := NewProtoReader(b); r.Next(); {
		if r.Number() == number {
			return true
		}
	}
	return false
}

// JSON reads a field of type string that holds JSON text.
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

// secondsNanos reads a Timestamp or a Duration.
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

// bytes returns a length-delimited value; it shares memory with the message.
func (r *ProtoReader) bytes() []byte {
	if !r.take(protowire.BytesType) {
		return nil
	}
	v, n := protowire.ConsumeBytes(r.rest)
	r.advance(n)
	return v
}

func (r *ProtoReader) varint() uint64 {
	if !r.take(protowire.VarintType) {
		return 0
	}
	switch b := r.rest; { // up to three bytes, as nearly all are
	case len(b) > 0 && b[0] <= maxShort:
		r.rest, r.ready = b[1:], false
		return uint64(b[0])
	case len(b) > 1 && b[1] <= maxShort:
		r.rest, r.ready = b[2:], false
		return uint64(b[0]&maxShort) | uint64(b[1])<<7
	case len(b) > 2 && b[2] <= maxShort:
		r.rest, r.ready = b[3:], false
		return uint64(b[0]&maxShort) | uint64(b[1]&maxShort)<<7 | uint64(b[2])<<14
	}
	v, n := protowire.ConsumeVarint(r.rest)
	r.advance(n)
	return v
}

// take reports whether there is a value of the given wire type to be read.
func (r *ProtoReader) take(typ protowire.Type) bool {
	return r.err == nil && r.ready && r.typ() == typ || r.refuse(typ)
}

// refuse fails for want of a value of the given wire type.
func (r *ProtoReader) refuse(typ protowire.Type) bool {
	r.fail(fmt.Errorf("wire type %d where %d is expected", r.typ(), typ))
	return false
}

// advance moves past n bytes; a negative n is one of protowire's errors.
func (r *ProtoReader) advance(n int) {
	r.ready = false
	if n < 0 {
		r.fail(protowire.ParseError(n))
		return
	}
	r.rest = r.rest[n:]
}

func (r *ProtoReader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: protobuf field %d: %w", ErrValue, r.number(), err)
	}
	r.rest, r.ready = nil, false
}
