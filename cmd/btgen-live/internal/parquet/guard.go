package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	pqformat "github.com/parquet-go/parquet-go/format"

	"github.com/btgen-dev/btgen/gen/words"
)

// A file of a few kilobytes can describe gigabytes: sizes and counts in it are numbers that
// anybody can write, and compressed or repeated data grow without limit. The library trusts them.
// The guard therefore checks the footer before the library decodes it, and all pages of a row
// group before the library reads them: that they are within the file, have the sizes that they
// state, and describe no more values than they state.

// The limits of a file. They are far above what programs write.
const (
	maxFooter       = 64 << 20  // bytes
	maxFooterMemory = 256 << 20 // bytes after decoding, about
	maxPage         = 128 << 20 // bytes of a page, compressed or not
	maxGroup        = 512 << 20 // bytes of the pages that are in memory at a time: one of each column
)

// LimitError is the error for a file that takes too much memory.
type LimitError struct {
	What string // the part of the file
	Size int64  // bytes
	Most int64  // bytes
}

// Error names the part, and says what to do.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s would take %s of memory, and at most %s are read: write the file again with smaller row groups and pages",
		e.What, words.Size(float64(e.Size)), words.Size(float64(e.Most)))
}

// damaged returns the error of a file that contradicts itself.
func damaged(format string, args ...any) error {
	return fmt.Errorf("the file is damaged: "+format, args...)
}

// checkFooter checks the footer of a file.
func checkFooter(in io.ReaderAt, size int64) error {
	const ends = 12 // bytes: "PAR1" at both ends, and the size of the footer
	var end [8]byte
	if size < ends {
		return fmt.Errorf("the file has %d bytes, and is no Parquet file", size)
	}
	if _, err := in.ReadAt(end[:], size-int64(len(end))); err != nil {
		return err
	}
	if string(end[4:]) != "PAR1" {
		return errors.New(`the file does not end with "PAR1": it is no Parquet file, or incomplete`)
	}
	footer := int64(binary.LittleEndian.Uint32(end[:]))
	switch {
	case footer > size-ends:
		return damaged("its footer would have %d bytes, and the file has %d", footer, size)
	case footer > maxFooter:
		return &LimitError{"the footer", footer, maxFooter}
	}
	text := make([]byte, footer)
	if _, err := in.ReadAt(text, size-int64(len(end))-footer); err != nil {
		return err
	}
	w := newWalk(text)
	if err := w.value(thrift.STRUCT, 0); err != nil {
		return damaged("its footer: %v", err)
	}
	if w.memory > maxFooterMemory {
		return &LimitError{"the footer", w.memory, maxFooterMemory}
	}
	return nil
}

// check checks the pages of a row group.
func (r *reader) check(group int) error {
	columns := r.file.Metadata().RowGroups[group].Columns
	if len(columns) != len(r.sources) {
		return damaged("row group %d has %d columns, and the schema %d", group+1, len(columns), len(r.sources))
	}
	total := int64(0)
	for i := range columns {
		bytes, err := r.chunk(&columns[i].MetaData, &r.sources[i].leaf)
		if _, ok := errors.AsType[*LimitError](err); err != nil && !ok {
			return damaged("column %s of row group %d: %v", leafName(&r.sources[i].leaf), group+1, err)
		} else if err != nil {
			return err
		}
		if total += bytes; total > maxGroup {
			return &LimitError{fmt.Sprintf("a page of each column of row group %d", group+1), total, maxGroup}
		}
	}
	return nil
}

// leafName returns the name of a column in errors.
func leafName(leaf *pq.LeafColumn) string { return words.Printable(leaf.Path[len(leaf.Path)-1]) }

// chunk checks the pages of a column, and returns how much memory a page and the dictionary take.
func (r *reader) chunk(meta *pqformat.ColumnMetaData, leaf *pq.LeafColumn) (int64, error) {
	at := meta.DataPageOffset
	if meta.DictionaryPageOffset != 0 {
		at = meta.DictionaryPageOffset
	}
	end := at + meta.TotalCompressedSize
	if at < 0 || meta.TotalCompressedSize < 0 || end < at || end > r.size {
		return 0, errors.New("it is outside of the file")
	}
	dictionary, largest := int64(0), int64(0)
	for at < end {
		h, err := r.header(at, end)
		if err != nil {
			return 0, err
		}
		bytes := int64(h.uncompressed)*2 + h.values*16 // decoded, with levels and indexes
		switch {
		case min(h.compressed, h.uncompressed, h.values, h.levels, h.repetitions) < 0 || h.repetitions > h.levels,
			h.levels > min(h.compressed, h.uncompressed), at+h.size+h.compressed > end:
			return 0, errors.New("a page has impossible sizes")
		case max(h.compressed, h.uncompressed) > maxPage:
			return 0, &LimitError{"a page of column " + leafName(leaf), max(h.compressed, h.uncompressed), maxPage}
		case bytes > maxGroup:
			return 0, &LimitError{"a page of column " + leafName(leaf), bytes, maxGroup}
		}
		if err := r.page(h, meta.Codec, at+h.size, leaf); err != nil {
			return 0, err
		}
		if h.kind == pqformat.DictionaryPage {
			dictionary = max(dictionary, bytes)
		} else {
			largest = max(largest, bytes)
		}
		at += h.size + h.compressed
	}
	return dictionary + largest, nil
}

