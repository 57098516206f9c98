package codec

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// The functions below decode and format short numbers faster than strconv. They report false for all other numbers,
// which their callers leave to strconv; the results are identical.

// maxDigits is the largest number of digits that always fits an int64.
const maxDigits = 18

// word is the number of characters that are decoded at once. The slice must have the capacity for a whole word.
const word = 8

// isWord reports whether b can be decoded as a word.
func isWord(b []byte) bool { return 0 < len(b) && len(b) <= word && cap(b) >= word }

// wordOf returns the first 8 bytes of b, which may extend past its length.
func wordOf(b []byte) uint64 { return binary.LittleEndian.Uint64(b[:word]) }

// shortUint decodes up to maxDigits decimal digits; false for anything else.
func shortUint(b []byte) (v uint64, ok bool) {
	if len(b) == 0 || len(b) > maxDigits {
		return 0, false
	}
	if isWord(b) {
		return wordUint(wordOf(b), len(b))
	}
	for _, c := range b {
		digit := c - '0'
		if digit > 9 {
			return 0, false
		}
		v = v*10 + uint64(digit)
	}
	return v, true
}

// wordUint decodes the first n characters of a word, the first one in its lowest byte, by adding up digits in pairs,
// fours and eights. It returns false if one is not a digit.
func wordUint(w uint64, n int) (v uint64, ok bool) {
	const zeros = 0x3030303030303030
	shift := uint(8 * (word - n))
	w = w<<shift | zeros&(1<<shift-1) // leading zeros
	digits := w - zeros
	if (digits|(digits+0x7676767676767676))&0x8080808080808080 != 0 { // less than '0', or more than '9'
		return 0, false
	}
	pairs := digits*10 + digits>>8
	return ((pairs&0x000000ff000000ff)*(100+1000000<<32) + (pairs>>16&0x000000ff000000ff)*(1+10000<<32)) >> 32, true
}

// shortInt decodes up to maxDigits decimal digits with an optional minus sign; false for anything else.
func shortInt(b []byte) (v int64, ok bool) {
	if len(b) > 0 && b[0] == '-' {
		u, ok := shortUint(b[1:])
		return -int64(u), ok
	}
	u, ok := shortUint(b)
	return int64(u), ok
}

// The powers of ten up to those with the largest numbers of digits with which decimals are decoded exactly: the digits as
// an integer and the power of ten are both exact, so their quotient is the nearest
// float (Clinger, "How to Read Floating Point Numbers Accurately", 1990).
var (
	powers64 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}
	powers32 = [...]float32{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7}
)

// shortDecimal decodes at most most decimal digits with an optional minus sign and an optional decimal point. It
// returns the digits as an integer and how many of them follow the point; false for anything else.
func shortDecimal(b []byte, most int) (negative bool, digits uint64, fraction int, ok bool) {
	if len(b) > 0 && b[0] == '-' {
		negative, b = true, b[1:]
	}
	if isWord(b) && len(b) <= most {
		digits, fraction, ok = wordDecimal(wordOf(b), len(b))
		return negative, digits, fraction, ok
	}
	point := -1
	for i, c := range b {
		digit := c - '0'
		switch {
		case digit <= 9:
			digits = digits*10 + uint64(digit)
		case c == '.' && point < 0:
			point = i
		default:
			return false, 0, 0, false
		}
		if i > most {
			return false, 0, 0, false
		}
	}
	n := len(b)
	if point >= 0 {
		fraction = n - point - 1
		n--
	}
	return negative, digits, fraction, 0 < n && n <= most
}

// wordDecimal is shortDecimal for the first n characters of a word, without a sign.
func wordDecimal(w uint64, n int) (digits uint64, fraction int, ok bool) {
	const points, ones, highs = 0x2e2e2e2e2e2e2e2e, 0x0101010101010101, 0x8080808080808080
	other := w ^ points
	point := (other - ones) &^ other & highs // its lowest set bit marks the first point
	at := bits.TrailingZeros64(point) / 8
	if at >= n {
		digits, ok = wordUint(w, n)
		return digits, 0, ok
	}
	before := uint64(1)<<(8*at) - 1
	if n == 1 {
		return 0, 0, false
	}
	digits, ok = wordUint(w&before|w>>8&^before, n-1)
	return digits, n - 1 - at, ok
}

// exactFractions is the number of digits after the point that appendShortFloat64 tries
// before it leaves a float to strconv.
const exactFractions = 4

// appendShortFloat64 appends the shortest decimal that reads back as v if it has fewer than exactFractions digits
// after the point and at most 15 in total; false for any other, and for zero. No two decimals of up to 15 digits are
// the same float, so the first match is the shortest.
func appendShortFloat64(dst []byte, v float64) (out []byte, ok bool) {
	negative := v < 0
	if negative {
		v = -v
	}
	if !(1e-3 <= v && v < 1e15) {
		return dst, false
	}
	for fraction := range exactFractions {
		digits := uint64(v*powers64[fraction] + 0.5)
		if digits >= 1e15 {
			return dst, false
		}
		if float64(digits)/powers64[fraction] != v {
			continue
		}
		if negative {
			dst = append(dst, '-')
		}
		unit := uint64(powers64[fraction])
		dst = strconv.AppendUint(dst, digits/unit, 10)
		if fraction > 0 {
			dst = append(dst, '.')
			dst = appendDigits(dst, int64(digits%unit), fraction)
		}
		return dst, true
	}
	return dst, false
}
