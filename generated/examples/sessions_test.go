package examples_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/sessiontest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// serve starts an in-memory server with tables and stops it at the end of the test.
func serve(t *testing.T, tables []table, opts ...grpc.ServerOption) (addr string) {
	t.Helper()
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", opts...)
	check(t, err)
	t.Cleanup(func() { _ = b.Close() })
	for _, tab := range tables {
		_, err := setup.Setup(t.Context(), b.Admin, nil, tab.schema.Tables(), setup.Options{NoHistory: true})
		check(t, err)
	}
	return b.Addr
}

// connect returns a client with sessions, which is closed at the end of the test.
func connect(t *testing.T, addr string, opts ...option.ClientOption) *bigtable.Client {
	t.Helper()
	client, err := sessiontest.Connect(t.Context(), addr, storetest.Project, storetest.Instance, opts...)
	check(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// silent has a server never answer that a session is open.
var silent = grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if info.FullMethod != bigtablepb.Bigtable_OpenTable_FullMethodName {
		return handle(server, stream)
	}
	<-stream.Context().Done()
	return stream.Context().Err()
})

// A client that waits for a session which does not answer is connected all the same.
func TestConnectWithoutAnswer(t *testing.T) {
	s := &sessiontest.Sessions{Load: 1}
	addr := serve(t, nil, append([]grpc.ServerOption{silent}, s.ServerOptions()...)...)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client, err := sessiontest.Connect(ctx, addr, storetest.Project, storetest.Instance)
	check(t, err)
	check(t, client.Close())
}

