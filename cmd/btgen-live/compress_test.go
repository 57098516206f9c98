package main_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/compress"
	"github.com/btgen-dev/btgen/golden/assert"
)

// The tests of package compress stand here: a test program of their own would link the client.

// TestBlocks checks that blocks are compressed one by one, and count what estimates count.
func TestBlocks(t *testing.T) {
	equal := compress.NewBlocks()
	const cells, cell = 10_000, len("key") + len("f") + len("column") + 8 + len("value")
	for range cells {
		equal.Add("key", "f", "column", 1000, []byte("value"))
	}
	s := equal.Sizes()
	blocks := math.Ceil(float64(cells*cell) / compress.BlockBytes)
	if s.Stored != cells*cell || float64(s.Zstd) < 10*blocks || s.Zstd >= s.Snappy || s.Snappy > s.Stored/15 {
		t.Errorf("equal cells in %v blocks: %+v", blocks, s)
	}
	random := compress.NewBlocks()
	source := rand.NewChaCha8([32]byte{})
	for range 100 {
		value := make([]byte, 10_000)
		_, _ = source.Read(value)
		random.Add("", "", "", 0, value)
	}
	if s := random.Sizes(); s.Stored != 100*10_008 || s.Zstd < 100*10_000 || s.Snappy < 100*10_000 || s.Snappy > s.Stored+s.Stored/100 {
		t.Errorf("random cells: %+v", s)
	}
	if s := compress.NewBlocks().Sizes(); s != (compress.Sizes{}) {
		t.Errorf("no cells: %+v", s)
	}
}

// TestApart checks that what repeats only beyond a block is not found: rows that are far apart do
// not compress each other.
func TestApart(t *testing.T) {
	source := rand.NewChaCha8([32]byte{1})
	value := make([]byte, compress.BlockBytes)
	_, _ = source.Read(value)
	b := compress.NewBlocks()
	for i := range 4 {
		b.Add(fmt.Sprint(i), "", "", 0, value)
	}
	if s := b.Sizes(); s.Zstd < 4*len(value) {
		t.Errorf("%+v", s)
	}
}

// compressed returns a text in gzip, in several members, and in zstd.
func compressed(t *testing.T, text string, options ...zstd.EOption) map[string][]byte {
	t.Helper()
	var gz, zst bytes.Buffer
	for _, part := range []string{text[:len(text)/2], text[len(text)/2:]} {
		w := gzip.NewWriter(&gz)
		_, err := io.WriteString(w, part)
		assert.Must(t, err)
		assert.Must(t, w.Close())
	}
	w, err := zstd.NewWriter(&zst, options...)
	assert.Must(t, err)
	_, err = io.WriteString(w, text)
	assert.Must(t, err)
	assert.Must(t, w.Close())
	return map[string][]byte{"gzip": gz.Bytes(), "zstd": zst.Bytes()}
}

// open decompresses an input as commands do.
func open(in []byte) (io.Reader, error) {
	begin := min(len(in), compress.MagicBytes)
	return compress.Decompress(in[:begin], iotest.OneByteReader(bytes.NewReader(in[begin:])))
}

// TestDecompress reads inputs whose content says how they are compressed. The class of fault: a name decides
// what a file is, and its content is not asked.
func TestDecompress(t *testing.T) {
	text := strings.Repeat("cpu,host=a v=1 1772366400000000000\n", 1000)
	for name, in := range compressed(t, text) {
		r, err := open(in)
		assert.Must(t, err, name)
		if got, err := io.ReadAll(r); string(got) != text || err != nil {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		r, err = open(in[:len(in)-5])
		assert.Must(t, err, name)
		if _, err := io.ReadAll(r); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s, cut off: %v", name, err)
		}
	}
	for _, in := range []string{"", "c", "cpu v=1", "{\"a\":1}"} {
		if r, err := open([]byte(in)); r != nil || err != nil {
			t.Errorf("%q: %v, %v", in, r, err)
		}
	}
}

// TestRefusedCompressions names what is not read, and what to do, also for data that need much memory.
func TestRefusedCompressions(t *testing.T) {
	for in, want := range map[string]string{
		"\xfd7zXZ\x00…": "xzcat FILE |", "BZh91AY&SY": "bzcat FILE |", "\x04\x22\x4d\x18…": "lz4cat FILE |", "PK\x03\x04…": "unzip -p ARCHIVE FILE |",
		"\xff\xfeh\x00": "iconv", "\xfe\xff\x00h": "iconv",
	} {
		if _, err := open([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
	large := compressed(t, strings.Repeat("x", 1<<20), zstd.WithWindowSize(256<<20), zstd.WithSingleSegment(false))["zstd"]
	r, err := open(large)
	if err == nil {
		_, err = io.ReadAll(r)
	}
	assert.Contains(t, "more than 128 MiB of memory", err)
}
