package codec

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// MaxKey is the length of the longest row key that Bigtable takes, in bytes.
const MaxKey = 4096

// The names under which errors report segments that have none of their own.
const (
	keyField    = "key"
	bucketField = "bucket"
	timeField   = "time"

	sequenceField = "sequence"
)

// KeyWriter builds a row key out of segments joined by a delimiter. A segment of
// text that is empty, or that would be read back otherwise than it was written
// because of the delimiter, is refused: with [ErrEmpty] or [ErrDelimiter].
// Segments of a fixed number of bytes ([KeyBinary], or [KeyRaw] with a pad) may
// contain the delimiter. The first error sticks and [KeyWriter.Key] returns it.
//
// A key with the empty delimiter is binary. Its segments have fixed widths, but
// for strings and raw bytes: there 0x00 is written 0x00 0xff, and 0x00 0x01 ends
// the value, which may be empty. Forms of no fixed width are refused with
// [ErrForm].
//
// Each type has a method that takes a [KeyForm], and one for the default form.
//
// Use it as a value on the stack:
//
//	w := codec.NewKeyWriter(buf[:0], "#")
//	w.String("location", e.Location)
//	w.Int("balloon_id", e.BalloonID)
//	key, err := w.Key()
type KeyWriter struct {
	buf   []byte // dst, then the segments, each followed by the delimiter
	delim string
	base  int // where the key starts in buf
	err   *FieldError

	structured bool // see Structured

	buckets int    // of the salt that is being made, else 0
	hash    uint64 // of the segments that the salt is made from so far
}

// usualKey is how long most keys are at most, in bytes.
const usualKey = 64

// NewKeyWriter returns a writer that appends a key to dst. The empty delimiter
// makes a binary key.
func NewKeyWriter(dst []byte, delimiter string) KeyWriter {
	if dst == nil {
		dst = make([]byte, 0, usualKey)
	}
	return KeyWriter{buf: dst, delim: delimiter, base: len(dst)}
}

// Structured makes w refuse with [ErrKeySchema] what a structured row key schema
// of Bigtable cannot take apart. Among the segments of a key with a delimiter,
// that is text with a byte that does not sort above the delimiter's first one; in
// a binary key it is an empty value.
//
// Source: Type.Struct.Encoding of google.bigtable.admin.v2, DelimitedBytes and
// OrderedCodeBytes in sorted mode.
func (w *KeyWriter) Structured() { w.structured = true }

// String writes v, which must be valid UTF-8, else [ErrUTF8].
func (w *KeyWriter) String(segment, v string) { w.StringAs(segment, KeyForm{}, v) }

// StringAs writes v, which must be valid UTF-8, else [ErrUTF8], as text, escaped
// text or hex.
func (w *KeyWriter) StringAs(segment string, f KeyForm, v string) {
	switch {
	case !w.accepts(segment, f, StringSegment):
	case !utf8.ValidString(v):
		w.fail(segment, quote(v), ErrUTF8)
	case f.Encoding == KeyHex:
		w.end(segment, hex.AppendEncode(w.buf, []byte(v)))
	default:
		variable(w, segment, f, v)
	}
}

// Bytes writes v in lower-case hex.
func (w *KeyWriter) Bytes(segment string, v []byte) { w.BytesAs(segment, KeyForm{}, v) }

// BytesAs writes v in hex, in base64url, or as it is: in a fixed number of bytes,
// else [ErrRange], or in any number, escaped or not.
func (w *KeyWriter) BytesAs(segment string, f KeyForm, v []byte) {
	switch {
	case !w.accepts(segment, f, BytesSegment):
	case f.Encoding == KeyBase64URL:
		w.end(segment, base64url.AppendEncode(w.buf, v))
	case f.Encoding != KeyRaw:
		w.end(segment, hex.AppendEncode(w.buf, v))
	case f.Pad == 0:
		variable(w, segment, f, v)
	case f.Pad != len(v):
		w.fail(segment, quote(string(v)), ErrRange)
	default:
		w.endFixed(append(w.buf, v...))
	}
}

// variable writes a string or raw bytes of any length.
func variable[T ~string | ~[]byte](w *KeyWriter, segment string, f KeyForm, v T) {
	switch {
	case w.delim == "" && w.structured && len(v) == 0:
		w.fail(segment, "", ErrKeySchema)
	case w.delim == "":
		w.endFixed(appendTerminated(w.buf, v))
	case f.Escape:
		w.end(segment, appendEscaped(w.buf, v, w.delim[0]+1))
	default:
		w.end(segment, append(w.buf, v...))
	}
}

// Bool writes true or false.
func (w *KeyWriter) Bool(segment string, v bool) { w.BoolAs(segment, KeyForm{}, v) }

// BoolAs writes v as true or false, or as a byte 1 or 0.
func (w *KeyWriter) BoolAs(segment string, f KeyForm, v bool) {
	switch {
	case !w.accepts(segment, f, BoolSegment):
	case f.Encoding != KeyBinary:
		w.end(segment, strconv.AppendBool(w.buf, v))
	case v:
		w.endFixed(append(w.buf, 1))
	default:
		w.endFixed(append(w.buf, 0))
	}
}

