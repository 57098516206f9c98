package storetest

import (
	"context"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/api/option"
	"google.golang.org/grpc"

	"github.com/btgen-dev/btgen/golden/sessiontest"
)

// newServer starts an in-memory server that speaks sessions, and keeps properties of tables and schema bundles.
func newServer(addr string, opts ...grpc.ServerOption) (*bttest.Server, error) {
	opts = append(sessiontest.FromEnvironment().ServerOptions(), opts...)
	return bttest.NewServer(addr, append(opts, grpc.ChainUnaryInterceptor(newProperties().unary, newBundles().unary))...)
}

// newClient returns a client that speaks sessions, whose connections have the options.
func newClient(ctx context.Context, addr string, opts ...grpc.DialOption) (*bigtable.Client, error) {
	options := []option.ClientOption{option.WithGRPCConnectionPool(1)}
	for _, o := range opts {
		options = append(options, option.WithGRPCDialOption(o))
	}
	return sessiontest.Connect(ctx, addr, Project, Instance, options...)
}
