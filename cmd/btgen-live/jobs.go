package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/store"
)

// backfill copies or compares events of tables.
func backfill(ctx context.Context, r *request) error {
	progress, o := newMeter(r.cmd), &r.backfill
	if o.From = r.from; r.toText != "" {
		o.To = r.to
	}
	o.TablePrefix, o.Timeout, o.Instance, o.Workers, o.Rate = r.prefix, r.timeout, r.instanceName(), r.workers, r.rate
	o.Checkpoint, o.DryRun = r.checkpoint, r.dryRun
	o.Progress = func(p store.BackfillProgress) {
		if p.Waiting > 0 {
			progress.line("waiting %s until requests of the stopped run have ended", p.Waiting.Round(time.Second))
			return
		}
		progress.showShare(p.Share, fmt.Sprintf(", %s, %s", countOf(p.Events, "event"), countOf(p.Rows, "row")), p.Rate, p.Left)
	}
	report, err := store.Backfill(ctx, r.client, r.schema.Mappings(), *o)
	progress.end()
	state := r.schema.Layout().State // rows that a stopped run was filling are right, or marked
	switch {
	case err == nil:
		return r.say(r.backfilled(report), len(report.Differences) > 0)
	case report.Events > 0 && r.checkpoint != "":
		return fmt.Errorf("%w; %s copied: repeat the command to continue", err, countOf(report.Events, "event"))
	case report.Rows > 0 && !o.Verify && !r.dryRun && (state == nil || report.Target != r.prefix+state.ID):
		return fmt.Errorf("%w; what was being copied is not compared: wait for %s, and repeat the command", err, 2*r.timeout)
	}
	return err
}

// backfilled describes the result.
func (r *request) backfilled(of store.BackfillReport) string {
	var b strings.Builder
	from := fmt.Sprintf("%s in %s of table %s", countOf(of.Events, "event"), countOf(of.Rows, "row"), of.Source)
	switch {
	case r.backfill.Verify && len(of.Differences) == 0:
		fmt.Fprintf(&b, "tables %s and %s agree on %s\n", of.Source, of.Target, countOf(of.Events, "event"))
	case r.backfill.Verify:
		fmt.Fprintf(&b, "tables %s and %s differ\n", of.Source, of.Target)
		for _, d := range of.Differences {
			fmt.Fprintf(&b, "  %s\n", d)
		}
	case r.backfill.DryRun:
		fmt.Fprintf(&b, "%s would be copied to table %s\n", from, of.Target)
	case r.backfill.Repair:
		fmt.Fprintf(&b, "%s compared with table %s, and repaired there\n", from, of.Target)
	default:
		fmt.Fprintf(&b, "%s copied to table %s\n", from, of.Target)
	}
	changed := map[bool]string{true: "missing or different in the target", false: "changed in the meantime, and copied again"}
	writeNotes(&b, "event", []note{
		{of.Expired, "expired in one of the tables, or will within the hour of a comparison"},
		{of.Undecodable, "could not be decoded"},
		{of.Changed, changed[r.backfill.Repair]},
		{of.Deleted, "deleted from the target, as in the source"},
		{of.Merged, "of the source have the series and time of others, so the target can store only the last of these"},
		{of.Unsettled, "kept changing: compare the tables with --verify"},
		{of.OnlyTarget, "of the target are not in the source, which may never have had them: --verify shows where, --repair deletes them"},
	})
	if of.TargetFirst && !r.backfill.Verify && !r.backfill.DryRun {
		fmt.Fprintf(&b, "  programs write to table %s first, as the schema lists it first: changes during the copy may be missing; "+
			"compare the tables with --verify\n", of.Target)
	}
	return b.String()
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
			fmt.Fprintf(b, "  %s %s\n", countOf(n.n, thing), n.text)
		}
	}
}

// showShare shows how much of a job is done: with a bar on a terminal. rate is per second, and left the time that is left; 0 for unknown ones.
func (m *meter) showShare(share float64, text string, rate float64, left time.Duration) {
	m.show(func() string {
		if text = fmt.Sprintf("%.1f%%%s", 100*share, text); rate > 0 {
			text += fmt.Sprintf(", %.0f/s", rate)
		}
		if left > 0 {
			text += fmt.Sprintf(", %s left", left.Round(time.Second))
		}
		if m.terminal {
			const width = 30
			text = fmt.Sprintf("[%-*s] %s", width, strings.Repeat("=", int(share*width)), text)
		}
		return text
	})
}

