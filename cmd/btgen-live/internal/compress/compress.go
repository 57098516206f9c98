// Package compress measures how far the cells of a table compress. Bigtable bills compressed bytes,
// but its codec is not public, so each measurement is a range between two well-known codecs:
// Snappy, which is Google's fast one, and Zstandard, which compresses further.
package compress

import (
	"encoding/binary"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// BlockBytes is the size from which a block of cells is compressed. Blocks are compressed one by
// one, as in tables that are read at random.
const BlockBytes = 64 << 10

// Blocks compresses cells in blocks. Cells are added in the order in which they are stored.
type Blocks struct {
	block, scratch []byte
	zstd           *zstd.Encoder
	sizes          Sizes
}

// Sizes are numbers of bytes.
type Sizes struct {
	Stored       int // before compression, as estimates count them
	Zstd, Snappy int
}

// NewBlocks returns a Blocks without cells.
func NewBlocks() *Blocks {
	// At its best level, because others can be worse than zlib in small blocks.
	encoder, _ := zstd.NewWriter(nil, // no error: the options are valid
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(2*BlockBytes), zstd.WithLowerEncoderMem(true))
	return &Blocks{zstd: encoder}
}

// Add adds a cell as what estimates count: its row key, family, column name, timestamp in
// microseconds and value.
func (b *Blocks) Add(key, family, qualifier string, micros int64, value []byte) {
	b.block = append(append(append(b.block, key...), family...), qualifier...)
	b.block = append(binary.BigEndian.AppendUint64(b.block, uint64(micros)), value...)
	if len(b.block) >= BlockBytes {
		b.flush()
	}
}

// flush compresses the block.
func (b *Blocks) flush() {
	if len(b.block) == 0 {
		return
	}
	b.sizes.Stored += len(b.block)
	b.scratch = b.zstd.EncodeAll(b.block, b.scratch[:0])
	b.sizes.Zstd += len(b.scratch)
	b.scratch = s2.EncodeSnappy(b.scratch[:cap(b.scratch)], b.block)
	b.sizes.Snappy += len(b.scratch)
	b.block = b.block[:0]
}

// Sizes returns the sizes of all cells so far, of which the last block may be small.
func (b *Blocks) Sizes() Sizes {
	b.flush()
	return b.sizes
}
