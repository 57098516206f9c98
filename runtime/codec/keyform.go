package codec

import (
	"errors"
	"fmt"
	"slices"
)

// What else a writer refuses in a key segment.
var (
	ErrRange = errors.New("value does not fit the form of its key segment") // a negative number, one with too many digits, or bytes of another width; also the reason of a store.RangeError
	ErrForm  = errors.New("form does not fit the key segment")              // a form that the type or the key cannot have, see KeyForm.Validate

	ErrKeySchema = errors.New("value does not fit the row key schema") // what GoogleSQL could not read, see KeyWriter.Structured
)

// KeyEncoding is one of the ways to write a value in a row key.
type KeyEncoding int

const (
	KeyText      KeyEncoding = iota // what the formless methods of KeyWriter write
	KeyDecimal                      // a number in decimal
	KeyHex                          // lower-case hex
	KeyBase64URL                    // base64url (RFC 4648, section 5) without padding
	KeyRaw                          // bytes as they are
	KeyBinary                       // a fixed number of bytes, big-endian
)

var encodingNames = [...]string{
	KeyText: "text", KeyDecimal: "decimal", KeyHex: "hex", KeyBase64URL: "base64url", KeyRaw: "raw", KeyBinary: "binary",
}

// ParseKeyEncoding parses the name of an encoding in a schema: text, decimal,
// hex, base64url, raw or binary.
func ParseKeyEncoding(s string) (KeyEncoding, error) {
	i := slices.Index(encodingNames[:], s)
	if i < 0 {
		return 0, fmt.Errorf("key encoding %q: want text, decimal, hex, base64url, raw or binary", s)
	}
	return KeyEncoding(i), nil
}

// String returns the encoding as it stands in a schema.
func (e KeyEncoding) String() string {
	if e < 0 || int(e) >= len(encodingNames) {
		return fmt.Sprintf("KeyEncoding(%d)", int(e))
	}
	return encodingNames[e]
}

// KeyForm says how a segment writes its value. The zero KeyForm is the default
// of each type. [KeyForm.Validate] says which forms a type has; a writer refuses
// the others with [ErrForm].
//
//	type              encodings
//	string            text (escape), hex
//	bytes             text (the same as hex), hex, base64url, raw (pad or escape)
//	bool              text, binary of 1 byte
//	int, uint         text and decimal (pad, reverse), hex (pad, reverse), binary of 4 or 8 bytes (reverse)
//	duration          the same, in nanoseconds
//	timestamp         text and decimal of 19 digits (reverse), binary of 8 bytes (reverse)
//	uuid              text, hex of 32 digits, raw or binary of 16 bytes
//	enum              text (the name), and its number as an int of 4 bytes
//
// Binary numbers are big-endian with the sign bit flipped where there is one, so
// that their bytes sort as they do. Timestamps are nanoseconds since 1970.
type KeyForm struct {
	Encoding KeyEncoding
	// Pad is the number of digits, filled up with zeros: 1 to 20 in decimal, 1 to
	// 16 in hex. For raw bytes it is their number. 0 leaves the width open.
	Pad int
	// Reverse makes the largest or newest value first: 10^Pad−1−v in decimal,
	// 16^Pad−1−v in hex, but MaxInt64−v in 19 decimal digits and MaxUint64−v in
	// 20; all bits complemented in binary; MaxInt64−ns for timestamps.
	Reverse bool
	// Escape writes strings and raw bytes so that they may contain the delimiter,
	// see [EscapeFits].
	Escape bool
}

// SegmentType is the type of a value in a row key.
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

// segments lists the names of the types, their encodings and the width of the
// binary one in bytes.
var segments = [...]struct {
	name      string
	encodings []KeyEncoding
	binary    int
}{
	StringSegment:    {"string", []KeyEncoding{KeyText, KeyHex}, 0},
	BytesSegment:     {"bytes", []KeyEncoding{KeyText, KeyHex, KeyBase64URL, KeyRaw}, 0},
	BoolSegment:      {"bool", []KeyEncoding{KeyText, KeyBinary}, 1},
	Int32Segment:     {"int32", numberEncodings, 4},
	Int64Segment:     {"int64", numberEncodings, 8},
	Uint32Segment:    {"uint32", numberEncodings, 4},
	Uint64Segment:    {"uint64", numberEncodings, 8},
	DurationSegment:  {"duration", numberEncodings, 8},
	TimestampSegment: {"timestamp", []KeyEncoding{KeyText, KeyDecimal, KeyBinary}, 8},
	UUIDSegment:      {"uuid", []KeyEncoding{KeyText, KeyHex, KeyRaw, KeyBinary}, 16},
	EnumSegment:      {"enum", numberEncodings, 4},
}

var numberEncodings = []KeyEncoding{KeyText, KeyDecimal, KeyHex, KeyBinary}

