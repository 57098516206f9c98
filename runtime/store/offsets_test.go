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
	cells := []unusualCell{
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
	}
	key, err := rowOf(l, &sample{Series: "s0", Time: at(0)}, 0)
	must(t, err)
	checkUnusualRow(t, l, sample{Series: "s0"}, string(key), cells, []string{"bad", "worse", "bad", "1/0=10", "1/1=11", "2/0=20"}, func(e *sample) string {
		return fmt.Sprintf("%d/%d=%d", int(e.Time.Sub(at(0)).Seconds()), e.Sequence, e.Value)
	})
}

// unusualCell is a cell of a row that is sent as it is.
type unusualCell struct {
	family, qualifier string
	millis            int64
	value             string
}

// checkUnusualRow reads a row with the cells, and compares the texts of its events and the columns of errors.
func checkUnusualRow[E any](t *testing.T, l *mappingOf[E], base E, key string, cells []unusualCell, want []string, text func(e *E) string) {
	t.Helper()
	addr := startServer(t, &scripted{read: func(_ int, _ *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
		response := new(bigtablepb.ReadRowsResponse)
		for _, c := range cells {
			response.Chunks = append(response.Chunks, &bigtablepb.ReadRowsResponse_CellChunk{
				FamilyName: wrapperspb.String(c.family), Qualifier: wrapperspb.Bytes([]byte(c.qualifier)),
				TimestampMicros: at(0).UnixMicro() + c.millis*1000, Value: []byte(c.value),
			})
		}
		response.Chunks[0].RowKey = []byte(key)
		response.Chunks[len(cells)-1].RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
		return stream.Send(response)
	}})
	for name, connect := range paths {
		client := opened(t)(connect(t.Context(), addr))
		var got []string
		for e, err := range newReaderOf(client, l, clockAt(10)).Read(t.Context(), seriesOf(base), at(0), at(100)) {
			var failed *DecodeError
			switch {
			case errors.As(err, &failed):
				got = append(got, failed.Column)
			case err != nil:
				t.Fatal(err)
			default:
				got = append(got, text(&e))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
