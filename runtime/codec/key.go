package codec

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// MaxKey is Bigtable's limit for the length of a row key, in bytes.
const MaxKey = 4096

// The field names of errors in segments that have no name in the schema.
const (
	keyField    = "key"
	bucketField = "bucket"
	timeField   = "time"

	sequenceField = "sequence"
)

// KeyWriter builds a row key from segments separated by a delimiter. It rejects text segments that a reader could not
// read back: empty ones with [ErrEmpty], and ones that contain the delimiter with [ErrDelimiter]. Segments of a fixed
// number of bytes ([KeyBinary] and the like, or [KeyRaw] with a pad) may contain the delimiter. The writer keeps the
// first error; [KeyWriter.Key] returns it.
//
// A key with an empty delimiter is binary. Its segments have fixed widths, except for strings and raw bytes: a writer
// encodes their 0x00 bytes as 0x00 0xff and ends them with 0x00 0x01, so they may be empty. It rejects other forms of
// variable width with [ErrForm].
type KeyWriter struct {
	buf   []byte // dst, then the segments, each followed by the delimiter
	delim string
	base  int // where the key starts in buf
	err   *FieldError

	structured bool // see Key.Structured
	joined     bool // set by Join, until the next segment is written
	ended      int  // number of bytes of the delimiter at the end of buf

	buckets int    // number of buckets of the salt between BeginSalt and EndSalt, else 0
	hash    uint64 // hash of the segments since BeginSalt
}

// usualKey is the initial capacity for a key, in bytes. Most keys fit.
const usualKey = 64

// NewKeyWriter returns a writer that appends a key to dst. An empty delimiter makes the key binary.
func NewKeyWriter(dst []byte, delimiter string) KeyWriter {
	if dst == nil {
		dst = make([]byte, 0, usualKey)
	}
	return KeyWriter{buf: dst, delim: delimiter, base: len(dst)}
}

// Join makes the next segment end without the delimiter or, in a binary key, without a terminator: what follows is
// written directly after it. A value of variable width then may contain the delimiter but must not be empty; what
// follows it, if anything, must have a fixed width, so that a reader can tell them apart.
func (w *KeyWriter) Join() { w.joined = true }

// String writes v as text, escaped text or hex. It rejects invalid UTF-8 with
// [ErrUTF8] and, with a pad, values of another number of bytes with [ErrRange].
func (w *KeyWriter) String(segment string, f KeyForm, v string) {
	switch {
	case !w.accepts(segment, f, StringSegment):
	case !utf8.ValidString(v):
		w.fail(segment, quote(v), ErrUTF8)
	case f.Encoding != KeyText:
		w.end(segment, keyEncodings[f.Encoding].append(w.buf, []byte(v)))
	case f.Pad > 0 && f.Pad != len(v):
		w.fail(segment, quote(v), ErrRange)
	case f.Pad > 0:
		w.endFixed(append(w.buf, v...))
	default:
		variable(w, segment, f, v)
	}
}

// StringPrefix writes the beginning of a text segment: the rows whose segment begins with v have keys that begin with
// the result of [KeyWriter.Prefix]. It must be the last segment. An empty v writes nothing.
func (w *KeyWriter) StringPrefix(segment string, f KeyForm, v string) {
	if v == "" {
		return
	}
	w.String(segment, f, v)
	end := len(w.delim)
	if end == 0 {
		end = len(terminator)
	}
	if w.err == nil {
		w.buf = w.buf[:len(w.buf)-end]
	}
}

// Bytes writes v in hex, base64url, base32hex, or unchanged. With a pad, it rejects values of
// another length with [ErrRange].
func (w *KeyWriter) Bytes(segment string, f KeyForm, v []byte) {
	switch {
	case !w.accepts(segment, f, BytesSegment):
	case f.Encoding.Alphabet() != "":
		w.end(segment, keyEncodings[f.Encoding].append(w.buf, v))
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
	case w.delim == "" && !w.joined:
		w.endFixed(appendTerminated(w.buf, v))
	case f.Escape:
		w.end(segment, appendEscaped(w.buf, v, w.delim[0]+1))
	default:
		w.end(segment, append(w.buf, v...))
	}
}

