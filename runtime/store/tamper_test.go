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

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/api/option"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/runtime/storetest"
)

// tampering is a stream whose messages an interceptor drops, repeats, reorders, or breaks off.
type tampering struct {
	grpc.ClientStream
	tamper func(n int) tamper // what happens to the n-th message; the first has number 1
	n      int                // number of messages so far
	kept   proto.Message      // which comes after the next one
}

// tamper is what happens to a message.
type tamper int

const (
	pass  tamper = iota
	drop         // and continue with the next one
	twice        // deliver it again
	later        // deliver it after the next one
	fails        // drop it, and break off
	ends         // end the stream in its place, though the server sends more
)

func (s *tampering) RecvMsg(to any) error {
	m := to.(proto.Message)
	if s.kept != nil {
		proto.Reset(m)
		proto.Merge(m, s.kept)
		s.kept = nil
		return nil
	}
	do := s.tamper(s.n + 1)
	if do == ends {
		return io.EOF
	}
	proto.Reset(m)
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	switch s.n++; do {
	case drop:
		return s.RecvMsg(m)
	case twice:
		s.kept = proto.Clone(m)
	case later:
		first := proto.Clone(m)
		err := s.RecvMsg(m)
		s.kept = first
		return err
	case fails:
		return status.Error(codes.Unavailable, "broken off")
	}
	return nil
}

// when does something to the messages that which selects.
func when(do tamper, which func(n int) bool) func(n int) tamper {
	return func(n int) tamper {
		if which(n) {
			return do
		}
		return pass
	}
}

// number does something to one message.
func number(i int, do tamper) func(n int) tamper { return when(do, func(n int) bool { return n == i }) }

// opener opens a stream, with more options.
type opener = func(opts ...grpc.CallOption) (grpc.ClientStream, error)

// The methods whose streams are intercepted.
const (
	readRows   = bigtablepb.Bigtable_ReadRows_FullMethodName
	mutateRows = bigtablepb.Bigtable_MutateRows_FullMethodName
)

// onStreams returns an interceptor for the streams of a method.
func onStreams(method string, wrap func(open opener) (grpc.ClientStream, error)) grpc.StreamClientInterceptor {
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

// hookedStream is a stream that calls functions for each message before it is sent, and after it was received.
type hookedStream struct {
	grpc.ClientStream
	sends, received func(m any)
}

func (s hookedStream) SendMsg(m any) error {
	s.sends(m)
	return s.ClientStream.SendMsg(m)
}

func (s hookedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		s.received(m)
	}
	return err
}

// hooked returns an interceptor that calls functions for the messages of a method.
func hooked(method string, sends, received func(m any)) grpc.StreamClientInterceptor {
	return onStreams(method, func(open opener) (grpc.ClientStream, error) {
		stream, err := open()
		return hookedStream{stream, sends, received}, err
	})
}

// ignored does nothing with a message.
func ignored(any) {}

// outside and inside install an interceptor before and behind the wire path.
func outside(i grpc.StreamClientInterceptor) grpc.DialOption { return grpc.WithStreamInterceptor(i) }
func inside(i grpc.StreamClientInterceptor) grpc.DialOption {
	return grpc.WithChainStreamInterceptor(i)
}

var places = map[string]func(grpc.StreamClientInterceptor) grpc.DialOption{"outside": outside, "inside": inside}

