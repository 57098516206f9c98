package main

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	protobuf "google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/runtime/storetest"
)

// bed contains the clients of the server that cases use, and counts their traffic.
type bed struct {
	ordinary *bigtable.Client // without the options
	wire     *bigtable.Client // with the ClientOptions of generated code
	recorded *bigtable.Client // an ordinary one, whose requests are recorded
	recorder recorder
	bare     *grpc.ClientConn // for requests without a client
	traffic  atomic.Int64     // bytes that were sent and received
}

// newBed connects to the server at an address.
func newBed(t testing.TB, addr string) *bed {
	t.Helper()
	b := new(bed)
	dialer := grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		return counted{conn, &b.traffic}, err
	})
	b.ordinary = connected(t)(storetest.ConnectPlain(t.Context(), addr, dialer))
	b.wire = connected(t)(storetest.Connect(t.Context(), addr, dialer))
	b.recorded = connected(t)(storetest.ConnectPlain(t.Context(), addr, dialer,
		grpc.WithChainStreamInterceptor(b.recorder.stream), grpc.WithChainUnaryInterceptor(b.recorder.unary)))
	b.bare = dialed(t, addr, dialer)
	return b
}

// connected closes a client at the end of the test.
func connected(t testing.TB) func(*bigtable.Client, error) *bigtable.Client {
	return func(client *bigtable.Client, err error) *bigtable.Client {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
}

// dialed opens a connection that drops what it receives.
func dialed(t testing.TB, addr string, dialer grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, dialer, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(dropCodec{encoding.GetCodecV2(proto.Name)}), grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// counted is a connection whose bytes are counted.
type counted struct {
	net.Conn
	bytes *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// dropCodec sends bytes unchanged and discards the responses.
type dropCodec struct{ encoding.CodecV2 }

func (dropCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (dropCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

// call is a request in wire format.
type call struct {
	method  string
	request []byte
}

// recorder records the requests of a client.
type recorder struct {
	mu    sync.Mutex
	calls []call
}

// record records a request.
func (r *recorder) record(method string, request any) error {
	raw, err := protobuf.Marshal(request.(protobuf.Message))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call{method, raw})
	return err
}

// take returns the requests recorded since the last call.
func (r *recorder) take() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

func (r *recorder) unary(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := r.record(method, request); err != nil {
		return err
	}
	return invoker(ctx, method, request, reply, cc, opts...)
}

func (r *recorder) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := streamer(ctx, desc, cc, method, opts...)
	return recordedStream{s, r, method}, err
}

// recordedStream is a stream whose requests are recorded.
type recordedStream struct {
	grpc.ClientStream
	recorder *recorder
	method   string
}

func (s recordedStream) SendMsg(m any) error {
	if err := s.recorder.record(s.method, m); err != nil {
		return err
	}
	return s.ClientStream.SendMsg(m)
}

// transport returns a function that exchanges the same bytes as run, without a
// client: it sends them unchanged and discards the responses.
func (b *bed) transport(t testing.TB, run func(client *bigtable.Client) error) func(context.Context) error {
	t.Helper()
	b.recorder.take()
	if err := run(b.recorded); err != nil {
		t.Fatal(err)
	}
	calls := slices.DeleteFunc(b.recorder.take(), func(c call) bool { return strings.HasSuffix(c.method, "/PingAndWarm") })
	return func(ctx context.Context) error {
		for _, c := range calls {
			if err := b.exchange(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}
}

// exchange sends a request and drops the responses.
func (b *bed) exchange(ctx context.Context, c call) error {
	stream, err := b.bare.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, c.method)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(c.request); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		switch err := stream.RecvMsg(nil); err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}
