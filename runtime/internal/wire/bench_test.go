package wire

import (
	"encoding/binary"
	"fmt"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// BenchmarkDecode measures the cost of decoding a cell in responses of every form.
func BenchmarkDecode(b *testing.B) {
	type chunk = bigtablepb.ReadRowsResponse_CellChunk
	commit := &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
	const cells = 4000
	forms := map[string]func(i int, c *chunk){
		"plain": func(i int, c *chunk) {},
		"columns": func(i int, c *chunk) {
			c.Qualifier = wrapperspb.Bytes(binary.BigEndian.AppendUint16(nil, uint16(i)))
		},
		"rows": func(i int, c *chunk) {
			c.Qualifier = wrapperspb.Bytes(fmt.Append(nil, "column", i%4))
			if i%4 == 0 {
				c.RowKey, c.FamilyName = fmt.Appendf(nil, "us-west2#3698#2021-03-01-%06d", i), wrapperspb.String("measurements")
			}
			if i%4 == 3 {
				c.RowStatus = commit
			}
		},
		"names": func(i int, c *chunk) {
			if c.Value = nil; i%16 == 0 {
				c.Qualifier = wrapperspb.Bytes(fmt.Append(nil, i))
			}
		},
		"events": func(i int, c *chunk) {
			c.RowKey, c.FamilyName = fmt.Appendf(nil, "us-west2#3698#2021-03-01-%06d", i), wrapperspb.String("measurements")
			c.Qualifier, c.RowStatus = wrapperspb.Bytes([]byte("blob")), commit
		},
	}
	for _, name := range []string{"plain", "columns", "names", "rows", "events"} {
		b.Run(name, func(b *testing.B) {
			response := new(bigtablepb.ReadRowsResponse)
			for i := range cells {
				c := &chunk{TimestampMicros: 1_600_000_000_000_000 - int64(i)*60_000_000, Value: []byte("12345678")}
				forms[name](i, c)
				response.Chunks = append(response.Chunks, c)
			}
			first, last := response.Chunks[0], response.Chunks[cells-1]
			first.RowKey, first.FamilyName = []byte("a"), wrapperspb.String("measurements")
			if first.Qualifier == nil {
				first.Qualifier = wrapperspb.Bytes(nil)
			}
			last.RowStatus = commit
			message, err := proto.Marshal(response)
			if err != nil {
				b.Fatal(err)
			}
			var into bigtablepb.ReadRowsResponse
			for b.Loop() {
				d := decoders.Get().(*decoder)
				d.sink = new(Sink)
				if err := d.decode(mem.BufferSlice{mem.SliceBuffer(message)}, &into); err != nil {
					b.Fatal(err)
				}
				rows, ok := d.sink.take(0)
				if !ok {
					b.Fatal("no rows")
				}
				rows.of.release()
				d.release()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/cells, "ns/cell")
			b.ReportMetric(0, "ns/op")
		})
	}
}
