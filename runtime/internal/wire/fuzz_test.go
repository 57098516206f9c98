package wire_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// canned is a stream without a network that receives the given messages.
type canned struct {
	grpc.ClientStream
	codec    encoding.CodecV2
	messages [][]byte
}

func (s *canned) Header() (metadata.MD, error) { return nil, nil }
func (s *canned) Trailer() metadata.MD         { return nil }
func (s *canned) SendMsg(any) error            { return nil }
func (s *canned) CloseSend() error             { return nil }

func (s *canned) RecvMsg(m any) error {
	if len(s.messages) == 0 {
		return io.EOF
	}
	message := s.messages[0]
	s.messages = s.messages[1:]
	if err := s.codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(message)}, m); err != nil {
		return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err) // the error of gRPC
	}
	return nil
}

type messagesKey struct{}

// cannedStreamer opens a stream that receives the messages in the context.
func cannedStreamer(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s := &canned{codec: encoding.GetCodecV2(protocodec.Name)}
	s.messages, _ = ctx.Value(messagesKey{}).([][]byte)
	for _, o := range opts {
		if forced, ok := o.(grpc.ForceCodecV2CallOption); ok {
			s.codec = forced.CodecV2
		}
	}
	return s, nil
}

// cannedClient returns a client whose reads receive the messages in their context.
func cannedClient(t testing.TB, opts ...grpc.DialOption) *bigtable.Client {
	t.Helper()
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithChainStreamInterceptor(cannedStreamer))
	conn, err := grpc.NewClient("passthrough:///nowhere", opts...)
	must(t, err)
	config := bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}
	return opened(t)(bigtable.NewClientWithConfig(context.Background(), "p", "i", config, option.WithGRPCConn(conn)))
}

// readCanned reads messages.
func readCanned(client *bigtable.Client, messages ...[]byte) (out result) {
	out.rows, out.err = rowsOf(context.WithValue(context.Background(), messagesKey{}, messages), client)
	return out
}

// FuzzReadRows compares the results of both read paths for two responses. If both are
// valid, it then sends each chunk in a separate response, which must make no
// difference.
func FuzzReadRows(f *testing.F) {
	row, next := sampleRow("a"), sampleRow("b")
	f.Add(response(f, append(row, next...)...), []byte{})
	f.Add(response(f, row...), response(f, next...))
	f.Add(response(f, row[:5]...), response(f, row[5:]...))
	f.Add(response(f, first("a", "f", "q", 1, "")), []byte("garbage"))
	f.Add(response(f, wholeRows(3, "v")...), response(f, wholeRows(2, strings.Repeat("v", 130))...))
	f.Add([]byte("\x0a\x0b\x0a\x01a\x12\x03\x0a\x01f\x1a\x00\x48\x01\x12\x01z\x1a\x00"), []byte("\x0a\x02\x40\x01"))
	ordinary, decoded := cannedClient(f), cannedClient(f, wire.DialOption())
	f.Fuzz(func(t *testing.T, one, two []byte) {
		got := readCanned(decoded, one, two)
		chunks, valid := chunksOf(one, two)
		switch {
		case huge(chunks):
			// The client allocates as much memory for a value as a chunk announces.
		case valid:
			// The client rejects a row that is split over responses.
			want := readCanned(ordinary, response(t, chunks...))
			same(t, want, got)
			same(t, want, readCanned(decoded, each(t, chunks...)...))
		default:
			want := readCanned(ordinary, one, two)
			if status.Code(want.err) == codes.Internal {
				same(t, want, got)
			} else if got.err == nil { // an invalid response followed a partial row
				t.Errorf("no error, want %v", want.err)
			}
		}
	})
}

// chunksOf returns the chunks of messages and whether all messages are valid.
func chunksOf(messages ...[]byte) (chunks []*chunk, valid bool) {
	for _, m := range messages {
		var r bigtablepb.ReadRowsResponse
		if proto.Unmarshal(m, &r) != nil {
			return chunks, false
		}
		chunks = append(chunks, r.Chunks...)
	}
	return chunks, true
}

// huge reports whether a chunk announces a value that is too large for a test.
func huge(chunks []*chunk) bool {
	return slices.ContainsFunc(chunks, func(c *chunk) bool { return c.ValueSize > 1<<20 })
}
