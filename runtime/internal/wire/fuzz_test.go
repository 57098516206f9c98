package wire_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
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
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/golden/testlong"
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

// randomRow returns a row of few columns with short and long cells, some of them in
// pieces, or part of a row and a reset.
func randomRow(random *rand.Rand, key string) (chunks []*chunk, whole bool) {
	text := func() []byte {
		b := make([]byte, []int{0, 1, 8, 100, 127, 128, 300}[random.IntN(7)])
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	cells := 1 + random.IntN(30)
	for i := range cells {
		c := &chunk{TimestampMicros: random.Int64() >> random.IntN(64), Value: text()}
		if i == 0 {
			c = first(key, "f", "q", c.TimestampMicros, string(c.Value))
		}
		switch random.IntN(4) {
		case 0:
			c.Qualifier = wrapperspb.Bytes(fmt.Append(nil, "column", random.IntN(3)))
		case 1:
			if i > 0 && random.IntN(4) == 0 {
				c.FamilyName, c.Qualifier = wrapperspb.String(fmt.Sprint("f", random.IntN(2))), wrapperspb.Bytes(nil)
			}
		}
		chunks = append(chunks, c)
		for pieces := random.IntN(8) - 4; pieces > 0; pieces-- {
			chunks[len(chunks)-1].ValueSize = 2400
			chunks = append(chunks, &chunk{Value: text()})
		}
	}
	last := chunks[len(chunks)-1]
	if whole = random.IntN(4) > 0; whole {
		last.RowStatus = commit
		return chunks, true
	}
	return append(chunks, &chunk{RowStatus: reset}), false
}

// TestAnySplit reads the same rows in one response and in responses that begin and end
// anywhere.
func TestAnySplit(t *testing.T) {
	ordinary, decoded := cannedClient(t), cannedClient(t, wire.DialOption())
	for seed := range testlong.Pick(uint64(50), 300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var chunks []*chunk
		for n, whole := 0, false; n < 8; {
			var row []*chunk
			if row, whole = randomRow(random, fmt.Sprint("row", n)); whole {
				n++
			}
			chunks = append(chunks, row...)
		}
		want := readCanned(ordinary, response(t, chunks...))
		if len(want.rows) != 8 || want.err != nil {
			t.Fatal(want)
		}
		same(t, want, readCanned(decoded, response(t, chunks...)))
		var messages [][]byte
		for rest := chunks; len(rest) > 0; {
			n := min(len(rest), random.IntN(1+len(rest)/[]int{1, 4, 16}[random.IntN(3)]))
			messages = append(messages, response(t, rest[:n]...))
			rest = rest[n:]
		}
		same(t, want, readCanned(decoded, messages...))
		if t.Failed() {
			t.Fatal("seed ", seed)
		}
	}
}

// wholeRows returns rows of one cell in the same column.
func wholeRows(n int, value string) []*chunk {
	var rows []*chunk
	for i := range n {
		c := first(fmt.Sprintf("row#%04d", i), "f", "q", int64(i)*1000, value)
		c.RowStatus = commit
		rows = append(rows, c)
	}
	return rows
}

// TestWholeRows reads rows of one cell that arrive together, one of which is different or violates the protocol.
func TestWholeRows(t *testing.T) {
	ordinary, decoded := cannedClient(t), cannedClient(t, wire.DialOption())
	for name, change := range map[string]func(c *chunk){
		"alike":              func(*chunk) {},
		"no time":            func(c *chunk) { c.TimestampMicros = 0 },
		"negative time":      func(c *chunk) { c.TimestampMicros = -1 },
		"largest time":       func(c *chunk) { c.TimestampMicros = 1<<63 - 1 },
		"no value":           func(c *chunk) { c.Value = nil },
		"127 bytes":          func(c *chunk) { c.Value = []byte(strings.Repeat("x", 127)) },
		"128 bytes":          func(c *chunk) { c.Value = []byte(strings.Repeat("x", 128)) },
		"16383 bytes":        func(c *chunk) { c.Value = []byte(strings.Repeat("x", 16383)) },
		"16384 bytes":        func(c *chunk) { c.Value = []byte(strings.Repeat("x", 16384)) },
		"long key":           func(c *chunk) { c.RowKey = []byte("row#0002" + strings.Repeat("x", 120)) },
		"other family":       func(c *chunk) { c.FamilyName = wrapperspb.String("g") },
		"other qualifier":    func(c *chunk) { c.Qualifier = wrapperspb.Bytes([]byte("qq")) },
		"empty qualifier":    func(c *chunk) { c.Qualifier = wrapperspb.Bytes(nil) },
		"label":              func(c *chunk) { c.Labels = []string{"l"} },
		"same key":           func(c *chunk) { c.RowKey = []byte("row#0001") },
		"lower key":          func(c *chunk) { c.RowKey = []byte("row#0000x") },
		"no key":             func(c *chunk) { c.RowKey = nil },
		"no family":          func(c *chunk) { c.FamilyName = nil },
		"no qualifier":       func(c *chunk) { c.Qualifier = nil },
		"no end":             func(c *chunk) { c.RowStatus = nil },
		"reset":              func(c *chunk) { c.RowStatus = reset },
		"value in pieces":    func(c *chunk) { c.ValueSize, c.RowStatus = 100, nil },
		"piece and an end":   func(c *chunk) { c.ValueSize = 100 },
		"end that is no end": func(c *chunk) { *c = chunk{RowStatus: commit} },
	} {
		for _, size := range []int{1, 20, 200} {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				rows := wholeRows(6, strings.Repeat("v", size))
				change(rows[2])
				message := response(t, rows...)
				same(t, readCanned(ordinary, message), readCanned(decoded, message))
				same(t, readCanned(ordinary, message), readCanned(decoded, each(t, rows...)...))
				for _, cut := range []int{1, 5, 9, 30, len(message) / 2} { // not a message any more
					same(t, readCanned(ordinary, message[:len(message)-cut]), readCanned(decoded, message[:len(message)-cut]))
				}
			})
		}
	}
}
