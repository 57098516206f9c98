package trial

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// start starts a server, and returns clients of it.
func start(t *testing.T, opts ...grpc.ServerOption) *Clients {
	t.Helper()
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", opts...)
	assert.Must(t, err)
	t.Cleanup(func() { assert.Is(t, nil, b.Close()) })
	t.Setenv(store.EmulatorVariable, b.Addr)
	return &Clients{Project: storetest.Project, Instance: storetest.Instance, Client: b.Client, Admin: b.Admin}
}

// options are those of a trial.
func options(t *testing.T, only ...string) Options {
	return Options{Only: only, Now: time.Now(), Notice: func(text string) { t.Log(text) }}
}

// tablesOf returns the tables of an instance, sorted.
func tablesOf(t *testing.T, c *Clients) []string {
	t.Helper()
	ids, err := c.Admin.Tables(t.Context())
	assert.Must(t, err)
	slices.Sort(ids)
	return ids
}

// TestBeside checks that a trial refuses an instance with tables, unless it is told, and leaves them alone.
func TestBeside(t *testing.T) {
	c := start(t)
	for _, id := range []string{"mine", "btgen-trial-mine", "btgen-trial-1000000000-000000-cells-mine", runPrefix(time.Unix(1e9, 0), 0) + "cells"} {
		assert.Must(t, c.Admin.CreateTable(t.Context(), id))
	}
	before := tablesOf(t, c)
	o := options(t, "order-rows")
	_, err := Run(t.Context(), c, o)
	if occupied, ok := errors.AsType[*OccupiedError](err); !ok || occupied.Tables != 4 {
		t.Errorf("the error is %v", err)
	}
	o.Beside = true
	report, err := Run(t.Context(), c, o)
	assert.Must(t, err)
	assert.Same(t, 1, report.count(Holds))
	assert.Same(t, before, tablesOf(t, c))
}

// TestAbandoned checks that the tables of killed trials are removed after an hour, also protected ones.
func TestAbandoned(t *testing.T) {
	now := time.Now()
	old, young := runPrefix(now.Add(-2*time.Hour), 1), runPrefix(now.Add(-time.Minute), 2)
	stays := []string{young + "cells", old + leftTable, runPrefix(now.Add(time.Hour), 3) + "cells"}
	goes := []string{old + "cells", old + "protected", runPrefix(now.Add(-20*24*time.Hour), 4) + leftTable}
	slices.Sort(stays)
	slices.Sort(goes)
	for _, clean := range []bool{true, false} {
		c := start(t)
		for _, id := range slices.Concat(stays, goes) {
			assert.Must(t, c.Admin.CreateTableFromConf(t.Context(), &bigtable.TableConf{TableID: id, ColumnFamilies: map[string]bigtable.Family{mark: {}}}))
			if strings.HasSuffix(id, "protected") {
				assert.Must(t, c.Admin.UpdateTableWithDeletionProtection(t.Context(), id, bigtable.Protected))
			}
		}
		if clean {
			removed, alike, err := Clean(t.Context(), c, now)
			assert.Must(t, err)
			assert.Same(t, goes, removed)
			assert.Same(t, 0, len(alike))
		} else {
			_, err := Run(t.Context(), c, options(t, "order-rows"))
			assert.Must(t, err)
		}
		assert.Same(t, stays, tablesOf(t, c))
	}
}

// TestInterrupted checks that an interrupted trial removes its tables, and reports what it has tried.
func TestInterrupted(t *testing.T) {
	c := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var err error
	c.Admin, err = storetest.ConnectAdmin(ctx, os.Getenv(store.EmulatorVariable), grpc.WithUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, request, reply, conn, opts...)
		if strings.HasSuffix(method, "/CreateTable") {
			cancel()
		}
		return err
	}))
	assert.Must(t, err)
	report, err := Run(ctx, c, options(t))
	if !errors.Is(err, context.Canceled) || report == nil || len(report.Results) != 0 {
		t.Errorf("the report is %v, the error %v", report, err)
	}
	assert.Same(t, 0, len(tablesOf(t, c)))
}

