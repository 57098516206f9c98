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
}

// Codings holds a coding for every type except enums, for which there are [TextEnumAs]
// and [BinaryEnumAs].
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
		String:    Coding[string]{AppendTextString, TextString},
		Bytes:     Coding[[]byte]{AppendTextBytes, TextBytes},
		Bool:      Coding[bool]{AppendTextBool, TextBool},
		Int32:     Coding[int32]{AppendTextInt32, TextInt32},
		Int64:     Coding[int64]{AppendTextInt64, TextInt64},
		Uint32:    Coding[uint32]{AppendTextUint32, TextUint32},
		Uint64:    Coding[uint64]{AppendTextUint64, TextUint64},
		Float32:   Coding[float32]{AppendTextFloat32, TextFloat32},
		Float64:   Coding[float64]{AppendTextFloat64, TextFloat64},
		Timestamp: Coding[time.Time]{AppendTextTimestamp, TextTimestamp},
		Duration:  Coding[time.Duration]{AppendTextDuration, TextDuration},
		UUID:      Coding[UUID]{AppendTextUUID, TextUUID},
		JSON:      Coding[json.RawMessage]{AppendTextJSON, TextJSON},
	}
	Binary = Codings{
		String:    Coding[string]{AppendBinaryString, BinaryString},
		Bytes:     Coding[[]byte]{AppendBinaryBytes, BinaryBytes},
		Bool:      Coding[bool]{AppendBinaryBool, BinaryBool},
		Int32:     Coding[int32]{AppendBinaryInt32, BinaryInt32},
		Int64:     Coding[int64]{AppendBinaryInt64, BinaryInt64},
		Uint32:    Coding[uint32]{AppendBinaryUint32, BinaryUint32},
		Uint64:    Coding[uint64]{AppendBinaryUint64, BinaryUint64},
		Float32:   Coding[float32]{AppendBinaryFloat32, BinaryFloat32},
		Float64:   Coding[float64]{AppendBinaryFloat64, BinaryFloat64},
		Timestamp: Coding[time.Time]{AppendBinaryTimestamp, BinaryTimestamp},
		Duration:  Coding[time.Duration]{AppendBinaryDuration, BinaryDuration},
		UUID:      Coding[UUID]{AppendBinaryUUID, BinaryUUID},
		JSON:      Coding[json.RawMessage]{AppendBinaryJSON, BinaryJSON},
	}
)

// TextEnumAs returns a coding that stores the names of enum values.
func TextEnumAs[T ~int64](names Enum) Coding[T] {
	return enumCoding[T](names, AppendTextEnum, TextEnum)
}

// BinaryEnumAs returns a coding that stores the numbers of enum values.
func BinaryEnumAs[T ~int64](names Enum) Coding[T] {
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
