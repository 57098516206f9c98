package store_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/templates/store"
	"github.com/btgen-dev/btgen/templates/storetest"
)

// serve starts an in-memory server whose calls go through intercept, and returns
// an admin client of it.
func serve(t *testing.T, intercept grpc.UnaryServerInterceptor) *bigtable.AdminClient {
	t.Helper()
	server, err := bttest.NewServer("127.0.0.1:0", grpc.ChainUnaryInterceptor(intercept))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	admin, err := storetest.ConnectAdmin(t.Context(), server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	return admin
}

// The server fails half-way: it makes the table, and neither says so nor makes
// the families. A second run completes it.
func TestSetupHalfWay(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	admin := serve(t, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		switch req := req.(type) {
		case *adminpb.CreateTableRequest:
			if broken.Load() {
				clear(req.GetTable().GetColumnFamilies())
				if _, err := next(ctx, req); err != nil {
					return nil, err
				}
				return nil, status.Error(codes.Internal, "out of order")
			}
		case *adminpb.ModifyColumnFamiliesRequest:
			if broken.Load() {
				return nil, status.Error(codes.Internal, "out of order")
			}
		}
		return next(ctx, req)
	})
	for _, want := range []string{"creating table t: ", "creating family a of table t: "} {
		plan, err := store.Setup(t.Context(), admin, []store.Table{small})
		if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), want) || !plan.Empty() {
			t.Errorf("changed %v, error %v, want %q", plan, err, want)
		}
	}
	broken.Store(false)
	for _, want := range [][]string{made(small)[1:], nil} {
		plan, err := store.Setup(t.Context(), admin, []store.Table{small})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "changes", show(plan), want)
	}
}

// The reply to the making of a table is lost, and only the table was made: the
// same run makes its families.
func TestSetupLostReplyOfHalf(t *testing.T) {
	var lost atomic.Bool
	admin := serve(t, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		create, ok := req.(*adminpb.CreateTableRequest)
		if !ok || lost.Swap(true) {
			return next(ctx, req)
		}
		clear(create.GetTable().GetColumnFamilies())
		if _, err := next(ctx, req); err != nil {
			return nil, err
		}
		return nil, status.Error(codes.Unavailable, "connection reset")
	})
	plan, err := store.Setup(t.Context(), admin, []store.Table{small})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "changes", show(plan), made(small))
}

// What a replicated instance refuses is explained, and does not keep set-up
// from the rest.
func TestSetupOfReplicatedTable(t *testing.T) {
	var strict atomic.Bool
	var failure atomic.Uint32 // its code
	admin := serve(t, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		modify, ok := req.(*adminpb.ModifyColumnFamiliesRequest)
		if ok && strict.Load() && modify.GetModifications()[0].GetUpdate() != nil {
			return nil, status.Error(codes.Code(failure.Load()), "cannot relax the rule")
		}
		return next(ctx, req)
	})
	if _, err := store.Setup(t.Context(), admin, []store.Table{small}); err != nil {
		t.Fatal(err)
	}
	strict.Store(true)
	other := store.Table{ID: "t", Families: []store.Family{{Name: "a", GC: age(365 * day)}, {Name: "b", GC: versions(2)}, {Name: "c"}}}
	const explanation = " (if the table is replicated: there Bigtable raises an age by at most 90 days at a time, and drops no rule) [T10]"
	for _, code := range []codes.Code{codes.FailedPrecondition, codes.InvalidArgument, codes.PermissionDenied} {
		failure.Store(uint32(code))
		plan, err := store.Setup(t.Context(), admin, []store.Table{other, {ID: "u"}})
		want := "changing the rule of family a of table t: rpc error: code = " + code.String() + " desc = cannot relax the rule" + explanation +
			"\nchanging the rule of family b of table t: rpc error: code = " + code.String() + " desc = cannot relax the rule" + explanation
		if code == codes.PermissionDenied {
			want = strings.ReplaceAll(want, explanation, "")
		}
		if status.Code(err) != code || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if len(unsettled(err)) > 0 {
			t.Errorf("what failed is named twice: %v", err)
		}
		if code == codes.FailedPrecondition {
			same(t, "changes", show(plan), []string{"+ family c of table t: keep forever", "+ table u"})
		}
	}
	strict.Store(false)
	plan, err := store.Setup(t.Context(), admin, []store.Table{other})
	if err != nil || len(plan.Changes) != 2 {
		t.Errorf("changed %v, error %v", plan, err)
	}
}

// Another process, which knows of fewer families, makes the table between the
// look and the making of it: through the client, both end well.
func TestSetupRaceThroughTheClient(t *testing.T) {
	var raced atomic.Bool
	admin := serve(t, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if create, ok := req.(*adminpb.CreateTableRequest); ok && !raced.Swap(true) {
			_, err := next(ctx, &adminpb.CreateTableRequest{
				Parent: create.GetParent(), TableId: create.GetTableId(),
				Table: &adminpb.Table{ColumnFamilies: map[string]*adminpb.ColumnFamily{
					"b": {GcRule: wire(versions(1))}, "theirs": {},
				}},
			})
			if err != nil {
				return nil, err
			}
		}
		return next(ctx, req)
	})
	plan, err := store.Setup(t.Context(), admin, []store.Table{small})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "changes", show(plan), made(small)[1:2])
	same(t, "families", live(t, admin, "t"), map[string]string{"a": "age() > 1d", "b": "versions() > 1", "theirs": "<never>"})
}

// Somebody else made the table, and what they made cannot be read: that is said
// once, and the other tables are made.
func TestSetupRaceThenReadFails(t *testing.T) {
	f := &fake{}
	f.before = func(_ context.Context, call string) error {
		switch {
		case call == "table t":
			return status.Error(codes.AlreadyExists, "there is a table t")
		case call == "info t" && f.count(call) == 2:
			return status.Error(codes.PermissionDenied, "you may not")
		}
		return nil
	}
	plan, err := store.Setup(t.Context(), f, []store.Table{small, {ID: "u"}})
	if err == nil || err.Error() != "reading table t: rpc error: code = PermissionDenied desc = you may not" {
		t.Errorf("error %v", err)
	}
	same(t, "changes", show(plan), []string{"+ table u"})
}
