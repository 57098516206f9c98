package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/store"
)

// newBackfill returns the command backfill.
func newBackfill() *cobra.Command {
	var f filling
	cmd := command("backfill", f.run)
	f.target.flags(cmd, "app `profile` of the requests, for example one with a low priority")
	f.schemaFlags.flags(cmd, 1)
	cmd.Flags().StringVar(&f.options.Source, "source", "", "`table` to read; by default the one that serves reads and keeps events longest")
	cmd.Flags().StringVar(&f.options.Target, "target", "", "`table` to fill; by default the one with serves: false")
	f.rangeFlags(cmd.Flags(), "are copied; by default all; with --verify, now")
	cmd.Flags().Var(number(&f.options.Workers, store.DefaultWorkers, 1, 0), "workers", "number of ranges of row keys to copy concurrently")
	cmd.Flags().Var(rate(&f.options.Rate), "rate", "maximum number of events per second; 0 for no limit")
	cmd.Flags().StringVar(&f.options.Checkpoint, "checkpoint", "", "`file` with the progress, which is created, and continued if it exists")
	cmd.Flags().BoolVar(&f.options.SkipUndecodable, "skip-undecodable", false, "count rows that cannot be decoded, instead of failing")
	cmd.Flags().BoolVar(&f.options.RenewAges, "renew-ages", false, "allow a target in which the age of an event counts from its write")
	cmd.Flags().BoolVar(&f.options.Repair, "repair", false, "write only what differs, and delete what the source lacks from any target")
	cmd.Flags().BoolVar(&f.options.DryRun, "dry-run", false, "count the events and write nothing")
	cmd.Flags().BoolVar(&f.options.Verify, "verify", false, "compare the tables and write nothing")
	cli.Exclusive(cmd, "each is another run", "dry-run", "verify", "repair")
	cli.Exclusive(cmd, "a verification starts from the beginning", "checkpoint", "verify")
	cli.Exclusive(cmd, "a dry run makes no progress to keep", "checkpoint", "dry-run")
	return cmd
}

// filling are the flags of the command backfill.
type filling struct {
	target
	schemaFlags
	timeRange
	options store.BackfillOptions
}

// run copies or compares events.
func (f *filling) run(cmd *cobra.Command, args []string) error {
	from, to, err := f.times()
	if err != nil {
		return err
	}
	if f.options.From = from; f.to != "" {
		f.options.To = to
	}
	schema, _, err := f.load(args[0])
	if err != nil {
		return err
	}
	progress := newMeter(cmd)
	f.options.TablePrefix, f.options.Timeout, f.options.Progress = f.prefix, f.timeout, showProgress(progress)
	f.options.Instance = f.name()
	return f.with(cmd, func(ctx context.Context, client *bigtable.Client) error {
		report, err := store.Backfill(ctx, client, schema.Mappings(), f.options)
		progress.end()
		switch {
		case err == nil:
			return f.print(cmd.OutOrStdout(), report)
		case report.Events > 0 && f.options.Checkpoint != "":
			return fmt.Errorf("%w; %s copied: repeat the command to continue", err, countOf(int(report.Events), "event"))
		case report.Rows > 0 && !f.options.Verify && !f.options.DryRun && !f.ofStates(schema.Layout(), report):
			return fmt.Errorf("%w; what was being copied is not compared: wait for %s, and repeat the command", err, 2*f.timeout)
		}
		return err
	})
}

// ofStates reports whether the target has the newest event of each series: rows that a stopped run was
// filling are right, or marked.
func (f *filling) ofStates(l *layout.Layout, r store.BackfillReport) bool {
	return l.State != nil && r.Target == f.prefix+l.State.ID
}

// print prints the result. It returns ErrFindings if the tables differ.
func (f *filling) print(out io.Writer, r store.BackfillReport) error {
	var b strings.Builder
	from := fmt.Sprintf("%s in %s of table %s", countOf(int(r.Events), "event"), countOf(int(r.Rows), "row"), r.Source)
	switch {
	case f.options.Verify && len(r.Differences) == 0:
		fmt.Fprintf(&b, "tables %s and %s agree on %s\n", r.Source, r.Target, countOf(int(r.Events), "event"))
	case f.options.Verify:
		fmt.Fprintf(&b, "tables %s and %s differ\n", r.Source, r.Target)
		for _, d := range r.Differences {
			fmt.Fprintf(&b, "  %s\n", d)
		}
	case f.options.DryRun:
		fmt.Fprintf(&b, "%s would be copied to table %s\n", from, r.Target)
	case f.options.Repair:
		fmt.Fprintf(&b, "%s compared with table %s, and repaired there\n", from, r.Target)
	default:
		fmt.Fprintf(&b, "%s copied to table %s\n", from, r.Target)
	}
	changed := map[bool]string{true: "missing or different in the target", false: "changed in the meantime, and copied again"}
	writeNotes(&b, "event", []note{
		{r.Expired, "expired in one of the tables, or will within the hour of a comparison"},
		{r.Undecodable, "could not be decoded"},
		{r.Changed, changed[f.options.Repair]},
		{r.Deleted, "deleted from the target, as in the source"},
		{r.Merged, "of the source have the series and time of others, so the target can store only the last of these"},
		{r.Unsettled, "kept changing: compare the tables with --verify"},
		{r.OnlyTarget, "of the target are not in the source, which may never have had them: --verify shows where, --repair deletes them"},
	})
	if r.TargetFirst && !f.options.Verify && !f.options.DryRun {
		fmt.Fprintf(&b, "  programs write to table %s first, as the schema lists it first: changes during the copy may be missing; compare the tables with --verify\n", r.Target)
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	if len(r.Differences) > 0 {
		return cli.ErrFindings
	}
	return nil
}

// note says how many events or buckets are special.
type note struct {
	n    int64
	text string
}

// writeNotes writes a line for each note about at least one thing.
func writeNotes(b *strings.Builder, thing string, notes []note) {
	for _, n := range notes {
		if n.n > 0 {
			fmt.Fprintf(b, "  %s %s\n", countOf(int(n.n), thing), n.text)
		}
	}
}

// showProgress shows the progress of a backfill: with a bar on a terminal.
func showProgress(m *meter) func(store.BackfillProgress) {
	return func(p store.BackfillProgress) {
		if p.Waiting > 0 {
			m.line("waiting %s until requests of the stopped run have ended", p.Waiting.Round(time.Second))
			return
		}
		m.show(func() string {
			text := fmt.Sprintf("%.1f%%, %s, %s", 100*p.Share, countOf(int(p.Events), "event"), countOf(int(p.Rows), "row"))
			if p.Rate > 0 {
				text += fmt.Sprintf(", %.0f/s", p.Rate)
			}
			if p.Left > 0 {
				text += fmt.Sprintf(", %s left", p.Left.Round(time.Second))
			}
			if m.terminal {
				const width = 30
				text = fmt.Sprintf("[%-*s] %s", width, strings.Repeat("=", int(p.Share*width)), text)
			}
			return text
		})
	}
}
