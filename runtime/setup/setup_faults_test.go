package setup_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// serve starts an in-memory server with an interceptor.
func serve(t *testing.T, intercept grpc.UnaryServerInterceptor) *storetest.Bigtable {
	t.Helper()
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", grpc.ChainUnaryInterceptor(intercept))
	must(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// An error of a replicated instance is explained, and setup continues with the
// remaining changes. It makes those that are allowed by name. The class of fault: what the
// service only warns of is told to be impossible.
func TestSetupOfReplicatedTable(t *testing.T) {
	var strict atomic.Bool
	var failure atomic.Uint32 // its code
	b := serve(t, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		modify, ok := req.(*adminpb.ModifyColumnFamiliesRequest)
		if ok && strict.Load() && modify.GetModifications()[0].GetUpdate() != nil && !modify.GetIgnoreWarnings() {
			return nil, status.Error(codes.Code(failure.Load()), "cannot relax the rule")
		}
		return next(ctx, req)
	})
	_, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{small})
	must(t, err)
	strict.Store(true)
	other := store.Table{ID: "t", Families: []store.Family{{Name: "a", GC: age(365 * day)}, {Name: "b", GC: versions(2)}, {Name: "c"}}}
	explanation := func(family string) string {
		return " (if the table is replicated: Bigtable then raises an age by at most 90 days at a time and does not drop a rule, unless ignore_warnings:t/" + family + " is allowed) [T10]"
	}
	for _, code := range []codes.Code{codes.FailedPrecondition, codes.InvalidArgument, codes.PermissionDenied} {
		failure.Store(uint32(code))
		_, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{other, {ID: "u"}})
		want := ""
		for _, family := range []string{"a", "b"} {
			want += "\nchanging the rule of family " + family + " of table t: rpc error: code = " + code.String() + " desc = cannot relax the rule"
			if code != codes.PermissionDenied {
				want += explanation(family)
			}
		}
		if status.Code(err) != code || "\n"+err.Error() != want { // each is named once
			t.Errorf("error %v, want %s", err, want)
		}
	}
	for _, allow := range []setup.Options{{Allow: []string{"ignore_warnings:t/a"}}, {Allow: []string{"ignore_warnings:t/b"}}} {
		if plan, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{other}, allow); len(plan.Changes) != 1 || (err == nil) != (allow.Allow[0] == "ignore_warnings:t/b") {
			t.Errorf("changed %v, error %v", plan, err)
		}
	}
}

// Setup protects a table when it creates it, or later, and removes the protection only
// if that is allowed by name. A table whose schemas do not specify it keeps its
// protection.
func TestSetupDeletionProtection(t *testing.T) {
	b := start(t)
	table := func(p bigtable.DeletionProtection) store.Table { return store.Table{ID: "t", DeletionProtection: p} }
	other := store.Table{ID: "u", DeletionProtection: bigtable.Protected}
	live := func() (out string) {
		for _, id := range []string{"t", "u"} {
			if info, err := b.Admin.TableInfo(t.Context(), id); err == nil && info.DeletionProtection == bigtable.Protected {
				out += id
			}
		}
		return out
	}
	const kept, added = "? deletion protection of table t: not in the schemas, left alone: Bigtable deletes neither the table nor its families\n", "+ deletion protection of table t\n"
	of := func(p ...bigtable.DeletionProtection) []store.Table {
		out := []store.Table{other}
		for _, p := range p {
			out = append([]store.Table{table(p)}, out...)
		}
		return out
	}
	walk(t, on{b.Admin, nil}, setup.Options{}, live,
		stage{of(bigtable.None), "", "+ table t\n+ table u\n+ deletion protection of table u\n", "u"},
		stage{of(bigtable.Protected), "", added, "tu"},
		stage{of(bigtable.Protected), "", "", "tu"},
		stage{of(bigtable.None), "", kept, "tu"},
		stage{of(bigtable.Unprotected), "", "refused drop_protection:t", "tu"},
		stage{of(bigtable.Unprotected), "deletion_protection:t", "refused drop_protection:t", "tu"},
		stage{of(bigtable.Unprotected), "drop_protection:t", "~ deletion protection of table t: on → off (the table, its families and its instance can then be deleted)\n", "u"},
		stage{of(bigtable.None, bigtable.Unprotected), "", "", "u"},
		stage{of(bigtable.Protected, bigtable.None), "", added, "tu"})
}

