package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/store"
)

// target contains the flags of commands that connect to an instance.
type target struct {
	project, instance string
	prefix            string // of table IDs
	timeout           time.Duration
	appProfile        string // empty for the default profile
}

// flags adds the flags to a command. appProfile is the help text of --app-profile.
func (t *target) flags(cmd *cobra.Command, appProfile string) {
	t.optional(cmd, appProfile)
	cli.Before(cmd, func(*cobra.Command, []string) error { return t.required() })
}

// optional is flags for a command that does not always need an instance; see required.
func (t *target) optional(cmd *cobra.Command, appProfile string) {
	cmd.Flags().StringVar(&t.project, "project", "", "project of the instance")
	cmd.Flags().StringVar(&t.instance, "instance", "", "instance of the tables")
	cmd.Flags().StringVar(&t.prefix, "prefix", "", prefixHelp)
	cmd.Flags().Var(duration(&t.timeout, store.DefaultTimeout, 1), "timeout", "time limit for each request, including retries")
	cmd.Flags().StringVar(&t.appProfile, "app-profile", "", appProfile)
}

// required returns an error if the flags name no instance.
func (t *target) required() error {
	if t.project == "" || t.instance == "" {
		return errors.New("no instance is named: add --project P --instance I; for an emulator, set BIGTABLE_EMULATOR_HOST, too")
	}
	return nil
}

// prefixHelp is the help text of --prefix.
const prefixHelp = `prefix of all table IDs, such as "staging_"`

// name returns the name of the instance in messages of Bigtable.
func (t *target) name() string { return fmt.Sprintf("projects/%s/instances/%s", t.project, t.instance) }

// with calls use with a client of the instance, and with a context that ends when the command is interrupted.
func (t *target) with(cmd *cobra.Command, use func(ctx context.Context, client *bigtable.Client) error) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	client, err := t.connect(ctx)
	if err != nil {
		return err
	}
	return errors.Join(use(ctx, client), client.Close())
}

// withAdmin is with for a command that also needs an admin client.
func (t *target) withAdmin(cmd *cobra.Command, use func(ctx context.Context, admin *bigtable.AdminClient, client *bigtable.Client) error) error {
	return t.with(cmd, func(ctx context.Context, client *bigtable.Client) error {
		admin, err := t.connectAdmin(ctx)
		if err != nil {
			return err
		}
		return errors.Join(use(ctx, admin, client), admin.Close())
	})
}

// readerOptions returns the options of readers.
func (t *target) readerOptions() store.ReaderOptions {
	return store.ReaderOptions{TablePrefix: t.prefix, Timeout: t.timeout}
}

// connect returns a client of the instance, with the options of generated code.
func (t *target) connect(ctx context.Context) (*bigtable.Client, error) {
	if err := emulates(ctx); err != nil {
		return nil, err
	}
	return t.connectLater(ctx)
}

// connectLater is connect for a command that continues while no emulator answers.
func (t *target) connectLater(ctx context.Context) (*bigtable.Client, error) {
	config := bigtable.ClientConfig{AppProfile: t.appProfile, MetricsProvider: bigtable.NoopMetricsProvider{}}
	return connected(t, func() (*bigtable.Client, error) { return store.NewClient(ctx, t.project, t.instance, config) })
}

// connectAdmin returns an admin client of the instance.
func (t *target) connectAdmin(ctx context.Context) (*bigtable.AdminClient, error) {
	return connected(t, func() (*bigtable.AdminClient, error) {
		return bigtable.NewAdminClient(ctx, t.project, t.instance, store.ClientOptions()...)
	})
}

// connected adds the instance to the error of a connection.
func connected[T any](t *target, connect func() (T, error)) (T, error) {
	client, err := connect()
	if err != nil {
		err = fmt.Errorf("connecting to instance %s of project %s: %w", t.instance, t.project, err)
	}
	return client, err
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
		return fmt.Errorf("no emulator answers at %s, which %s names: start one with btgen-live emulator, or unset the variable: %w", words.Printable(host), store.EmulatorVariable, err)
	}
	return conn.Close()
}
