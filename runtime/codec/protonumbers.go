package codec

import (
	"encoding/binary"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// ProtoNumber is the type of a number in a protobuf message.
type ProtoNumber interface {
	bool | int32 | int64 | uint32 | uint64 | float32 | float64
}

// ProtoNumbers decodes messages all of whose fields are numbers. It is faster than a
// [ProtoReader], and leaves unusual messages to it.
type ProtoNumbers struct {
	fields int
	places [1 << 8]uint8 // by tag: the position of the field and its kind, see place; 0 for other tags
}

// The kinds of fields by wire type, in the low bits of a place.
const (
	kindVarint = 1 + iota
	kindFixed32
	kindFixed64
	kindBits = 2
)

// maxNumbers is the highest number of a field with a tag of one byte.
const maxNumbers = maxShort >> 3

// AddProtoNumber adds a field of type T with the given number. It returns false if the
// number is too large or used already.
func AddProtoNumber[T ProtoNumber](p *ProtoNumbers, number int) bool {
	if number < 1 || number > maxNumbers {
		return false
	}
	kind, typ := kindVarint, protowire.VarintType
	switch any(*new(T)).(type) {
	case float32:
		kind, typ = kindFixed32, protowire.Fixed32Type
	case float64:
		kind, typ = kindFixed64, protowire.Fixed64Type
	}
	place := &p.places[number<<3|int(typ)]
	if *place != 0 {
		return false
	}
	*place = uint8(p.fields<<kindBits | kind)
	p.fields++
	return true
}

// Len returns the number of fields.
func (p *ProtoNumbers) Len() int { return p.fields }

// Parse sets one value per field, in the order in which they were added: the bits of the number, or 0 if the message
// lacks it. It sets values[at], values[at+step] and so on. It returns false, and may have set some values, if the
// message is not valid or has other fields.
func (p *ProtoNumbers) Parse(message []byte, values []uint64, at, step int) bool {
	var seen uint
	for m := message; len(m) > 0; {
		if len(m) == 1 {
			return false
		}
		var v uint64
		place := p.places[m[0]]
		switch first := uint64(m[1]); place & (1<<kindBits - 1) {
		case kindVarint:
			switch {
			case first <= maxShort:
				v, m = first, m[2:]
			case len(m) > 2 && m[2] <= maxShort:
				v, m = first&maxShort|uint64(m[2])<<7, m[3:]
			case len(m) > 3 && m[3] <= maxShort:
				v, m = first&maxShort|uint64(m[2]&maxShort)<<7|uint64(m[3])<<14, m[4:]
			default:
				var n int
				if v, n = protowire.ConsumeVarint(m[1:]); n < 0 {
					return false
				}
				m = m[1+n:]
			}
		case kindFixed32:
			if len(m) < 5 {
				return false
			}
			v, m = uint64(binary.LittleEndian.Uint32(m[1:])), m[5:]
		case kindFixed64:
			if len(m) < 9 {
				return false
			}
			v, m = binary.LittleEndian.Uint64(m[1:]), m[9:]
		default:
			return false
		}
		field := int(place >> kindBits)
		values[at+field*step] = v
		seen |= 1 << (field & maxNumbers) // without the mask, Go checks for a large shift
	}
	for field := 0; seen != 1<<p.fields-1; field++ {
		if seen&(1<<field) == 0 {
			values[at+field*step] = 0
			seen |= 1 << field
		}
	}
	return true
}

// AppendProtoNumbers appends the numbers with these bits. Like protobuf, it truncates those of types with 32 bits.
func AppendProtoNumbers[T ProtoNumber](dst []T, values []uint64) []T {
	dst = slices.Grow(dst, len(values))[:len(dst)+len(values)]
	switch added := any(dst[len(dst)-len(values):]).(type) {
	case []bool:
		for i := range added {
			added[i] = values[i] != 0
		}
	case []int32:
		for i := range added {
			added[i] = int32(values[i])
		}
	case []int64:
		for i := range added {
			added[i] = int64(values[i])
		}
	case []uint32:
		for i := range added {
			added[i] = uint32(values[i])
		}
	case []uint64:
		copy(added, values)
	case []float32:
		for i := range added {
			added[i] = math.Float32frombits(uint32(values[i]))
		}
	case []float64:
		for i := range added {
			added[i] = math.Float64frombits(values[i])
		}
	}
	return dst
}
