package wire

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/golden/assert"
)

// hostile are responses of a few megabytes, made of chunks that take much more memory than
// bytes on the wire. each is repeated after first, until the response has the given size; the
// %d-th has the number in its key or name.
var hostile = map[string]struct {
	first *bigtablepb.ReadRowsResponse_CellChunk
	each  func(i int) []byte // encoded chunks
}{
	"empty chunks":           {aCell, func(int) []byte { return nil }},
	"cells with a time only": {aCell, func(i int) []byte { return protowire.AppendVarint([]byte{tagTimestamp}, uint64(i%100)) }},
	"tiny cells":             {aCell, func(i int) []byte { return []byte{tagTimestamp, byte(i % 100), tagValue, 1, 'x'} }},
	"tiny columns": {aCell, func(i int) []byte {
		return encoded(&bigtablepb.ReadRowsResponse_CellChunk{Qualifier: wrapperspb.Bytes([]byte{byte(i), byte(i >> 8)}), TimestampMicros: 1000})
	}},
	"another family, repeatedly": {aCell, func(i int) []byte {
		return encoded(&bigtablepb.ReadRowsResponse_CellChunk{FamilyName: wrapperspb.String(string(rune('a' + i%2))), Qualifier: wrapperspb.Bytes(nil)})
	}},
	"labels": {aCell, func(int) []byte { return bytes.Repeat([]byte{5<<3 | 2, 0}, 100) }},
	"empty rows": {nil, func(i int) []byte {
		return encoded(&bigtablepb.ReadRowsResponse_CellChunk{RowKey: fmt.Appendf(nil, "%08d", i), FamilyName: wrapperspb.String(""), Qualifier: wrapperspb.Bytes(nil), RowStatus: committed})
	}},
	"pieces without contents": {aCell, func(i int) []byte { return encoded(&bigtablepb.ReadRowsResponse_CellChunk{ValueSize: 1}) }},
	"invalid at the end":      {aCell, func(i int) []byte { return []byte{tagTimestamp, 1, 0xff}[:2+i/3e5] }},
}

var aCell = &bigtablepb.ReadRowsResponse_CellChunk{RowKey: []byte("a"), FamilyName: wrapperspb.String("f"), Qualifier: wrapperspb.Bytes([]byte("q")), TimestampMicros: 1000}

func encoded(c *bigtablepb.ReadRowsResponse_CellChunk) []byte {
	b, err := proto.Marshal(c)
	if err != nil {
		panic(err)
	}
	return b
}

// What a response takes in memory is limited, whatever it consists of, also over several
// responses that continue a row.
func TestHeldIsLimited(t *testing.T) {
	const size, most = 512 << 10, 1 << 20
	for name, h := range hostile {
		for _, single := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/single=%v", name, single), func(t *testing.T) {
				d := &decoder{sink: new(Sink), most: most, single: single}
				highest := uint64(0)
				var err error
				n := 0
				for response := 0; response < 10 && err == nil; response++ {
					var message []byte
					if h.first != nil && response == 0 {
						message = protowire.AppendBytes(protowire.AppendTag(message, fieldChunks, protowire.BytesType), encoded(h.first))
					}
					for ; len(message) < size; n++ {
						message = protowire.AppendBytes(protowire.AppendTag(message, fieldChunks, protowire.BytesType), h.each(n))
					}
					own := allocated()
					err = d.decode(mem.BufferSlice{mem.SliceBuffer(message)}, new(bigtablepb.ReadRowsResponse))
					if now := allocated(); now > own {
						highest = max(highest, now-own)
					}
				}
				var tooLarge *TooLargeError
				if errors.As(err, &tooLarge) && d.sink.Refused() == nil {
					t.Error("the sink does not know")
				}
				held := 0
				if d.rows != nil {
					held = cap(d.rows.memory) + 16*cap(d.rows.cells) + 24*cap(d.rows.columns) + 16*cap(d.rows.rows)
				}
				if held > 2*most {
					t.Errorf("%d bytes are held, error %v", held, err)
				}
				if highest > 6*most { // with what slices leave behind as they grow
					t.Errorf("a response took %d bytes, error %v", highest, err)
				}
			})
		}
	}
}

// allocated returns how many bytes were ever allocated.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// The largest row that Bigtable stores, in the smallest cells, is read.
func TestLargestRowIsHeld(t *testing.T) {
	perCell := 2 + 1 + 8 + 2 + 1 + 2 + 4 // tag and length of the chunk, time, value, name of a column
	if cells := maxRow / perCell; maxRow+cells*(16+24) > maxHeld {
		t.Errorf("%d cells take %d bytes", cells, maxRow+cells*(16+24))
	}
}

// A response of MutateRows with more results than entries is refused.
func TestAnswersAreLimited(t *testing.T) {
	message := bytes.Repeat([]byte{fieldAnswers<<3 | 2, 0}, 1<<20)
	before := allocated()
	_, _, err := decodeAnswers(nil, message, 100)
	var tooLarge *TooLargeError
	if took := allocated() - before; !errors.As(err, &tooLarge) || took > 1<<20 {
		t.Errorf("%d bytes, error %v", took, err)
	}
}

// TestMemoryOfOneRow reads responses that continue one row and checks that the decoder
// retains only what the row needs.
func TestMemoryOfOneRow(t *testing.T) {
	type chunk = bigtablepb.ReadRowsResponse_CellChunk
	text := strings.Repeat("x", 1000)
	start := &chunk{
		RowKey: []byte("a"), FamilyName: wrapperspb.String("f"), Qualifier: wrapperspb.Bytes([]byte("q")),
		TimestampMicros: 1, Value: []byte(text),
	}
	piece := proto.CloneOf(start)
	piece.ValueSize = 1 << 20
	reset := &chunk{RowStatus: &bigtablepb.ReadRowsResponse_CellChunk_ResetRow{ResetRow: true}}
	for name, c := range map[string]struct {
		first, next []*chunk
		most        int
	}{
		"a row that begins again and again": {[]*chunk{start}, []*chunk{reset, start}, 4 * len(text)},
		"and within a value":                {[]*chunk{piece}, []*chunk{reset, piece}, 4 * len(text)},
		"a value in pieces":                 {[]*chunk{piece}, []*chunk{{Value: []byte(text), ValueSize: 1 << 20}}, 4 * len(text)},
		"nothing at all":                    {[]*chunk{start, reset}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := &decoder{sink: new(Sink)}
			decode := func(chunks []*chunk) {
				message, err := proto.Marshal(&bigtablepb.ReadRowsResponse{Chunks: chunks, LastScannedRowKey: []byte("0")})
				assert.Must(t, err)
				if err := d.decode(mem.BufferSlice{mem.SliceBuffer(message)}, new(bigtablepb.ReadRowsResponse)); err != nil || len(d.response) > 0 {
					t.Fatal(d.response, err)
				}
			}
			decode(c.first)
			for range 100 {
				decode(c.next)
			}
			if held := len(d.rows.memory); held > c.most {
				t.Errorf("%d bytes are held", held)
			}
		})
	}
}

// TestTooLargeResponses stops at responses larger than any that Bigtable sends.
func TestTooLargeResponses(t *testing.T) {
	data := make(mem.BufferSlice, maxMemory>>20+1)
	piece := mem.SliceBuffer(make([]byte, 1<<20))
	for i := range data {
		data[i] = piece
	}
	d := &decoder{sink: new(Sink)}
	assert.Is(t, errTooLarge, d.decode(data, new(bigtablepb.ReadRowsResponse)))
}
