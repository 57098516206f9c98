package parquet

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	pqformat "github.com/parquet-go/parquet-go/format"
)

// errLarger is the error of compressed data that are larger than stated.
var errLarger = errors.New("a page is larger than it states")

// decompressed decompresses a part of a page, of at most a given size.
func decompressed(codec pqformat.CompressionCodec, data []byte, most int64) ([]byte, error) {
	var in io.Reader
	switch codec {
	case pqformat.Uncompressed:
		return data, nil
	case pqformat.Snappy:
		if n, err := snappy.DecodedLen(data); err != nil || int64(n) > most {
			return nil, errLarger
		}
		return snappy.Decode(nil, data)
	case pqformat.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		in = r
	case pqformat.Zstd:
		r, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxPage))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		in = r
	case pqformat.Brotli:
		in = brotli.NewReader(bytes.NewReader(data))
	default: // the library fails for some files with LZ4_RAW
		return nil, fmt.Errorf("the compression %s is not supported: write the file with snappy, gzip or zstd", codec)
	}
	out, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(out)) > most {
		err = errLarger
	}
	return out, err
}