// The client diverts the calls that it may divert. The other tests of this package rely
// on that.
func TestClientDiverts(t *testing.T) {
	s := &sessiontest.Sessions{Load: 1}
	tab := tables(t)[0]
	client := connect(t, serve(t, []table{tab}, s.ServerOptions()...))
	table := client.OpenTable("balloon_new_cells")
	m := bigtable.NewMutation()
	m.Set("measurements", "pressure", 1000, []byte("1"))
	m.Set("measurements", "altitude", 1000, []byte("2"))
	check(t, table.Apply(t.Context(), "row", m))
	if s.Writes() != 1 {
		t.Errorf("%d writes by sessions", s.Writes())
	}
	before := s.Reads()
	want := bigtable.Row{"measurements": {
		{Row: "row", Column: "measurements:altitude", Timestamp: 1000, Value: []byte("2")},
		{Row: "row", Column: "measurements:pressure", Timestamp: 1000, Value: []byte("1")},
	}}
	for i, set := range []bigtable.RowSet{bigtable.RowList{"row"}, bigtable.NewClosedRange("row", "row"), bigtable.RowRangeList{bigtable.NewClosedRange("row", "row")}} {
		var got bigtable.Row
		check(t, table.ReadRows(t.Context(), set, func(row bigtable.Row) bool {
			got = row
			return true
		}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: (-want +got)\n%s", set, diff)
		}
		if n := s.Reads() - before; n != int64(i+1) {
			t.Errorf("%v: %d reads by sessions", set, n)
		}
	}
	none, err := table.ReadRow(t.Context(), "none")
	if check(t, err); none != nil {
		t.Error(none)
	}
}

// Whatever share of calls a client diverts, readers and writers read and write the same.
// With ClientOptions, only single events use sessions, and reads do not use them without, either.
func TestReadersAndWritersWithSessions(t *testing.T) {
	for _, load := range testlong.Pick([]float64{0.5}, []float64{0, 0.5, 1}) {
		t.Run(fmt.Sprint(load), func(t *testing.T) {
			t.Parallel()
			s := &sessiontest.Sessions{Load: load}
			all := tables(t)
			addr := serve(t, all, s.ServerOptions()...)
			for _, tab := range all {
				plain, wired := connect(t, addr), connect(t, addr, store.ClientOptions()...)
				reads, writes := s.Reads(), s.Writes()
				var ordinary atomic.Int64
				count := store.Hooks{End: func(_ context.Context, op store.Operation, _ error) { ordinary.Add(int64(op.OrdinaryRequests)) }}
				w := tab.writer(wired, count)
				check(t, w.WriteAll(t.Context(), tab.events))
				if n := s.Writes() - writes; n != 0 {
					t.Errorf("%s: %d writes by sessions", tab.name, n)
				}
				others := tab.reads(plain, store.Hooks{})
				for name, read := range tab.reads(wired, count) {
					got, err := read(t.Context())
					check(t, err)
					same, err := others[name](t.Context())
					check(t, err)
					if diff := cmp.Diff(got, same); diff != "" || len(got) == 0 || name == "all" && len(got) != len(tab.events) {
						t.Errorf("%s, %s: %d events (-wire +ordinary)\n%s", tab.name, name, len(got), diff)
					}
				}
				if n := s.Reads() - reads; n != 0 || ordinary.Load() != 0 {
					t.Errorf("%s: %d reads by sessions, %d requests in the ordinary way", tab.name, n, ordinary.Load())
				}
				check(t, w.Write(t.Context(), tab.events[0]))
				if n := s.Writes() - writes; load == 0 && n+ordinary.Load() != 0 || load == 1 && ordinary.Load() < n {
					t.Errorf("%s: %d writes by sessions, %d requests in the ordinary way", tab.name, n, ordinary.Load())
				}
				check(t, tab.writer(plain, store.Hooks{}).Write(t.Context(), tab.events[0]))
			}
		})
	}
}

// A single event is written even if the client waits for a session without end.
func TestEventWithoutSession(t *testing.T) {
	testlong.Skip(t, "waits for half of a timeout that suffices on a busy machine")
	t.Parallel()
	tab := tables(t)[0]
	s := &sessiontest.Sessions{Load: 1}
	addr := serve(t, []table{tab}, append([]grpc.ServerOption{silent}, s.ServerOptions()...)...)
	for _, opts := range [][]option.ClientOption{nil, store.ClientOptions()} {
		t.Run(fmt.Sprint(opts != nil), func(t *testing.T) {
			t.Parallel()
			client := connect(t, addr, opts...)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			tab.writeOne(ctx, t, client)
		})
	}
}

// A single event is retried until the timeout, even if the client diverts it to a
// session, which it does not retry by itself.
func TestEventSurvivesTenUnavailable(t *testing.T) {
	for _, wired := range []bool{false, true} {
		t.Run(fmt.Sprint(wired), func(t *testing.T) {
			t.Parallel()
			var left atomic.Int64
			fail := func() error {
				if left.Add(-1) >= 0 {
					return status.Error(codes.Unavailable, "not now")
				}
				return nil
			}
			s := &sessiontest.Sessions{Load: 1, Fail: fail}
			failing := grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
				if info.FullMethod == "/google.bigtable.v2.Bigtable/MutateRows" {
					if err := fail(); err != nil {
						return err
					}
				}
				return handle(server, stream)
			})
			tab := tables(t)[0]
			addr := serve(t, []table{tab}, append(s.ServerOptions(), failing)...)
			var opts []option.ClientOption
			if wired {
				opts = store.ClientOptions()
			}
			client := connect(t, addr, opts...)
			left.Store(10) // the client has already read something
			tab.writeOne(t.Context(), t, client)
			if left.Load() >= 0 || s.Writes() != 1 {
				t.Errorf("%d failures are left, and %d writes used sessions", left.Load(), s.Writes())
			}
		})
	}
}

// writeOne writes an event, which must then be read.
func (tab *table) writeOne(ctx context.Context, t *testing.T, client *bigtable.Client) {
	t.Helper()
	check(t, tab.writer(client, store.Hooks{}).Write(ctx, tab.events[0]))
	got, err := tab.reads(client, store.Hooks{})["all"](t.Context())
	if check(t, err); len(got) != 1 {
		t.Errorf("%d events", len(got))
	}
}
