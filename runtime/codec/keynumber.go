package codec

import (
	"encoding/binary"
	"math"
	"strconv"
)

// largest returns the largest number that fits the pad. Reversed forms write largest−n.
func (f KeyForm) largest() uint64 {
	switch {
	case f.Encoding == KeyHex:
		return math.MaxUint64 >> (64 - 4*f.Pad)
	case f.Pad >= 20:
		return math.MaxUint64
	case f.Pad == 19 && f.Reverse:
		return math.MaxInt64
	}
	n := uint64(1)
	for range f.Pad {
		n *= 10
	}
	return n - 1
}

func (f KeyForm) base() int {
	if f.Encoding == KeyHex {
		return 16
	}
	return 10
}

// appendPadded appends n, at most f.largest(), in f.Pad digits.
func (f KeyForm) appendPadded(dst []byte, n uint64) []byte {
	if f.Reverse {
		n = f.largest() - n
	}
	start, base := len(dst), uint64(f.base())
	dst = append(dst, "00000000000000000000"[:f.Pad]...)
	for i := len(dst) - 1; i >= start; i-- {
		dst[i] = "0123456789abcdef"[n%base]
		n /= base
	}
	return dst
}

// parsePadded is the inverse of appendPadded. It returns false for anything that appendPadded does not write.
func (f KeyForm) parsePadded(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, f.base(), 64)
	if err != nil || n > f.largest() {
		return 0, false
	}
	if f.Reverse {
		n = f.largest() - n
	}
	var buf [20]byte
	return n, string(f.appendPadded(buf[:0], n)) == s
}

// appendBinary appends the low 32 or 64 bits of n.
func (f KeyForm) appendBinary(dst []byte, n uint64, bits int) []byte {
	if f.Reverse {
		n = ^n
	}
	switch {
	case f.Encoding == KeyLittleEndian && bits <= 32:
		return binary.LittleEndian.AppendUint32(dst, uint32(n))
	case f.Encoding == KeyLittleEndian:
		return binary.LittleEndian.AppendUint64(dst, n)
	case bits <= 32:
		return binary.BigEndian.AppendUint32(dst, uint32(n))
	}
	return binary.BigEndian.AppendUint64(dst, n)
}

// parseBinary is the inverse of appendBinary, for 4 or 8 bytes.
func (f KeyForm) parseBinary(s string) uint64 {
	var n uint64
	for i := range len(s) {
		c := s[i]
		switch {
		case f.Encoding == KeyLittleEndian:
			c = s[len(s)-1-i]
		case f.Reverse:
			c = ^c
		}
		n = n<<8 | uint64(c)
	}
	return n
}

// flipped returns the bits of a number that the form inverts: in binary, the sign
// bit of a signed one, so that negative numbers sort first.
func (f KeyForm) flipped(bits int, signed bool) uint64 {
	if f.Encoding != KeyBinary || !signed {
		return 0
	}
	return 1 << (bits - 1)
}

// enumBits returns the width of an enum's number in bits.
func (f KeyForm) enumBits() int {
	if f.inBinary() {
		return 32
	}
	return 64
}

// timestamp returns the time format of a timestamp in this form.
func (f KeyForm) timestamp() TimeFormat {
	if f.Encoding == KeyBinary {
		return TimeFormat{Kind: BinaryNanos, Reverse: f.Reverse}
	}
	return TimeFormat{Kind: UnixNanos, Reverse: f.Reverse}
}

// SequenceForm returns the form of a sequence number, a uint32: 10 digits, or 4 bytes in a binary key.
func SequenceForm(delimiter string) KeyForm {
	if delimiter == "" {
		return KeyForm{Encoding: KeyBinary}
	}
	return KeyForm{Encoding: KeyDecimal, Pad: 10}
}