// TestUnknown checks that an ID that nothing has is refused before anything is made.
func TestUnknown(t *testing.T) {
	_, err := Run(t.Context(), start(t), options(t, "order-rows", "orders"))
	if unknown, ok := errors.AsType[*UnknownError](err); !ok || unknown.ID != "orders" {
		t.Errorf("the error is %v", err)
	}
}

// TestHeaders checks that requests have the headers by which Bigtable routes them, and without which it refuses reversed reads.
func TestHeaders(t *testing.T) {
	seen := map[string]string{} // by method
	c := start(t, grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if features := info.Header.Get("bigtable-features"); len(features) == 1 {
			seen[path.Base(info.FullMethodName)] = strings.Join(info.Header.Get("x-goog-request-params"), " ")
		}
		return ctx, nil
	}))
	c.AppProfile = "batch"
	o := options(t, "check-match", "bulk-results", "increment", "sample-order", "ping", "sessions", "view-write")
	_, err := Run(t.Context(), c, o)
	assert.Must(t, err)
	const instance = "projects%2Fproject%2Finstances%2Finstance"
	for method, want := range map[string]string{
		"PingAndWarm": "name=" + instance, "GetClientConfiguration": "instance_name=" + instance, "ReadRows": "table_name=" + instance + "%2Ftables%2F",
		"MutateRows": "table_name=" + instance, "CheckAndMutateRow": "table_name=" + instance, "ReadModifyWriteRow": "table_name=" + instance,
		"SampleRowKeys": "table_name=" + instance, "MutateRow": "authorized_view_name=" + instance,
	} {
		if got := seen[method]; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "&app_profile_id=batch") {
			t.Errorf("%s has the parameters %q", method, got)
		}
	}
}

// TestScrubbed checks that reports do not name the project.
func TestScrubbed(t *testing.T) {
	r := &run{Clients: &Clients{Project: "acme-prod", Instance: "main-1", AppProfile: "batch"}, prefix: "btgen-trial-1-2-"}
	for text, want := range map[string]string{
		"table projects/acme-prod/instances/main-1/tables/btgen-trial-1-2-cells not found": "table the instance/tables/cells not found",
		"instance main-1 of acme-prod: app profile batch":                                  "instance - of -: app profile -",
		"user jane.doe@example.com has no access to project=123456":                        "user - has no access to -",
		"Consumer 'projects/123456' is over its quota":                                     "Consumer '-' is over its quota",
		"read a f:x@1=1": "read a f:x@1=1",
	} {
		assert.Same(t, want, r.scrub(text))
	}
}

// TestCells checks that cells are printed as they are written.
func TestCells(t *testing.T) {
	const text = `a\x00 f:x@2=v f:\xff\x20\x3a\x40@1=a\x3db\x7c f:@!0= | b g:x@-5=\n`
	cells, err := parseCells(text, 1e15)
	assert.Must(t, err)
	assert.Same(t, text, showCells(cells, 1e15))
	assert.Same(t, "a f:x@1.500=1", showCells([]cell{{"a", "f", "x", "1", 1e15 + 1500}}, 1e15))
}

// TestAssumptions checks the list of assumptions.
func TestAssumptions(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range Assumptions() {
		if seen[a.ID] || a.ID != strings.ToLower(a.ID) || strings.ContainsAny(a.ID, " _.") {
			t.Errorf("%s is not an ID, or that of another assumption", a.ID)
		}
		seen[a.ID] = true
		if !strings.HasSuffix(a.Says, ".") || len(strings.Fields(a.Says)) > 30 {
			t.Errorf("%s is no short sentence: %s", a.ID, a.Says)
		}
		if !strings.HasPrefix(a.Source, "https://cloud.google.com/bigtable/") && !strings.HasPrefix(a.Source, "cloud.google.com/go/bigtable v1") {
			t.Errorf("%s has the source %q", a.ID, a.Source)
		}
	}
	if len(seen) < 80 {
		t.Errorf("only %d assumptions", len(seen))
	}
}
