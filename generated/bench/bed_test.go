package main

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
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

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/cputime"
	"github.com/btgen-dev/btgen/golden/inmemory"
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
	b, codec := new(bed), encoding.GetCodecV2(proto.Name)
	dialer := grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		return counted{conn, &b.traffic}, err
	})
	b.recorder.CodecV2 = codec
	b.ordinary = connected(t)(storetest.ConnectPlain(t.Context(), addr, dialer))
	b.wire = connected(t)(storetest.Connect(t.Context(), addr, dialer))
	b.recorded = connected(t)(storetest.ConnectPlain(t.Context(), addr, dialer, grpc.WithDefaultCallOptions(grpc.ForceCodecV2(&b.recorder))))
	bare, err := grpc.NewClient(addr, dialer, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{codec}), grpc.MaxCallRecvMsgSize(maxMessage)))
	assert.Must(t, err)
	t.Cleanup(func() { _ = bare.Close() })
	b.bare = bare
	return b
}

// inProcess returns clients whose reads a server answers from memory. Nothing but the clients then uses the CPUs.
func inProcess(t testing.TB, s *server) *bed {
	t.Helper()
	const nowhere = "127.0.0.1:1"
	answered := grpc.WithChainStreamInterceptor(inmemory.Replay(s.answer))
	return &bed{
		ordinary: connected(t)(storetest.ConnectPlain(t.Context(), nowhere, answered)),
		wire:     connected(t)(storetest.Connect(t.Context(), nowhere, answered)),
	}
}

// connected closes a client at the end of the test.
func connected(t testing.TB) func(*bigtable.Client, error) *bigtable.Client {
	return func(client *bigtable.Client, err error) *bigtable.Client {
		t.Helper()
		assert.Must(t, err)
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
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

// call is a request in wire format.
type call struct {
	method  string
	request []byte
}

// recorder records the requests of a client, as its codec.
type recorder struct {
	encoding.CodecV2
	mu    sync.Mutex
	calls []call
}

func (r *recorder) Marshal(v any) (mem.BufferSlice, error) {
	name := string(v.(protobuf.Message).ProtoReflect().Descriptor().Name())
	data, err := r.CodecV2.Marshal(v)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call{"/google.bigtable.v2.Bigtable/" + strings.TrimSuffix(name, "Request"), data.Materialize()})
	return data, err
}

// transport returns a function that exchanges the same bytes as run, without a
// client: it sends them unchanged and discards the responses.
func (b *bed) transport(t testing.TB, run func(client *bigtable.Client) error) func(context.Context) error {
	t.Helper()
	b.recorder.calls = nil
	assert.Must(t, run(b.recorded))
	calls := slices.DeleteFunc(b.recorder.calls, func(c call) bool { return strings.HasSuffix(c.method, "/PingAndWarm") })
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
	if err := errors.Join(stream.SendMsg(c.request), stream.CloseSend()); err != nil {
		return err
	}
	for err == nil {
		err = stream.RecvMsg(nil)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// size is the amount of data that a case reads or writes in one run.
type size struct{ events, cells int }

// measure measures the CPU time that run takes in this process, in user and system mode. Package testing counts its
// allocations.
func measure(b *testing.B, s size, run func(context.Context) error) {
	b.Helper()
	b.ReportAllocs()
	if err := run(b.Context()); err != nil { // for connections, and memory that is reused
		b.Fatal(err)
	}
	runtime.GC() // the garbage of what was measured before
	begin := cputime.Spent()
	for b.Loop() {
		if err := run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	took := float64((cputime.Spent() - begin).Nanoseconds()) / float64(b.N)
	b.ReportMetric(took/float64(s.events), perEvent)
	b.ReportMetric(took/float64(s.cells), perCell)
	b.ReportMetric(0, "ns/op") // waiting is not the measure
}
