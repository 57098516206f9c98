package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/journal"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// newEmulator returns the command emulator.
func newEmulator() *cobra.Command {
	e := emulator{addr: "localhost:8086", project: storetest.Project, instance: storetest.Instance}
	cmd := command("emulator", func(cmd *cobra.Command, paths []string) error {
		tables, err := loadTables(paths)
		if err != nil {
			return err
		}
		ctx, stop := interruptible(cmd)
		defer stop()
		e.warn = func(err error) { cli.PrintError(cmd, err) }
		return e.run(ctx, cmd.OutOrStdout(), tables)
	})
	cmd.Flags().StringVar(&e.addr, "addr", e.addr, "host:port to listen on; port 0 chooses a free port")
	cmd.Flags().StringVar(&e.project, "project", e.project, "project of the tables")
	cmd.Flags().StringVar(&e.instance, "instance", e.instance, "instance of the tables")
	cmd.Flags().StringVar(&e.prefix, "prefix", "", prefixHelp)
	cmd.Flags().StringVar(&e.dir, "dir", "", "folder in which the tables are kept; created if it does not exist")
	return cmd
}

// interruptible returns a context that is canceled when the process is interrupted or
// terminated, and makes it that of the command until the returned function is called, or for good if it was canceled.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	before := cmd.Context()
	ctx, stop := signal.NotifyContext(before, os.Interrupt, syscall.SIGTERM)
	cmd.SetContext(ctx)
	return ctx, func() {
		if ctx.Err() == nil {
			cmd.SetContext(before)
		}
		stop()
	}
}

// emulator are the flags of the command emulator.
type emulator struct {
	addr, project, instance, prefix string
	dir                             string // empty to keep nothing
	warn                            func(error)
}

// run serves the tables until ctx ends.
func (e emulator) run(ctx context.Context, stdout io.Writer, tables []store.Table) (err error) {
	if _, _, err := net.SplitHostPort(e.addr); err != nil {
		return fmt.Errorf("--addr %s: %w", e.addr, err)
	}
	var options []grpc.ServerOption
	load := func(string) error { return nil }
	if e.dir != "" {
		log.SetOutput(io.Discard) // Google's server reports that it does not collect garbage itself
		kept, err := journal.Open(e.dir, e.warn)
		if err != nil {
			return fmt.Errorf("--dir: %w", err)
		}
		defer func() { err = errors.Join(err, kept.Close()) }()
		options = kept.ServerOptions()
		load = func(addr string) error { return e.load(ctx, stdout, kept, addr) }
	}
	server, err := storetest.StartAt(ctx, e.addr, options...)
	if err != nil {
		return err
	}
	if err = load(server.Addr); err == nil {
		err = e.serve(ctx, stdout, server.Addr, tables)
	}
	if ctx.Err() != nil {
		err = nil // interrupted
	}
	return errors.Join(err, server.Close())
}

// load restores the tables that are kept, and prints what it has found.
func (e emulator) load(ctx context.Context, stdout io.Writer, kept *journal.Journal, addr string) error {
	loaded, err := kept.Load(ctx, addr)
	if err != nil || loaded.Records == 0 && loaded.Dropped == 0 {
		return err
	}
	text := fmt.Sprintf("restored the tables in %s from %s", words.Printable(e.dir), words.Count(float64(loaded.Records), "record", "records"))
	if loaded.Dropped > 0 {
		text += fmt.Sprintf("; removed %s of a change that was never answered", words.Count(float64(loaded.Dropped), "byte", "bytes"))
	}
	_, err = fmt.Fprintln(stdout, text)
	return err
}

// serve creates the tables, prints where they are, and waits until ctx is done. It also serves kept tables that setup
// refuses to change, so that they can be changed as on an instance.
func (e emulator) serve(ctx context.Context, stdout io.Writer, addr string, tables []store.Table) error {
	host := reachable(addr)
	if err := e.createTables(ctx, stdout, host, tables); err != nil && (e.dir == "" || !errors.Is(err, cli.ErrFindings)) {
		return err
	}
	_, err := fmt.Fprintf(stdout, "the tables are in project %s, instance %s; interrupt to stop\nexport BIGTABLE_EMULATOR_HOST=%s\n",
		e.project, e.instance, host)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// createTables creates the tables in the server at addr, whatever server the environment names, and prints the plan.
func (e emulator) createTables(ctx context.Context, stdout io.Writer, addr string, tables []store.Table) error {
	if err := os.Setenv(store.EmulatorVariable, addr); err != nil {
		return err
	}
	t := target{project: e.project, instance: e.instance}
	admin, err := t.connectAdmin(ctx)
	if err != nil {
		return err
	}
	client, err := t.connect(ctx)
	if err != nil {
		return errors.Join(err, admin.Close())
	}
	plan, err := setup.Setup(ctx, admin, client, tables, setup.Options{TablePrefix: e.prefix, AllowDrafts: true})
	return errors.Join(printPlan(stdout, plan, err), client.Close(), admin.Close())
}

// reachable returns the address of a server for clients on this machine: addr, with the
// loopback address instead of an unspecified one.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
