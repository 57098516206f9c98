package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// appendBytes appends v unchanged.
func appendBytes[T ~string | ~[]byte](dst []byte, v T) []byte { return append(dst, v...) }

// appendBit appends a bool as one byte.
func appendBit(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func decodeBit(b []byte) (bool, error) {
	if len(b) != 1 || b[0] > 1 {
		return false, notBinary("bool", b)
	}
	return b[0] == 1, nil
}

func appendWord(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

// word64 decodes 64 bits, big-endian.
func word64(kind string, b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, notBinary(kind, b)
	}
	return binary.BigEndian.Uint64(b), nil
}

func decodeWordInt32(b []byte) (int32, error) {
	v, err := word64("int32", b)
	if err == nil && v != uint64(int32(v)) {
		err = notBinary("int32", b)
	}
	return int32(v), err
}

func decodeWordInt64(b []byte) (int64, error) {
	v, err := word64("int64", b)
	return int64(v), err
}

func decodeWordUint32(b []byte) (uint32, error) {
	v, err := word64("uint32", b)
	if err == nil && v > math.MaxUint32 {
		err = notBinary("uint32", b)
	}
	return uint32(v), err
}

func decodeWordUint64(b []byte) (uint64, error) { return word64("uint64", b) }

func decodeBits32(b []byte) (float32, error) {
	if len(b) != 4 {
		return 0, notBinary("float32", b)
	}
	return math.Float32frombits(binary.BigEndian.Uint32(b)), nil
}

func decodeBits64(b []byte) (float64, error) {
	v, err := word64("float64", b)
	return math.Float64frombits(v), err
}

func decodeNanos(b []byte) (time.Time, error) {
	v, err := word64("timestamp", b)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(0, int64(v)).UTC(), nil
}

func decodeNanoseconds(b []byte) (time.Duration, error) {
	v, err := word64("duration", b)
	return time.Duration(v), err
}

// notBinary returns the error for bytes that do not encode the named type.
func notBinary(kind string, b []byte) error {
	hint := ""
	if isText(b) {
		hint = ", but may have been stored as text"
	}
	if len(b) > 16 {
		return fmt.Errorf("%w: %d bytes are not a binary %s%s", ErrValue, len(b), kind, hint)
	}
	return fmt.Errorf("%w: 0x%x is not a binary %s%s", ErrValue, b, kind, hint)
}

// isText reports whether b has printable ASCII characters only, and at least one.
func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(b) > 0
}
