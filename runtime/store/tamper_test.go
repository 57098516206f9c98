package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// tampering is a stream whose messages an interceptor drops, repeats or reorders.
type tampering struct {
	grpc.ClientStream
	tamper func(s *tampering, m proto.Message) error
	n      int // number of messages so far
	kept   []proto.Message
}

// receive receives the next message unchanged.
func (s *tampering) receive(m proto.Message) error {
	proto.Reset(m)
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		s.n++
	}
	return err
}

func (s *tampering) RecvMsg(m any) error { return s.tamper(s, m.(proto.Message)) }

// drops drops the messages that which selects; the first has number 1.
func drops(which func(n int) bool) func(s *tampering, m proto.Message) error {
	return func(s *tampering, m proto.Message) error {
		for {
			if err := s.receive(m); err != nil || !which(s.n) {
				return err
			}
		}
	}
}

// repeats delivers every third message twice.
func repeats(s *tampering, m proto.Message) error {
	if len(s.kept) > 0 {
		proto.Reset(m)
		proto.Merge(m, s.kept[0])
		s.kept = nil
		return nil
	}
	err := s.receive(m)
	if err == nil && s.n%3 == 0 {
		s.kept = append(s.kept, proto.Clone(m))
	}
	return err
}

// swaps delivers the first two messages in reverse order.
func swaps(s *tampering, m proto.Message) error {
	if s.n == 0 {
		if err := s.receive(m); err != nil {
			return err
		}
		s.kept = append(s.kept, proto.Clone(m))
		return s.receive(m)
	}
	if len(s.kept) > 0 {
		proto.Reset(m)
		proto.Merge(m, s.kept[0])
		s.kept = nil
		return nil
	}
	return s.receive(m)
}

// dropsAndBreaks breaks off once, after it has dropped the previous message.
func dropsAndBreaks() func(s *tampering, m proto.Message) error {
	var broken atomic.Bool
	return func(s *tampering, m proto.Message) error {
		if s.n == 2 && !broken.Swap(true) {
			if err := s.receive(m); err != nil {
				return err
			}
			return status.Error(codes.Unavailable, "broken off")
		}
		return s.receive(m)
	}
}

// endsAfter ends the stream after a number of messages, though the server sends more.
func endsAfter(n int) func(s *tampering, m proto.Message) error {
	return func(s *tampering, m proto.Message) error {
		if s.n == n {
			return io.EOF
		}
		return s.receive(m)
	}
}

// onStreams returns an interceptor for the streams of a method.
func onStreams(method string, wrap func(open func(opts ...grpc.CallOption) (grpc.ClientStream, error)) (grpc.ClientStream, error)) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, called string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		open := func(more ...grpc.CallOption) (grpc.ClientStream, error) {
			return streamer(ctx, desc, cc, called, append(slices.Clip(opts), more...)...)
		}
		if called != method {
			return open()
		}
		return wrap(open)
	}
}

// outside and inside install an interceptor between the client and the wire path, and
// between the wire path and the connection.
func outside(i grpc.StreamClientInterceptor) grpc.DialOption { return grpc.WithStreamInterceptor(i) }
func inside(i grpc.StreamClientInterceptor) grpc.DialOption {
	return grpc.WithChainStreamInterceptor(i)
}

var places = map[string]func(grpc.StreamClientInterceptor) grpc.DialOption{"outside": outside, "inside": inside}