// Int writes v in decimal.
func (w *KeyWriter) Int(segment string, v int64) { w.IntAs(segment, KeyForm{}, v, 64) }

// IntAs writes v, a number of 32 or 64 bits. Numbers with more bits give
// [ErrRange], and so do negative ones and those with too many digits if the form
// has a pad.
func (w *KeyWriter) IntAs(segment string, f KeyForm, v int64, bits int) {
	if w.accepts(segment, f, intSegment(bits)) {
		w.int(segment, f, v, bits)
	}
}

func (w *KeyWriter) int(segment string, f KeyForm, v int64, bits int) {
	switch {
	case !fitsInt(v, bits):
		w.fail(segment, strconv.FormatInt(v, 10), ErrRange)
	case f.Encoding == KeyBinary:
		w.endFixed(f.appendBinary(w.buf, uint64(v)^signBit(bits), bits))
	case f.Pad == 0:
		w.end(segment, strconv.AppendInt(w.buf, v, 10))
	case v < 0 || uint64(v) > f.largest():
		w.fail(segment, strconv.FormatInt(v, 10), ErrRange)
	default:
		w.end(segment, f.appendPadded(w.buf, uint64(v)))
	}
}

// Uint writes v in decimal.
func (w *KeyWriter) Uint(segment string, v uint64) { w.UintAs(segment, KeyForm{}, v, 64) }

// UintAs writes v, a number of 32 or 64 bits. Numbers with more bits give
// [ErrRange], and so do those with too many digits if the form has a pad.
func (w *KeyWriter) UintAs(segment string, f KeyForm, v uint64, bits int) {
	switch {
	case !w.accepts(segment, f, uintSegment(bits)):
	case v>>(bits-1)>>1 != 0, f.Encoding != KeyBinary && f.Pad > 0 && v > f.largest():
		w.fail(segment, strconv.FormatUint(v, 10), ErrRange)
	case f.Encoding == KeyBinary:
		w.endFixed(f.appendBinary(w.buf, v, bits))
	case f.Pad == 0:
		w.end(segment, strconv.AppendUint(w.buf, v, 10))
	default:
		w.end(segment, f.appendPadded(w.buf, v))
	}
}

// Duration writes v in nanoseconds, decimal.
func (w *KeyWriter) Duration(segment string, v time.Duration) { w.Int(segment, int64(v)) }

// DurationAs writes v in nanoseconds, as [KeyWriter.IntAs] does.
func (w *KeyWriter) DurationAs(segment string, f KeyForm, v time.Duration) {
	w.IntAs(segment, f, int64(v), 64)
}

// Timestamp writes v in nanoseconds since 1970, padded to 19 digits. Times
// before 1970 or after 2262-04-11 give [ErrTimeRange].
func (w *KeyWriter) Timestamp(segment string, v time.Time) { w.TimestampAs(segment, KeyForm{}, v) }

// TimestampAs writes v in nanoseconds since 1970, in 19 digits or 8 bytes. Times
// before 1970 or after 2262-04-11 give [ErrTimeRange].
func (w *KeyWriter) TimestampAs(segment string, f KeyForm, v time.Time) {
	if w.accepts(segment, f, TimestampSegment) {
		w.time(segment, f.timestamp(), v)
	}
}

// UUID writes the canonical text of v.
func (w *KeyWriter) UUID(segment string, v UUID) { w.UUIDAs(segment, KeyForm{}, v) }

// UUIDAs writes the canonical text of v, its hex digits, or its 16 bytes.
func (w *KeyWriter) UUIDAs(segment string, f KeyForm, v UUID) {
	switch {
	case !w.accepts(segment, f, UUIDSegment):
	case f.Encoding == KeyText:
		w.end(segment, v.appendText(w.buf))
	case f.Encoding == KeyHex:
		w.end(segment, hex.AppendEncode(w.buf, v[:]))
	default:
		w.endFixed(append(w.buf, v[:]...))
	}
}

// Enum writes the name of v. A value that is not in e gives [ErrEnum].
func (w *KeyWriter) Enum(segment string, e Enum, v int64) { w.EnumAs(segment, KeyForm{}, e, v) }

// EnumAs writes the name of v, or the number as [KeyWriter.IntAs] does. A value
// that is not in e gives [ErrEnum].
func (w *KeyWriter) EnumAs(segment string, f KeyForm, e Enum, v int64) {
	if !w.accepts(segment, f, EnumSegment) {
		return
	}
	name, ok := e.Name(v)
	switch {
	case !ok:
		w.fail(segment, strconv.FormatInt(v, 10), ErrEnum)
	case f.Encoding == KeyText:
		w.end(segment, append(w.buf, name...))
	default:
		w.int(segment, f, v, f.enumBits())
	}
}

// Sequence writes a tie-breaker, in 10 digits or, in a binary key, in 4 bytes.
// Errors name the segment "sequence".
func (w *KeyWriter) Sequence(v uint32) {
	w.UintAs(sequenceField, SequenceForm(w.delim), uint64(v), 32)
}

