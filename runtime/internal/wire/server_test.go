package wire_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/btgen-dev/btgen/runtime/internal/conformance/wired"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// play answers a request. attempt counts the requests of a read from 0.
type play func(attempt int, request *bigtablepb.ReadRowsRequest, send func(message []byte)) error

// warm is a Bigtable that only answers the first call of a client.
type warm struct {
	bigtablepb.UnimplementedBigtableServer
}

func (warm) PingAndWarm(context.Context, *bigtablepb.PingAndWarmRequest) (*bigtablepb.PingAndWarmResponse, error) {
	return new(bigtablepb.PingAndWarmResponse), nil
}

// server is a Bigtable that sends what a test specifies.
type server struct {
	warm
	play     play
	attempts atomic.Int64
}

func (s *server) ReadRows(request *bigtablepb.ReadRowsRequest, stream bigtablepb.Bigtable_ReadRowsServer) error {
	attempt := int(s.attempts.Add(1)) - 1
	return s.play(attempt, request, func(message []byte) { _ = stream.SendMsg(message) })
}

// rawCodec sends bytes unchanged.
type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if raw, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// serve starts a server and stops it at the end of the test.
func serve(t testing.TB, play play) (addr string) {
	t.Helper()
	return listen(t, &server{play: play}, grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2(proto.Name)}))
}

// listen starts a server and stops it at the end of the test.
func listen(t testing.TB, server bigtablepb.BigtableServer, opts ...grpc.ServerOption) (addr string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	s := grpc.NewServer(opts...)
	bigtablepb.RegisterBigtableServer(s, server)
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	return listener.Addr().String()
}

// A path is a way in which rows reach a reader.
type path struct {
	name    string
	connect func(ctx context.Context, addr string, opts ...grpc.DialOption) (*bigtable.Client, error)
}

var (
	ordinaryPath = path{"ordinary", storetest.ConnectPlain}
	wirePath     = path{"wire", storetest.Connect}
)

// result is the result of a read.
type result struct {
	rows []string
	err  error
}

// read reads what a server plays.
func (p path) read(t testing.TB, play play, opts ...bigtable.ReadOption) (out result) {
	t.Helper()
	client := opened(t)(p.connect(t.Context(), serve(t, play)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out.rows, out.err = rowsOf(ctx, client, opts...)
	return out
}

// rowsOf reads all rows, formatted by text.
func rowsOf(ctx context.Context, client *bigtable.Client, opts ...bigtable.ReadOption) (rows []string, err error) {
	var lost error
	var sink wire.Sink
	err = client.Open("t").ReadRows(wire.WithSink(ctx, &sink), bigtable.InfiniteRange(""), func(arrived bigtable.Row) bool {
		var decoded wire.Some
		if decoded, lost = sink.Rows(arrived); lost != nil {
			return false
		}
		for i := range decoded.Len() {
			row := decoded.At(i)
			if lost = received(row); lost != nil {
				return false
			}
			rows = append(rows, text(row))
			row.Release()
		}
		return true
	}, opts...)
	if lost != nil {
		err = lost
	}
	return rows, err
}

// received returns an error unless the counts of a row are those of its cells.
func received(row wire.Row) error {
	n, least := 0, len(row.Key())
	most := 2 * least // a chunk may repeat it
	for i, c := range row.Columns() {
		for _, cell := range row.Cells(&row.Columns()[i]) {
			n, least, most = n+1, least+cell.Value.Len(), most+cell.Value.Len()+c.Family.Len()+c.Qualifier.Len()+64
		}
	}
	if cells, bytes := row.Received(); cells != n || bytes < least || bytes > most {
		return fmt.Errorf("%d cells of %d bytes instead of %d of %d to %d", cells, bytes, n, least, most)
	}
	return nil
}

// text formats a row with its cells, by family.
func text(row wire.Row) string {
	columns := slices.Clone(row.Columns())
	slices.SortStableFunc(columns, func(a, b wire.Column) int { return bytes.Compare(row.Bytes(a.Family), row.Bytes(b.Family)) })
	var b strings.Builder
	fmt.Fprintf(&b, "%q", row.Key())
	for i := range columns {
		for _, cell := range row.Cells(&columns[i]) {
			fmt.Fprintf(&b, " %q:%q@%d=%q", row.Bytes(columns[i].Family), row.Bytes(columns[i].Qualifier), cell.Micros, row.Bytes(cell.Value))
		}
	}
	return b.String()
}

// opened returns a function that returns a client, which it closes at the end of a test.
func opened(t testing.TB) func(*bigtable.Client, error) *bigtable.Client {
	return func(client *bigtable.Client, err error) *bigtable.Client {
		t.Helper()
		must(t, err)
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
}

// The wire path reads and writes the same as the client.
func TestWired(t *testing.T) {
	bt := storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		return b.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: "t", Families: map[string]bigtable.GCPolicy{"f": bigtable.NoGcPolicy()}})
	})
	set := func(family, value string) []*bigtablepb.Mutation {
		return []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
			FamilyName: family, ColumnQualifier: []byte("q"), TimestampMicros: 1000, Value: []byte(value),
		}}}}
	}
	table := bt.Client.OpenTable("t")
	errs, err := wired.ApplyBulk(t.Context(), table, []*bigtablepb.MutateRowsRequest_Entry{
		{RowKey: []byte("a"), Mutations: set("f", "1")}, {RowKey: []byte("b"), Mutations: set("none", "2")}, {RowKey: []byte("c"), Mutations: set("f", "3")},
	})
	if err != nil || len(errs) != 3 || errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Fatal(errs, err)
	}
	var want, got []bigtable.Row
	all := bigtable.InfiniteRange("")
	must(t, table.ReadRows(t.Context(), all, func(r bigtable.Row) bool { want = append(want, r); return true }))
	must(t, wired.ReadRows(t.Context(), table, all, func(r bigtable.Row) bool { got = append(got, r); return true }))
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 2 {
		t.Errorf("(-client +wire)\n%s", diff)
	}
}