// Whatever interceptors do to the messages of a read, it returns everything that is
// stored, or an error: never incomplete results without an error.
func TestTamperedReads(t *testing.T) {
	const rows = 10
	l := days()
	bt := newBigtable(t, l)
	var samples []sample
	for i := range rows {
		samples = append(samples, sample{Series: "s", Time: at(86400 * i), Value: uint64(i)})
	}
	must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}).WriteAll(t.Context(), samples))
	for where, install := range places {
		for name, tamper := range map[string]func(s *tampering, m proto.Message) error{
			"nothing":        (*tampering).receive,
			"drop the first": drops(func(n int) bool { return n == 1 }),
			"drop the last":  drops(func(n int) bool { return n == rows }),
			"drop some":      drops(func(n int) bool { return n%3 == 2 }),
			"drop all":       drops(func(int) bool { return true }),
			"repeat":         repeats,
			"swap":           swaps,
			"drop and break": dropsAndBreaks(),
			"end at once":    endsAfter(0),
			"end early":      endsAfter(3),
		} {
			if where == "inside" && (name == "end at once" || name == "end early") {
				continue // looks like the end
			}
			t.Run(where+"/"+name, func(t *testing.T) {
				client := opened(t)(storetest.Connect(t.Context(), bt.Addr, install(onStreams(bigtablepb.Bigtable_ReadRows_FullMethodName,
					func(open func(...grpc.CallOption) (grpc.ClientStream, error)) (grpc.ClientStream, error) {
						stream, err := open()
						return &tampering{ClientStream: stream, tamper: tamper}, err
					}))))
				r := newReaderOf(client, l)
				got, err := collect(t.Context(), r, "s", day0, at(86400*rows))
				if name == "nothing" && err != nil || err == nil && len(got) != rows {
					t.Errorf("%d of %d rows, %v", len(got), rows, err)
				}
				var columns sampleColumns
				err = readColumns(t.Context(), r, intoColumns(l.untyped()), &columns, seriesOf(sample{Series: "s"}), day0, at(86400*rows))
				if err == nil && len(columns.Time) != rows {
					t.Errorf("%d of %d rows as columns", len(columns.Time), rows)
				}
			})
		}
	}
}

// forced is gRPC's own codec, which an interceptor forces on all streams.
type forced struct{ encoding.CodecV2 }

// Reads and writes return the same if another interceptor forces a codec. Hooks report
// that the client encodes the requests until the interceptor stops doing so.
func TestForcedCodec(t *testing.T) {
	var forces atomic.Bool
	forces.Store(true)
	force := func(open func(...grpc.CallOption) (grpc.ClientStream, error)) (grpc.ClientStream, error) {
		if !forces.Load() {
			return open()
		}
		return open(grpc.ForceCodecV2(forced{encoding.GetCodecV2(protocodec.Name)}))
	}
	l := days()
	bt := newBigtable(t, l)
	client := opened(t)(storetest.Connect(t.Context(), bt.Addr,
		inside(onStreams(bigtablepb.Bigtable_MutateRows_FullMethodName, force)), inside(onStreams(bigtablepb.Bigtable_ReadRows_FullMethodName, force))))
	var ended Operation
	hooks := Hooks{End: func(_ context.Context, op Operation, _ error) { ended = op }}
	w, r := newWriterOf(client, []*mappingOf[sample]{l}, WriterOptions{Hooks: hooks}), newReaderOf(client, l, ReaderOptions{Hooks: hooks})
	for i := range 6 {
		forces.Store(i < 3)
		if i == 4 {
			long := time.Now().Add(-time.Hour) // time for another probe
			w.Writer.tables[0].wire.closed.Store(&long)
		}
		must(t, w.WriteAll(t.Context(), []sample{{Series: "a", Time: at(i), Value: 1}, {Series: "b", Time: at(i), Value: 2}}))
		if wired := i > 3; ended.Requests != 1 || ended.OrdinaryRequests == 0 != wired {
			t.Errorf("write %d: %+v", i, ended)
		}
		got, err := collect(t.Context(), r, "a", day0, at(100))
		if must(t, err); len(got) != i+1 {
			t.Errorf("%d of %d events", len(got), i+1)
		}
		if wired := i >= 3; ended.Requests != 1 || ended.OrdinaryRequests == 0 != wired {
			t.Errorf("read %d: %+v", i, ended)
		}
	}
}

// A single row whose codec another interceptor forces is sent once more, in bulk; the next ones, for some time, as the client encodes
// them.
func TestForcedCodecOfRows(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	var bare []bool // whether each request had no mutations
	force := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if r, ok := request.(*bigtablepb.MutateRowRequest); ok {
			bare = append(bare, len(r.Mutations) == 0)
		}
		return invoker(ctx, method, request, reply, conn, append(opts, grpc.ForceCodecV2(forced{encoding.GetCodecV2(protocodec.Name)}))...)
	}
	client := opened(t)(storetest.Connect(t.Context(), bt.Addr, grpc.WithChainUnaryInterceptor(force)))
	w := newWriterOf(client, []*mappingOf[sample]{l})
	for i := range 4 {
		if i == 3 {
			long := time.Now().Add(-time.Hour) // time for another try
			w.Writer.tables[0].wire.rows.Store(&long)
		}
		must(t, w.Write(t.Context(), sample{Series: "a", Time: at(i), Value: 1}))
	}
	same(t, []bool{true, false, false, true}, bare)
	got, err := collect(t.Context(), newReaderOf(client, l), "a", day0, at(100))
	if must(t, err); len(got) != 4 {
		t.Errorf("%d of 4 events", len(got))
	}
}

