package gen_test

import (
	"context"
	"sync"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
)

// traffic records the requests of reads.
type traffic struct {
	mu   sync.Mutex
	sent []*bigtablepb.ReadRowsRequest
}

// dial is storetest.Connect or storetest.ConnectPlain.
type dial func(ctx context.Context, addr string, opts ...grpc.DialOption) (*bigtable.Client, error)

// connect returns a client of the server whose reads are recorded.
func (c *traffic) connect(t *testing.T, addr string, connect dial) *bigtable.Client {
	t.Helper()
	client, err := connect(t.Context(), addr, grpc.WithStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := streamer(ctx, desc, cc, method, opts...)
			return &watched{s, c}, err
		}))
	must(t, err)
	t.Cleanup(func() { must(t, client.Close()) })
	return client
}

// take returns the requests since the last call.
func (c *traffic) take() (sent []*bigtablepb.ReadRowsRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent, c.sent = c.sent, nil
	return sent
}

// watched is a stream of a client whose reads are recorded.
type watched struct {
	grpc.ClientStream
	traffic *traffic
}

func (s *watched) SendMsg(m any) error {
	if r, ok := m.(*bigtablepb.ReadRowsRequest); ok {
		s.traffic.mu.Lock()
		s.traffic.sent = append(s.traffic.sent, r)
		s.traffic.mu.Unlock()
	}
	return s.ClientStream.SendMsg(m)
}
