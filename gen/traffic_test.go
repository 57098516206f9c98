package gen

import (
	"context"
	"net"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/gen/internal/model"
)

// unavailable is a server whose reads fail, or hang if the request has no table.
type unavailable struct {
	bigtablepb.UnimplementedBigtableServer
}

func (unavailable) ReadRows(r *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	if r.TableName == "" {
		<-stream.Context().Done()
	}
	return status.Error(codes.Unavailable, "broken")
}

// TestFailedStreamsAreReported reads from a server that fails: Take returns the error, so that the
// client's retry is not taken for a request too many. A stream that the reader cancels is no failure.
func TestFailedStreamsAreReported(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	bigtablepb.RegisterBigtableServer(server, unavailable{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	traffic := new(model.Traffic)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStreamInterceptor(traffic.Intercept))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	read := func(table string, cancels bool) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		rows := &bigtablepb.RowSet{RowRanges: []*bigtablepb.RowRange{{}}}
		stream, err := bigtablepb.NewBigtableClient(conn).ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: table, Rows: rows})
		if err != nil {
			t.Fatal(err)
		}
		if cancels {
			cancel()
		}
		if _, err := stream.Recv(); err == nil {
			t.Fatal("the read did not fail")
		}
		_, failed := traffic.Take()
		return failed
	}
	if err := read("", true); err != nil {
		t.Errorf("a canceled stream: %v", err)
	}
	if err := read("t", false); status.Code(err) != codes.Unavailable {
		t.Errorf("a broken stream: %v", err)
	}
}