// A writer does not wait for a server that is reachable only for encoded requests.
func TestForcedCodecWithHangingServer(t *testing.T) {
	s := &answering{rows: func(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
		if len(r.Entries) == 0 {
			return hang(stream.Context())
		}
		return errors.Join(stores(stream, 0), stores(stream, 1))
	}}
	client := opened(t)(storetest.Connect(t.Context(), startServer(t, s), inside(onStreams(bigtablepb.Bigtable_MutateRows_FullMethodName,
		func(open func(...grpc.CallOption) (grpc.ClientStream, error)) (grpc.ClientStream, error) {
			return open(grpc.ForceCodecV2(forced{encoding.GetCodecV2(protocodec.Name)}))
		}))))
	must(t, newWriterOf(client, []*mappingOf[sample]{days()}, WriterOptions{Timeout: 10 * time.Second}).WriteAll(t.Context(), []sample{nth(1), nth(2)}))
}

// An environment variable disables the wire path.
func TestWireDisabled(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	for value, disabled := range map[string]bool{"1": true, "true": true, "": false, "0": false} {
		t.Setenv(disableVariable, value)
		var ended Operation
		hooks := Hooks{End: func(_ context.Context, op Operation, _ error) { ended = op }}
		must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, WriterOptions{Hooks: hooks}).Write(t.Context(), sample{Series: "s", Time: at(1), Value: 7}))
		if ended.Requests != 1 || (ended.OrdinaryRequests == 1) != disabled {
			t.Errorf("%q: %+v", value, ended)
		}
		got, err := collect(t.Context(), newReaderOf(bt.Client, l, ReaderOptions{Hooks: hooks}), "s", day0, at(2))
		if must(t, err); len(got) != 1 || got[0].Value != 7 || (ended.OrdinaryRequests == 1) != disabled {
			t.Errorf("%q: %v, %+v", value, got, ended)
		}
	}
}

// lossy is a server that stores what it gets and loses the first replies, then rejects
// everything.
type lossy struct {
	warmServer
	lose   int // number of replies
	refuse codes.Code

	mu       sync.Mutex
	attempts int
	stored   map[string]bool
}

// next returns the result of an attempt. It stores rows if their reply is lost.
func (s *lossy) next(rows ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts++
	if s.attempts > s.lose {
		return status.Error(s.refuse, "refused")
	}
	for _, row := range rows {
		s.stored[row] = true
	}
	return status.Error(codes.Unavailable, "the reply is lost")
}

func (s *lossy) MutateRow(_ context.Context, r *bigtablepb.MutateRowRequest) (*bigtablepb.MutateRowResponse, error) {
	return new(bigtablepb.MutateRowResponse), s.next(string(r.RowKey))
}

func (s *lossy) MutateRows(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
	var rows []string
	for _, e := range r.Entries {
		rows = append(rows, string(e.RowKey))
	}
	err := s.next(rows...)
	if status.Code(err) == codes.Unavailable {
		return err
	}
	response := new(bigtablepb.MutateRowsResponse)
	for i := range r.Entries {
		response.Entries = append(response.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: status.Convert(err).Proto()})
	}
	if s.refuse == codes.OK {
		for i := range response.Entries {
			response.Entries[i].Status = new(spb.Status)
		}
	}
	return stream.Send(response)
}

// retrying is an interceptor that retries a request by itself.
func retrying(open func(...grpc.CallOption) (grpc.ClientStream, error)) (grpc.ClientStream, error) {
	stream, err := open()
	return &retriedStream{ClientStream: stream, open: open}, err
}

type retriedStream struct {
	grpc.ClientStream
	open    func(...grpc.CallOption) (grpc.ClientStream, error)
	request any
	tries   int
}

func (s *retriedStream) SendMsg(m any) error {
	s.request = m
	return s.ClientStream.SendMsg(m)
}

func (s *retriedStream) RecvMsg(m any) error {
	for {
		err := s.ClientStream.RecvMsg(m)
		if err == nil || errors.Is(err, io.EOF) || status.Code(err) != codes.Unavailable || s.tries == 2 {
			return err
		}
		s.tries++
		if s.ClientStream, err = s.open(); err != nil {
			return err
		}
		if err := errors.Join(s.ClientStream.SendMsg(s.request), s.ClientStream.CloseSend()); err != nil {
			return err
		}
	}
}

