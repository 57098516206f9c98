package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/store"
)

// newRollup returns the command rollup.
func newRollup() *cobra.Command {
	var f summarizing
	cmd := &cobra.Command{
		Use:   "rollup NAME --project P --instance I",
		Short: "Summarize the events of tables with a rollup",
		Long: `Summarize the buckets of the tables of a schema that have a rollup: those that have ended, and
have changed since they were summarized. The command notes these buckets, waits until no
program can be writing the changes that it has noted (10 minutes, or a 48th of the width of a
bucket if that is more), and stores the windows of each. Buckets that change meanwhile are left
for the next run.

It can be stopped and repeated at any time, and run by several processes at once. All of them
need an app profile that routes to the same single cluster and allows single-row transactions.
With --replicated, for instances with several clusters, it waits for replication first.

--all also summarizes buckets that were written before the table had a rollup.

Exit codes: 0 summarized; 2 failure.`,
		Args: ofSchema(1),
		RunE: f.run,
	}
	f.flags(cmd, "app `profile` of the requests, with single-cluster routing and single-row transactions")
	cmd.Flags().StringArrayVar(&f.schemas, "schemas", nil, schemasHelp)
	cmd.Flags().BoolVar(&f.options.All, "all", false, "also summarize buckets without marks")
	cmd.Flags().BoolVar(&f.options.DryRun, "dry-run", false, "count the buckets that have changed, and summarize none")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "repeat until interrupted")
	cmd.Flags().BoolVar(&f.replicated, "replicated", false, "wait for replication, for an instance with several clusters")
	cmd.Flags().IntVar(&f.options.Workers, "workers", store.DefaultWorkers, "number of concurrent requests")
	return cmd
}

// summarizing are the flags of the command rollup.
type summarizing struct {
	target
	schemas           []string
	watch, replicated bool
	options           store.RollupOptions
}

// run summarizes events.
func (f *summarizing) run(cmd *cobra.Command, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.options.Workers < 1 {
		return fmt.Errorf("--workers %d: must be at least 1", f.options.Workers)
	}
	l, err := loadLayout(cmd.OutOrStdout(), f.schemas, args[0])
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	client, err := f.connect(ctx)
	if err != nil {
		return err
	}
	if err := f.consistently(ctx); err != nil {
		return errors.Join(err, client.Close())
	}
	progress := newMeter(cmd)
	f.options.TablePrefix, f.options.Timeout = f.prefix, f.timeout
	f.options.Progress = func(p store.RollupProgress) {
		if p.Waiting > 0 {
			progress.line("table %s: %s changed; waiting %s", p.Table, countOf(int(p.Noted), "bucket"), p.Waiting.Round(time.Second))
		}
	}
	for again := true; again && err == nil; again = f.watch && ctx.Err() == nil {
		var report store.RollupReport
		if report, err = dynamic.New(l).Rollup(ctx, client, f.options); err == nil {
			err = f.print(cmd.OutOrStdout(), report)
		}
		if f.watch && err == nil {
			wait(ctx, time.Minute)
		}
	}
	progress.end()
	return errors.Join(err, client.Close())
}

// wait waits, unless the context ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// consistently makes the command wait for replication, if that is requested.
func (f *summarizing) consistently(ctx context.Context) error {
	if !f.replicated {
		return nil
	}
	admin, err := f.connectAdmin(ctx)
	if err != nil {
		return err
	}
	f.options.Consistent = admin.WaitForReplication
	return nil
}

// print prints the result.
func (f *summarizing) print(out io.Writer, r store.RollupReport) error {
	var b strings.Builder
	tables := strings.Join(r.Tables, ", ")
	if f.options.DryRun {
		fmt.Fprintf(&b, "%s of %s would be summarized\n", countOf(int(r.Noted), "bucket"), tables)
	} else {
		fmt.Fprintf(&b, "%s of %s are summarized, in %s\n", countOf(int(r.Sealed), "bucket"), tables, countOf(int(r.Windows), "window"))
	}
	for _, note := range []struct {
		n    int64
		text string
	}{
		{r.Inexact, "have windows that are inexact, since events had expired before they were summarized"},
		{r.Busy, "changed again, and are left for the next run"},
		{r.Undecodable, "have events that cannot be decoded, and are left"},
		{r.Unknown, "have cells that a later version has written, and are left"},
	} {
		if note.n > 0 {
			fmt.Fprintf(&b, "  %s %s\n", countOf(int(note.n), "bucket"), note.text)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
