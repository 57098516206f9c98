package codec

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
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
	if f.Encoding != KeyHex {
		return appendDigits(dst, n, f.Pad)
	}
	for shift := 4 * (f.Pad - 1); shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[n>>shift&15])
	}
	return dst
}

// parsePadded is the inverse of appendPadded. It returns false for anything that appendPadded does not write.
func (f KeyForm) parsePadded(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, f.base(), 64)
	if f.Reverse {
		n = f.largest() - n
	}
	return n, err == nil && n <= f.largest() && len(s) == f.Pad && strings.ToLower(s) == s
}

// appendBinary appends the low bits of a number.
func (f KeyForm) appendBinary(dst []byte, n uint64, width int) []byte {
	switch {
	case f.Reverse:
		n = ^n
	case f.Encoding == KeyLittleEndian:
		n = bits.ReverseBytes64(n) >> (64 - width)
	}
	return appendBig(dst, n, width/8)
}

// parse is the inverse of appendPadded or appendBinary, with any bits above those of the text. It returns false for
// anything that these do not write.
func (f KeyForm) parse(s string) (n uint64, ok bool) {
	if !f.inBinary() {
		return f.parsePadded(s)
	}
	n = parseBig(s)
	switch {
	case f.Reverse:
		n = ^n
	case f.Encoding == KeyLittleEndian:
		n = bits.ReverseBytes64(n) >> (64 - 8*len(s))
	}
	return n, true
}

// appendBig appends the low bytes of n, big-endian.
func appendBig(dst []byte, n uint64, bytes int) []byte {
	switch bytes {
	case 8:
		return binary.BigEndian.AppendUint64(dst, n)
	case 4:
		return binary.BigEndian.AppendUint32(dst, uint32(n))
	}
	for shift := 8 * (bytes - 1); shift >= 0; shift -= 8 {
		dst = append(dst, byte(n>>shift))
	}
	return dst
}

// parseBig is the inverse of appendBig.
func parseBig[T string | []byte](s T) (n uint64) {
	for i := range len(s) {
		n = n<<8 | uint64(s[i])
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

// fixedForm returns the form of an unsigned number that is not a series value: digits or, in a binary key, bytes.
func fixedForm(delimiter string, digits int) KeyForm {
	if delimiter == "" {
		return KeyForm{Encoding: KeyBinary}
	}
	return KeyForm{Encoding: KeyDecimal, Pad: digits}
}

// sequenceForm returns the form of a sequence number.
func sequenceForm(delimiter string) KeyForm { return fixedForm(delimiter, 10) }