// Bool writes v as true or false, or as one byte, 1 or 0.
func (w *KeyWriter) Bool(segment string, f KeyForm, v bool) {
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

// Int writes v, an integer of 32 or 64 bits. It rejects values that do not fit with
// [ErrRange]; if the form has a pad, also negative ones and ones with too many digits.
func (w *KeyWriter) Int(segment string, f KeyForm, v int64, bits int) {
	if w.accepts(segment, f, intSegment(bits)) {
		w.number(segment, f, uint64(v), v<<(64-bits)>>(64-bits) == v, bits, true)
	}
}

// Uint is [KeyWriter.Int] for unsigned integers.
func (w *KeyWriter) Uint(segment string, f KeyForm, v uint64, bits int) {
	if w.accepts(segment, f, intSegment(bits)+(Uint32Segment-Int32Segment)) {
		w.number(segment, f, v, v>>(bits-1)>>1 == 0, bits, false)
	}
}

// number writes an integer, given whether it fits its type.
func (w *KeyWriter) number(segment string, f KeyForm, v uint64, fits bool, bits int, signed bool) {
	switch {
	case !fits, !f.inBinary() && f.Pad > 0 && (signed && int64(v) < 0 || v > f.largest()):
		w.fail(segment, string(appendDecimal(nil, v, signed)), ErrRange)
	case f.inBinary():
		w.endFixed(f.appendBinary(w.buf, v^f.flipped(bits, signed), bits))
	case f.Pad == 0:
		w.end(segment, appendDecimal(w.buf, v, signed))
	default:
		w.end(segment, f.appendPadded(w.buf, v))
	}
}

// appendDecimal appends the 64 bits of an integer as a decimal number.
func appendDecimal(dst []byte, v uint64, signed bool) []byte {
	if signed {
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return strconv.AppendUint(dst, v, 10)
}

// Timestamp writes v as nanoseconds since the Unix epoch, in 19 digits or 8 bytes. It
// rejects times before 1970 or after 2262-04-11 with [ErrTimeRange].
func (w *KeyWriter) Timestamp(segment string, f KeyForm, v time.Time) {
	if w.accepts(segment, f, TimestampSegment) {
		w.time(segment, f.timestamp(), v)
	}
}

// Enum writes the name of v, or its number like [KeyWriter.Int]. It rejects a value that is not in e with [ErrEnum].
func (w *KeyWriter) Enum(segment string, f KeyForm, e Enum, v int64) {
	if !w.accepts(segment, f, EnumSegment) {
		return
	}
	name, ok := e.Name(v)
	switch {
	case !ok:
		value, err := notInEnum(v)
		w.fail(segment, value, err)
	case f.Encoding == KeyText:
		w.end(segment, append(w.buf, name...))
	default:
		bits := f.enumBits()
		w.number(segment, f, uint64(v), v<<(64-bits)>>(64-bits) == v, bits, true)
	}
}

// Sequence writes a sequence number, which distinguishes events of the same time, in 10
// digits or, in a binary key, in 4 bytes. Errors name the segment "sequence".
func (w *KeyWriter) Sequence(v uint32) {
	w.Uint(sequenceField, SequenceForm(w.delim), uint64(v), 32)
}

// Const writes a fixed string, such as the name of a metric. It does not validate it.
func (w *KeyWriter) Const(text string) {
	if w.err == nil {
		w.endFixed(append(w.buf, text...))
	}
}

// Bucket writes the label of the bucket that contains t. It rejects a time without a label with [ErrTimeRange]. Errors
// name the segment "bucket".
func (w *KeyWriter) Bucket(b *Bucket, t time.Time) {
	switch {
	case w.err != nil:
	case b.Every < time.Second && b.Months <= 0:
		w.fail(bucketField, "without a width", ErrForm)
	case w.delim == "" && b.Label.width() == 0:
		w.fail(bucketField, b.Label.String(), ErrForm)
	default:
		buf, err := b.AppendLabel(w.buf, t)
		w.endTime(bucketField, buf, t, err, b.inBytes())
	}
}

// Time writes t in the format f. It rejects a time that the format cannot represent with [ErrTimeRange]. Errors name
// the segment "time".
func (w *KeyWriter) Time(f TimeFormat, t time.Time) { w.time(timeField, f, t) }

func (w *KeyWriter) time(segment string, f TimeFormat, t time.Time) {
	if w.err == nil {
		buf, err := f.Append(w.buf, t)
		w.endTime(segment, buf, t, err, f.InBytes())
	}
}

// endTime finishes a segment with a time.
func (w *KeyWriter) endTime(segment string, buf []byte, t time.Time, err error, inBytes bool) {
	switch {
	case err != nil:
		w.fail(segment, showTime(t), err)
	case inBytes:
		w.endFixed(buf)
	default:
		w.end(segment, buf)
	}
}

// accepts reports whether there is no error yet and a value of type t can have the form
// f. If it cannot, accepts records the error.
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

// end finishes a text segment. buf is w.buf with the segment appended.
func (w *KeyWriter) end(segment string, buf []byte) {
	start, joined := len(w.buf), w.joined
	n := len(buf) - start
	w.delimit(buf)
	switch {
	case w.delim == "" && !joined: // its width or terminator tells where it ends
	case n == 0:
		w.fail(segment, "", ErrEmpty)
	case joined: // as does the width of what follows
	case w.firstDelimiter(start) != n:
		w.fail(segment, quote(string(buf[start:])), ErrDelimiter)
	case w.structured && slices.Min(buf[start:]) <= w.delim[0]:
		w.fail(segment, quote(string(buf[start:])), ErrKeySchema)
	}
	if w.buckets > 0 {
		w.takeSalt(start, n)
	}
}

// endFixed finishes a segment whose end a reader finds without searching for the delimiter.
func (w *KeyWriter) endFixed(buf []byte) {
	start := len(w.buf)
	w.delimit(buf)
	if w.buckets > 0 {
		w.takeSalt(start, len(buf)-start)
	}
}

// delimit continues after a segment with the delimiter, unless the next one joins it.
func (w *KeyWriter) delimit(buf []byte) {
	if w.joined {
		w.buf, w.joined, w.ended = buf, false, 0
		return
	}
	w.buf, w.ended = append(buf, w.delim...), len(w.delim)
}

// takeSalt removes the last segment, n bytes at start, from the key and adds it to the hash of the salt.
func (w *KeyWriter) takeSalt(start, n int) {
	w.hash = addSalt(w.hash, w.buf[start:start+n])
	w.buf = w.buf[:start]
}

// firstDelimiter returns the offset at which a reader would end the segment at start.
func (w *KeyWriter) firstDelimiter(start int) int {
	if len(w.delim) == 1 {
		return bytes.IndexByte(w.buf[start:], w.delim[0])
	}
	return bytes.Index(w.buf[start:], []byte(w.delim))
}

// fail records an error, unless there already is one.
func (w *KeyWriter) fail(field, value string, err error) {
	if w.err == nil {
		w.err = &FieldError{Field: field, Value: value, Err: err}
	}
}

// Key returns dst with the key appended, or the first error, a [*FieldError]. It rejects an empty key with [ErrEmpty]
// and one longer than [MaxKey] with [ErrKeyTooLong].
func (w *KeyWriter) Key() ([]byte, error) {
	prefix, err := w.Prefix()
	if err != nil {
		return nil, err
	}
	if len(prefix) == w.base {
		return nil, &FieldError{Field: keyField, Err: ErrEmpty}
	}
	return prefix[:len(prefix)-w.ended], nil
}

// Prefix returns dst with the segments appended, each followed by the delimiter. It is a prefix of exactly those keys
// that begin with these segments and have at least one more. Without segments it appends nothing. For the key that
// ends after these segments, use [KeyWriter.Key].
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

// KeyString formats a row key for display: unchanged if it is printable, else quoted.
// If err is not nil, it returns a message with err instead.
func KeyString(key []byte, err error) string {
	if err != nil {
		return "no row key: " + err.Error()
	}
	if quoted := strconv.Quote(string(key)); quoted[1:len(quoted)-1] != string(key) {
		return quoted
	}
	return string(key)
}
