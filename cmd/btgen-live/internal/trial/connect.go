package trial

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"

	"cloud.google.com/go/bigtable"
	admin "cloud.google.com/go/bigtable/admin/apiv2"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/api/option"
	gtransport "google.golang.org/api/transport/grpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/runtime/store"
)

// Clients are connections to the instance that is tried. Client and Admin are those that a program would have. Requests
// that the client would not send go through a connection of this package.
type Clients struct {
	Project, Instance, AppProfile string
	Client                        *bigtable.Client
	Admin                         *bigtable.AdminClient

	conn  *grpc.ClientConn
	data  bigtablepb.BigtableClient
	gapic *admin.BigtableTableAdminClient
}

// maxMessage is the largest message that is received, in bytes.
const maxMessage = 256 << 20

// connect opens the connection for requests that the client would not send. It is closed by close.
func (c *Clients) connect(ctx context.Context) (err error) {
	options := []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(c.unary), grpc.WithChainStreamInterceptor(c.stream),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
	}
	if host := os.Getenv(store.EmulatorVariable); host != "" {
		c.conn, err = grpc.NewClient(host, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	} else {
		all := []option.ClientOption{option.WithEndpoint("bigtable.googleapis.com:443"), option.WithScopes(bigtable.Scope)}
		for _, o := range options {
			all = append(all, option.WithGRPCDialOption(o))
		}
		c.conn, err = gtransport.Dial(ctx, all...)
	}
	if err != nil {
		return fmt.Errorf("connecting to the instance: %w", err)
	}
	c.data, c.gapic = bigtablepb.NewBigtableClient(c.conn), c.Admin.TableAdminClientV2()
	return nil
}

// close closes the connection that connect opened, and adds its error to err.
func (c *Clients) close(err error) error { return errors.Join(err, c.conn.Close()) }

// parent is the name of the instance in requests.
func (c *Clients) parent() string {
	return fmt.Sprintf("projects/%s/instances/%s", c.Project, c.Instance)
}

// table is the name of a table in requests.
func (c *Clients) table(id string) string { return c.parent() + "/tables/" + id }

// unary adds the headers by which Bigtable routes a request, as the client does.
func (c *Clients) unary(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoker(c.routed(ctx, request), method, request, reply, conn, opts...)
}

// stream is unary for streams. Their first message has the name of the table, so it is in the context.
func (c *Clients) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return streamer(c.routed(ctx, ctx.Value(requestKey{})), desc, conn, method, opts...)
}

// requestKey is that of the request of a stream in its context.
type requestKey struct{}

// streaming returns the context of a stream with a request.
func streaming(ctx context.Context, request any) context.Context {
	return context.WithValue(ctx, requestKey{}, request)
}

// features are what this package accepts of a server: without them, it would refuse reversed scans.
var features = &bigtablepb.FeatureFlags{ReverseScans: true, LastScannedRowResponses: true, RetryInfo: true}

// routed returns the context of a request with its headers.
func (c *Clients) routed(ctx context.Context, request any) context.Context {
	name, parameter := c.parent(), "name"
	if _, ok := request.(interface{ GetInstanceName() string }); ok {
		parameter = "instance_name"
	}
	if r, ok := request.(interface{ GetTableName() string }); ok && r.GetTableName() != "" {
		name, parameter = r.GetTableName(), "table_name"
	}
	if r, ok := request.(interface{ GetAuthorizedViewName() string }); ok && r.GetAuthorizedViewName() != "" {
		name, parameter = r.GetAuthorizedViewName(), "authorized_view_name"
	}
	flags, _ := proto.Marshal(features) // a message without required fields
	return metadata.AppendToOutgoingContext(ctx, "google-cloud-resource-prefix", name,
		"x-goog-request-params", fmt.Sprintf("%s=%s&app_profile_id=%s", parameter, url.QueryEscape(name), url.QueryEscape(c.AppProfile)),
		"bigtable-features", base64.URLEncoding.EncodeToString(flags))
}
