package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// Values is a way to encode values in cells.
type Values int

const (
	BinaryValues       Values = iota // [Binary]
	TextValues                       // [Text]
	BigEndianValues                  // [BigEndian]
	LittleEndianValues               // [LittleEndian]
)

var valuesNames = [...]string{BinaryValues: "binary", TextValues: "text", BigEndianValues: "big_endian", LittleEndianValues: "little_endian"}

// ParseValues returns the encoding with the given name in schemas: binary, text, big_endian
// or little_endian. It returns false for any other name.
func ParseValues(name string) (Values, bool) {
	i := slices.Index(valuesNames[:], name)
	return Values(max(0, i)), i >= 0
}

// String returns the name of the encoding in schemas.
func (v Values) String() string {
	if v < 0 || int(v) >= len(valuesNames) {
		return fmt.Sprintf("Values(%d)", int(v))
	}
	return valuesNames[v]
}

// Text reports whether values are text.
func (v Values) Text() bool { return v == TextValues }

// Codings returns the codings of the encoding.
func (v Values) Codings() *Codings {
	return [...]*Codings{BinaryValues: &Binary, TextValues: &Text, BigEndianValues: &BigEndian, LittleEndianValues: &LittleEndian}[v]
}

// BigEndian and LittleEndian store numbers as other programs write them, in two's
// complement or IEEE 754, in the number of bytes of their type: 4 for int32, uint32,
// float32 and the numbers of enums; 8 for int64, uint64, float64, timestamps and durations,
// which are nanoseconds. All other types are as in [Binary].
var (
	BigEndian    = sorting(ordered(binary.BigEndian, binary.BigEndian))
	LittleEndian = ordered(binary.LittleEndian, binary.LittleEndian)
)

// ordered returns the codings for an order of bytes.
func ordered(o binary.ByteOrder, to binary.AppendByteOrder) Codings {
	c := Binary
	c.Int32 = in4(o, to, "int32", func(v int32) uint32 { return uint32(v) }, func(n uint32) int32 { return int32(n) })
	c.Uint32 = in4(o, to, "uint32", func(v uint32) uint32 { return v }, func(n uint32) uint32 { return n })
	c.Float32 = in4(o, to, "float32", math.Float32bits, math.Float32frombits)
	c.Int64 = in8(o, to, "int64", func(v int64) uint64 { return uint64(v) }, func(n uint64) int64 { return int64(n) })
	c.Uint64 = in8(o, to, "uint64", func(v uint64) uint64 { return v }, func(n uint64) uint64 { return n })
	c.Float64 = in8(o, to, "float64", math.Float64bits, math.Float64frombits)
	c.Timestamp = in8(o, to, "timestamp", func(v time.Time) uint64 { return uint64(v.UnixNano()) }, func(n uint64) time.Time { return time.Unix(0, int64(n)).UTC() })
	c.Duration = in8(o, to, "duration", func(v time.Duration) uint64 { return uint64(v) }, func(n uint64) time.Duration { return time.Duration(n) })
	return c
}

// sorting returns codings with the orders of those of [Binary].
func sorting(c Codings) Codings {
	c.Int32.Order, c.Int64.Order, c.Timestamp.Order, c.Duration.Order = IntegerOrder, IntegerOrder, IntegerOrder, IntegerOrder
	c.Uint32.Order, c.Uint64.Order = BytesOrder, BytesOrder
	c.Float32.Order, c.Float64.Order = FloatingOrder, FloatingOrder
	return c
}

// in4 returns the coding of a type in 4 bytes.
func in4[T any](o binary.ByteOrder, to binary.AppendByteOrder, kind string, bits func(T) uint32, from func(uint32) T) Coding[T] {
	return coding(
		func(dst []byte, v T) []byte { return to.AppendUint32(dst, bits(v)) },
		func(b []byte) (v T, err error) {
			if len(b) != 4 {
				return v, notBinary(kind, b)
			}
			return from(o.Uint32(b)), nil
		})
}

// in8 returns the coding of a type in 8 bytes.
func in8[T any](o binary.ByteOrder, to binary.AppendByteOrder, kind string, bits func(T) uint64, from func(uint64) T) Coding[T] {
	return coding(
		func(dst []byte, v T) []byte { return to.AppendUint64(dst, bits(v)) },
		func(b []byte) (v T, err error) {
			if len(b) != 8 {
				return v, notBinary(kind, b)
			}
			return from(o.Uint64(b)), nil
		})
}

// enumIn returns the coding of an enum as an int32.
func enumIn[T ~int64](as Coding[int32], names Enum) Coding[T] {
	return Coding[T]{
		Append: func(dst []byte, v T) []byte { return as.Append(dst, int32(v)) },
		Decode: func(b []byte) (T, error) {
			v, err := as.Decode(b)
			if err != nil {
				return 0, notBinary("enum", b)
			}
			if _, ok := names.Name(int64(v)); !ok {
				return 0, fmt.Errorf("%w: %w: %d%s", ErrValue, ErrEnum, v, editedEnum)
			}
			return T(v), nil
		},
	}
}
