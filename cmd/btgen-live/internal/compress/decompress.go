package compress

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// MagicBytes is the number of first bytes by which [Decompress] recognizes a format.
const MagicBytes = 6

// maxWindow is the maximum number of bytes that are kept for decompressing: that of zstd --long.
const maxWindow = 128 << 20

// formats are the formats that are recognized. Without a function, they are refused.
var formats = []struct {
	name, magic string
	open        func(in io.Reader) (io.Reader, error)
	instead     string
}{
	{"gzip", "\x1f\x8b", func(in io.Reader) (io.Reader, error) { return gzip.NewReader(in) }, ""},
	{"zstd", "\x28\xb5\x2f\xfd", func(in io.Reader) (io.Reader, error) {
		return zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	}, ""},
	{"xz", "\xfd7zXZ\x00", nil, "pipe it, as in xzcat FILE |"},
	{"bzip2", "BZh", nil, "pipe it, as in bzcat FILE |"},
	{"lz4", "\x04\x22\x4d\x18", nil, "pipe it, as in lz4cat FILE |"},
	{"zip", "PK\x03\x04", nil, "pipe one of its files, as in unzip -p ARCHIVE FILE |"},
	{"UTF-16", "\xff\xfe", nil, "pipe it, as in iconv -f UTF-16 -t UTF-8 FILE |"},
	{"UTF-16", "\xfe\xff", nil, "pipe it, as in iconv -f UTF-16 -t UTF-8 FILE |"},
}

// Decompress returns a reader of the text of an input in gzip or zstd, whose first bytes were read; nil if it has
// none of the known formats. It takes at most about 128 MiB of memory. The other known formats are errors.
func Decompress(begin []byte, rest io.Reader) (io.Reader, error) {
	for _, f := range formats {
		switch {
		case !bytes.HasPrefix(begin, []byte(f.magic)):
			continue
		case f.open == nil:
			return nil, fmt.Errorf("the input is %s, which is not read: %s", f.name, f.instead)
		}
		in, err := f.open(io.MultiReader(bytes.NewReader(begin), rest))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		return &decompressor{in, f.name}, nil
	}
	return nil, nil
}

// decompressor names the format in errors.
type decompressor struct {
	in   io.Reader
	name string
}

// Read implements [io.Reader].
func (d *decompressor) Read(b []byte) (int, error) {
	n, err := d.in.Read(b)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%s: %w: the compressed input is damaged, or needs more than %d MiB of memory", d.name, err, maxWindow>>20)
	}
	return n, err
}