// retryingUnary retries requests.
func retryingUnary(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	for tries := 0; ; tries++ {
		if err := invoker(ctx, method, request, reply, cc, opts...); status.Code(err) != codes.Unavailable || tries == 2 {
			return err
		}
	}
}

// retriedByConfig makes gRPC retry requests.
const retriedByConfig = `{"methodConfig": [{"name": [{"service": "google.bigtable.v2.Bigtable"}], "retryPolicy": {
	"maxAttempts": 4, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`

// An event that may be stored, because a reply was lost before the event was rejected,
// is not reported as Failed, whoever sent it again, on both paths, alone and in bulk.
// With ClientOptions, an event rejected the first time is.
func TestRefusedAfterALostReply(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for name, opts := range map[string][]grpc.DialOption{
		"client":      nil,
		"config":      {grpc.WithDefaultServiceConfig(retriedByConfig)},
		"interceptor": {inside(onStreams(bigtablepb.Bigtable_MutateRows_FullMethodName, retrying)), grpc.WithChainUnaryInterceptor(retryingUnary)},
	} {
		for path, connect := range paths {
			for _, lose := range []int{0, 1, 2} {
				for _, refuse := range []codes.Code{codes.InvalidArgument, codes.PermissionDenied, codes.FailedPrecondition} {
					for _, events := range []int{1, 2} {
						what := fmt.Sprint(name, "/", path, "/", lose, "/", refuse, "/", events)
						s := &lossy{lose: lose, refuse: refuse, stored: map[string]bool{}}
						client, err := connect(t.Context(), startServer(t, s), opts...)
						must(t, err)
						wg.Go(func() {
							defer func() { _ = client.Close() }()
							err := newWriterOf(client, []*mappingOf[sample]{days()}).WriteAll(t.Context(), []sample{nth(1), nth(2)}[:events])
							var failed *WriteError
							if !errors.As(err, &failed) || len(failed.Failures) != events || len(s.stored) != min(lose, 1)*events {
								t.Errorf("%s: %v", what, err)
								return
							}
							for _, f := range failed.Failures {
								if lose > 0 && f.Outcome != Unknown || lose == 0 && path == "wire" && f.Outcome != Failed || status.Code(f.Err) != refuse {
									t.Errorf("%s: %v", what, f)
								}
							}
						})
					}
				}
			}
		}
	}
	wg.Wait()
}

// A single event is retried until the timeout.
func TestEventSurvivesTenUnavailable(t *testing.T) {
	t.Parallel() // it waits
	s := &lossy{lose: 10, stored: map[string]bool{}}
	client := opened(t)(storetest.Connect(t.Context(), startServer(t, s)))
	must(t, newWriterOf(client, []*mappingOf[sample]{days()}).Write(t.Context(), nth(1)))
	if s.attempts != 11 {
		t.Errorf("%d attempts", s.attempts)
	}
}

// The probe is negative while an interceptor of the user keeps calls from the wire
// path, and positive afterward.
func TestClientsAreProbedAgain(t *testing.T) {
	var keeps atomic.Bool
	keeps.Store(true)
	l := days()
	bt := newBigtable(t, l)
	client := opened(t)(storetest.Connect(t.Context(), bt.Addr, outside(onStreams(bigtablepb.Bigtable_MutateRows_FullMethodName,
		func(open func(...grpc.CallOption) (grpc.ClientStream, error)) (grpc.ClientStream, error) {
			if keeps.Load() {
				return nil, status.Error(codes.PermissionDenied, "not now")
			}
			return open()
		}))))
	w := newWriterOf(client, []*mappingOf[sample]{l})
	if err := w.WriteAll(t.Context(), []sample{nth(1), nth(2)}); err == nil {
		t.Error("written")
	}
	path := w.Writer.tables[0].wire
	keeps.Store(false)
	if path.usable() {
		t.Error("asked again at once")
	}
	long := time.Now().Add(-askAgain)
	path.closed.Store(&long)
	if must(t, w.Write(t.Context(), nth(1))); !path.usable() || !wire.Intercepted(t.Context(), client.OpenTable("days")) {
		t.Error("never asked again")
	}
}
