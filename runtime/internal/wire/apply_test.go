package wire_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// rowServer records the requests for single rows. It is unavailable for the first ones, and rejects those without mutations.
type rowServer struct {
	bigtablepb.UnimplementedBigtableServer
	unavailable int

	mu       sync.Mutex
	requests []*bigtablepb.MutateRowRequest
}

func (s *rowServer) PingAndWarm(context.Context, *bigtablepb.PingAndWarmRequest) (*bigtablepb.PingAndWarmResponse, error) {
	return new(bigtablepb.PingAndWarmResponse), nil
}

func (s *rowServer) MutateRow(_ context.Context, r *bigtablepb.MutateRowRequest) (*bigtablepb.MutateRowResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	switch {
	case len(s.requests) <= s.unavailable:
		return nil, grpcstatus.Error(codes.Unavailable, "later")
	case len(r.Mutations) == 0 || strings.Contains(r.Mutations[0].GetSetCell().GetFamilyName(), " "):
		return nil, grpcstatus.Error(codes.InvalidArgument, "no mutations, or of a family that no table has")
	}
	return new(bigtablepb.MutateRowResponse), nil
}

// TestApplyEncoded checks that the server gets the same requests from both calls, also after errors that pass, and that a call
// which another interceptor encodes has sent nothing.
func TestApplyEncoded(t *testing.T) {
	plain := grpc.ForceCodecV2(encoding.GetCodecV2(protocodec.Name))
	forced := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoker(ctx, method, request, reply, conn, append(opts, plain)...)
	}
	for name, c := range map[string]struct {
		unavailable, sent int
		options           []grpc.DialOption
		code              codes.Code
	}{
		"at once":       {0, 1, wire.DialOptions(), codes.OK},
		"at the third":  {2, 3, wire.DialOptions(), codes.OK},
		"another codec": {0, 0, append(wire.DialOptions(), grpc.WithChainUnaryInterceptor(forced)), codes.InvalidArgument},
		"not installed": {0, 0, nil, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			s := &rowServer{unavailable: c.unavailable}
			addr := listen(t, s)
			table := opened(t)(storetest.ConnectPlain(t.Context(), addr, c.options...)).OpenTable("t")
			sent, err := wire.ApplyEncoded(t.Context(), table, "row", mutations(3))
			if sent != c.sent || grpcstatus.Code(err) != c.code {
				t.Fatalf("%d attempts and %v, want %d and %v", sent, err, c.sent, c.code)
			}
			if sent == 0 {
				return
			}
			m := bigtable.NewMutation()
			new(wire.Converter).AddTo(m, mutations(3))
			before := len(s.requests)
			must(t, table.Apply(t.Context(), "row", m))
			for _, r := range s.requests[:before] {
				if diff := cmp.Diff(s.requests[before], r, protocmp.Transform()); diff != "" {
					t.Errorf("(-ordinary +encoded):\n%s", diff)
				}
			}
		})
	}
}
