package format_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/golden/testlong"
)

const schemaText = `btgen: v1
package: app
name: Event
series: {host: string}
fields: {text: {type: string, optional: true}, number: {type: int64, optional: true}, small: {type: int32, optional: true}, flag: {type: bool, optional: true}}
tables:
  events: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}, bucket: 1h, family: m,
    ttl: {max_age: 30d}}
`

// fileOf returns a file of n events, whose texts have a given size, with a compression and an
// encoding of texts and numbers.
func fileOf(t testing.TB, codec compress.Codec, texts, numbers encoding.Encoding, version, n, size int) []byte {
	t.Helper()
	optional := func(node pq.Node, as encoding.Encoding) pq.Node { return pq.Optional(pq.Encoded(node, as)) }
	schema := pq.NewSchema("Event", pq.Group{
		"host": pq.Encoded(pq.String(), texts), "time": pq.Timestamp(pq.Nanosecond), "text": optional(pq.String(), texts),
		"number": optional(pq.Int(64), numbers), "small": optional(pq.Int(32), numbers), "flag": pq.Optional(pq.Leaf(pq.BooleanType)),
	})
	var out bytes.Buffer
	w := pq.NewGenericWriter[any](&out, schema, pq.Compression(codec), pq.DataPageVersion(version), pq.SkipPageBounds("text")) // which would repeat a large text in the footer
	text := strings.Repeat("x", size)
	for i := range n {
		row := pq.Row{
			pq.BooleanValue(true).Level(0, 1, 0), pq.ByteArrayValue([]byte("host")).Level(0, 0, 1), pq.Int64Value(int64(i)).Level(0, 1, 2),
			pq.Int32Value(int32(i)).Level(0, 1, 3), pq.ByteArrayValue([]byte(text)).Level(0, 1, 4), pq.Int64Value(time.Unix(int64(i), 0).UnixNano()).Level(0, 0, 5),
		}
		_, err := w.WriteRows([]pq.Row{row})
		assert.Must(t, err)
	}
	assert.Must(t, w.Close())
	return out.Bytes()
}

// read reads a file, and returns the number of its events, and the bytes that were allocated.
func read(t testing.TB, l *layout.Layout, content []byte) (events int, allocated uint64, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.parquet")
	assert.Must(t, os.WriteFile(path, content, 0o600))
	file, err := os.Open(path)
	assert.Must(t, err)
	defer file.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := format.Find("parquet").Read(file, l, format.ReaderOptions{IgnoreUnknown: true})
	for err == nil {
		var e dynamic.Event
		e, _, err = r.Next()
		if _, ok := errors.AsType[*format.InputError](err); ok {
			err = nil
		}
		if number, ok := append(e.Values, nil, nil)[1].(int64); ok && number != int64(events) {
			err = fmt.Errorf("event %d is that of number %d", events, number)
		}
		if events++; len(e.Series) > 1 || events > 1e6 {
			err = errors.New("too many events")
		}
	}
	if err == io.EOF {
		events, err = events-1, nil
	}
	runtime.ReadMemStats(&after)
	return events, after.TotalAlloc - before.TotalAlloc, err
}

// codecs are those that files may have.
var codecs = map[string]compress.Codec{"none": &pq.Uncompressed, "snappy": &pq.Snappy, "gzip": &pq.Gzip, "zstd": &pq.Zstd, "brotli": &pq.Brotli}

// eachFile calls f with files of all compressions, encodings and versions of pages.
func eachFile(t *testing.T, events, size int, f func(name string, file []byte)) {
	for name, codec := range testlong.SampleMap(codecs, 3) {
		for version := 1; version <= 2; version++ {
			for _, as := range []struct{ texts, numbers encoding.Encoding }{
				{&pq.Plain, &pq.Plain}, {&pq.RLEDictionary, &pq.RLEDictionary}, {&pq.DeltaLengthByteArray, &pq.DeltaBinaryPacked}, {&pq.DeltaByteArray, &pq.Plain},
			} {
				f(fmt.Sprintf("%s, version %d, %s", name, version, as.texts), fileOf(t, codec, as.texts, as.numbers, version, events, size))
			}
		}
	}
}

