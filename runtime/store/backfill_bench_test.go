package store

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/golden/cputime"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// endless is a server whose table singles has a row for each of n series, which it generates
// when they are read. It accepts and discards all mutations, and its other table has the same events
// when single rows are read, as if they had been written.
type endless struct {
	scripted
	n int
}

// rowsPerMessage is the number of rows or entries in a message of the server.
const rowsPerMessage = 500

func (s *endless) SampleRowKeys(_ *bigtablepb.SampleRowKeysRequest, stream bigtablepb.Bigtable_SampleRowKeysServer) error {
	for i := 1; i <= 10; i++ {
		if err := stream.Send(&bigtablepb.SampleRowKeysResponse{RowKey: fmt.Appendf(nil, "s%08d", s.n*i/10)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *endless) ReadRows(r *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	if !strings.HasSuffix(r.TableName, "/singles") {
		return s.written(r.Rows.RowKeys, stream)
	}
	rows := r.Rows.RowRanges[0]
	begin, end := s.index(string(rows.GetStartKeyClosed()), 0), s.index(string(rows.GetEndKeyOpen()), s.n)
	suffix := fmt.Sprintf("#%013d", at(0).UnixMilli())
	for begin < end {
		var keys [][]byte
		for range min(rowsPerMessage, end-begin) {
			keys = append(keys, fmt.Appendf(nil, "s%08d%s", begin, suffix))
			begin++
		}
		if err := s.written(keys, stream); err != nil {
			return err
		}
	}
	return nil
}

// written sends the rows with some keys.
func (s *endless) written(keys [][]byte, stream bigtablepb.Bigtable_ReadRowsServer) error {
	micros := at(0).UnixMicro()
	for part := range slices.Chunk(keys, rowsPerMessage) {
		var response bigtablepb.ReadRowsResponse
		for _, key := range part {
			response.Chunks = append(response.Chunks, &bigtablepb.ReadRowsResponse_CellChunk{
				RowKey: key, FamilyName: wrapperspb.String("f.1"), Qualifier: wrapperspb.Bytes([]byte("v.1")),
				TimestampMicros: micros, Value: binary.BigEndian.AppendUint64(nil, uint64(s.index(string(key[:9]), 0))),
				RowStatus: &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true},
			})
		}
		if err := stream.Send(&response); err != nil {
			return err
		}
	}
	return nil
}

// index returns the index of the first series at or after a key; otherwise without a key.
func (s *endless) index(key string, otherwise int) int {
	if len(key) < 9 {
		return otherwise
	}
	i, err := strconv.Atoi(key[1:9])
	if err != nil {
		return otherwise
	}
	if len(key) > 9 {
		i++ // after the row of the series
	}
	return i
}

func (s *endless) MutateRows(request *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
	response, ok := new(bigtablepb.MutateRowsResponse), status.New(codes.OK, "").Proto()
	for i := range request.Entries {
		response.Entries = append(response.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: ok})
	}
	return stream.Send(response)
}

// BenchmarkBackfill copies events with a row each to rows of buckets. It reports the CPU time per
// event, with that of the server in the same process, and the largest heap.
func BenchmarkBackfill(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000, 10_000_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			client := opened(b)(storetest.Connect(b.Context(), startServer(b, &endless{n: n})))
			source, target := singles(), days()
			target.Table.WriteOnly = true
			var heap uint64
			o := BackfillOptions{Progress: func(BackfillProgress) {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				heap = max(heap, m.HeapAlloc)
			}}
			began, spent := time.Now(), cputime.Spent()
			for b.Loop() {
				got, err := backfillOf(b.Context(), client, []*mappingOf[sample]{source, target}, o)
				if err != nil || got.Events != int64(n) || got.Changed != 0 {
					b.Fatal(got, err)
				}
			}
			events := float64(b.N) * float64(n)
			b.ReportMetric(events/time.Since(began).Seconds(), "events/s")
			b.ReportMetric(float64((cputime.Spent()-spent).Nanoseconds())/events, "cpu-ns/event")
			b.ReportMetric(float64(heap)/1e6, "heap-MB")
		})
	}
}
