package parquet

import (
	"encoding/binary"
	"errors"
	"io"

	pqformat "github.com/parquet-go/parquet-go/format"
)

// The types of the compact protocol of Thrift, in which footers and headers of pages are written.
//
// Source: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
const (
	trueType   = 1
	falseType  = 2
	byteType   = 3
	i64Type    = 6 // the last of the integers
	doubleType = 7
	binaryType = 8
	listType   = 9
	setType    = 10
	mapType    = 11
	structType = 12
)

// maxDepth is the maximum depth of nested values.
const maxDepth = 32

// errThrift is the error of text that is not in the compact protocol.
var errThrift = errors.New("it cannot be parsed")

// compact parses values in the compact protocol.
type compact struct {
	in     []byte
	memory int64 // that the values take after decoding, about
}

// uvarint parses a number.
func (c *compact) uvarint() (uint64, error) {
	u, n := binary.Uvarint(c.in)
	if n <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	c.in = c.in[n:]
	return u, nil
}

// take returns the next bytes.
func (c *compact) take(n uint64) ([]byte, error) {
	if n > uint64(len(c.in)) {
		return nil, io.ErrUnexpectedEOF
	}
	out := c.in[:n]
	c.in = c.in[n:]
	return out, nil
}

// fields calls f for the fields of a struct. f must consume the value of the field.
func (c *compact) fields(f func(field int64, kind byte) error) error {
	field := int64(0)
	for {
		head, err := c.take(1)
		if err != nil || head[0] == 0 {
			return err
		}
		if delta := head[0] >> 4; delta != 0 {
			field += int64(delta)
		} else if field, err = c.integer(); err != nil {
			return err
		}
		if err := f(field, head[0]&15); err != nil {
			return err
		}
	}
}

// integer parses a signed number.
func (c *compact) integer() (int64, error) {
	u, err := c.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

// Sizes of values in memory: of a struct, and of others besides their bytes.
const structMemory, valueMemory = 1024, 16

// skip parses a value, and counts the memory that it takes.
func (c *compact) skip(kind byte, depth int) error {
	if depth > maxDepth {
		return errThrift
	}
	var err error
	switch {
	case kind == trueType || kind == falseType:
	case kind == byteType:
		_, err = c.take(1)
	case kind > byteType && kind <= i64Type:
		_, err = c.uvarint()
	case kind == doubleType:
		_, err = c.take(8)
	case kind == binaryType:
		var n uint64
		if n, err = c.uvarint(); err == nil {
			_, err = c.take(n)
			c.memory += int64(n)
		}
	case kind == listType || kind == setType:
		return c.list(depth)
	case kind == structType:
		c.memory += structMemory
		return c.fields(func(_ int64, kind byte) error { return c.skip(kind, depth+1) })
	default: // Parquet has no maps
		err = errThrift
	}
	return err
}

// list parses a list.
func (c *compact) list(depth int) error {
	head, err := c.take(1)
	if err != nil {
		return err
	}
	n, kind := uint64(head[0]>>4), head[0]&15
	if n == 15 {
		if n, err = c.uvarint(); err != nil {
			return err
		}
	}
	if n > uint64(len(c.in)) { // each element has at least a byte
		return io.ErrUnexpectedEOF
	}
	c.memory += int64(n) * valueMemory
	for range n {
		of := kind
		if of <= falseType {
			of = byteType // as an element, it has a byte
		}
		if err := c.skip(of, depth+1); err != nil {
			return err
		}
		if c.memory > maxFooterMemory {
			return nil // it is refused
		}
	}
	return nil
}

// pageHeader is the header of a page.
type pageHeader struct {
	kind                     pqformat.PageType
	encoding                 pqformat.Encoding
	size                     int64 // of the header
	compressed, uncompressed int64
	values                   int64
	levels, repetitions      int64 // bytes before the compressed part, and those of them for repetitions
	plain                    bool  // the page is not compressed
}

// header reads the header of a page at an offset.
func (g *guard) header(at, end int64) (pageHeader, error) {
	for size := int64(1 << 10); ; size *= 8 {
		const maxHeader = 1 << 20
		text := make([]byte, min(size, end-at))
		if _, err := g.in.ReadAt(text, at); err != nil {
			return pageHeader{}, err
		}
		c := compact{in: text}
		h, err := c.header()
		if err == nil {
			h.size = int64(len(text) - len(c.in))
			return h, nil
		}
		if err != io.ErrUnexpectedEOF || size >= min(maxHeader, end-at) {
			return h, errors.New("the header of a page cannot be parsed")
		}
	}
}

// header parses the header of a page.
func (c *compact) header() (h pageHeader, err error) {
	err = c.fields(func(field int64, kind byte) error {
		switch {
		case kind >= byteType && kind <= i64Type:
			n, err := c.integer()
			switch field {
			case 1:
				h.kind = pqformat.PageType(n)
			case 2:
				h.uncompressed = n
			case 3:
				h.compressed = n
			}
			return err
		case kind == structType && (field == 5 || field == 7 || field == 8):
			return c.fields(func(inner int64, kind byte) error { return c.ofPage(&h, field, inner, kind) })
		}
		return c.skip(kind, 1)
	})
	return h, err
}

// ofPage parses a field of the header of a data page of version 1 (5) or 2 (8), or of a
// dictionary (7).
func (c *compact) ofPage(h *pageHeader, of, field int64, kind byte) error {
	if of == 8 && field == 7 && (kind == trueType || kind == falseType) {
		h.plain = kind == falseType
		return nil
	}
	if kind < byteType || kind > i64Type || kind == byteType {
		return c.skip(kind, 2)
	}
	n, err := c.integer()
	switch {
	case field == 1:
		h.values = n
	case field == 2 && of != 8, field == 4 && of == 8:
		h.encoding = pqformat.Encoding(n)
	case (field == 5 || field == 6) && of == 8:
		if n < 0 || n > maxPage {
			return errThrift
		}
		h.levels += n
		if field == 6 {
			h.repetitions = n
		}
	}
	return err
}