// Const writes a fixed text, such as a metric's name, unchecked.
func (w *KeyWriter) Const(text string) {
	if w.err == nil {
		w.endFixed(append(w.buf, text...))
	}
}

// Bucket writes the label of the bucket that holds t. Errors name the segment
// "bucket"; a time without a label gives [ErrTimeRange].
func (w *KeyWriter) Bucket(b Bucket, t time.Time) {
	if w.err != nil {
		return
	}
	if w.delim == "" && b.Width() == 0 {
		w.fail(bucketField, b.Label.String(), ErrForm)
		return
	}
	buf, err := b.AppendLabel(w.buf, t)
	switch {
	case err != nil:
		w.fail(bucketField, showTime(t), err)
	case b.inBytes():
		w.endFixed(buf)
	default:
		w.end(bucketField, buf)
	}
}

// Time writes t in the format f. Errors name the segment "time"; a time that
// the format cannot hold gives [ErrTimeRange].
func (w *KeyWriter) Time(f TimeFormat, t time.Time) {
	if w.err == nil {
		w.time(timeField, f, t)
	}
}

func (w *KeyWriter) time(segment string, f TimeFormat, t time.Time) {
	buf, err := f.Append(w.buf, t)
	switch {
	case err != nil:
		w.fail(segment, showTime(t), err)
	case f.inBytes():
		w.endFixed(buf)
	default:
		w.end(segment, buf)
	}
}

// accepts reports whether a value of type t can be written in this form, and
// there was no error so far.
func (w *KeyWriter) accepts(segment string, f KeyForm, t SegmentType) bool {
	if w.err != nil {
		return false
	}
	if f == (KeyForm{}) && w.delim != "" {
		return true // every type has a default
	}
	if err := f.Validate(t, w.delim); err != nil {
		w.fail(segment, "", err)
		return false
	}
	return true
}

// end finishes a segment of text: buf is w.buf with the segment appended.
func (w *KeyWriter) end(segment string, buf []byte) {
	start := len(w.buf)
	n := len(buf) - start
	w.buf = append(buf, w.delim...)
	switch {
	case w.delim == "": // its width tells where it ends
	case n == 0:
		w.fail(segment, "", ErrEmpty)
	case w.firstDelimiter(start) != n:
		w.fail(segment, quote(string(buf[start:])), ErrDelimiter)
	case w.structured && slices.Min(buf[start:]) <= w.delim[0]:
		w.fail(segment, quote(string(buf[start:])), ErrKeySchema)
	}
	if w.buckets > 0 {
		w.takeSalt(start, n)
	}
}

// endFixed finishes a segment that a reader ends without looking for a
// delimiter.
func (w *KeyWriter) endFixed(buf []byte) {
	start := len(w.buf)
	w.buf = append(buf, w.delim...)
	if w.buckets > 0 {
		w.takeSalt(start, len(buf)-start)
	}
}

// takeSalt takes the last segment, of n bytes from start, out of the key and
// into the salt.
func (w *KeyWriter) takeSalt(start, n int) {
	w.hash = addSalt(w.hash, w.buf[start:start+n])
	w.buf = w.buf[:start]
}

// firstDelimiter returns where a reader would end the segment at start.
func (w *KeyWriter) firstDelimiter(start int) int {
	if len(w.delim) == 1 {
		return bytes.IndexByte(w.buf[start:], w.delim[0])
	}
	return bytes.Index(w.buf[start:], []byte(w.delim))
}

func (w *KeyWriter) fail(field, value string, err error) {
	w.err = &FieldError{Field: field, Value: value, Err: err}
}

// Key returns dst with the key appended, or the first error, a [*FieldError].
// The key must have 1 to [MaxKey] bytes, else [ErrEmpty] or [ErrKeyTooLong].
func (w *KeyWriter) Key() ([]byte, error) {
	prefix, err := w.Prefix()
	if err != nil {
		return nil, err
	}
	if len(prefix) == w.base {
		return nil, &FieldError{Field: keyField, Err: ErrEmpty}
	}
	return prefix[:len(prefix)-len(w.delim)], nil
}

// Prefix returns dst with the segments appended, each followed by the delimiter:
// a prefix of the keys that start with these segments, and of no others. Without
// any segment it is empty. A prefix of the keys that end with these segments is
// [KeyWriter.Key].
func (w *KeyWriter) Prefix() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	if w.buckets > 0 {
		return nil, &FieldError{Field: saltField, Value: "without an end", Err: ErrForm}
	}
	if len(w.buf)-w.base > MaxKey+len(w.delim) {
		return nil, &FieldError{
			Field: keyField,
			Value: quote(string(w.buf[w.base:])),
			Err:   ErrKeyTooLong,
		}
	}
	return w.buf, nil
}

func showTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// KeyString is a row key for people: as it is if it is printable, and else quoted; or, if err
// is not nil, why there is no key.
func KeyString(key []byte, err error) string {
	if err != nil {
		return "no row key: " + err.Error()
	}
	if quoted := strconv.Quote(string(key)); quoted[1:len(quoted)-1] != string(key) {
		return quoted
	}
	return string(key)
}
