package codec

import (
	"encoding/json"
	"time"
)

// Coding is one way to store values of type T in cells.
type Coding[T any] struct {
	// Append appends the encoded value to dst.
	Append func(dst []byte, v T) []byte
	// Decode decodes what Append wrote. The value does not alias the datum. Errors wrap
	// [ErrValue].
	Decode func(datum []byte) (T, error)
	// Word says that Append appends the 64 bits of an int64, uint64 or float64,
	// big-endian, and Decode accepts any 64 bits.
	Word bool
	// Order is how encoded values sort.
	Order Order
}

// Codings holds a coding for every type except enums, for which there is [EnumAs].
type Codings struct {
	String    Coding[string]
	Bytes     Coding[[]byte]
	Bool      Coding[bool]
	Int32     Coding[int32]
	Int64     Coding[int64]
	Uint32    Coding[uint32]
	Uint64    Coding[uint64]
	Float32   Coding[float32]
	Float64   Coding[float64]
	Timestamp Coding[time.Time]
	Duration  Coding[time.Duration]
	UUID      Coding[UUID]
	JSON      Coding[json.RawMessage]
}

// Text is human-readable, for example in cbt. Binary is the encoding that Bigtable
// counters and GoogleSQL use.
var (
	Text = Codings{
		String:    coding(AppendTextString, TextString).in(BytesOrder),
		Bytes:     coding(AppendTextBytes, TextBytes),
		Bool:      coding(AppendTextBool, TextBool),
		Int32:     coding(AppendTextInt32, TextInt32),
		Int64:     coding(AppendTextInt64, TextInt64),
		Uint32:    coding(AppendTextUint32, TextUint32),
		Uint64:    coding(AppendTextUint64, TextUint64),
		Float32:   coding(AppendTextFloat32, TextFloat32),
		Float64:   coding(AppendTextFloat64, TextFloat64),
		Timestamp: coding(AppendTextTimestamp, TextTimestamp),
		Duration:  coding(AppendTextDuration, TextDuration),
		UUID:      coding(AppendTextUUID, TextUUID),
		JSON:      coding(AppendTextJSON, TextJSON),
	}
	Binary = Codings{
		String:    coding(AppendBinaryString, BinaryString).in(BytesOrder),
		Bytes:     coding(AppendBinaryBytes, BinaryBytes).in(BytesOrder),
		Bool:      coding(AppendBinaryBool, BinaryBool),
		Int32:     coding(AppendBinaryInt32, BinaryInt32).in(IntegerOrder),
		Int64:     words(AppendBinaryInt64, BinaryInt64).in(IntegerOrder),
		Uint32:    coding(AppendBinaryUint32, BinaryUint32).in(BytesOrder),
		Uint64:    words(AppendBinaryUint64, BinaryUint64).in(BytesOrder),
		Float32:   coding(AppendBinaryFloat32, BinaryFloat32).in(FloatingOrder),
		Float64:   words(AppendBinaryFloat64, BinaryFloat64).in(FloatingOrder),
		Timestamp: coding(AppendBinaryTimestamp, BinaryTimestamp).in(IntegerOrder),
		Duration:  coding(AppendBinaryDuration, BinaryDuration).in(IntegerOrder),
		UUID:      coding(AppendBinaryUUID, BinaryUUID).in(BytesOrder),
		JSON:      coding(AppendBinaryJSON, BinaryJSON),
	}
)

// coding returns the coding of a pair of functions.
func coding[T any](add func([]byte, T) []byte, decode func([]byte) (T, error)) Coding[T] {
	return Coding[T]{Append: add, Decode: decode}
}

// in returns the coding with an order.
func (c Coding[T]) in(o Order) Coding[T] {
	c.Order = o
	return c
}

// words is coding for numbers of 64 bits.
func words[T int64 | uint64 | float64](add func([]byte, T) []byte, decode func([]byte) (T, error)) Coding[T] {
	return Coding[T]{Append: add, Decode: decode, Word: true}
}

// EnumAs returns the coding of an enum in an encoding: the names of its values as text, otherwise their
// numbers.
func EnumAs[T ~int64](in Values, names Enum) Coding[T] {
	switch in {
	case TextValues:
		return enumCoding[T](names, AppendTextEnum, TextEnum)
	case BigEndianValues:
		return enumIn[T](BigEndian.Int32, names)
	case LittleEndianValues:
		return enumIn[T](LittleEndian.Int32, names)
	}
	return enumCoding[T](names, AppendBinaryEnum, BinaryEnum)
}

func enumCoding[T ~int64](names Enum, add func([]byte, Enum, int64) []byte, decode func([]byte, Enum) (int64, error)) Coding[T] {
	return Coding[T]{
		Append: func(dst []byte, v T) []byte { return add(dst, names, int64(v)) },
		Decode: func(datum []byte) (T, error) {
			n, err := decode(datum, names)
			return T(n), err
		},
	}
}
