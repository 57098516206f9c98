package world

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fault is how a request fails.
type fault int

// The faults.
const (
	unsent fault = iota // it does not arrive
	lost                // it is applied, and its reply is lost
	broken              // its stream breaks off after some messages
	killed              // neither it nor any later one arrives, until the call ends
)

// faults lets a request of clients fail.
type faults struct {
	mu     sync.Mutex
	armed  bool
	fault  fault
	skip   int // requests before it
	after  int // messages that a stream receives before it breaks
	code   codes.Code
	struck bool
}

// arm lets one of the next requests fail.
func (f *faults) arm(how fault, skip, after int, code codes.Code) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.struck, f.fault, f.skip, f.after, f.code = true, false, how, skip, after, code
}

// disarm lets all requests succeed, and reports whether one has failed.
func (f *faults) disarm() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
	return f.struck
}

// strikes returns how a request fails; false if it does not.
func (f *faults) strikes() (how fault, after int, err error, fails bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed {
		return 0, 0, nil, false
	}
	if f.skip--; f.skip >= 0 {
		return 0, 0, nil, false
	}
	f.armed, f.struck = f.fault == killed, true
	return f.fault, f.after, status.Error(f.code, "this request fails"), true
}

// unary is an interceptor of a client.
func (f *faults) unary(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	how, _, failure, fails := f.strikes()
	switch {
	case !fails:
		return invoker(ctx, method, request, reply, cc, opts...)
	case how == lost:
		_ = invoker(ctx, method, request, reply, cc, opts...)
	}
	return failure
}

// stream is an interceptor of a client.
func (f *faults) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	how, after, failure, fails := f.strikes()
	if !fails {
		return streamer(ctx, desc, cc, method, opts...)
	}
	if how == unsent || how == killed {
		return nil, failure
	}
	ctx, cancel := context.WithCancel(ctx)
	s, err := streamer(ctx, desc, cc, method, slices.Clip(opts)...)
	if err != nil {
		cancel()
		return nil, err
	}
	return &brokenStream{ClientStream: s, cancel: cancel, reads: strings.HasSuffix(method, "Rows") && !strings.HasSuffix(method, "MutateRows"), lost: how == lost, left: after, err: failure}, nil
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
