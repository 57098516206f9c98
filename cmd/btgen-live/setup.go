package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// newSetup returns the command setup.
func newSetup() *cobra.Command {
	var l live
	cmd := command("setup", nil)
	l.addTo(cmd, func(plan *setup.Plan) bool { return len(plan.Refused()) > 0 }) // of a dry run
	cmd.Flags().BoolVar(&l.options.DryRun, "dry-run", false, "print the plan and change nothing")
	cmd.Flags().StringVar(&l.plan, "plan", "", "carry out the plan in a `file`, or nothing")
	cli.Exclusive(cmd, "a saved plan has what it allows and whether it records the history", "plan", "allow")
	cli.Exclusive(cmd, "a saved plan has what it allows and whether it records the history", "plan", "no-history")
	return cmd
}

// newPlan returns the command plan.
func newPlan() *cobra.Command {
	l := live{options: setup.Options{DryRun: true}}
	cmd := command("plan", nil)
	l.addTo(cmd, func(plan *setup.Plan) bool { return !plan.Empty() })
	cmd.Flags().StringVar(&l.save, "save", "", "write the plan to a `file`")
	return cmd
}

// live are the flags of the commands setup and plan.
type live struct {
	target
	options setup.Options
	plan    string   // file with the plan to carry out; may be empty
	save    string   // file to save the plan to; may be empty
	removed []string // tables and families whose removal was accepted, in btgen.lock
}

// addTo adds the flags to a command, and makes it set up the instance; found says whether a plan is a finding.
func (l *live) addTo(cmd *cobra.Command, found func(plan *setup.Plan) bool) {
	cmd.RunE = func(cmd *cobra.Command, paths []string) error { return l.setUp(cmd, paths, found) }
	l.flags(cmd, "app `profile` for the history, with single-cluster routing and single-row transactions")
	cmd.Flags().BoolVar(&l.options.NoHistory, "no-history", false, "neither read nor write the history of layouts in table "+setup.HistoryTable)
	cmd.Flags().StringArrayVar(&l.options.Allow, "allow", nil, "`name` of a refused change in the plan, to allow it; can be repeated")
}

// setUp sets up the instance for the schemas, and prints the plan. It returns ErrFindings if that is a finding.
func (l *live) setUp(cmd *cobra.Command, paths []string, found func(plan *setup.Plan) bool) error {
	l.options.TablePrefix, l.options.Timeout = l.prefix, l.timeout
	tables, err := loadTables(paths)
	if err != nil {
		return err
	}
	if l.removed, err = removedTables(paths); err != nil {
		return err
	}
	if err := setup.CheckDrafts(tables, l.options); err != nil {
		return err
	}
	now, err := newPlanFile(l, tables)
	if err != nil {
		return err
	}
	if l.plan != "" {
		if err := l.follow(now); err != nil {
			return printPlan(cmd.OutOrStdout(), setup.Plan{}, err)
		}
	}
	if l.save != "" {
		l.options.Confirm = func(plan setup.Plan) error { now.note(plan); return nil }
	}
	return l.withAdmin(cmd, func(ctx context.Context, admin *bigtable.AdminClient, client *bigtable.Client) error {
		progress := cli.StartProgress(cmd.ErrOrStderr(), cmd.Root().Name())
		defer progress.Stop()
		progress.Step("comparing %d tables with the instance%s", len(tables), map[bool]string{false: ", and changing what differs"}[l.options.DryRun])
		plan, err := l.setUpAll(ctx, admin, client, tables)
		progress.Stop()
		if err == nil && l.save != "" {
			err = now.save(ctx, l.save)
		}
		err = errors.Join(printPlan(cmd.OutOrStdout(), plan, err), l.printIdle(cmd.OutOrStdout(), tables))
		if err == nil && found(&plan) {
			return cli.ErrFindings
		}
		return err
	})
}

// printIdle prints the tables that are not read yet.
func (l *live) printIdle(out io.Writer, tables []store.Table) error {
	for _, t := range tables {
		if !t.WriteOnly {
			continue
		}
		if _, err := fmt.Fprintf(out, "table %s%s is not read, because it has serves: false; btgen-live backfill fills it, and its --verify tells when it can be read\n", l.options.TablePrefix, t.ID); err != nil {
			return err
		}
	}
	return nil
}

// follow prepares setup for a saved plan, with its prefix, the changes that it allows, and
// whether it does without the history. It
// returns a *stalePlanError if the plan is for another target or other schemas.
func (l *live) follow(now *planFile) error {
	saved, err := readPlanFile(l.plan)
	if err != nil {
		return err
	}
	if prefix := saved.For["prefix"]; l.options.TablePrefix == "" {
		now.For["prefix"], l.options.TablePrefix = prefix, prefix
	}
	if reasons := saved.other(now); reasons != nil {
		return &stalePlanError{l.plan, reasons}
	}
	l.options.Allow, l.options.NoHistory = saved.Allow, saved.NoHistory
	l.options.Confirm = saved.confirm(l.plan, now)
	return nil
}

// setUpAll sets up tables, and adds unknown ones to the plan. It lists the tables first, so
// that nothing has changed if that fails.
func (l *live) setUpAll(ctx context.Context, admin *bigtable.AdminClient, client *bigtable.Client, tables []store.Table) (setup.Plan, error) {
	unknown, err := setup.UnknownTables(ctx, admin, tables, l.options)
	if err != nil && status.Code(err) != codes.PermissionDenied { // without permission to list tables, setup may still have permission to create them
		return setup.Plan{}, err
	}
	l.options.ListBundles = true
	plan, err := setup.Setup(ctx, admin, client, tables, l.options)
	plan.Unmanaged = append(plan.Unmanaged, unknown...)
	if err == nil && !l.options.NoHistory {
		plan.Unmanaged, err = setup.ExamineUnmanaged(ctx, admin, client, plan.Unmanaged, setup.DeleteOptions{TablePrefix: l.options.TablePrefix, Timeout: l.options.Timeout, Removed: l.removed})
	}
	return plan, err
}

// printPlan prints a plan. If err is a refusal or a stale plan, it prints that too and returns
// ErrFindings. It returns any other error unchanged.
func printPlan(stdout io.Writer, plan setup.Plan, err error) error {
	text := plan.String()
	var refused *setup.RefusedError
	var stale *stalePlanError
	switch {
	case errors.As(err, &stale):
		text, err = stale.Error()+"\n", nil
	case errors.As(err, &refused):
		text = refused.Error() + "\n" + text
		err = nil
	case err == nil && plan.Empty():
		text += "nothing to do\n"
	}
	_, failed := io.WriteString(stdout, text)
	if err = errors.Join(err, failed); err == nil && (refused != nil || stale != nil) {
		return cli.ErrFindings
	}
	return err
}
