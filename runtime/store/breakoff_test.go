package store

import (
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// chunked is a server that returns the reads of another one chunk by chunk.
type chunked struct {
	warmServer
	to       bigtablepb.BigtableClient
	mu       sync.Mutex
	requests int                       // so far
	sends    func(request, chunks int) // is called before a chunk is sent, with the numbers of those before it
}

// inChunks returns a client of a chunked server.
func inChunks(t *testing.T, s *storetest.Bigtable) (*bigtable.Client, *chunked) {
	t.Helper()
	conn, err := grpc.NewClient(s.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	c := &chunked{to: bigtablepb.NewBigtableClient(conn)}
	return opened(t)(storetest.Connect(t.Context(), startServer(t, c))), c
}

func (s *chunked) ReadRows(request *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	if err := emptyRange(request.GetRows()); err != nil {
		return err
	}
	s.mu.Lock()
	n := s.requests
	s.requests++
	s.mu.Unlock()
	header, _ := metadata.FromIncomingContext(stream.Context()) // which features the client has
	from, err := s.to.ReadRows(metadata.NewOutgoingContext(stream.Context(), header), request)
	for sent := 0; err == nil; {
		var response *bigtablepb.ReadRowsResponse
		response, err = from.Recv()
		for _, c := range response.GetChunks() {
			s.sends(n, sent)
			one := &bigtablepb.ReadRowsResponse{Chunks: []*bigtablepb.ReadRowsResponse_CellChunk{c}}
			if err := stream.Send(one); err != nil {
				return err
			}
			sent++
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// emptyRange rejects a request with an empty range, like Bigtable and unlike the in-memory server.
func emptyRange(rows *bigtablepb.RowSet) error {
	for i, r := range rows.GetRowRanges() {
		start, end := string(r.GetStartKeyClosed()), string(r.GetEndKeyOpen())
		if open := r.GetStartKeyOpen(); open != nil {
			start = string(open) + "\x00"
		}
		if closed := r.GetEndKeyClosed(); closed != nil {
			end = string(closed) + "\x00"
		}
		if end != "" && start >= end {
			return status.Errorf(codes.InvalidArgument, "Error in field 'row_ranges' : Error in element #%d : start_key must be less than end_key", i)
		}
	}
	return nil
}

// unsorted changes the labels to days that do not sort, starting with day 8.
func unsorted(l *mappingOf[sample]) *mappingOf[sample] {
	l.Table.ID += "_numbered"
	l.Key.Bucket.Label = codec.Label{Kind: codec.NumberLabel, Prefix: "day"}
	l.Key.Bucket.Origin = day0.AddDate(0, 0, -7)
	key := func(e *sample, column int) []byte {
		text, _ := l.Key.Append(nil, &codec.KeyValues{Series: []any{&e.Series}, Metric: &l.Columns[column].Name, At: &e.Time})
		return text
	}
	l.Put = func(e *sample, c *eventCells) {
		c.Row(key(e, 0), nil)
		c.Set(0, codec.Binary.Uint64.Append(nil, e.Value))
		if l.Pattern == codec.BucketNewColumns {
			c.Row(key(e, 1), nil)
		}
		c.Set(1, e.Note)
	}
	l.Set = func(e *sample, column int, datum []byte) (err error) {
		if column == 0 {
			e.Value, err = codec.Binary.Uint64.Decode(datum)
			return err
		}
		e.Note = slices.Clone(datum)
		return nil
	}
	return l
}
