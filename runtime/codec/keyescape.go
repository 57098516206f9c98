package codec

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// EscapeFits reports whether values can be escaped in keys with the given
// delimiter. The error wraps [ErrForm].
//
// Let d be the first byte of the delimiter and e = d+1. Every byte up to and
// with e is written as e and two lower-case hex digits; bytes over e stand as
// they are. With "#", the string "a b#c$" is written
//
//	a$20b$23c$24
//
// No escaped value contains d, so that the first delimiter after it ends it. What
// goes on sorts after what ends, for its next byte is larger than d: whole keys
// sort as the tuples of their values do, in any case where the forms of the other
// segments do, too.
//
// It cannot work with a delimiter that starts with a hex digit, which the
// escapes need, or with 0xff, which no byte is larger than. It works best with a
// delimiter that sorts low, such as "#" or "\x00": with "|", every ASCII letter
// and digit takes three bytes.
func EscapeFits(delimiter string) error {
	switch {
	case delimiter == "":
		return fmt.Errorf("%w: a key without a delimiter needs no escaping", ErrForm)
	case strings.IndexByte("0123456789abcdef", delimiter[0]) >= 0:
		return fmt.Errorf("%w: values cannot be escaped where the delimiter %q starts with a hex digit: want one such as #",
			ErrForm, delimiter)
	case delimiter[0] == 0xff:
		return fmt.Errorf("%w: values cannot be escaped where the delimiter starts with 0xff: want one such as #", ErrForm)
	}
	return nil
}

// appendEscaped appends v with every byte up to escape written as escape and two
// hex digits.
func appendEscaped[T ~string | ~[]byte](dst []byte, v T, escape byte) []byte {
	const digits = "0123456789abcdef"
	for i := range len(v) {
		c := v[i]
		if c <= escape {
			dst = append(dst, escape, digits[c>>4], digits[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// unescape is the inverse of appendEscaped; false if v is nothing that it writes.
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
			hi, ok1 := unhexLower(v[i+1])
			lo, ok2 := unhexLower(v[i+2])
			c = hi<<4 | lo
			if !ok1 || !ok2 || c > escape {
				return "", false
			}
			i += 2
		}
		dst = append(dst, c)
	}
	return string(dst), true
}

// unhexLower returns the value of a lower-case hex digit.
func unhexLower(c byte) (byte, bool) {
	if 'A' <= c && c <= 'F' {
		return 0, false
	}
	return unhex(c)
}

// decodeHex decodes lower-case hex.
func decodeHex(v string) ([]byte, bool) {
	b, err := hex.DecodeString(v)
	return b, err == nil && !strings.ContainsAny(v, "ABCDEF")
}

// A binary key marks the end of a value as ordered code does: 0x00 in the value
// is written 0x00 0xff, and 0x00 0x01 ends it. The end sorts before everything
// that goes on.
const (
	zeroByte = "\x00\xff"
	endBytes = "\x00\x01"
)

// appendTerminated appends v and the mark of its end.
func appendTerminated[T ~string | ~[]byte](dst []byte, v T) []byte {
	for i := range len(v) {
		if v[i] == 0 {
			dst = append(dst, zeroByte...)
		} else {
			dst = append(dst, v[i])
		}
	}
	return append(dst, endBytes...)
}

// cutTerminated is the inverse of appendTerminated at the start of s; false if
// there is nothing that it writes.
func cutTerminated(s string) (v, rest string, ok bool) {
	var dst []byte // what precedes s, if it is not a part of the key as it stands
	for {
		i := strings.IndexByte(s, 0)
		switch {
		case i < 0 || i+1 == len(s):
			return "", "", false
		case s[i+1] == endBytes[1] && dst == nil:
			return s[:i], s[i+2:], true
		case s[i+1] == endBytes[1]:
			return string(append(dst, s[:i]...)), s[i+2:], true
		case s[i+1] != zeroByte[1]:
			return "", "", false
		}
		dst = append(dst, s[:i+1]...)
		s = s[i+2:]
	}
}