// Files of all compressions and encodings are read, but for a compression that is refused by name.
func TestFilesOfOthers(t *testing.T) {
	l := dynamictest.Resolve(t, []byte(schemaText))
	_, _, err := read(t, l, fileOf(t, &pq.Lz4Raw, &pq.Plain, &pq.Plain, 2, 10, 10))
	assert.Contains(t, "the compression LZ4_RAW is not supported: write the file with snappy, gzip or zstd", fmt.Sprint(err))
	eachFile(t, 5000, 20, func(name string, file []byte) {
		if n, _, err := read(t, l, file); n != 5000 || err != nil {
			t.Errorf("%s: %d events, %v", name, n, err)
		}
	})
}

// limitGarbage has garbage collected more often near half a gigabyte, however little live memory there
// is, until the end of a test that reads many files, each of which may take much memory.
func limitGarbage(t *testing.T) {
	before := debug.SetMemoryLimit(512 << 20)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
}

// Whatever is changed in a file, reading it takes a bounded part of the memory, and never panics:
// sizes and counts that lie, in footers, headers of pages, lengths of runs and compressed data.
func TestForgedFiles(t *testing.T) {
	const most = 1 << 30 // bytes in all, of a file that takes 30 MB
	l := dynamictest.Resolve(t, []byte(schemaText))
	random := rand.New(rand.NewPCG(1, 2))
	limitGarbage(t)
	eachFile(t, 300, 30, func(name string, file []byte) {
		for range testlong.Pick(4, 100) {
			forged := bytes.Clone(file)
			for range random.IntN(3) + 1 {
				at := random.IntN(len(forged))
				if random.IntN(2) == 0 {
					at = len(forged) - 1 - random.IntN(min(len(forged), 700)) // the footer
				}
				switch random.IntN(4) {
				case 0:
					forged[at] = byte(random.IntN(256))
				case 1: // a large number
					n := binary.PutUvarint(make([]byte, 10), 1)
					large := binary.AppendUvarint(nil, uint64(1)<<(20+random.IntN(43)))
					forged = append(append(bytes.Clone(forged[:at]), large...), forged[min(len(forged), at+n*random.IntN(4)):]...)
				case 2:
					copy(forged[at:], []byte{0xff, 0xff, 0xff, 0xff, 0x07})
				case 3:
					forged = append(bytes.Clone(forged[:at]), forged[min(len(forged), at+1):]...)
				}
			}
			if len(forged) > 12 && random.IntN(2) == 0 { // keep the end, which has the size of the footer
				forged = append(forged[:len(forged)-8], file[len(file)-8:]...)
			}
			if n, allocated, err := read(t, l, forged); allocated > most || err == nil && n != 300 {
				t.Errorf("%s: a file of %d bytes takes %d MB, and has %d events", name, len(forged), allocated>>20, n)
			}
		}
	})
}

// A file that describes much more than it contains is refused.
func TestBombs(t *testing.T) {
	const most = 1 << 30 // bytes in all
	limitGarbage(t)
	l := dynamictest.Resolve(t, []byte(schemaText))
	footer := func(size uint32) []byte {
		return binary.LittleEndian.AppendUint32([]byte("PAR1 a footer that is much shorter "), size)
	}
	files := map[string][]byte{
		"a footer of 4 GB": append(footer(1<<32-1), "PAR1"...), "a footer of 2 GB": append(footer(1<<31), "PAR1"...), "no end": []byte("PAR1 and no more"), "nothing": nil,
		// A list of 2^28 structs, each of which has a byte.
		"a list": append(append(append([]byte("PAR1\x29\xfc\xff\xff\xff\x3f"), make([]byte, 1<<20)...), footer(1<<20 + 6)[len("PAR1 a footer that is much shorter "):]...), "PAR1"...),
	}
	for name, file := range files {
		if n, allocated, err := read(t, l, file); err == nil || allocated > most {
			t.Errorf("%s, %d bytes: %d events, %d MB, %v", name, len(file), n, allocated>>20, err)
		} else {
			t.Logf("%s, %d bytes: %d MB, %v", name, len(file), allocated>>20, err)
		}
	}
}
