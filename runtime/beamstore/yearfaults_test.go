package beamstore_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// faults makes requests for rows fail: before they are executed, after that, so that the reply is
// lost, or in the middle of a stream.
type faults struct {
	mu     sync.Mutex
	random *rand.Rand
	chance int    // a request fails once in so many, in each way; 0 for never
	left   int    // requests until kill
	kill   func() // ends the program
}

// errLost is what a client gets of a request that failed.
var errLost = status.Error(codes.Unavailable, "the connection broke")

// after calls kill at a request, the n-th from now on; nil for never.
func (f *faults) after(n int, kill func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.kill = n, kill
}

// fails reports whether something fails.
func (f *faults) fails() bool { return f.chance > 0 && f.random.IntN(f.chance) == 0 }

// begin says of a request whether it fails before it is executed, and after how many messages its reply
// breaks off; -1 for never.
func (f *faults) begin(method string) (before bool, breaks int) {
	if !strings.HasPrefix(method, "/google.bigtable.v2.") {
		return false, -1
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kill != nil {
		if f.left--; f.left < 0 {
			f.kill()
			f.kill = nil
		}
	}
	if breaks = -1; f.fails() {
		breaks = f.random.IntN(3)
	}
	return f.fails(), breaks
}

// unary is the interceptor of requests for one row.
func (f *faults) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	before, breaks := f.begin(info.FullMethod)
	if before {
		return nil, errLost
	}
	reply, err := handler(ctx, request)
	if breaks >= 0 {
		return nil, errLost
	}
	return reply, err
}

// stream is the interceptor of other requests.
func (f *faults) stream(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	before, breaks := f.begin(info.FullMethod)
	if before {
		return errLost
	}
	if breaks < 0 {
		return handler(server, s)
	}
	return handler(server, &breakingStream{s, breaks})
}

// breakingStream is a stream that breaks off after some messages.
type breakingStream struct {
	grpc.ServerStream
	left int
}

// SendMsg fails at the end.
func (s *breakingStream) SendMsg(m any) error {
	if s.left--; s.left < 0 {
		return errLost
	}
	return s.ServerStream.SendMsg(m)
}
