package main

import (
	"context"
	"io"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/runtime/storetest"
)

// newReplayed returns a client with the ClientOptions of generated code whose reads get the responses of
// a server from memory. Nothing but the client then uses the CPUs.
func newReplayed(t testing.TB, s *server) *bigtable.Client {
	t.Helper()
	return connected(t)(storetest.Connect(t.Context(), "127.0.0.1:1", grpc.WithChainStreamInterceptor(
		func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			r := &replayed{ctx: ctx, server: s, codec: encoding.GetCodecV2("proto")}
			for _, o := range opts {
				if forced, ok := o.(grpc.ForceCodecV2CallOption); ok {
					r.codec = forced.CodecV2
				}
			}
			return r, nil
		})))
}

// replayed is a stream whose responses are in memory.
type replayed struct {
	ctx       context.Context
	server    *server
	codec     encoding.CodecV2
	responses [][]byte
}

func (r *replayed) SendMsg(m any) error {
	request := m.(*bigtablepb.ReadRowsRequest)
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return err
	}
	if r.responses, _ = r.server.known(string(key)); r.responses != nil {
		return nil
	}
	err = r.server.read(request, func(response []byte) error {
		r.responses = append(r.responses, response)
		return nil
	})
	r.server.keep(string(key), r.responses)
	return err
}

func (r *replayed) RecvMsg(m any) error {
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case len(r.responses) == 0:
		return io.EOF
	}
	response := r.responses[0]
	r.responses = r.responses[1:]
	return r.codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(response)}, m)
}

func (r *replayed) Header() (metadata.MD, error) { return nil, nil }
func (r *replayed) Trailer() metadata.MD         { return nil }
func (r *replayed) CloseSend() error             { return nil }
func (r *replayed) Context() context.Context     { return r.ctx }
