package store

import (
	"context"
	"errors"
	"fmt"
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

// breaking forwards requests and returns reads chunk by chunk. The stream of one request per read breaks off.
type breaking struct {
	warmServer
	to    bigtablepb.BigtableClient
	mu    sync.Mutex
	reads map[string]*brokenRead // by name, from the header
	// sends is called before the server sends the given chunk of a request; may be nil.
	sends func(request, chunks int)
}

// brokenRead records the requests of a read.
type brokenRead struct {
	request, after int   // the request that breaks off, and after how many chunks, at the latest at its end
	chunks         []int // number sent per request
}

const readHeader = "test-read"

// breaksOff returns a client of a server that breaks off the streams of reads.
func breaksOff(t *testing.T, s *storetest.Bigtable) (*bigtable.Client, *breaking) {
	t.Helper()
	conn, err := grpc.NewClient(s.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	b := &breaking{to: bigtablepb.NewBigtableClient(conn), reads: map[string]*brokenRead{}}
	client := opened(t)(storetest.Connect(t.Context(), startServer(t, b)))
	return client, b
}

// named returns a context that identifies a read, and its record.
func (b *breaking) named(ctx context.Context, request, after int) (context.Context, *brokenRead) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name, read := fmt.Sprint(len(b.reads)), &brokenRead{request: request, after: after}
	b.reads[name] = read
	return metadata.AppendToOutgoingContext(ctx, readHeader, name), read
}

// requests returns the number of chunks of each request of a read.
func (b *breaking) requests(read *brokenRead) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(read.chunks)
}

// errBroken is an error after which the client resumes.
var errBroken = status.Error(codes.Unavailable, "broken off")

func (b *breaking) ReadRows(request *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	if err := emptyRange(request.GetRows()); err != nil {
		return err
	}
	header, _ := metadata.FromIncomingContext(stream.Context())
	b.mu.Lock()
	read := b.reads[header.Get(readHeader)[0]]
	n, sent := len(read.chunks), 0
	read.chunks = append(read.chunks, 0)
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		read.chunks[n] = sent
	}()
	from, err := b.to.ReadRows(metadata.NewOutgoingContext(stream.Context(), header), request)
	for err == nil {
		var response *bigtablepb.ReadRowsResponse
		response, err = from.Recv()
		if errors.Is(err, io.EOF) && n == read.request {
			return errBroken // nothing is left to read
		}
		for _, c := range response.GetChunks() {
			if n == read.request && sent == read.after {
				return errBroken
			}
			if b.sends != nil {
				b.sends(n, sent)
			}
			one := &bigtablepb.ReadRowsResponse{Chunks: []*bigtablepb.ReadRowsResponse_CellChunk{c}}
			if err := stream.Send(one); err != nil {
				return err
			}
			sent++
		}
	}
	return ended(err)
}

// MutateRows forwards mutations.
func (b *breaking) MutateRows(request *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
	from, err := b.to.MutateRows(stream.Context(), request)
	for err == nil {
		var response *bigtablepb.MutateRowsResponse
		if response, err = from.Recv(); err == nil {
			err = stream.Send(response)
		}
	}
	return ended(err)
}

// ended returns the error of a stream; nil at its end.
func ended(err error) error {
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
