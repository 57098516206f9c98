package storetest

import (
	"context"
	"errors"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
)

func newServer(addr string, opts ...grpc.ServerOption) (*bttest.Server, error) {
	return bttest.NewServer(addr, opts...)
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
