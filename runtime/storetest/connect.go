package storetest

import (
	"context"
	"errors"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
)

func newServer(addr string, opts ...grpc.ServerOption) (*bttest.Server, error) {
	v, t, b, x := newViews(), newProperties(), newBundles(), &exclusive{}
	return bttest.NewServer(addr, append(opts,
		grpc.ChainUnaryInterceptor(withoutEmptyRules, v.unary, t.unary, b.unary, x.unary), grpc.ChainStreamInterceptor(v.stream, x.stream))...)
}

// withoutEmptyRules removes rules that keep everything from the families of a new table.
// The server would log a complaint about each of them whenever it collects garbage.
func withoutEmptyRules(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if create, ok := request.(*adminpb.CreateTableRequest); ok {
		for _, f := range create.GetTable().GetColumnFamilies() {
			if f.GetGcRule().GetRule() == nil {
				f.GcRule = nil
			}
		}
	}
	return handler(ctx, request)
}

// newClient returns a client with one connection.
func newClient(ctx context.Context, addr string, opts ...grpc.DialOption) (*bigtable.Client, error) {
	conn, err := grpc.NewClient(addr, opts...)
	if err != nil {
		return nil, err
	}
	config := bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}
	client, err := bigtable.NewClientWithConfig(ctx, Project, Instance, config, option.WithGRPCConn(conn))
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return client, nil
}
