package main_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/compress"
	"github.com/btgen-dev/btgen/golden/assert"
)

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
		if r, err = open(in[:len(in)-5]); err != nil {
			t.Fatal(name, err)
		}
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
