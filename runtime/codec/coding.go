package codec

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// Coding is one way to store values of type T in cells.
type Coding[T any] struct {
	// Append appends the encoded value to dst.
	Append func(dst []byte, v T) []byte
	// Decode decodes what Append wrote. The value does not alias the datum. Errors wrap [ErrValue].
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

var (
	// Text is readable in cbt. There is one canonical string per value, but Decode also accepts what
	// strconv and [time.ParseDuration] accept ("+5", "9.50"), because other tools may write the tables.
	Text = Codings{
		String:    coding(BytesOrder, appendBytes[string], decodeString),
		Bytes:     coding(Unordered, appendBase64, decodeBase64), // base64url (RFC 4648, section 5) without padding
		Bool:      coding(Unordered, strconv.AppendBool, decodeBool),
		Int32:     coding(Unordered, func(dst []byte, v int32) []byte { return strconv.AppendInt(dst, int64(v), 10) }, decodeInt32),
		Int64:     coding(Unordered, func(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }, decodeInt64),
		Uint32:    coding(Unordered, func(dst []byte, v uint32) []byte { return strconv.AppendUint(dst, uint64(v), 10) }, decodeUint32),
		Uint64:    coding(Unordered, func(dst []byte, v uint64) []byte { return strconv.AppendUint(dst, v, 10) }, decodeUint64),
		Float32:   coding(Unordered, appendFloat32, decodeFloat32),
		Float64:   coding(Unordered, appendFloat64, decodeFloat64),
		Timestamp: coding(Unordered, appendTime, decodeTime), // RFC 3339 in UTC, without trailing zeros in the fraction
		Duration:  coding(Unordered, appendDuration, decodeDuration),
		UUID:      coding(Unordered, func(dst []byte, v UUID) []byte { return v.appendText(dst) }, decodeUUID),
		JSON:      coding(Unordered, appendBytes[json.RawMessage], decodeJSON),
	}
	// Binary is the encoding of Bigtable counters and GoogleSQL: 8 bytes of big-endian two's complement
	// for every integer, and IEEE 754 big-endian for floats. Timestamps and durations are nanoseconds.
	// Decode accepts exactly what Append writes.
	Binary = Codings{
		String:    Text.String,
		Bytes:     coding(BytesOrder, appendBytes[[]byte], func(b []byte) ([]byte, error) { return append([]byte(nil), b...), nil }),
		Bool:      coding(Unordered, appendBit, decodeBit),
		Int32:     coding(IntegerOrder, func(dst []byte, v int32) []byte { return appendWord(dst, uint64(v)) }, decodeWordInt32),
		Int64:     Coding[int64]{func(dst []byte, v int64) []byte { return appendWord(dst, uint64(v)) }, decodeWordInt64, true, IntegerOrder},
		Uint32:    coding(BytesOrder, func(dst []byte, v uint32) []byte { return appendWord(dst, uint64(v)) }, decodeWordUint32),
		Uint64:    Coding[uint64]{appendWord, decodeWordUint64, true, BytesOrder},
		Float32:   coding(FloatingOrder, func(dst []byte, v float32) []byte { return binary.BigEndian.AppendUint32(dst, math.Float32bits(v)) }, decodeBits32),
		Float64:   Coding[float64]{func(dst []byte, v float64) []byte { return appendWord(dst, math.Float64bits(v)) }, decodeBits64, true, FloatingOrder},
		Timestamp: coding(IntegerOrder, func(dst []byte, v time.Time) []byte { return appendWord(dst, uint64(v.UnixNano())) }, decodeNanos),
		Duration:  coding(IntegerOrder, func(dst []byte, v time.Duration) []byte { return appendWord(dst, uint64(v)) }, decodeNanoseconds),
		UUID:      coding(BytesOrder, func(dst []byte, v UUID) []byte { return append(dst, v[:]...) }, decodeUUIDBytes),
		JSON:      Text.JSON,
	}
	// BigEndian and LittleEndian store numbers as other programs write them, in two's complement or IEEE 754, in the
	// number of bytes of their type: 4 for int32, uint32, float32 and the numbers of enums; 8 for int64, uint64,
	// float64, timestamps and durations, which are nanoseconds. All other types are as in [Binary].
	BigEndian    = bigEndian()
	LittleEndian = littleEndian()
)

// coding returns the coding of a pair of functions.
func coding[T any](o Order, add func([]byte, T) []byte, decode func([]byte) (T, error)) Coding[T] {
	return Coding[T]{Append: add, Decode: decode, Order: o}
}

func bigEndian() Codings {
	c := Binary
	c.Int32 = in4(IntegerOrder, binary.BigEndian, "int32", cast[uint32, int32], cast[int32, uint32])
	c.Uint32 = in4(BytesOrder, binary.BigEndian, "uint32", cast[uint32, uint32], cast[uint32, uint32])
	return c
}

func littleEndian() Codings {
	c, o := Binary, binary.LittleEndian
	c.Int32 = in4(Unordered, o, "int32", cast[uint32, int32], cast[int32, uint32])
	c.Uint32 = in4(Unordered, o, "uint32", cast[uint32, uint32], cast[uint32, uint32])
	c.Float32 = in4(Unordered, o, "float32", math.Float32bits, math.Float32frombits)
	c.Int64 = in8(Unordered, o, "int64", cast[uint64, int64], cast[int64, uint64])
	c.Uint64 = in8(Unordered, o, "uint64", cast[uint64, uint64], cast[uint64, uint64])
	c.Float64 = in8(Unordered, o, "float64", math.Float64bits, math.Float64frombits)
	c.Timestamp = in8(Unordered, o, "timestamp", func(v time.Time) uint64 { return uint64(v.UnixNano()) },
		func(n uint64) time.Time { return time.Unix(0, int64(n)).UTC() })
	c.Duration = in8(Unordered, o, "duration", cast[uint64, time.Duration], cast[time.Duration, uint64])
	return c
}

// byteOrder is an order of bytes.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// in4 returns the coding of a type in 4 bytes.
func in4[T any](as Order, o byteOrder, kind string, bits func(T) uint32, from func(uint32) T) Coding[T] {
	return coding(as, func(dst []byte, v T) []byte { return o.AppendUint32(dst, bits(v)) }, func(b []byte) (v T, err error) {
		if len(b) != 4 {
			return v, notBinary(kind, b)
		}
		return from(o.Uint32(b)), nil
	})
}

// in8 returns the coding of a type in 8 bytes.
func in8[T any](as Order, o byteOrder, kind string, bits func(T) uint64, from func(uint64) T) Coding[T] {
	return coding(as, func(dst []byte, v T) []byte { return o.AppendUint64(dst, bits(v)) }, func(b []byte) (v T, err error) {
		if len(b) != 8 {
			return v, notBinary(kind, b)
		}
		return from(o.Uint64(b)), nil
	})
}

// cast converts integers without regard to their signs.
func cast[To, From ~int32 | ~int64 | ~uint32 | ~uint64](v From) To { return To(v) }

// EnumAs returns the coding of an enum in an encoding: the names of its values as text, otherwise their numbers.
func EnumAs[T ~int64](in Values, names Enum) Coding[T] {
	if in == TextValues {
		return Coding[T]{
			// A number without a name cannot be read back.
			Append: func(dst []byte, v T) []byte { return append(dst, EnumString(names, int64(v))...) },
			Decode: func(datum []byte) (T, error) {
				n, err := TextEnum(datum, names)
				return T(n), err
			},
		}
	}
	as := Binary.Int64
	switch in {
	case BigEndianValues:
		as = in4(Unordered, binary.BigEndian, "enum", cast[uint32, int64], func(n uint32) int64 { return int64(int32(n)) })
	case LittleEndianValues:
		as = in4(Unordered, binary.LittleEndian, "enum", cast[uint32, int64], func(n uint32) int64 { return int64(int32(n)) })
	}
	return Coding[T]{
		Append: func(dst []byte, v T) []byte { return as.Append(dst, int64(v)) },
		Decode: func(datum []byte) (T, error) {
			v, err := as.Decode(datum)
			if err != nil {
				return 0, notBinary("enum", datum)
			}
			if _, ok := names.Name(v); !ok {
				return 0, fmt.Errorf("%w: %w: %d%s", ErrValue, ErrEnum, v, editedEnum)
			}
			return T(v), nil
		},
	}
}

// Values is a way to encode values in cells.
type Values int

const (
	BinaryValues       Values = iota // [Binary]
	TextValues                       // [Text]
	BigEndianValues                  // [BigEndian]
	LittleEndianValues               // [LittleEndian]
)

var valuesNames = [...]string{BinaryValues: "binary", TextValues: "text", BigEndianValues: "big_endian", LittleEndianValues: "little_endian"}

// String returns the name of the encoding in schemas.
func (v Values) String() string { return nameOf(v, valuesNames[:]) }

// Text reports whether values are text.
func (v Values) Text() bool { return v == TextValues }

// Codings returns the codings of the encoding.
func (v Values) Codings() *Codings {
	return [...]*Codings{BinaryValues: &Binary, TextValues: &Text, BigEndianValues: &BigEndian, LittleEndianValues: &LittleEndian}[v]
}

// nameOf returns one of the names of a type; for other numbers, Go's notation, such as Values(7).
func nameOf[T ~int](v T, names []string) string {
	if v < 0 || int(v) >= len(names) {
		return fmt.Sprintf("%s(%d)", reflect.TypeFor[T]().Name(), int(v))
	}
	return names[v]
}
