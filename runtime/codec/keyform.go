package codec

import (
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// More errors for key segments that a writer rejects.
var (
	ErrRange = errors.New("value does not fit the form of its key segment") // a negative number, one with too many digits, or bytes of the wrong length; store.RangeError wraps it, too
	ErrForm  = errors.New("form does not fit the key segment")              // the type or the key does not support the form; see KeyForm.Validate

	ErrKeySchema = errors.New("value does not fit the row key schema") // GoogleSQL could not parse the value; see Key.Structured
)

// KeyEncoding is an encoding of values in a row key.
type KeyEncoding int

const (
	KeyText         KeyEncoding = iota // the default of each type
	KeyDecimal                         // a number in decimal
	KeyHex                             // lowercase hex
	KeyBase64URL                       // base64url without padding (RFC 4648, section 5)
	KeyBase32Hex                       // base32hex in lower case without padding (RFC 4648, section 7), whose order is that of the bytes
	KeyRaw                             // unchanged bytes
	KeyBinary                          // a fixed number of bytes, big-endian, that sort
	KeyBigEndian                       // two's complement, big-endian: negative numbers sort after positive ones
	KeyLittleEndian                    // two's complement, little-endian: does not sort
)

// keyEncodingNames are the names in schemas.
var keyEncodingNames = [...]string{
	KeyText: "text", KeyDecimal: "decimal", KeyHex: "hex", KeyBase64URL: "base64url", KeyBase32Hex: "base32hex",
	KeyRaw: "raw", KeyBinary: "binary", KeyBigEndian: "big_endian", KeyLittleEndian: "little_endian",
}

// keyEncodings describe the encodings of bytes as text: the characters, in the order of the numbers that they stand
// for, and the functions. decode accepts only what append writes.
var keyEncodings = [len(keyEncodingNames)]struct {
	alphabet string
	append   func(dst, v []byte) []byte
	decode   func(v string) ([]byte, bool)
}{
	KeyHex:       {hexDigits, hex.AppendEncode, decodeHex},
	KeyBase64URL: {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", appendBase64, parseBase64},
	KeyBase32Hex: {base32Alphabet, base32hex.AppendEncode, decodeBase32},
}

// hexDigits are the digits of lowercase hex.
const hexDigits = "0123456789abcdef"

func parseBase64(v string) ([]byte, bool) {
	b, err := decodeBase64([]byte(v))
	return b, err == nil
}

const base32Alphabet = "0123456789abcdefghijklmnopqrstuv"

var base32hex = base32.NewEncoding(base32Alphabet).WithPadding(base32.NoPadding)

// decodeBase32 decodes base32hex. Unlike the standard library, it rejects line breaks and nonzero trailing bits.
func decodeBase32(v string) ([]byte, bool) {
	b, err := base32hex.DecodeString(v)
	if err != nil || base32hex.EncodeToString(b) != v {
		return nil, false
	}
	return b, true
}

// KeyEncodings returns the names of the encodings in schemas.
func KeyEncodings() []string { return slices.Clone(keyEncodingNames[:]) }

// sorts reports whether encoded bytes sort like the bytes, if what follows sorts before all characters.
func (e KeyEncoding) sorts() bool { return e.Alphabet() != "" && slices.IsSorted([]byte(e.Alphabet())) }

// Alphabet returns the characters of an encoding of bytes as text, in the order of the
// numbers that they stand for. It is empty for other encodings.
func (e KeyEncoding) Alphabet() string {
	if uint(e) >= uint(len(keyEncodings)) {
		return ""
	}
	return keyEncodings[e].alphabet
}

// String returns the name of the encoding in a schema.
func (e KeyEncoding) String() string { return nameOf(e, keyEncodingNames[:]) }

// KeyForm describes how a segment encodes its value. The zero KeyForm is the default form of every type.
// [KeyForm.Validate] reports which forms a type supports.
//
//	type              encodings
//	string            text (pad or escape), hex, base32hex
//	bytes             text (the same as hex), hex, base64url, base32hex, raw (pad or escape)
//	bool              text, binary of 1 byte
//	int               text and decimal (pad, reverse), hex (pad, reverse), binary of 4 or 8 bytes (reverse), big_endian, little_endian
//	uint              the same, without big_endian, which is binary
//	duration          as int, in nanoseconds
//	timestamp         text and decimal of 19 digits (reverse), binary of 8 bytes (reverse)
//	uuid              text, hex of 32 digits, raw or binary of 16 bytes
//	enum              text (the name), and its number as an int of 4 bytes
//
// Binary numbers are big-endian. The sign bit of signed numbers is inverted, so that
// their bytes sort in numeric order; in big_endian and little_endian it is not, as other
// programs write numbers. Timestamps are nanoseconds since the Unix epoch.
type KeyForm struct {
	Encoding KeyEncoding
	// Pad is the number of digits, padded with zeros: 1 to 20 in decimal, 1 to 16 in
	// hex. For raw bytes and strings as text it is the length. 0 means variable width.
	Pad int
	// Reverse sorts the largest or newest value first. It writes 10^Pad−1−v in decimal and 16^Pad−1−v in hex, except
	// that 19 decimal digits hold MaxInt64−v and 20 hold MaxUint64−v; the complement of all bits in binary; and
	// MaxInt64−ns for timestamps.
	Reverse bool
	// Escape allows strings and raw bytes to contain the delimiter; see [EscapeFits].
	Escape bool
}

// SegmentType is the type of a key segment.
type SegmentType int

const (
	StringSegment SegmentType = iota
	BytesSegment
	BoolSegment
	Int32Segment
	Int64Segment
	Uint32Segment
	Uint64Segment
	DurationSegment
	TimestampSegment
	UUIDSegment
	EnumSegment
)

// segments lists, for each type, its name, encodings, and the width of the binary encoding in bytes.
var segments = [...]struct {
	name      string
	encodings []KeyEncoding
	binary    int
}{
	StringSegment:    {"string", []KeyEncoding{KeyText, KeyHex, KeyBase32Hex}, 0},
	BytesSegment:     {"bytes", []KeyEncoding{KeyText, KeyHex, KeyBase64URL, KeyBase32Hex, KeyRaw}, 0},
	BoolSegment:      {"bool", []KeyEncoding{KeyText, KeyBinary}, 1},
	Int32Segment:     {"int32", numberEncodings, 4},
	Int64Segment:     {"int64", numberEncodings, 8},
	Uint32Segment:    {"uint32", unsignedEncodings, 4},
	Uint64Segment:    {"uint64", unsignedEncodings, 8},
	DurationSegment:  {"duration", numberEncodings, 8},
	TimestampSegment: {"timestamp", []KeyEncoding{KeyText, KeyDecimal, KeyBinary}, 8},
	UUIDSegment:      {"uuid", []KeyEncoding{KeyText, KeyHex, KeyRaw, KeyBinary}, 16},
	EnumSegment:      {"enum", numberEncodings, 4},
}

// The encodings of numbers. That of unsigned numbers in big-endian bytes is KeyBinary.
var (
	numberEncodings   = []KeyEncoding{KeyText, KeyDecimal, KeyHex, KeyBinary, KeyBigEndian, KeyLittleEndian}
	unsignedEncodings = []KeyEncoding{KeyText, KeyDecimal, KeyHex, KeyBinary, KeyLittleEndian}
)

// String returns the name of the type in a schema.
func (t SegmentType) String() string {
	if uint(t) >= uint(len(segments)) {
		return fmt.Sprintf("SegmentType(%d)", int(t))
	}
	return segments[t].name
}

// Validate reports whether a segment of type t can have this form in a key with the
// given delimiter, which is empty for a binary key. The error wraps [ErrForm] and says
// what to write instead.
func (f KeyForm) Validate(t SegmentType, delimiter string) error {
	switch {
	case uint(t) >= uint(len(segments)):
		return fmt.Errorf("%w: %s", ErrForm, t)
	case !slices.Contains(segments[t].encodings, f.Encoding):
		return fmt.Errorf("%w: type %s cannot be encoded as %s: want %s", ErrForm, t, f.Encoding, listEncodings(segments[t].encodings))
	case f.Escape && (f.Pad != 0 || !f.Terminated(t)):
		return fmt.Errorf("%w: only text strings and raw bytes without a pad can be escaped", ErrForm)
	case f.Escape && EscapeFits(delimiter) != nil:
		return EscapeFits(delimiter)
	}
	if err := f.validatePad(t); err != nil {
		return err
	}
	switch {
	case f.Reverse && !f.number(t) && t != TimestampSegment:
		return fmt.Errorf("%w: type %s as %s cannot be reversed", ErrForm, t, f.Encoding)
	case f.Reverse && (f.Encoding == KeyBigEndian || f.Encoding == KeyLittleEndian):
		return fmt.Errorf("%w: type %s as %s cannot be reversed: want binary", ErrForm, t, f.Encoding)
	case f.Reverse && f.Fixed(t) == 0:
		return fmt.Errorf("%w: a reversed number needs a pad", ErrForm)
	case delimiter == "" && f.Fixed(t) == 0 && !f.Terminated(t):
		return fmt.Errorf("%w: type %s as %s has no fixed width, which a key without a delimiter requires: "+
			"want binary, raw, or a pad", ErrForm, t, f.Encoding)
	}
	return nil
}

// listEncodings lists encodings, such as "text, hex or raw".
func listEncodings(encodings []KeyEncoding) string {
	var names []string
	for _, e := range encodings {
		names = append(names, e.String())
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func (f KeyForm) validatePad(t SegmentType) error {
	lo, hi := 0, 0
	switch {
	case t == BytesSegment && f.Encoding == KeyRaw, t == StringSegment && f.Encoding == KeyText:
		hi = MaxKey
	case t == TimestampSegment && f.Encoding != KeyBinary && f.Pad != 0:
		lo, hi = 19, 19
	case f.number(t) && f.Encoding == KeyHex:
		lo, hi = 1, 16
	case f.number(t) && !f.inBinary():
		hi = 20
	}
	switch {
	case lo <= f.Pad && f.Pad <= hi:
		return nil
	case hi == 0:
		return fmt.Errorf("%w: type %s as %s cannot have a pad", ErrForm, t, f.Encoding)
	}
	return fmt.Errorf("%w: the pad does not fit type %s as %s: want a pad of %d to %d", ErrForm, t, f.Encoding, lo, hi)
}

// Fixed returns the width in bytes of every value of type t in this form, or 0 if it varies. A binary key supports
// forms of fixed width and those that [KeyForm.Terminated] reports.
func (f KeyForm) Fixed(t SegmentType) int {
	switch {
	case f.InBytes(t) && (t == BytesSegment || t == StringSegment):
		return f.Pad
	case f.InBytes(t):
		return segments[t].binary
	case f.number(t):
		return f.Pad
	case t == TimestampSegment:
		return 19
	case t == UUIDSegment && f.Encoding == KeyHex:
		return 2 * len(UUID{})
	case t == UUIDSegment:
		return uuidLen
	}
	return 0
}

// Sorts reports whether the keys of a table with the given delimiter sort in order of this segment's values,
// ascending, or descending if f.Reverse is set, whatever follows the segment. A string that is not escaped does not
// sort if it may contain bytes below the delimiter: "a b#" sorts before "a#".
func (f KeyForm) Sorts(t SegmentType, delimiter string) bool {
	switch t {
	case StringSegment, BytesSegment:
		switch {
		case f.Escape, f.InBytes(t), f.Terminated(t) && delimiter == "":
			return true
		case f.Encoding.sorts(), t == BytesSegment && f.Encoding == KeyText:
			return delimiter != "" && delimiter[0] < '0'
		}
		return false
	case BoolSegment, TimestampSegment, UUIDSegment:
		return true
	}
	return f.Fixed(t) > 0 && f.Encoding != KeyBigEndian && f.Encoding != KeyLittleEndian
}

// number reports whether values of type t are encoded as numbers.
func (f KeyForm) number(t SegmentType) bool {
	switch t {
	case Int32Segment, Int64Segment, Uint32Segment, Uint64Segment, DurationSegment:
		return true
	}
	return t == EnumSegment && f.Encoding != KeyText
}

// InBytes reports whether values have a fixed number of bytes and may contain the delimiter.
func (f KeyForm) InBytes(t SegmentType) bool {
	return f.inBinary() || f.Encoding == KeyRaw && (t == UUIDSegment || f.Pad > 0) || t == StringSegment && f.Pad > 0
}

// inBinary reports whether numbers are encoded in a fixed number of bytes.
func (f KeyForm) inBinary() bool {
	return f.Encoding == KeyBinary || f.Encoding == KeyBigEndian || f.Encoding == KeyLittleEndian
}

// Terminated reports whether a binary key terminates values of type t in this form:
// text strings, and raw bytes without a pad.
func (f KeyForm) Terminated(t SegmentType) bool {
	return t == StringSegment && f.Encoding == KeyText && f.Pad == 0 || t == BytesSegment && f.Encoding == KeyRaw && f.Pad == 0
}
