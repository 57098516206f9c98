package parquet

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	pqformat "github.com/parquet-go/parquet-go/format"
)

// Footers and headers of pages are structs of Thrift, in its compact protocol. The library decodes them, after a walk has
// found that they end within their text, and that their lists and strings are no larger than it.

// maxDepth is the maximum depth of nested values.
const maxDepth = 32

// Sizes of values in memory: of a struct, and of others besides their bytes.
const structMemory, valueMemory = 1024, 16

// errThrift is the error of text that is not in the compact protocol.
var errThrift = errors.New("it cannot be parsed")

// compact is the protocol.
var compact thrift.CompactProtocol

// walk walks over values. Its memory is bounded by that of the text.
type walk struct {
	thrift.BytesReader
	size   int   // of the text, in bytes
	memory int64 // that the values take after decoding, about
}

func newWalk(text []byte) *walk {
	return &walk{BytesReader: compact.NewReaderFromBytes(text), size: len(text)}
}

// value walks over a value, and counts the memory that it takes.
func (w *walk) value(of thrift.Type, depth int) (err error) {
	if depth > maxDepth {
		return errThrift
	}
	switch of {
	case thrift.TRUE, thrift.FALSE: // the type is the value
	case thrift.I8:
		_, err = w.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = w.ReadInt64()
	case thrift.DOUBLE:
		_, err = w.ReadFloat64()
	case thrift.BINARY:
		var text []byte
		text, err = w.ReadBytes()
		w.memory += int64(len(text))
	case thrift.LIST, thrift.SET:
		err = w.list(depth)
	case thrift.STRUCT:
		err = w.fields(depth)
	default: // Parquet has no maps
		err = errThrift
	}
	return err
}

// fields walks over a struct.
func (w *walk) fields(depth int) error {
	w.memory += structMemory
	for {
		f, err := w.ReadField()
		if err != nil || f.Type == thrift.STOP {
			return err
		}
		if err := w.value(f.Type, depth+1); err != nil {
			return err
		}
	}
}

// list walks over a list.
func (w *walk) list(depth int) error {
	l, err := w.ReadList()
	if err != nil {
		return err
	}
	if int(l.Size) > w.size-w.BytesRead() { // each element has at least a byte
		return io.ErrUnexpectedEOF
	}
	if l.Type <= thrift.FALSE {
		l.Type = thrift.I8 // as an element, it has a byte
	}
	w.memory += int64(l.Size) * valueMemory
	for range l.Size {
		if err := w.value(l.Type, depth+1); err != nil || w.memory > maxFooterMemory {
			return err // with too much memory, it is refused
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
func (r *reader) header(at, end int64) (pageHeader, error) {
	const maxHeader = 1 << 20
	for size := int64(1 << 10); ; size *= 8 {
		text := make([]byte, min(size, end-at))
		if _, err := r.in.ReadAt(text, at); err != nil {
			return pageHeader{}, err
		}
		w, decoded := newWalk(text), pqformat.PageHeader{}
		err := w.value(thrift.STRUCT, 0)
		if err == nil {
			if err = thrift.Unmarshal(&compact, text[:w.BytesRead()], &decoded); err == nil {
				return newPageHeader(&decoded, w.BytesRead()), nil
			}
		} else if (err == io.EOF || err == io.ErrUnexpectedEOF) && size < min(maxHeader, end-at) {
			continue
		}
		return pageHeader{}, errors.New("the header of a page cannot be parsed")
	}
}

// newPageHeader returns what the guard needs of a header of a size.
func newPageHeader(h *pqformat.PageHeader, size int) pageHeader {
	out := pageHeader{
		kind: h.Type, size: int64(size), compressed: int64(h.CompressedPageSize), uncompressed: int64(h.UncompressedPageSize),
	}
	switch v1, v2, dictionary := h.DataPageHeader.V, h.DataPageHeaderV2.V, h.DictionaryPageHeader.V; h.Type {
	case pqformat.DataPage:
		out.values, out.encoding = int64(v1.NumValues), v1.Encoding
	case pqformat.DataPageV2:
		out.values, out.encoding = int64(v2.NumValues), v2.Encoding
		out.repetitions = int64(v2.RepetitionLevelsByteLength)
		out.levels = out.repetitions + int64(v2.DefinitionLevelsByteLength)
		out.plain = v2.IsCompressed.Valid && !v2.IsCompressed.V
	case pqformat.DictionaryPage:
		out.values, out.encoding = int64(dictionary.NumValues), dictionary.Encoding
	}
	return out
}
