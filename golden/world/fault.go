package world

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	protobuf "google.golang.org/protobuf/proto"
)

// fault is how a request fails.
type fault int

// The faults.
const (
	unsent  fault = iota // it does not arrive
	lost                 // it is applied, and its reply is lost
	broken               // its stream breaks off after some messages
	killed               // neither it nor any later one arrives, until the call ends, as it may at once
	late                 // it arrives, but only when the call has ended
	stopped              // like killed, but the first one arrives when the call has ended
)

// faults lets a request of clients fail.
type faults struct {
	mu      sync.Mutex
	armed   bool
	fault   fault
	deletes bool   // the call deletes events
	latest  string // the table of the newest events
	only    string // a part of the name of the table of the requests; empty for all
	skip    int    // requests before it
	after   int    // messages that a stream receives before it breaks
	code    codes.Code
	struck  bool
	cancel  context.CancelFunc // ends the call when a request is killed; nil to let it go on
	copies  []lateCopy
}

// lateCopy is a request that arrives later.
type lateCopy struct {
	deletes bool // it is of a deletion
	latest  bool // it is for a table of the newest events
	arrive  func()
}

// arm lets one of the next requests fail, or only of those about a table.
func (f *faults) arm(how fault, only string, skip, after int, code codes.Code) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.struck, f.fault, f.only, f.skip, f.after, f.code = true, false, how, only, skip, after, code
}

// arrive lets some requests arrive. Those that cannot be sent are lost.
func (f *faults) arrive(some func(c lateCopy) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.copies = slices.DeleteFunc(f.copies, func(c lateCopy) bool {
		if !some(c) {
			return false
		}
		c.arrive()
		return true
	})
}

// delay keeps a request that arrives later.
func (f *faults) delay(request any, arrive func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if of, ok := request.(interface{ GetTableName() string }); ok {
		f.copies = append(f.copies, lateCopy{f.deletes, f.latest != "" && strings.HasSuffix(of.GetTableName(), "/"+f.latest), arrive})
	}
}

// disarm lets all requests succeed, and reports whether one has failed.
func (f *faults) disarm() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
	return f.struck
}

// strikes returns how a request fails; false if it does not.
func (f *faults) strikes(ctx context.Context) (how fault, after int, err error, fails bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if of, _ := metadata.FromOutgoingContext(ctx); !f.armed || f.only != "" && !strings.Contains(strings.Join(of["x-goog-request-params"], ""), f.only) {
		return 0, 0, nil, false
	}
	if f.skip--; f.skip >= 0 {
		return 0, 0, nil, false
	}
	how = f.fault
	if how == stopped {
		how, f.fault = late, killed
	}
	if f.armed, f.struck, f.only = f.fault == killed, true, ""; f.armed && f.cancel != nil {
		f.cancel()
	}
	return how, f.after, status.Error(f.code, "this request fails"), true
}

// unary is an interceptor of a client.
func (f *faults) unary(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	how, _, failure, fails := f.strikes(ctx)
	switch {
	case !fails:
		return invoker(ctx, method, request, reply, cc, opts...)
	case how == lost:
		_ = invoker(ctx, method, request, reply, cc, opts...)
	case how == late:
		of, to := sent(request, opts), reply.(protobuf.Message).ProtoReflect().New().Interface()
		f.delay(of, func() { _ = invoker(context.WithoutCancel(ctx), method, of, to, cc) })
	}
	return failure
}

// stream is an interceptor of a client. Streams of sessions do not fail: the client waits for half a minute until
// one opens.
func (f *faults) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if strings.Contains(method, "/Open") {
		return streamer(ctx, desc, cc, method, opts...)
	}
	how, after, failure, fails := f.strikes(ctx)
	if !fails {
		return streamer(ctx, desc, cc, method, opts...)
	}
	reads := strings.HasSuffix(method, "Rows") && !strings.HasSuffix(method, "MutateRows")
	switch {
	case how == unsent || how == killed || how == late && !strings.HasSuffix(method, "MutateRows"):
		return nil, failure
	case how == late:
		open := func() (grpc.ClientStream, error) { return streamer(context.WithoutCancel(ctx), desc, cc, method) }
		return &lateStream{ctx: ctx, faults: f, opts: opts, open: open, err: failure}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	s, err := streamer(ctx, desc, cc, method, slices.Clip(opts)...)
	if err != nil {
		cancel()
		return nil, err
	}
	return &brokenStream{ClientStream: s, cancel: cancel, reads: reads, lost: how == lost, left: after, err: failure}, nil
}

// brokenStream is a stream that breaks off.
type brokenStream struct {
	grpc.ClientStream
	cancel context.CancelFunc
	reads  bool
	lost   bool // it breaks off once the server has done everything
	left   int
	err    error
}

// RecvMsg receives the messages before the stream breaks.
func (s *brokenStream) RecvMsg(m any) error {
	if s.lost && !s.reads {
		for {
			if err := s.ClientStream.RecvMsg(m); err != nil {
				s.cancel()
				if err == io.EOF {
					err = s.err
				}
				return err
			}
		}
	}
	if s.left--; s.left < 0 {
		s.cancel()
		return s.err
	}
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		s.cancel()
	}
	return err
}

// lateStream is a stream that breaks off, and whose request arrives later.
type lateStream struct {
	grpc.ClientStream // nil
	ctx               context.Context
	faults            *faults
	opts              []grpc.CallOption
	open              func() (grpc.ClientStream, error)
	err               error
}

// SendMsg keeps the request.
func (s *lateStream) SendMsg(m any) error {
	of := sent(m, s.opts)
	s.faults.delay(of, func() {
		stream, err := s.open()
		if err == nil {
			err = errors.Join(stream.SendMsg(of), stream.CloseSend())
		}
		for err == nil {
			err = stream.RecvMsg(new(bigtablepb.MutateRowsResponse))
		}
	})
	return nil
}

// CloseSend does nothing: the request follows.
func (s *lateStream) CloseSend() error { return nil }

// RecvMsg fails.
func (s *lateStream) RecvMsg(any) error { return s.err }

// Header, Trailer and Context are those of a stream without an answer.
func (s *lateStream) Header() (metadata.MD, error) { return nil, s.err }
func (s *lateStream) Trailer() metadata.MD         { return nil }
func (s *lateStream) Context() context.Context     { return s.ctx }

// sent returns a request as it is sent: codecs of the project add to it what is in memory that is used again after
// the call.
func sent(request any, opts []grpc.CallOption) protobuf.Message {
	codec := encoding.GetCodecV2(proto.Name)
	for _, o := range opts {
		if forced, ok := o.(grpc.ForceCodecV2CallOption); ok {
			codec = forced.CodecV2
		}
	}
	out := request.(protobuf.Message).ProtoReflect().New().Interface()
	data, err := codec.Marshal(request)
	if err == nil {
		err = protobuf.Unmarshal(data.Materialize(), out)
	}
	if err != nil {
		panic(err)
	}
	return out
}
