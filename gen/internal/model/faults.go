package model

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
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// Fault is a way in which a request fails.
type Fault string

// The faults.
const (
	Unsent     Fault = "the request does not arrive"
	Lost       Fault = "the server applies the request, and its reply is lost"
	BrokenRead Fault = "the stream of a read breaks off"
)

// Faults lets a request of a client fail.
type Faults struct {
	mu     sync.Mutex
	armed  bool
	fault  Fault
	skip   int // number of requests of the kind that succeed before
	after  int // number of messages that a broken read receives
	code   codes.Code
	struck bool
}

// arm lets one of the next requests fail.
func (f *Faults) arm(fault Fault, skip, after int, code codes.Code) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.fault, f.skip, f.after, f.code = true, fault, skip, after, code
}

// disarm lets all requests succeed.
func (f *Faults) disarm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
}

// struckOnce reports whether a request failed since the last call.
func (f *Faults) struckOnce() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	struck := f.struck
	f.struck = false
	return struck
}

// failing is a request that fails.
type failing struct {
	fault Fault
	after int
	err   error
}

// strikes returns how a request fails; nil if it does not.
func (f *Faults) strikes(method string) *failing {
	f.mu.Lock()
	defer f.mu.Unlock()
	read := strings.HasSuffix(method, "/ReadRows")
	if !f.armed || read != (f.fault == BrokenRead) || !read && !strings.Contains(method, "/MutateRow") {
		return nil
	}
	if f.skip--; f.skip >= 0 {
		return nil
	}
	f.armed, f.struck = false, true
	return &failing{f.fault, f.after, status.Error(f.code, string(f.fault))}
}

// InterceptUnary is a unary interceptor of the client.
func (f *Faults) InterceptUnary(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	q := f.strikes(method)
	if q == nil {
		return invoker(ctx, method, request, reply, cc, opts...)
	}
	if q.fault == Lost {
		if err := invoker(ctx, method, request, new(bigtablepb.MutateRowResponse), cc, opts...); err != nil {
			return err
		}
	}
	return q.err
}

// Intercept is the last stream interceptor of the client.
func (f *Faults) Intercept(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	q := f.strikes(method)
	switch {
	case q == nil:
		return streamer(ctx, desc, cc, method, opts...)
	case q.fault == Unsent:
		return nil, q.err
	}
	ctx, cancel := context.WithCancel(ctx)
	if q.fault == Lost {
		opts = append(slices.Clip(opts), grpc.ForceCodecV2(deafCodec{codecOf(opts)}))
	}
	s, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil {
		cancel()
		return nil, err
	}
	return &faultyStream{ClientStream: s, failing: q, cancel: cancel, left: q.after}, nil
}

// codecOf returns the codec of a call.
func codecOf(opts []grpc.CallOption) encoding.CodecV2 {
	codec := encoding.GetCodecV2(proto.Name)
	for _, o := range opts {
		if forced, ok := o.(grpc.ForceCodecV2CallOption); ok {
			codec = forced.CodecV2
		}
	}
	return codec
}

// deafCodec ignores responses.
type deafCodec struct{ encoding.CodecV2 }

// Unmarshal does nothing.
func (deafCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

// faultyStream is a stream that breaks.
type faultyStream struct {
	grpc.ClientStream
	failing *failing
	cancel  context.CancelFunc
	left    int // number of messages to pass on
}

// RecvMsg passes on some messages of a read, and none of a request with mutations, which
// has been applied when it returns.
func (s *faultyStream) RecvMsg(m any) error {
	if s.failing.fault == Lost {
		var err error
		for err == nil {
			err = s.ClientStream.RecvMsg(m)
		}
		s.cancel()
		if !errors.Is(err, io.EOF) {
			return err
		}
		return s.failing.err
	}
	if s.left--; s.left >= 0 {
		if err := s.ClientStream.RecvMsg(m); err != nil {
			s.cancel()
			return err
		}
		return nil
	}
	s.cancel()
	return s.failing.err
}
