package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// permissionOf are the permissions that requests take. Source: https://cloud.google.com/bigtable/docs/access-control and the
// reference of the API ("Authorization requires the following IAM permission"), read on 2026-11-28.
var permissionOf = map[string]string{
	"PingAndWarm": "instances.ping", "ReadRows": "tables.readRows", "SampleRowKeys": "tables.sampleRowKeys",
	"MutateRow": "tables.mutateRows", "MutateRows": "tables.mutateRows", "CheckAndMutateRow": "tables.mutateRows",
	"ListTables": "tables.list", "GetTable": "tables.get", "CreateTable": "tables.create", "DeleteTable": "tables.delete",
	"ModifyColumnFamilies": "tables.update", "UpdateTable": "tables.update",
	"ListSchemaBundles": "schemaBundles.list", "GetSchemaBundle": "schemaBundles.get", "CreateSchemaBundle": "schemaBundles.create", "UpdateSchemaBundle": "schemaBundles.update",
	"ListAuthorizedViews": "authorizedViews.list", "GetAuthorizedView": "authorizedViews.get",
	"GenerateConsistencyToken": "tables.generateConsistencyToken", "CheckConsistency": "tables.checkConsistency",
}

// rowPermissions are those of clients for rows.
var rowPermissions = []string{"tables.readRows", "tables.mutateRows", "tables.sampleRowKeys"}

// roles are predefined roles, from least to most, with those of the permissions above that they have; nil for all. The source is
// the same.
var roles = []struct {
	name string
	has  []string
}{
	{"roles/bigtable.reader", []string{"instances.ping", "tables.readRows", "tables.sampleRowKeys", "tables.list", "tables.get", "schemaBundles.list", "schemaBundles.get", "tables.generateConsistencyToken", "tables.checkConsistency"}},
	{"roles/bigtable.user", []string{"instances.ping", "tables.readRows", "tables.sampleRowKeys", "tables.list", "tables.get", "schemaBundles.list", "schemaBundles.get", "tables.generateConsistencyToken", "tables.checkConsistency", "tables.mutateRows"}},
	{"roles/bigtable.admin", nil},
}

// guard is a server that denies one permission.
type guard struct {
	mu     sync.Mutex
	denied string
	called map[string]bool // permissions
}

// check returns the error of a request.
func (g *guard) check(method string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	permission := permissionOf[path.Base(method)]
	if permission == "" {
		permission = "unknown: " + method
	}
	g.called[permission] = true
	if permission == g.denied {
		return status.Error(codes.PermissionDenied, "Missing IAM permission: bigtable."+permission)
	}
	return nil
}

// tap refuses requests.
func (g *guard) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	return ctx, g.check(info.FullMethodName)
}

// deny denies a permission from now on, or none, and forgets what was called.
func (g *guard) deny(permission string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.denied, g.called = permission, map[string]bool{}
}

// changes are a change of each kind of the tables in testdata/guarded.yaml.
var changes = strings.NewReplacer("  value: {", "  note: {type: string, number: 2, optional: true}\n  value: {",
	"  copies:\n", "  copies:\n    deletion_protection: true\n", "family: h,", "family: hours,")

// guardedCommands are command lines by their names in the manual, in its order.
var guardedCommands = []struct{ name, line string }{
	{"`setup`", "setup"}, {"`setup` that changes tables", "setup changed"}, {"`plan`", "plan"},
	{"`read`", "read Event"}, {"`windows`", "windows Event --every 1h"}, {"`plot`", "plot Event --every 1h --from 2026-03-05 --to 2026-03-06"},
	{"`count`", "count Event"}, {"`stats`", "stats Event"}, {"`verify`", "verify"}, {"`infer`", "infer --table events"},
	{"`write`", "write Event more.csv"}, {"`delete`", "delete Event host=a disk=1 --all --yes"},
	{"`backfill`", "backfill Event"}, {"`rollup`", "rollup Event --all"}, {"`rollup --replicated`", "rollup Event --all --replicated"}, {"`delete-table`", "delete-table"},
}

// live starts a server with the events, except for a setup, and runs a command. It returns what it prints, and whether it succeeds.
func (g *guard) live(t *testing.T, command, denied string) (text string, succeeds bool) {
	t.Helper()
	g.deny("")
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", grpc.InTapHandle(g.tap))
	must(t, err)
	defer b.Close()
	t.Setenv(store.EmulatorVariable, b.Addr)
	if command != "setup" {
		if text, ok := lined("setup"); !ok {
			t.Fatal(text)
		}
		m := bigtable.NewMutation() // without a mark, for which a rollup would wait
		m.Set("m", "value", bigtable.Time(time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)), []byte("5"))
		must(t, b.Client.Open("events").Apply(t.Context(), "a#1#2026-03-05", m))
	}
	g.deny(denied)
	if command == "delete-table" {
		err := dropped(t.Context(), b)
		return fmt.Sprint(err), err == nil
	}
	return lined(command)
}

