package window

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"time"
)

// ErrEncoding is the error of [Spec.Parse] for what [Spec.Append] has not returned.
var ErrEncoding = errors.New("not an encoded window")

// Append appends a window without its series, for transport between processes of one build. Equal
// windows have equal encodings, and time zones are lost.
func (s *Spec) Append(dst []byte, w *Summary) []byte {
	c := coding{bytes: dst}
	s.code(w, &c)
	return c.bytes
}

// Parse sets all of a window but its series to what Append has encoded. Times are in UTC.
func (s *Spec) Parse(w *Summary, encoded []byte) error {
	c := coding{bytes: encoded, parses: true}
	s.code(w, &c)
	if c.failed || len(c.bytes) > 0 {
		return ErrEncoding
	}
	return nil
}

func (s *Spec) code(w *Summary, c *coding) {
	common := w.common
	c.code(&common.Start, &common.End, &common.Events, &common.Undecodable, &common.Filled, &common.Inexact)
	for i := range s.parts {
		p := &s.parts[i]
		p.code(w.fields[p.at], c)
	}
}

// coding encodes values, or parses them.
type coding struct {
	bytes  []byte // that were encoded, or are left
	parses bool
	failed bool
}

// code encodes values, given pointers to them, or parses them.
func (c *coding) code(values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case *int64:
			c.int(v)
		case *time.Time:
			seconds, nanos := v.Unix(), int64(v.Nanosecond())
			c.code(&seconds, &nanos)
			if c.parses {
				*v = time.Unix(seconds, nanos).UTC()
			}
		default:
			c.value(reflect.ValueOf(v).Elem())
		}
	}
}

// take returns the next n bytes; zeros if they are missing.
func (c *coding) take(n uint64) []byte {
	if n > uint64(len(c.bytes)) {
		c.failed, c.bytes = true, nil
		return make([]byte, min(n, 16))
	}
	taken := c.bytes[:n]
	c.bytes = c.bytes[n:]
	return taken
}

// int encodes an integer, or parses one.
func (c *coding) int(v *int64) {
	if !c.parses {
		c.bytes = binary.AppendVarint(c.bytes, *v)
		return
	}
	n := 0
	if *v, n = binary.Varint(c.bytes); n <= 0 {
		c.failed = true
	}
	c.take(uint64(max(n, 0)))
}

// word encodes 64 bits, or parses them.
func (c *coding) word(v *uint64) {
	if !c.parses {
		c.bytes = binary.BigEndian.AppendUint64(c.bytes, *v)
		return
	}
	*v = binary.BigEndian.Uint64(c.take(8))
}

// value is code for one of the other types.
func (c *coding) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		n := int64(0)
		if v.Bool() {
			n = 1
		}
		c.int(&n)
		v.SetBool(n == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := v.Int()
		c.int(&n)
		v.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n := v.Uint()
		c.word(&n)
		v.SetUint(n)
	case reflect.Float32, reflect.Float64:
		bits := math.Float64bits(v.Float())
		c.word(&bits)
		v.SetFloat(math.Float64frombits(bits))
	case reflect.String:
		text := []byte(v.String())
		c.text(&text)
		v.SetString(string(text))
	case reflect.Slice:
		text := v.Bytes()
		c.text(&text)
		v.SetBytes(text)
	case reflect.Array:
		for i := range v.Len() {
			c.value(v.Index(i))
		}
	default:
		c.failed = true
	}
}

// text encodes bytes, or parses them. Their length is -1 if they are nil.
func (c *coding) text(v *[]byte) {
	n := int64(len(*v))
	if *v == nil {
		n = -1
	}
	c.int(&n)
	switch {
	case !c.parses:
		c.bytes = append(c.bytes, *v...)
	case n < 0:
		*v = nil
	default:
		*v = append([]byte{}, c.take(uint64(n))...)
	}
}

func (s *Values[T]) code(c *coding) {
	c.code(&s.Count, &s.FirstTime, &s.LastTime, &s.First, &s.Last)
}

func (s *Int[T]) code(c *coding) {
	s.Values.code(c)
	c.code(&s.Min, &s.Max, &s.sum.hi, &s.sum.lo, &s.increase.hi, &s.increase.lo, &s.entry.known, &s.entry.from, &s.mean, &s.rounded)
}

func (s *Float64[T]) code(c *coding) {
	s.Values.code(c)
	c.code(&s.Min, &s.Max, &s.sum, &s.increase, &s.entry.known, &s.entry.from, &s.mean)
}