// summarize summarizes events: with --watch until it is interrupted.
func summarize(ctx context.Context, r *request) (err error) {
	o := store.RollupOptions{
		TablePrefix: r.prefix, All: r.all, DryRun: r.dryRun, Workers: r.workers, Rate: r.rate, Checkpoint: r.checkpoint,
		Instance: r.instanceName(), Timeout: r.timeout, Sleep: wait,
	}
	if r.noWait {
		o.Sleep = func(context.Context, time.Duration) error { return nil }
	}
	if r.replicated {
		admin, err := r.connectAdmin(ctx)
		if err != nil {
			return err
		}
		o.Consistent = admin.WaitForReplication
	}
	progress := newMeter(r.cmd)
	show, begun, searching := r.showRollup(progress), time.Time{}, time.Duration(0)
	o.Progress = func(p store.RollupProgress) {
		if p.Share < 1 {
			searching = time.Since(begun)
		}
		show(p)
	}
	for again := true; again; again = err == nil && r.watch && wait(ctx, max(watchEvery, searchOneIn*searching)) == nil {
		begun, searching = time.Now(), 0
		err = r.summarizeOnce(ctx, progress, o)
		progress.end()
		if r.watch && passing(err) && ctx.Err() == nil {
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

// summarizeOnce summarizes the buckets that have changed. With --watch, it prints the first that cannot be decoded, and the first of
// those that are left.
func (r *request) summarizeOnce(ctx context.Context, progress *meter, o store.RollupOptions) error {
	report, err := r.schema.Rollup(ctx, r.client, o)
	_, left := errors.AsType[*store.LeftError](err)
	if err != nil && !isUndecodable(err) && !left {
		if report.Sealed > 0 {
			err = fmt.Errorf("%w; %s summarized: repeat the command to continue", err, countOf(report.Sealed, "bucket"))
		}
		return err
	}
	if failed := r.say(r.summarized(report), false); failed != nil {
		return failed
	}
	if err != nil && r.watch {
		progress.line("%v", ended(ctx, err))
		return nil
	}
	return err
}

// showRollup shows the progress.
func (r *request) showRollup(m *meter) func(store.RollupProgress) {
	waiting := r.noWait
	return func(p store.RollupProgress) {
		text := fmt.Sprintf(" searched, %s changed, %d summarized", countOf(p.Noted, "bucket"), p.Sealed)
		if p.Waiting > 0 && !waiting {
			m.line("%.1f%%%s; waiting %s", 100*p.Share, text, p.Waiting.Round(time.Second))
		}
		if p.Replicating != "" {
			m.line("%.1f%%%s; waiting for the replication of %s", 100*p.Share, text, p.Replicating)
		}
		waiting = p.Waiting > 0 || r.noWait
		m.showShare(p.Share, text, p.Rate, 0)
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

// summarized describes the result.
func (r *request) summarized(of store.RollupReport) string {
	var b strings.Builder
	tables := strings.Join(of.Tables, ", ")
	if r.dryRun {
		fmt.Fprintf(&b, "%s of %s would be summarized\n", countOf(of.Noted, "bucket"), tables)
	} else {
		are := words.Plural(int(of.Sealed), "is", "are")
		fmt.Fprintf(&b, "%s of %s %s summarized, in %s\n", countOf(of.Sealed, "bucket"), tables, are, countOf(of.Windows, "window"))
	}
	notes := []note{
		{of.Inexact, "inexact windows: events had expired before they were summarized, or may have, if clocks differ by up to an hour; " +
			"if all are stored, lengthen the time to live in the schema, write one of them again, and repeat the command"},
		{of.Busy, "changed again, for the next run to summarize"},
		{of.Undecodable, "events that cannot be decoded, and " + words.Plural(int(of.Undecodable), "is", "are") +
			" left: write these again or delete them, and repeat the command"},
		{of.Unknown, "cells of a later version, which are left"},
		{of.Failed, "requests that failed, and are left for the next run"},
	}
	for i, n := range notes {
		notes[i].text = words.Plural(int(n.n), "has", "have") + " " + n.text
	}
	writeNotes(&b, "bucket", notes)
	return b.String()
}
