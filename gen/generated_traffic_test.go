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
	t    *testing.T
	mu   sync.Mutex
	sent []*bigtablepb.ReadRowsRequest
}

// dial is storetest.Connect or storetest.ConnectPlain.
type dial func(ctx context.Context, addr string, opts ...grpc.DialOption) (*bigtable.Client, error)

// connect returns a client of the server whose reads are recorded.
func (c *traffic) connect(t *testing.T, addr string, connect dial) *bigtable.Client {
	t.Helper()
	c.t = t
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
		safeRows(s.traffic.t, r)
		s.traffic.mu.Lock()
		s.traffic.sent = append(s.traffic.sent, r)
		s.traffic.mu.Unlock()
	}
	return s.ClientStream.SendMsg(m)
}

// safeRows checks that a request reads ranges that include their start and exclude their end,
// or several keys, in forward order: the client may divert any other form of a single row to
// its session protocol, which bypasses the wire path, and loses rows of a list of keys that is
// read in reverse.
func safeRows(t *testing.T, r *bigtablepb.ReadRowsRequest) {
	for _, rows := range r.GetRows().GetRowRanges() {
		if len(rows.GetEndKeyClosed()) > 0 || len(rows.GetStartKeyOpen()) > 0 {
			t.Errorf("range %v", rows)
		}
	}
	keys, ranges := len(r.GetRows().GetRowKeys()), len(r.GetRows().GetRowRanges())
	if list := keys > 1 && ranges == 0 && !r.GetReversed(); !list && (keys > 0 || ranges == 0) {
		t.Errorf("rows %v", r.GetRows())
	}
}
