package beamstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/btgen-dev/btgen/runtime/store"
)

// Connection names the Bigtable instance of a pipeline. It is part of the pipeline, so all
// workers use the same. Credentials are the default ones of each worker.
type Connection struct {
	Project  string
	Instance string
	// AppProfile is the app profile of all requests; empty for the default one. Batch work is
	// best given a separate app profile with a low request priority.
	AppProfile string
	// TablePrefix precedes every table ID, for example "staging_".
	TablePrefix string
	// Emulator is the host:port of an emulator. If it is empty, the environment variable
	// BIGTABLE_EMULATOR_HOST of the program that builds the pipeline determines it.
	Emulator string
}

// resolved returns the connection for the workers.
func (c Connection) resolved() Connection {
	if c.Emulator == "" {
		c.Emulator = os.Getenv("BIGTABLE_EMULATOR_HOST")
	}
	return c
}

// maxMessage is the maximum size of a Bigtable row in bytes. The client's own limit does not
// apply to the connection to an emulator.
const maxMessage = 256 << 20

// dial connects to the instance.
func (c Connection) dial(ctx context.Context) (*bigtable.Client, error) {
	config := bigtable.ClientConfig{AppProfile: c.AppProfile}
	if c.Emulator == "" {
		return store.NewClient(ctx, c.Project, c.Instance, config)
	}
	config.MetricsProvider = bigtable.NoopMetricsProvider{}
	conn, err := grpc.NewClient(c.Emulator, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return nil, fmt.Errorf("emulator %s: %w", c.Emulator, err)
	}
	return bigtable.NewClientWithConfig(ctx, c.Project, c.Instance, config, option.WithGRPCConn(conn))
}

// clients contains the clients of this process. All bundles of a worker share them, because
// opening one takes longer than processing a small bundle.
var clients = struct {
	sync.Mutex
	open map[Connection]*sharedClient
}{open: map[Connection]*sharedClient{}}

// sharedClient is a client and the number of its users.
type sharedClient struct {
	*bigtable.Client
	of    Connection
	users int
}

// acquire returns the client of a connection, which the caller must release.
func (c Connection) acquire() (*sharedClient, error) {
	clients.Lock()
	defer clients.Unlock()
	shared := clients.open[c]
	if shared == nil {
		client, err := c.dial(context.Background()) // it outlives the bundle that opens it
		if err != nil {
			return nil, err
		}
		shared = &sharedClient{Client: client, of: c}
		clients.open[c] = shared
	}
	shared.users++
	return shared, nil
}

// release closes the client if nobody else uses it. Releasing nil does nothing.
func (c *sharedClient) release() error {
	if c == nil {
		return nil
	}
	clients.Lock()
	defer clients.Unlock()
	if c.users--; c.users > 0 {
		return nil
	}
	delete(clients.open, c.of)
	return c.Close()
}

// opened is a DoFn with a client.
type opened struct {
	Conn Connection

	client *sharedClient
}

// Setup opens the client.
func (fn *opened) Setup() (err error) {
	fn.client, err = fn.Conn.acquire()
	return err
}

// split returns the ranges of f. The runner splits without Setup.
func (fn *opened) split(f func(client store.Client) ([]store.KeyRange, error)) (ranges []store.KeyRange, err error) {
	client, err := fn.Conn.acquire()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.release()) }()
	return f(client.Client)
}

// Teardown closes the client.
func (fn *opened) Teardown() error { return fn.client.release() }
