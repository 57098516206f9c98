package sessiontest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/sessiontest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/store"
)

// breaks makes a server break off the stream of one request of each read.
type breaks struct {
	mu    sync.Mutex
	reads []*broken
}

// broken records the requests of a read.
type broken struct {
	request, after int   // the request that breaks off, and after how many rows, at the latest at its end
	rows           []int // number per request
}

const readHeader = "test-read"

// named returns a context that identifies a read, and its record.
func (b *breaks) named(ctx context.Context, request, after int) (context.Context, *broken) {
	b.mu.Lock()
	defer b.mu.Unlock()
	read := &broken{request: request, after: after}
	b.reads = append(b.reads, read)
	return metadata.AppendToOutgoingContext(ctx, readHeader, fmt.Sprint(len(b.reads)-1)), read
}

// requests returns the number of rows of each request of a read.
func (b *breaks) requests(read *broken) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(read.rows)
}

// of returns the read that a request belongs to, and its number; nil if the read has no
// name.
func (b *breaks) of(ctx context.Context) (*broken, int) {
	header, _ := metadata.FromIncomingContext(ctx)
	if len(header.Get(readHeader)) == 0 {
		return nil, 0
	}
	var n int
	_, _ = fmt.Sscan(header.Get(readHeader)[0], &n)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads[n].rows = append(b.reads[n].rows, 0)
	return b.reads[n], len(b.reads[n].rows) - 1
}

var errBroken = status.Error(codes.Unavailable, "broken off")

func (b *breaks) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if info.FullMethod != bigtablepb.Bigtable_ReadRows_FullMethodName {
		return handle(server, stream)
	}
	read, n := b.of(stream.Context())
	if read == nil {
		return handle(server, stream)
	}
	s := &brokenStream{ServerStream: stream, breaks: n == read.request, after: read.after}
	err := handle(server, s)
	b.mu.Lock()
	defer b.mu.Unlock()
	if read.rows[n] = s.rows; s.breaks && err == nil {
		err = errBroken // after all rows
	}
	return err
}

// brokenStream is the stream of a request. The in-memory server sends one row at a
// time.
type brokenStream struct {
	grpc.ServerStream
	breaks bool
	after  int
	rows   int
}

// RecvMsg rejects requests that Bigtable rejects and the in-memory server does not.
func (s *brokenStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if r, ok := m.(*bigtablepb.ReadRowsRequest); ok && err == nil {
		return emptyRange(r.GetRows())
	}
	return err
}

// emptyRange rejects an empty range, like Bigtable.
func emptyRange(rows *bigtablepb.RowSet) error {
	for i, r := range rows.GetRowRanges() {
		start, end := string(r.GetStartKeyClosed()), string(r.GetEndKeyOpen())
		if open := r.GetStartKeyOpen(); open != nil {
			start = string(open) + "\x00"
		}
		if end != "" && start >= end {
			return status.Errorf(codes.InvalidArgument, "Error in field 'row_ranges' : Error in element #%d : start_key must be less than end_key", i)
		}
	}
	return nil
}

func (s *brokenStream) SendMsg(m any) error {
	if s.breaks && s.rows == s.after {
		return errBroken
	}
	s.rows++
	return s.ServerStream.SendMsg(m)
}

// Reads of every pattern return the same whether or not a stream breaks off: before its
// first row, after any row or at its end, forward and in reverse, with and without
// ClientOptions, whatever share of calls clients divert.
func TestBrokenStreams(t *testing.T) {
	testlong.Skip(t, "every request is broken at every row")
	b := new(breaks)
	s := &sessiontest.Sessions{Load: 1}
	all := tables(t)
	addr := serve(t, all, append(s.ServerOptions(), grpc.ChainStreamInterceptor(b.stream))...)
	limit := make(chan struct{}, 64) // the client waits briefly before it resumes
	var wg sync.WaitGroup
	for _, tab := range all {
		for path, opts := range map[string][]option.ClientOption{"wire": store.ClientOptions(), "ordinary": nil} {
			client := connect(t, addr, opts...)
			check(t, tab.writer(client, store.Hooks{}).WriteAll(t.Context(), tab.events))
			for name, read := range tab.reads(client, store.Hooks{}) {
				ctx, whole := b.named(t.Context(), -1, 0)
				want, err := read(ctx)
				if check(t, err); len(want) == 0 || len(b.requests(whole)) == 0 {
					t.Fatalf("%s, %s, %s: %d events by %d requests", tab.name, path, name, len(want), len(b.requests(whole)))
				}
				for request, rows := range b.requests(whole) {
					for after := range rows + 1 {
						if after > 1 && after < rows && !testlong.Enabled() {
							continue
						}
						limit <- struct{}{}
						wg.Go(func() {
							defer func() { <-limit }()
							ctx, broken := b.named(t.Context(), request, after)
							got, err := read(ctx)
							if diff := cmp.Diff(want, got); diff != "" || err != nil || len(b.requests(broken)) <= request && name != "first" && name != "last" {
								t.Errorf("%s, %s, %s: request %d, broken off after %d of %d rows: %v (-want +got)\n%s", tab.name, path, name, request, after, rows, err, diff)
							}
						})
					}
				}
			}
		}
	}
	wg.Wait()
}
