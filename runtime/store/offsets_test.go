package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// In a row with one column per event, the first cell of a column counts. A server may
// repeat the name of the column or interleave families, and another program may have
// written columns that are not times: each is one error, and the events around it are read.
func TestOffsetsOfUnusualRows(t *testing.T) {
	l := offsetBlobs()
	offset := func(second, sequence uint32) string {
		shape := l.untyped().shape()
		return string(shape.Offset.Append(nil, at(int(second)), sequence))
	}
	value := func(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }
	type cell struct {
		family, qualifier string
		millis            int64
		value             string
	}
	key, err := rowOf(l, &sample{Series: "s0", Time: at(0)}, 0)
	must(t, err)
	row := new(bigtablepb.ReadRowsResponse)
	for _, c := range []cell{
		{"f.1", offset(1, 0), 9, value(10)},
		{"f.1", offset(1, 0), 8, value(99)}, // an older cell
		{"f.1", offset(1, 1), 9, value(11)}, // another event
		{"other", "x", 9, value(99)},
		{"f.1", offset(1, 1), 7, value(99)},
		{"f.1", "bad", 9, value(99)},
		{"f.1", "bad", 8, value(99)},
		{"other", "x", 8, value(99)},
		{"f.1", "bad", 7, value(99)},
		{"f.1", "worse", 9, value(99)},
		{"f.1", offset(2, 0), 9, value(20)},
		{"f.1", offset(2, 0), 9, value(99)},
		{"f.1", "bad", 9, value(99)},
	} {
		row.Chunks = append(row.Chunks, &bigtablepb.ReadRowsResponse_CellChunk{
			FamilyName: wrapperspb.String(c.family), Qualifier: wrapperspb.Bytes([]byte(c.qualifier)),
			TimestampMicros: at(0).UnixMicro() + c.millis*1000, Value: []byte(c.value),
		})
	}
	row.Chunks[0].RowKey = key
	row.Chunks[len(row.Chunks)-1].RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
	addr := startServer(t, &scripted{read: func(_ int, _ *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
		return stream.Send(row)
	}})
	for name, connect := range paths {
		var got []string
		for e, err := range newReaderOf(opened(t)(connect(t.Context(), addr)), l, clockAt(10)).Read(t.Context(), seriesOf(sample{Series: "s0"}), at(0), at(100)) {
			if failed, undecodable := errors.AsType[*DecodeError](err); undecodable {
				got = append(got, failed.Column)
				continue
			}
			must(t, err)
			got = append(got, fmt.Sprintf("%d/%d=%d", int(e.Time.Sub(at(0)).Seconds()), e.Sequence, e.Value))
		}
		if want := []string{"bad", "worse", "bad", "1/0=10", "1/1=11", "2/0=20"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
