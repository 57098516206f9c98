package wire

import (
	"strings"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

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
				if err != nil {
					t.Fatal(err)
				}
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
	if err := d.decode(data, new(bigtablepb.ReadRowsResponse)); err != errTooLarge {
		t.Error(err)
	}
}
