package codec

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
)

// EscapeFits reports whether values can be escaped in keys with the given delimiter. The error wraps [ErrForm].
//
// Let d be the first byte of the delimiter, and e = d+1. Bytes less than or equal to e are written as e followed by
// two lowercase hex digits; all other bytes are unchanged. With "#", the string "a b#c$" is written as
//
//	a$20b$23c$24
//
// An escaped value never contains d, so the next delimiter ends it. All its bytes are
// greater than d, so a longer value sorts after its prefixes, and keys sort like the
// tuples of their values, provided that the other segments sort, too.
//
// Escaping does not work with a delimiter that starts with a hex digit, which escapes
// contain, or with 0xff, the largest byte. A delimiter that sorts low, such as "#" or
// "\x00", is best: with "|", every ASCII letter and digit takes three bytes.
func EscapeFits(delimiter string) error {
	switch {
	case delimiter == "":
		return fmt.Errorf("%w: a key without a delimiter needs no escaping", ErrForm)
	case strings.IndexByte("0123456789abcdef", delimiter[0]) >= 0:
		return fmt.Errorf("%w: values cannot be escaped if the delimiter %q starts with a hex digit: use another, such as #",
			ErrForm, delimiter)
	case delimiter[0] == 0xff:
		return fmt.Errorf("%w: values cannot be escaped if the delimiter starts with 0xff: use another, such as #", ErrForm)
	}
	return nil
}

// appendEscaped appends v and replaces every byte up to and including escape by escape and two hex digits.
func appendEscaped[T ~string | ~[]byte](dst []byte, v T, escape byte) []byte {
	for i := range len(v) {
		c := v[i]
		if c <= escape {
			dst = append(dst, escape, hexDigits[c>>4], hexDigits[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// unescape is the inverse of appendEscaped. It returns false for anything that appendEscaped does not write.
func unescape(v string, escape byte) (string, bool) {
	i := 0
	for i < len(v) && v[i] > escape {
		i++
	}
	if i == len(v) {
		return v, true
	}
	dst := append(make([]byte, 0, len(v)), v[:i]...)
	for ; i < len(v); i++ {
		c := v[i]
		if c <= escape {
			if c < escape || i+2 >= len(v) {
				return "", false
			}
			code := strings.IndexByte(hexDigits, v[i+1])<<4 | strings.IndexByte(hexDigits, v[i+2])
			if code < 0 || code > int(escape) {
				return "", false
			}
			c = byte(code)
			i += 2
		}
		dst = append(dst, c)
	}
	return string(dst), true
}

// decodeHex decodes lowercase hex.
func decodeHex(v string) ([]byte, bool) {
	b, err := hex.DecodeString(v)
	return b, err == nil && !strings.ContainsAny(v, "ABCDEF")
}

// Binary keys terminate values as ordered code does: 0x00 in the value is written as 0x00 0xff, and 0x00 0x01 ends
// the value. A value sorts before all longer values that it is a prefix of.
const (
	zeroByte   = "\x00\xff"
	terminator = "\x00\x01"
)

// terminate encodes the value at dst[start:] and appends its terminator.
func terminate(dst []byte, start int) []byte {
	if v := dst[start:]; bytes.IndexByte(v, 0) >= 0 {
		dst = append(dst[:start], bytes.ReplaceAll(v, []byte{0}, []byte(zeroByte))...)
	}
	return append(dst, terminator...)
}

// cutTerminated is the inverse of terminate for the start of s. It returns false
// for anything that terminate does not write.
func cutTerminated(s string) (v, rest string, ok bool) {
	var dst []byte // the value before s; nil while it contains no escape
	for {
		i := strings.IndexByte(s, 0)
		switch {
		case i < 0 || i+1 == len(s):
			return "", "", false
		case s[i+1] == terminator[1] && dst == nil:
			return s[:i], s[i+2:], true
		case s[i+1] == terminator[1]:
			return string(append(dst, s[:i]...)), s[i+2:], true
		case s[i+1] != zeroByte[1]:
			return "", "", false
		}
		dst = append(dst, s[:i+1]...)
		s = s[i+2:]
	}
}
