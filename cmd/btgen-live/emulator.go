package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/journal"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// runEmulator runs an emulator with the tables of the schemas.
func runEmulator(_ context.Context, r *request) error {
	tables, err := loadTables(r.args)
	if err != nil {
		return err
	}
	return r.emulate(r.interruptible(), tables)
}

// emulate serves the tables until ctx ends.
func (r *request) emulate(ctx context.Context, tables []store.Table) (err error) {
	if _, _, err := net.SplitHostPort(r.addr); err != nil {
		return fmt.Errorf("--addr %s: %w", r.addr, err)
	}
	var options []grpc.ServerOption
	load := func(string) error { return nil }
	if r.dir != "" {
		log.SetOutput(io.Discard) // Google's server reports that it does not collect garbage itself
		kept, err := journal.Open(r.dir, func(err error) { cli.PrintError(r.cmd, err) })
		if err != nil {
			return fmt.Errorf("--dir: %w", err)
		}
		defer func() { err = errors.Join(err, kept.Close()) }()
		options = kept.ServerOptions()
		load = func(addr string) error { return r.restore(ctx, kept, addr) }
	}
	server, err := storetest.StartAt(ctx, r.addr, options...)
	if err != nil {
		return err
	}
	if host, _, _ := net.SplitHostPort(server.Addr); !net.ParseIP(host).IsLoopback() {
		fmt.Fprintf(r.cmd.ErrOrStderr(), "warning: --addr %s: other machines can read, change and delete the tables, since an emulator "+
			"has no authentication; localhost is for this machine alone\n", r.addr)
	}
	if err = load(server.Addr); err == nil {
		err = r.serveTables(ctx, server.Addr, tables)
	}
	if ctx.Err() != nil {
		err = nil // interrupted
	}
	return errors.Join(err, server.Close())
}

// restore restores the tables that are kept, and prints what it has found.
func (r *request) restore(ctx context.Context, kept *journal.Journal, addr string) error {
	loaded, err := kept.Load(ctx, addr)
	if err != nil || loaded.Records == 0 && loaded.Dropped == 0 {
		return err
	}
	text := fmt.Sprintf("restored the tables in %s from %s", words.Printable(r.dir), countOf(loaded.Records, "record"))
	if loaded.Dropped > 0 {
		text += fmt.Sprintf("; removed %s of a change that was never answered", countOf(loaded.Dropped, "byte"))
	}
	if loaded.Refused != nil {
		text += fmt.Sprintf("; the last change is refused: %s", words.Printable(status.Convert(loaded.Refused).Message()))
	}
	return r.say(text+"\n", false)
}

// serveTables creates the tables, prints where they are, and waits until ctx is done. It also serves kept tables that setup
// refuses to change, so that they can be changed as on an instance.
func (r *request) serveTables(ctx context.Context, addr string, tables []store.Table) error {
	host := reachable(addr)
	if err := r.createTables(ctx, host, tables); err != nil && (r.dir == "" || !errors.Is(err, cli.ErrFindings)) {
		return err
	}
	text := fmt.Sprintf("the tables are in project %s, instance %s; interrupt to stop\nexport BIGTABLE_EMULATOR_HOST=%s\n",
		r.project, r.instance, host)
	if err := r.say(text, false); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// createTables creates the tables in the server at addr, whatever server the environment names, and prints the plan.
func (r *request) createTables(ctx context.Context, addr string, tables []store.Table) error {
	if err := os.Setenv(store.EmulatorVariable, addr); err != nil {
		return err
	}
	in := &request{project: r.project, instance: r.instance}
	admin, err := in.connectAdmin(ctx)
	if err == nil {
		err = in.connectLater(ctx)
	}
	if err != nil {
		return errors.Join(err, in.close())
	}
	plan, err := setup.Setup(ctx, admin, in.client, tables, setup.Options{TablePrefix: r.prefix, AllowDrafts: true})
	return errors.Join(r.printPlan(plan, err), in.close())
}

// reachable returns the address of a server for clients on this machine: addr, with the
// loopback address instead of an unspecified one.
func reachable(addr string) string {
	host, port, _ := net.SplitHostPort(addr) // which the server has
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
