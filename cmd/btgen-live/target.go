package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/store"
)

// required returns an error if the request names no instance.
func (r *request) required() error {
	if r.project == "" || r.instance == "" {
		return errors.New("no instance is named: add --project P --instance I; for an emulator, set BIGTABLE_EMULATOR_HOST, too")
	}
	return nil
}

// instanceName returns the name of the instance in messages of Bigtable.
func (r *request) instanceName() string {
	return fmt.Sprintf("projects/%s/instances/%s", r.project, r.instance)
}

// interruptible returns a context that is canceled when the process is interrupted or terminated, and makes it that of the command. A
// second signal ends the process.
func (r *request) interruptible() context.Context {
	ctx, stop := signal.NotifyContext(r.cmd.Context(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	r.closers = append(r.closers, func() error { stop(); return nil })
	r.cmd.SetContext(ctx)
	return ctx
}

// close closes what the request has opened, the last first.
func (r *request) close() (err error) {
	for _, end := range slices.Backward(r.closers) {
		err = errors.Join(err, end())
	}
	return err
}

// connect connects the request to the instance, and returns a context that ends when the command is interrupted.
func (r *request) connect() (context.Context, error) {
	ctx := r.interruptible()
	if err := emulates(ctx); err != nil {
		return ctx, err
	}
	return ctx, r.connectLater(ctx)
}

// connectLater connects with the options of generated code, also if no emulator answers.
func (r *request) connectLater(ctx context.Context) (err error) {
	config := bigtable.ClientConfig{AppProfile: r.appProfile, MetricsProvider: bigtable.NoopMetricsProvider{}}
	if r.client, err = store.NewClient(ctx, r.project, r.instance, config); err != nil {
		return r.unconnected(err)
	}
	r.closers = append(r.closers, r.client.Close)
	r.options = store.ReaderOptions{TablePrefix: r.prefix, Timeout: r.timeout}
	return nil
}

// connectAdmin returns an admin client of the instance.
func (r *request) connectAdmin(ctx context.Context) (*bigtable.AdminClient, error) {
	admin, err := bigtable.NewAdminClient(ctx, r.project, r.instance, store.ClientOptions()...)
	if err != nil {
		return nil, r.unconnected(err)
	}
	r.closers = append(r.closers, admin.Close)
	return admin, nil
}

// connectBoth is connect, and connectAdmin.
func (r *request) connectBoth() (context.Context, *bigtable.AdminClient, error) {
	ctx, err := r.connect()
	if err != nil {
		return ctx, nil, err
	}
	admin, err := r.connectAdmin(ctx)
	return ctx, admin, err
}

// unconnected adds the instance to the error of a connection.
func (r *request) unconnected(err error) error {
	return fmt.Errorf("connecting to instance %s of project %s: %w", r.instance, r.project, err)
}

// emulates returns an error if the environment names an emulator that refuses connections: the client
// would try again until the timeout.
func emulates(ctx context.Context) error {
	host := os.Getenv(store.EmulatorVariable)
	if host == "" {
		return nil
	}
	dial := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dial.DialContext(ctx, "tcp", host)
	if err != nil && ctx.Err() != nil { // the user's interrupt or timeout says nothing about the emulator
		return fmt.Errorf("connecting to the emulator at %s: %w: %w", words.Printable(host), context.Cause(ctx), err)
	}
	if err != nil {
		return fmt.Errorf("no emulator answers at %s, which %s names: start one with btgen-live emulator, or unset the variable: %w",
			words.Printable(host), store.EmulatorVariable, err)
	}
	return conn.Close()
}
