package model

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	protobuf "google.golang.org/protobuf/proto"
)

// Traffic counts the requests and responses of a client's reads.
type Traffic struct {
	mu     sync.Mutex
	counts Counts
	broken error // error of the first stream that failed, after which the client would retry, or of an invalid request
}

// Counts contains the numbers of requests sent and of cells received.
type Counts struct {
	Requests, Cells int
	KeyBytes        int // size of the row keys in the requests
	Full            int // number of requests with so many row keys that the next range might not have fit
}

// Bigtable rejects requests over maxRequest bytes. A read whose row keys do not fit
// into one request sends requests with at least fullRequest bytes of row keys, except
// for the last.
const (
	maxRequest  = 512 << 10
	fullRequest = maxRequest * 3 / 4
)

// Intercept is the last stream interceptor of the client. Codecs that a reader installs
// see the messages after it.
func (t *Traffic) Intercept(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	counted := countedCodec{encoding.GetCodecV2(proto.Name), t}
	for _, o := range opts {
		if forced, ok := o.(grpc.ForceCodecV2CallOption); ok {
			counted.CodecV2 = forced.CodecV2
		}
	}
	s, err := streamer(ctx, desc, cc, method, append(slices.Clip(opts), grpc.ForceCodecV2(counted))...)
	return &countedStream{s, t, ctx}, err
}

// countedCodec counts the cells of messages on the wire. A chunk contains one cell,
// unless a long value is split.
type countedCodec struct {
	encoding.CodecV2
	traffic *Traffic
}

// Unmarshal counts the cells of a response.
func (c countedCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if _, ok := v.(*bigtablepb.ReadRowsResponse); ok {
		r := new(bigtablepb.ReadRowsResponse)
		if err := protobuf.Unmarshal(data.Materialize(), r); err != nil {
			return err
		}
		c.traffic.mu.Lock()
		c.traffic.counts.Cells += len(r.Chunks)
		c.traffic.mu.Unlock()
	}
	return c.CodecV2.Unmarshal(data, v)
}

// Take returns the counts since the last call, and the error of a failed stream, if
// any.
func (t *Traffic) Take() (Counts, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.counts
	t.counts = Counts{}
	return counts, t.broken
}

// countedStream is a stream that counts.
type countedStream struct {
	grpc.ClientStream
	traffic *Traffic
	ctx     context.Context // of the reader; that of the stream also ends when the stream fails
}

// SendMsg counts a request.
func (s *countedStream) SendMsg(m any) error {
	if r, ok := m.(*bigtablepb.ReadRowsRequest); ok {
		s.traffic.mu.Lock()
		defer s.traffic.mu.Unlock()
		s.traffic.asked(r)
	}
	return s.ClientStream.SendMsg(m)
}

// asked counts a request.
func (t *Traffic) asked(r *bigtablepb.ReadRowsRequest) {
	keys := protobuf.Size(r.GetRows())
	t.counts.Requests++
	t.counts.KeyBytes += keys
	if keys >= fullRequest {
		t.counts.Full++
	}
	var tooLarge error
	if size := protobuf.Size(r); size > maxRequest {
		tooLarge = fmt.Errorf("a request of %d bytes", size)
	}
	t.broken = cmp.Or(t.broken, safeRows(r), tooLarge)
}

// safeRows returns an error unless a request is for ranges that include their start and
// exclude their end, or for a list of several keys in ascending order. The client may divert
// other requests for a single row to its session protocol, past the wire decoder, and loses
// rows of key lists that are read in reverse.
func safeRows(r *bigtablepb.ReadRowsRequest) error {
	rows := r.GetRows()
	keys, ranges := len(rows.GetRowKeys()), len(rows.GetRowRanges())
	safe := keys == 0 && ranges > 0 || keys > 1 && ranges == 0 && !r.GetReversed()
	for _, r := range rows.GetRowRanges() {
		safe = safe && len(r.GetStartKeyOpen()) == 0 && len(r.GetEndKeyClosed()) == 0
	}
	if !safe {
		return fmt.Errorf("a request for %v", rows)
	}
	return nil
}

// RecvMsg records the error of a failed stream. A stream that the reader cancels fails,
// too, and is not repeated.
func (s *countedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	_, rows := m.(*bigtablepb.ReadRowsResponse)
	if rows && err != nil && err != io.EOF && s.ctx.Err() == nil && s.traffic.broken == nil {
		s.traffic.broken = err
	}
	return err
}
