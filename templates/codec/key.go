package codec

import (
	"bytes"
	"encoding/hex"
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
)

// KeyWriter builds a row key out of text segments joined by a delimiter. A
// segment that is empty, or that would be read back otherwise than it was
// written because of the delimiter, is refused: with [ErrEmpty] or
// [ErrDelimiter]. The first error sticks and [KeyWriter.Key] returns it.
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
}

// NewKeyWriter returns a writer that appends a key to dst. The delimiter must
// not be empty.
func NewKeyWriter(dst []byte, delimiter string) KeyWriter {
	return KeyWriter{buf: dst, delim: delimiter, base: len(dst)}
}

// String writes v, which must be valid UTF-8, else [ErrUTF8].
func (w *KeyWriter) String(segment, v string) {
	if w.err != nil {
		return
	}
	if !utf8.ValidString(v) {
		w.fail(segment, quote(v), ErrUTF8)
		return
	}
	w.end(segment, append(w.buf, v...))
}

// Bytes writes v in lower-case hex.
func (w *KeyWriter) Bytes(segment string, v []byte) {
	if w.err == nil {
		w.end(segment, hex.AppendEncode(w.buf, v))
	}
}

// Bool writes true or false.
func (w *KeyWriter) Bool(segment string, v bool) {
	if w.err == nil {
		w.end(segment, strconv.AppendBool(w.buf, v))
	}
}

// Int writes v in decimal.
func (w *KeyWriter) Int(segment string, v int64) {
	if w.err == nil {
		w.end(segment, strconv.AppendInt(w.buf, v, 10))
	}
}

// Uint writes v in decimal.
func (w *KeyWriter) Uint(segment string, v uint64) {
	if w.err == nil {
		w.end(segment, strconv.AppendUint(w.buf, v, 10))
	}
}

// Duration writes v in nanoseconds, decimal.
func (w *KeyWriter) Duration(segment string, v time.Duration) { w.Int(segment, int64(v)) }

// Timestamp writes v in nanoseconds since 1970, padded to 19 digits. Times
// before 1970 or after 2262-04-11 give [ErrTime].
func (w *KeyWriter) Timestamp(segment string, v time.Time) {
	w.time(segment, TimeFormat{Kind: UnixNanos}, v)
}

// UUID writes the canonical text of v.
func (w *KeyWriter) UUID(segment string, v UUID) {
	if w.err == nil {
		w.end(segment, v.appendText(w.buf))
	}
}

// Enum writes the name of v. A value that is not in e gives [ErrEnum].
func (w *KeyWriter) Enum(segment string, e Enum, v int64) {
	if w.err != nil {
		return
	}
	name, ok := e.Name(v)
	if !ok {
		w.fail(segment, strconv.FormatInt(v, 10), ErrEnum)
		return
	}
	w.end(segment, append(w.buf, name...))
}

// Const writes a fixed text, such as a metric's name, unchecked.
func (w *KeyWriter) Const(text string) {
	if w.err == nil {
		w.buf = append(w.buf, text...)
		w.buf = append(w.buf, w.delim...)
	}
}

// Bucket writes the label of the bucket that holds t. Errors name the segment
// "bucket"; a time without a label gives [ErrTime].
func (w *KeyWriter) Bucket(b Bucket, t time.Time) {
	if w.err != nil {
		return
	}
	buf, err := b.AppendLabel(w.buf, t)
	if err != nil {
		w.fail(bucketField, showTime(t), err)
		return
	}
	w.end(bucketField, buf)
}

// Time writes t in the format f. Errors name the segment "time"; a time that
// the format cannot hold gives [ErrTime].
func (w *KeyWriter) Time(f TimeFormat, t time.Time) { w.time(timeField, f, t) }

func (w *KeyWriter) time(segment string, f TimeFormat, t time.Time) {
	if w.err != nil {
		return
	}
	buf, err := f.Append(w.buf, t)
	if err != nil {
		w.fail(segment, showTime(t), err)
		return
	}
	w.end(segment, buf)
}

// end finishes a segment: buf is w.buf with the segment appended.
func (w *KeyWriter) end(segment string, buf []byte) {
	start := len(w.buf)
	n := len(buf) - start
	w.buf = append(buf, w.delim...)
	switch {
	case n == 0:
		w.fail(segment, "", ErrEmpty)
	case w.firstDelimiter(start) != n:
		w.fail(segment, quote(string(buf[start:])), ErrDelimiter)
	}
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
// any segment it is empty.
func (w *KeyWriter) Prefix() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
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