// page checks the content of a page: levels of repetition and of definition, which are compressed in version 1, and
// values.
func (r *reader) page(h pageHeader, codec pqformat.CompressionCodec, at int64, leaf *pq.LeafColumn) (err error) {
	stored := make([]byte, h.compressed)
	if _, err := r.in.ReadAt(stored, at); err != nil {
		return err
	}
	data := stored[h.levels:]
	if !h.plain {
		if data, err = decompressed(codec, data, h.uncompressed-h.levels); err != nil {
			return err
		}
	}
	levels := [2][]byte{stored[:h.repetitions], stored[h.repetitions:h.levels]}
	for i, most := range [2]int{leaf.MaxRepetitionLevel, leaf.MaxDefinitionLevel} {
		if h.kind == pqformat.DataPage && most > 0 {
			if levels[i], data, err = prefixed(data); err != nil {
				return err
			}
		}
		if err := h.runs(levels[i], bits.Len(uint(most))); err != nil {
			return err
		}
	}
	if h.kind == pqformat.DictionaryPage {
		return nil
	}
	return h.content(data)
}

// prefixed returns the part of data whose size precedes it, and the rest.
func prefixed(data []byte) (part, rest []byte, err error) {
	if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
		return nil, nil, errors.New("a part of a page is larger than the page")
	}
	n := binary.LittleEndian.Uint32(data)
	return data[4 : 4+n], data[4+n:], nil
}

// content checks that encoded values are not more than the page states.
func (h *pageHeader) content(data []byte) error {
	switch h.encoding {
	case pqformat.Plain, pqformat.ByteStreamSplit:
		return nil // each value has its bytes
	//lint:ignore SA1019 other writers still use the deprecated encoding
	case pqformat.PlainDictionary, pqformat.RLEDictionary:
		if len(data) == 0 {
			return nil
		}
		if data[0] > 32 {
			return errors.New("indexes of a dictionary have more than 32 bits")
		}
		return h.runs(data[1:], int(data[0]))
	case pqformat.RLE:
		levels, _, err := prefixed(data)
		if err != nil {
			return err
		}
		return h.runs(levels, 1)
	case pqformat.DeltaBinaryPacked, pqformat.DeltaLengthByteArray:
		return h.deltas(data)
	}
	return fmt.Errorf("the encoding %s is not supported: write the file with plain values or dictionaries", h.encoding)
}

// slack is the number of values by which the last run may exceed those of a page.
const slack = 1 << 16

// runs checks the number of values in a mixture of run lengths and packed bits.
func (h *pageHeader) runs(data []byte, width int) error {
	values := int64(0)
	for len(data) > 0 {
		u, n := binary.Uvarint(data)
		if n <= 0 || u>>1 > maxPage {
			return errors.New("a run has an impossible length")
		}
		count, size := int64(u>>1), (width+7)/8
		if u&1 != 0 {
			size = int(count) * width
			count *= 8
		}
		if values += count; values > h.values+slack {
			return fmt.Errorf("a page states %d values, and has more", h.values)
		}
		data = data[min(len(data), n+size):]
	}
	return nil
}

// deltas checks the header of values that are stored as differences.
func (h *pageHeader) deltas(data []byte) error {
	const maxBlock = 1 << 16 // values
	if len(data) == 0 {
		return nil
	}
	var numbers [3]uint64 // values of a block, parts of a block, values
	for i := range numbers {
		u, n := binary.Uvarint(data)
		if n <= 0 {
			return errors.New("a page has no header")
		}
		numbers[i], data = u, data[n:]
	}
	switch {
	case numbers[0] > maxBlock || numbers[1] > maxBlock:
		return errors.New("a block of a page is too large")
	case numbers[2] > uint64(h.values):
		return fmt.Errorf("a page states %d values, and has more", h.values)
	}
	return nil
}
