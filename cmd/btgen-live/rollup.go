package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/store"
)

// newRollup returns the command rollup.
func newRollup() *cobra.Command {
	var f summarizing
	cmd := command("rollup", f.run)
	f.target.flags(cmd, "app `profile` of the requests, with single-cluster routing and single-row transactions")
	f.schemaFlags.flags(cmd, 1)
	cmd.Flags().BoolVar(&f.options.All, "all", false, "also summarize buckets whose summary is missing, or differs from their events")
	cmd.Flags().BoolVar(&f.options.DryRun, "dry-run", false, "count the buckets that have changed, and summarize none")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "repeat until interrupted")
	cmd.Flags().BoolVar(&f.replicated, "replicated", false, "wait for replication, for an instance with several clusters")
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "summarize at once, on an emulator to which nothing writes meanwhile")
	cmd.Flags().Var(number(&f.options.Workers, store.DefaultWorkers, 1, 0), "workers", "number of ranges of row keys to search, and of buckets to summarize, concurrently")
	cmd.Flags().Var(rate(&f.options.Rate), "rate", "maximum number of buckets per second; 0 for no limit")
	cmd.Flags().StringVar(&f.options.Checkpoint, "checkpoint", "", "`file` with the progress, which is created, and continued if it exists")
	cli.Exclusive(cmd, "a dry run makes no progress to keep", "checkpoint", "dry-run")
	cli.Exclusive(cmd, "a dry run changes nothing, so the next one finds the same", "watch", "dry-run")
	return cmd
}

// summarizing are the flags of the command rollup.
type summarizing struct {
	target
	schemaFlags
	watch, replicated, noWait bool
	options                   store.RollupOptions
}

// run summarizes events.
func (f *summarizing) run(cmd *cobra.Command, args []string) error {
	if f.noWait && os.Getenv(store.EmulatorVariable) == "" {
		return fmt.Errorf("--no-wait: only for emulators, and %s names none: windows could lack what other programs are writing", store.EmulatorVariable)
	}
	schema, _, err := f.load(args[0])
	if err != nil {
		return err
	}
	if f.replicated {
		return f.withAdmin(cmd, func(ctx context.Context, admin *bigtable.AdminClient, client *bigtable.Client) error {
			f.options.Consistent = admin.WaitForReplication
			return f.repeat(ctx, cmd, schema, client)
		})
	}
	return f.with(cmd, func(ctx context.Context, client *bigtable.Client) error { return f.repeat(ctx, cmd, schema, client) })
}

// repeat summarizes events, with --watch until ctx ends.
func (f *summarizing) repeat(ctx context.Context, cmd *cobra.Command, s *dynamic.Schema, client store.Client) (err error) {
	progress := newMeter(cmd)
	show, begun, searching := f.show(progress), time.Time{}, time.Duration(0)
	f.options.TablePrefix, f.options.Timeout = f.prefix, f.timeout
	f.options.Progress = func(p store.RollupProgress) {
		if p.Share < 1 {
			searching = time.Since(begun)
		}
		show(p)
	}
	f.options.Sleep = delay
	if f.noWait {
		f.options.Sleep = func(context.Context, time.Duration) error { return nil }
	}
	f.options.Instance = f.name()
	for again := true; again; again = err == nil && f.watch && delay(ctx, max(watchEvery, searchOneIn*searching)) == nil {
		begun, searching = time.Now(), 0
		err = f.once(ctx, cmd, progress, s, client)
		progress.end()
		if f.watch && passing(err) && ctx.Err() == nil {
			progress.line("%v; the next run tries again", ended(ctx, err))
			err = nil
		}
	}
	return err
}

// watchEvery is how long --watch waits between two searches, at least. Since a search walks over all rows of the tables, it also
// waits searchOneIn times as long as the last one took.
const (
	watchEvery  = 10 * time.Minute
	searchOneIn = 10
)

// passing reports whether a later run may succeed: if the server failed or did not answer in time, and is not known to refuse
// the command.
func passing(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Aborted, codes.Internal, codes.ResourceExhausted, codes.DeadlineExceeded:
		return true
	case codes.PermissionDenied, codes.Unauthenticated, codes.NotFound, codes.Unimplemented:
		return false
	}
	_, ofBucket := errors.AsType[*store.RollupError](err)
	_, replicating := errors.AsType[*store.ReplicationError](err)
	return ofBucket || replicating || errors.Is(err, context.DeadlineExceeded)
}

// delay waits: between two searches, and until marks are not used any more. Tests replace it.
var delay = wait

// once summarizes the buckets that have changed. With --watch, it prints the first that cannot be decoded, and the first of
// those that are left.
func (f *summarizing) once(ctx context.Context, cmd *cobra.Command, progress *meter, s *dynamic.Schema, client store.Client) error {
	report, err := s.Rollup(ctx, client, f.options)
	undecodable := isUndecodable(err)
	_, left := errors.AsType[*store.LeftError](err)
	if err != nil && !undecodable && !left {
		if report.Sealed > 0 {
			err = fmt.Errorf("%w; %s summarized: repeat the command to continue", err, countOf(int(report.Sealed), "bucket"))
		}
		return err
	}
	if failed := f.print(cmd.OutOrStdout(), report); failed != nil {
		return failed
	}
	if err != nil && f.watch {
		progress.line("%v", ended(ctx, err))
		return nil
	}
	return err
}

// show shows the progress.
func (f *summarizing) show(m *meter) func(store.RollupProgress) {
	waiting := f.noWait
	return func(p store.RollupProgress) {
		text := fmt.Sprintf("%.1f%% searched, %s changed, %d summarized", 100*p.Share, countOf(int(p.Noted), "bucket"), p.Sealed)
		if p.Waiting > 0 && !waiting {
			m.line("%s; waiting %s", text, p.Waiting.Round(time.Second))
		}
		if p.Replicating != "" {
			m.line("%s; waiting for the replication of %s", text, p.Replicating)
		}
		waiting = p.Waiting > 0 || f.noWait
		m.show(func() string {
			if p.Rate > 0 {
				return fmt.Sprintf("%s, %.0f/s", text, p.Rate)
			}
			return text
		})
	}
}

// wait waits, or returns the cause of the end of ctx.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// print prints the result.
func (f *summarizing) print(out io.Writer, r store.RollupReport) error {
	var b strings.Builder
	tables := strings.Join(r.Tables, ", ")
	if f.options.DryRun {
		fmt.Fprintf(&b, "%s of %s would be summarized\n", countOf(int(r.Noted), "bucket"), tables)
	} else {
		fmt.Fprintf(&b, "%s of %s %s summarized, in %s\n", countOf(int(r.Sealed), "bucket"), tables, words.Plural(int(r.Sealed), "is", "are"), countOf(int(r.Windows), "window"))
	}
	notes := []note{
		{r.Inexact, "inexact windows: events had expired before they were summarized, or may have, if clocks differ by up to an hour"},
		{r.Busy, "changed again, for the next run to summarize"},
		{r.Undecodable, "contents that cannot be decoded, and that are left"},
		{r.Unknown, "cells of a later version, which are left"},
		{r.Failed, "requests that failed, and are left for the next run"},
	}
	for i, n := range notes {
		notes[i].text = words.Plural(int(n.n), "has", "have") + " " + n.text
	}
	writeNotes(&b, "bucket", notes)
	_, err := io.WriteString(out, b.String())
	return err
}