// Setup restores the deletion protection if a server removes it when it adds a row key
// schema, as the in-memory server does, whether the schema or something else has set
// it.
func TestSetupKeepsDeletionProtection(t *testing.T) {
	for _, declared := range []bigtable.DeletionProtection{bigtable.Protected, bigtable.None} {
		b := start(t)
		table := store.Table{ID: "t", DeletionProtection: bigtable.Protected}
		_, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{table})
		must(t, err)
		table.DeletionProtection = declared
		table.KeySchema = &store.KeySchema{Delimiter: "#", Fields: []codec.KeyField{{Name: "host"}}}
		for i := range 2 {
			plan, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{table})
			if err != nil || len(plan.Changes) != 1-i || i == 0 && plan.Changes[0].Kind != "row_key_schema" {
				t.Errorf("plan %s, error %v", plan, err)
			}
			if info, err := b.Admin.TableInfo(t.Context(), "t"); err != nil || info.DeletionProtection != bigtable.Protected {
				t.Errorf("the table is protected: %v, error %v", info.DeletionProtection, err)
			}
		}
	}
}

// An instance that does not exist differs from one without tables: setup plans nothing
// and sends no change.
func TestSetupWithoutInstance(t *testing.T) {
	for name, list := range map[string]codes.Code{"may list": codes.NotFound, "may not list": codes.PermissionDenied} {
		t.Run(name, func(t *testing.T) {
			b := serve(t, func(_ context.Context, req any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
				switch req.(type) {
				case *adminpb.ListTablesRequest:
					return nil, status.Error(list, "Instance not found: projects/p/instances/nowhere")
				case *adminpb.GetTableRequest:
					return nil, status.Error(codes.NotFound, "Instance not found: projects/p/instances/nowhere")
				}
				t.Errorf("sent %T", req)
				return nil, status.Error(codes.NotFound, "Instance not found")
			})
			plan, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{small})
			if missing, ok := errors.AsType[*setup.InstanceError](err); !ok || status.Code(missing.Err) != codes.NotFound || !plan.Empty() {
				t.Errorf("plan %s, error %v", plan, err)
			}
			_, err = setup.UnknownTables(t.Context(), b.Admin, nil)
			if _, ok := errors.AsType[*setup.InstanceError](err); ok != (list == codes.NotFound) {
				t.Error(err)
			}
		})
	}
	// If only tables are missing, a user who may not list them can still create them.
	b := serve(t, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if _, ok := req.(*adminpb.ListTablesRequest); ok {
			return nil, status.Error(codes.PermissionDenied, "no")
		}
		return next(ctx, req)
	})
	if plan, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{small}); err != nil || len(plan.Changes) != 3 {
		t.Errorf("plan %s, error %v", plan, err)
	}
}

// Confirm sees the whole plan before any change and may stop setup.
func TestSetupConfirm(t *testing.T) {
	b := start(t)
	no := errors.New("no")
	for _, dry := range []bool{true, false} {
		var seen setup.Plan
		plan, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{small}, setup.Options{DryRun: dry, Confirm: func(p setup.Plan) error { seen = p; return no }})
		if !errors.Is(err, no) || !plan.Empty() {
			t.Errorf("plan %s, error %v", plan, err)
		}
		same(t, "changes", show(seen), made(small))
		if tables, err := b.Admin.Tables(t.Context()); err != nil || len(tables) > 0 {
			t.Errorf("tables %v, error %v", tables, err)
		}
	}
	plan, err := setup.Setup(t.Context(), b.Admin, nil, []store.Table{small}, setup.Options{Confirm: func(setup.Plan) error { return nil }})
	must(t, err)
	same(t, "changes", show(plan), made(small))
}

// TestSetupWaitsForItsTables hides tables from the first requests after their creation, as a service may: setup waits for what it has just
// created, the history too, and for nothing else. Class of faults: an answer that is taken for final before it is.
func TestSetupWaitsForItsTables(t *testing.T) {
	const hidden = 3
	var created atomic.Bool
	var asked atomic.Int64
	hides := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		switch req.(type) {
		case *adminpb.CreateTableRequest:
			created.Store(true)
			asked.Store(0)
		case *adminpb.GetTableRequest, *bigtablepb.CheckAndMutateRowRequest:
			if created.Load() && asked.Add(1) <= hidden {
				return nil, status.Error(codes.NotFound, "not yet")
			}
		}
		return next(ctx, req)
	}
	set(t, serve(t, hides), daily)
	if asked.Load() <= hidden {
		t.Errorf("%d requests after the creation", asked.Load())
	}
}