// lined runs a command line.
func lined(command string) (text string, succeeds bool) {
	code, stdout, stderr := ranAt(command + " --timeout 20s")
	return stdout + stderr, code < 2 // findings are no failure
}

// dropped deletes a table of which btgen.lock says that it was removed, as delete-table does.
func dropped(ctx context.Context, b *storetest.Bigtable) error {
	r := &request{project: storetest.Project, instance: storetest.Instance}
	if err := r.connectLater(ctx); err != nil {
		return err
	}
	defer func() { _ = r.close() }()
	result, err := load(nil)
	if err != nil {
		return err
	}
	l := result.Layouts[0]
	names := []string{l.Tables[1].ID}
	l.Tables = l.Tables[:1]
	gone, err := setup.DeleteTables(ctx, b.Admin, r.client, dynamic.New(l).Tables(), names, setup.DeleteOptions{Removed: names})
	if err == nil && len(gone) != 1 {
		err = errors.New("nothing was deleted")
	}
	return err
}

// permissions are the rows of the table of the manual.
func permissions(t *testing.T) string {
	type need struct {
		commands, permissions []string
	}
	var needs []need
	g := &guard{}
	for _, c := range guardedCommands {
		command := c.line
		text, ok := g.live(t, command, "")
		if !ok {
			t.Fatalf("%s: %s", command, text)
		}
		called := slices.Sorted(maps.Keys(g.called))
		var needed []string
		for _, permission := range called {
			if _, known := permissionOf[permission]; strings.HasPrefix(permission, "unknown") && !known {
				t.Errorf("%s sends %s", command, permission)
			}
			if text, ok := g.live(t, command, permission); !ok {
				needed = append(needed, permission)
				assert.Contains(t, "bigtable."+permission, text, command, permission)
			}
		}
		if !slices.ContainsFunc(needed, func(p string) bool { return slices.Contains(rowPermissions, p) }) {
			t.Errorf("%s opens no client for rows", command)
		}
		needed = append([]string{"instances.ping"}, needed...) // see TestClientPings
		if i := slices.IndexFunc(needs, func(n need) bool { return slices.Equal(n.permissions, needed) }); i >= 0 {
			needs[i].commands = append(needs[i].commands, c.name)
			continue
		}
		needs = append(needs, need{[]string{c.name}, needed})
	}
	var b strings.Builder
	for _, n := range needs {
		fmt.Fprintf(&b, "| %s | `%s` | `%s` |\n", strings.Join(n.commands, ", "), roleOf(n.permissions), strings.Join(n.permissions, "`, `"))
	}
	return b.String()
}

// roleOf returns the least predefined role that has some permissions.
func roleOf(permissions []string) string {
	for _, r := range roles {
		if r.has == nil || !slices.ContainsFunc(permissions, func(p string) bool { return !slices.Contains(r.has, p) }) {
			return r.name
		}
	}
	return ""
}

// TestPermissions runs each command on servers that deny one permission, and compares what it cannot do without with the table of the
// manual. The class of fault: what a command needs is written down by hand.
func TestPermissions(t *testing.T) {
	manual, err := filepath.Abs("../../docs/deployment.md")
	must(t, err)
	tables, err := os.ReadFile("testdata/guarded.yaml")
	must(t, err)
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"schemas/event.yaml": string(tables), "changed/event.yaml": changes.Replace(string(tables)),
		"more.csv": "host,disk,time,value\na,1,2026-03-05T13:00:00Z,6\n",
	} {
		must(t, os.MkdirAll(filepath.Dir(name), 0o777))
		must(t, os.WriteFile(name, []byte(text), 0o666))
	}
	got := permissions(t)
	text, err := os.ReadFile(manual)
	must(t, err)
	before, rest, found := strings.Cut(string(text), "<!-- permissions -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end of permissions -->")
	if !found || !ended {
		t.Fatal("no table in the manual")
	}
	const head = "| `btgen-live` | role on the instance | permissions, with the prefix `bigtable.` |\n|---|---|---|\n"
	if now := before + "<!-- permissions -->\n" + head + got + "<!-- end of permissions -->" + after; now != string(text) {
		if !*update {
			t.Fatalf("the manual differs (run with -update):\n%s", got)
		}
		must(t, os.WriteFile(manual, []byte(now), 0o666))
	}
}

// TestClientPings opens a client of a server that is no emulator without permission to ping: it fails. The client does not ping
// emulators.
func TestClientPings(t *testing.T) {
	g := &guard{}
	g.deny("instances.ping")
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", grpc.InTapHandle(g.tap))
	must(t, err)
	defer b.Close()
	for denied, want := range map[string]codes.Code{"instances.ping": codes.PermissionDenied, "": codes.OK} {
		g.deny(denied)
		client, err := bigtable.NewClientWithConfig(t.Context(), storetest.Project, storetest.Instance, bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}},
			option.WithEndpoint(b.Addr), option.WithoutAuthentication(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
		if status.Code(errors.Unwrap(err)) != want && status.Code(err) != want {
			t.Errorf("without %q: %v, want %s", denied, err, want)
		}
		if err == nil {
			_ = client.Close()
		}
	}
}