// Whatever interceptors do to the messages of a read, it returns everything, or an error.
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
		var broken atomic.Bool
		for name, tamper := range map[string]func(n int) tamper{
			"nothing":        when(pass, func(int) bool { return true }),
			"drop the first": number(1, drop),
			"drop the last":  number(rows, drop),
			"drop some":      when(drop, func(n int) bool { return n%3 == 2 }),
			"drop all":       when(drop, func(int) bool { return true }),
			"repeat":         when(twice, func(n int) bool { return n%3 == 0 }),
			"swap":           number(1, later),
			"drop and break": when(fails, func(n int) bool { return n == 3 && !broken.Swap(true) }),
			"end at once":    number(1, ends),
			"end early":      number(4, ends),
		} {
			if where == "inside" && (name == "end at once" || name == "end early") {
				continue // looks like the end
			}
			t.Run(where+"/"+name, func(t *testing.T) {
				wrap := func(open opener) (grpc.ClientStream, error) {
					stream, err := open()
					return &tampering{ClientStream: stream, tamper: tamper}, err
				}
				client := opened(t)(storetest.Connect(t.Context(), bt.Addr, install(onStreams(readRows, wrap))))
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

// forcedCodec forces it.
var forcedCodec = grpc.ForceCodecV2(forced{encoding.GetCodecV2(protocodec.Name)})

// Reads and writes work if another interceptor forces a codec. Hooks report that the client encodes until it stops.
func TestForcedCodec(t *testing.T) {
	var forces atomic.Bool
	forces.Store(true)
	force := func(open opener) (grpc.ClientStream, error) {
		if !forces.Load() {
			return open()
		}
		return open(forcedCodec)
	}
	l := days()
	bt := newBigtable(t, l)
	writes, reads := inside(onStreams(mutateRows, force)), inside(onStreams(readRows, force))
	client := opened(t)(storetest.Connect(t.Context(), bt.Addr, writes, reads))
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
		must(t, err)
		same(t, i+1, len(got))
		if wired := i >= 3; ended.Requests != 1 || ended.OrdinaryRequests == 0 != wired {
			t.Errorf("read %d: %+v", i, ended)
		}
	}
}

// A single row with a forced codec is sent once more, in bulk; the next ones, for a while, as the client encodes them.
func TestForcedCodecOfRows(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	var bare []bool // whether each request had no mutations
	force := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if r, ok := request.(*bigtablepb.MutateRowRequest); ok {
			bare = append(bare, len(r.Mutations) == 0)
		}
		return invoker(ctx, method, request, reply, conn, append(opts, forcedCodec)...)
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
	must(t, err)
	same(t, 4, len(got))
}

// A writer does not wait for a server that is reachable only for encoded requests.
func TestForcedCodecWithHangingServer(t *testing.T) {
	s := &scripted{write: func(r *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
		if len(r.Entries) == 0 {
			return hang(stream.Context())
		}
		return errors.Join(stores(stream, 0), stores(stream, 1))
	}}
	force := func(open opener) (grpc.ClientStream, error) { return open(forcedCodec) }
	client := opened(t)(storetest.Connect(t.Context(), startServer(t, s), inside(onStreams(mutateRows, force))))
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

// A client that opens its own connections, like those in production, supports the options, too.
func TestNewClient(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	config := bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}
	client := opened(t)(NewClient(t.Context(), storetest.Project, storetest.Instance, config,
		option.WithEndpoint(bt.Addr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials()))))
	ordinary := 0
	hooks := Hooks{End: func(_ context.Context, op Operation, _ error) { ordinary += op.OrdinaryRequests }}
	w := newWriterOf(client, []*mappingOf[sample]{l}, WriterOptions{Hooks: hooks})
	must(t, w.Write(t.Context(), sample{Series: "s", Time: at(1), Value: 1}))
	same(t, []string{"1"}, read(t, newReaderOf(client, l, ReaderOptions{Hooks: hooks}), day0, at(2), ReadOptions{}))
	same(t, 0, ordinary)
}

// lossy is a server that stores what it gets and loses the first replies, then rejects everything.
type lossy struct {
	warmServer
	lose   int  // number of replies
	each   bool // the replies of several rows are there, and say for each row that it came too late
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
	if lost := status.Code(err) == codes.Unavailable; lost && s.each {
		err = status.Error(codes.DeadlineExceeded, "late")
	} else if lost {
		return err
	}
	response := new(bigtablepb.MutateRowsResponse)
	for i := range r.Entries {
		answer := &spb.Status{Code: int32(status.Code(err))}
		response.Entries = append(response.Entries, &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: answer})
	}
	return stream.Send(response)
}

// retrying is an interceptor that retries a request by itself.
func retrying(open opener) (grpc.ClientStream, error) {
	stream, err := open()
	return &retriedStream{ClientStream: stream, open: open}, err
}

type retriedStream struct {
	grpc.ClientStream
	open    opener
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

// An event is not Failed if an earlier attempt may have stored it, whoever sent it again, on both paths, alone and in
// bulk.
func TestRefusedAfterALostReply(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for name, opts := range map[string][]grpc.DialOption{
		"client":      nil,
		"config":      {grpc.WithDefaultServiceConfig(retriedByConfig)},
		"interceptor": {inside(onStreams(mutateRows, retrying)), grpc.WithChainUnaryInterceptor(retryingUnary)},
	} {
		for path, connect := range paths {
			for _, lose := range []int{0, 1, 2} {
				for _, refuse := range []codes.Code{codes.InvalidArgument, codes.PermissionDenied} {
					for _, events := range []int{1, 2, 3} {
						what := fmt.Sprint(name, "/", path, "/", lose, "/", refuse, "/", events)
						s := &lossy{lose: lose, each: events == 3, refuse: refuse, stored: map[string]bool{}}
						client, err := connect(t.Context(), startServer(t, s), opts...)
						must(t, err)
						wg.Go(func() {
							defer func() { _ = client.Close() }()
							w := newWriterOf(client, []*mappingOf[sample]{days()})
							err := w.WriteAll(t.Context(), []sample{nth(1), nth(2), nth(3)}[:events])
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
	same(t, 11, s.attempts)
}