// String returns the type as it stands in a schema.
func (t SegmentType) String() string {
	if t < 0 || int(t) >= len(segments) {
		return fmt.Sprintf("SegmentType(%d)", int(t))
	}
	return segments[t].name
}

// Validate reports whether a value of type t can have this form in a key with
// the given delimiter, which is empty for a binary key. The error wraps
// [ErrForm] and says what to write instead. A writer or reader given such a form
// returns it.
func (f KeyForm) Validate(t SegmentType, delimiter string) error {
	switch {
	case t < 0 || int(t) >= len(segments):
		return fmt.Errorf("%w: %s", ErrForm, t)
	case !slices.Contains(segments[t].encodings, f.Encoding):
		return fmt.Errorf("%w: %s as %s: want one of %v", ErrForm, t, f.Encoding, segments[t].encodings)
	case f.Escape:
		if err := f.validateEscape(t, delimiter); err != nil {
			return err
		}
	}
	if err := f.validatePad(t); err != nil {
		return err
	}
	switch {
	case f.Reverse && !f.number(t) && t != TimestampSegment:
		return fmt.Errorf("%w: %s as %s cannot be reversed", ErrForm, t, f.Encoding)
	case f.Reverse && f.Fixed(t) == 0:
		return fmt.Errorf("%w: a reversed number needs a pad", ErrForm)
	case delimiter == "" && f.Fixed(t) == 0 && !f.Terminated(t):
		return fmt.Errorf("%w: %s as %s of no fixed width, in a key without a delimiter: "+
			"want binary, raw, or a pad", ErrForm, t, f.Encoding)
	}
	return nil
}

func (f KeyForm) validateEscape(t SegmentType, delimiter string) error {
	switch {
	case f.Pad != 0 || !f.Terminated(t):
		return fmt.Errorf("%w: only text strings and raw bytes without a pad can be escaped", ErrForm)
	case delimiter == "":
		return fmt.Errorf("%w: a key without a delimiter needs no escaping", ErrForm)
	}
	return EscapeFits(delimiter)
}

func (f KeyForm) validatePad(t SegmentType) error {
	lo, hi := 0, 0
	switch {
	case t == BytesSegment && f.Encoding == KeyRaw:
		hi = MaxKey
	case t == TimestampSegment && f.Encoding != KeyBinary && f.Pad != 0:
		lo, hi = 19, 19
	case f.number(t) && f.Encoding == KeyHex:
		lo, hi = 1, 16
	case f.number(t) && f.Encoding != KeyBinary:
		hi = 20
	}
	switch {
	case lo <= f.Pad && f.Pad <= hi:
		return nil
	case hi == 0:
		return fmt.Errorf("%w: %s as %s has no pad", ErrForm, t, f.Encoding)
	}
	return fmt.Errorf("%w: %s as %s: want a pad of %d to %d", ErrForm, t, f.Encoding, lo, hi)
}

// Fixed returns the number of bytes of every value of type t in this form, 0 if
// it varies. A binary key takes forms of fixed width and, because it marks where
// they end, strings as text and raw bytes without a pad.
func (f KeyForm) Fixed(t SegmentType) int {
	switch {
	case f.InBytes(t) && f.Encoding == KeyRaw && t == BytesSegment:
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

// Sorts reports whether the keys of a table with the given delimiter sort as the
// values of this segment do, or the other way round if f.Reverse is set. It
// holds whatever follows the segment. A string that is not escaped does not sort
// where it may contain bytes below the delimiter: "a b#" comes before "a#".
func (f KeyForm) Sorts(t SegmentType, delimiter string) bool {
	switch t {
	case StringSegment, BytesSegment:
		switch {
		case f.Escape, f.InBytes(t), f.Terminated(t) && delimiter == "":
			return true
		case f.Encoding == KeyHex, t == BytesSegment && f.Encoding == KeyText:
			return delimiter != "" && delimiter[0] < '0'
		}
		return false
	case BoolSegment, TimestampSegment, UUIDSegment:
		return true
	}
	return f.Fixed(t) > 0
}

// number reports whether values of type t are written as numbers.
func (f KeyForm) number(t SegmentType) bool {
	switch t {
	case Int32Segment, Int64Segment, Uint32Segment, Uint64Segment, DurationSegment:
		return true
	}
	return t == EnumSegment && f.Encoding != KeyText
}

// InBytes reports whether a value is a fixed number of bytes, any of which may
// be part of the delimiter.
func (f KeyForm) InBytes(t SegmentType) bool {
	return f.Encoding == KeyBinary || f.Encoding == KeyRaw && (t == UUIDSegment || f.Pad > 0)
}

// Terminated reports whether a binary key marks the end of the value.
func (f KeyForm) Terminated(t SegmentType) bool {
	return t == StringSegment && f.Encoding == KeyText || t == BytesSegment && f.Encoding == KeyRaw && f.Pad == 0
}
