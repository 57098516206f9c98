// Package storetest starts Google's in-memory Bigtable for tests. It configures the
// server and clients like the service: rows may exceed 4 MiB, tables may have authorized views,
// tiers, row key schemas and schema bundles, and clients do not export metrics.
//
// Generated test packages wrap it; [New] starts a server that stops at the end of a
// test.
package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// The project and instance of the in-memory server. It accepts any others, too.
const (
	Project  = "project"
	Instance = "instance"
)

// maxMessage is the maximum message size of servers and clients in bytes, which is the
// maximum size of a Bigtable row.
const maxMessage = 256 << 20

// Bigtable is a running in-memory server and clients that are connected to it.
type Bigtable struct {
	Addr   string // host:port on the loopback interface
	Client *bigtable.Client
	Admin  *bigtable.AdminClient
	close  func() error
}

// Start starts a server on a free port of the loopback interface and connects to it.
// The caller must call [Bigtable.Close].
func Start(ctx context.Context) (*Bigtable, error) { return StartAt(ctx, "127.0.0.1:0") }

// StartAt starts a server at the given host:port and connects to it. Interceptors in opts come
// before those of this package. The caller must call [Bigtable.Close].
func StartAt(ctx context.Context, addr string, opts ...grpc.ServerOption) (*Bigtable, error) {
	server, err := newServer(addr, append([]grpc.ServerOption{grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage)}, opts...)...)
	if err != nil {
		return nil, err
	}
	b := &Bigtable{Addr: server.Addr}
	b.close = sync.OnceValue(func() error { return b.disconnect(server) })
	if b.Client, err = Connect(ctx, b.Addr); err == nil {
		b.Admin, err = ConnectAdmin(ctx, b.Addr)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// New starts a server, runs setup on it, and stops it at the end of the test. It fails
// the test if that is not possible.
func New(t testing.TB, setup func(ctx context.Context, b *Bigtable) error) *Bigtable {
	t.Helper()
	b, err := Start(t.Context())
	if err != nil {
		t.Fatalf("starting the in-memory Bigtable: %v", err)
	}
	t.Cleanup(func() { _ = b.Close() })
	if err := setup(t.Context(), b); err != nil {
		t.Fatalf("setting up the in-memory Bigtable: %v", err)
	}
	return b
}

// Close disconnects the clients and stops the server. All its data is lost. Close may
// be called more than once.
func (b *Bigtable) Close() error { return b.close() }

func (b *Bigtable) disconnect(server *bttest.Server) error {
	var errs []error
	if b.Client != nil {
		errs = append(errs, b.Client.Close())
	}
	if b.Admin != nil {
		errs = append(errs, b.Admin.Close())
	}
	server.Close()
	return errors.Join(errs...)
}

// Connect returns a client of the server at addr with the ClientOptions of generated
// code. opts take precedence over the default options of tests.
func Connect(ctx context.Context, addr string, opts ...grpc.DialOption) (*bigtable.Client, error) {
	return ConnectPlain(ctx, addr, append(wire.DialOptions(), opts...)...)
}

// ConnectPlain is like [Connect] but does not use the ClientOptions of generated code.
func ConnectPlain(ctx context.Context, addr string, opts ...grpc.DialOption) (*bigtable.Client, error) {
	return newClient(ctx, addr, dialOptions(opts)...)
}

// ConnectAdmin returns an admin client of the server at addr. opts take precedence over
// the default options of tests.
func ConnectAdmin(ctx context.Context, addr string, opts ...grpc.DialOption) (*bigtable.AdminClient, error) {
	conn, err := dial(addr, append(wire.DialOptions(), opts...)...)
	if err != nil {
		return nil, err
	}
	admin, err := bigtable.NewAdminClient(ctx, Project, Instance, option.WithGRPCConn(conn))
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return admin, nil
}

// dial opens a connection.
func dial(addr string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(addr, dialOptions(opts)...)
}

// dialOptions returns the options of an unencrypted connection, followed by opts.
func dialOptions(opts []grpc.DialOption) []grpc.DialOption {
	return append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
	}, opts...)
}
