package main

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// setUp sets up the instance for the schemas, or plans that, and prints the plan. It returns ErrFindings for a plan with changes, and for
// a dry run of setup that would be refused.
func setUp(_ context.Context, r *request) error {
	r.setup.TablePrefix, r.setup.Timeout, r.setup.DryRun = r.prefix, r.timeout, r.dryRun || r.command == "plan"
	tables, err := loadTables(r.args)
	if err != nil {
		return err
	}
	removed, err := loadRemoved(r.args)
	if err != nil {
		return err
	}
	if err := setup.CheckDrafts(tables, r.setup); err != nil {
		return err
	}
	now, err := r.newPlanFile(tables)
	if err != nil {
		return err
	}
	if r.plan != "" {
		if err := r.follow(now); err != nil {
			return r.printPlan(setup.Plan{}, err)
		}
	}
	if r.save != "" {
		r.setup.Confirm = func(plan setup.Plan) error { now.note(plan); return nil }
	}
	ctx, admin, err := r.connectBoth()
	if err != nil {
		return err
	}
	changing := map[bool]string{false: ", and changing what differs"}[r.setup.DryRun]
	progress := r.step("comparing %d tables with the instance%s", len(tables), changing)
	plan, err := r.setUpAll(ctx, admin, tables, removed)
	progress.Stop()
	if err == nil && r.save != "" {
		err = now.save(ctx, r.save)
	}
	err = errors.Join(r.printPlan(plan, err), r.printIdle(tables))
	if err == nil && (r.command == "plan" && !plan.Empty() || len(plan.Refused()) > 0) {
		return cli.ErrFindings
	}
	return err
}

// printIdle prints the tables that are not read yet.
func (r *request) printIdle(tables []store.Table) error {
	text := ""
	for _, t := range tables {
		if t.WriteOnly {
			text += fmt.Sprintf("table %s%s is not read, because it has serves: false; btgen-live backfill fills it, "+
				"and its --verify tells when it can be read\n", r.setup.TablePrefix, t.ID)
		}
	}
	return r.say(text, false)
}

// follow prepares setup for a saved plan, with its prefix, the changes that it allows, and
// whether it does without the history. It
// returns a *stalePlanError if the plan is for another target or other schemas.
func (r *request) follow(now *planFile) error {
	saved, err := readPlanFile(r.plan)
	if err != nil {
		return err
	}
	if prefix := saved.For["prefix"]; r.setup.TablePrefix == "" {
		now.For["prefix"], r.setup.TablePrefix = prefix, prefix
	}
	if reasons := saved.other(now); reasons != nil {
		return &stalePlanError{r.plan, reasons}
	}
	r.setup.Allow, r.setup.NoHistory = saved.Allow, saved.NoHistory
	r.setup.Confirm = saved.confirm(r.plan, now)
	return nil
}

// setUpAll sets up tables, and adds unknown ones to the plan. It lists the tables first, so
// that nothing has changed if that fails.
func (r *request) setUpAll(ctx context.Context, admin *bigtable.AdminClient, tables []store.Table, removed []string) (setup.Plan, error) {
	unknown, err := setup.UnknownTables(ctx, admin, tables, r.setup)
	if err != nil && status.Code(err) != codes.PermissionDenied { // without permission to list tables, setup may still have permission to create them
		return setup.Plan{}, err
	}
	r.setup.ListBundles = true
	plan, err := setup.Setup(ctx, admin, r.client, tables, r.setup)
	plan.Unmanaged = append(plan.Unmanaged, unknown...)
	if err == nil && !r.setup.NoHistory {
		o := setup.DeleteOptions{TablePrefix: r.setup.TablePrefix, Timeout: r.timeout, Removed: removed}
		plan.Unmanaged, err = setup.ExamineUnmanaged(ctx, admin, r.client, plan.Unmanaged, o)
	}
	return plan, err
}

// printPlan prints a plan. If err is a refusal or a stale plan, it prints that too and returns
// ErrFindings. It returns any other error unchanged.
func (r *request) printPlan(plan setup.Plan, err error) error {
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
	return errors.Join(err, r.say(text, err == nil && (refused != nil || stale != nil)))
}
