package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// remove prints what find finds to delete and, unless there is no question, asks it and calls erase, which returns what was done.
func (r *request) remove(
	find func() (text, question string, err error), erase func(step func(string, ...any)) (string, error),
) error {
	progress := r.step("looking for what is to be deleted")
	text, question, err := find()
	progress.Stop()
	if failed := r.say(text, false); failed != nil || r.dryRun || question == "" {
		return errors.Join(err, failed)
	}
	if err := r.confirm(question); err != nil {
		return err
	}
	progress = r.step("deleting")
	text, err = erase(progress.Step)
	progress.Stop()
	return errors.Join(r.say(text, false), err)
}

// deleteEvents deletes events of a series or of a query.
func deleteEvents(ctx context.Context, r *request) error {
	w := r.schema.NewWriter(r.client, store.WriterOptions{TablePrefix: r.prefix, Timeout: r.timeout})
	erase := func(o store.DeleteOptions) (store.Deletion, error) {
		if r.all {
			return r.schema.DeleteAll(ctx, w, r.of, o)
		}
		return r.schema.Delete(ctx, w, r.of, r.from, r.to, o)
	}
	amount := ""
	return r.remove(func() (text, question string, err error) {
		found, err := erase(store.DeleteOptions{DryRun: true})
		if err != nil && !leaves(err) {
			return "", "", err
		}
		for _, t := range found.Tables {
			text += fmt.Sprintf("table %s: %s in %s\n", t.Table, countOf(t.Events, "event"), countOf(t.Rows, "row"))
		}
		if amount = amountOf(found); amount != "" {
			question = amount + "? This cannot be undone."
		}
		return text, question, err
	}, func(step func(string, ...any)) (string, error) {
		step("deleting %s", amount)
		deleted, err := erase(store.DeleteOptions{Progress: func(d store.Deletion) { step("deleting %s: %s so far", amount, d) }})
		text := fmt.Sprintf("deleted: %s\n", deleted)
		if err != nil && !leaves(err) {
			return text, err
		}
		step("counting what is left")
		left, failed := erase(store.DeleteOptions{DryRun: true})
		if failed != nil && !leaves(failed) || err != nil {
			return text, errors.Join(err, failed)
		}
		if left.Events() == 0 { // windows of expired events that were deleted are counted until the next rollup leaves them out
			for i := range left.Tables {
				if r.schema.Layout().Tables[i].Rollup != nil {
					left.Tables[i].Rows = 0
				}
			}
		}
		if amount = amountOf(left); amount == "" {
			return text, nil
		}
		text += fmt.Sprintf("left: %s, written in the meantime; stop the programs that write them, and repeat the command\n", amount)
		return text, cli.ErrFindings
	})
}

// checkRange checks that a deletion names its range.
func (r *request) checkRange() error {
	switch {
	case r.all || r.fromText != "" && r.toText != "":
		return nil
	case r.fromText == "" && r.toText == "":
		return errors.New("nothing is deleted without a time range: add --from 2021-03-05 --to 2021-03-06, for example, " +
			"or --all for the events of all times")
	}
	return errors.New("nothing is deleted, since the time range lacks an end: add both --from and --to, " +
		"such as --from 1970-01-01 for all earlier events")
}

// leaves reports whether an error is about events that a deletion leaves, and not about one that
// ends it.
func leaves(err error) bool {
	_, micros := errors.AsType[*store.MicrosError](err)
	return micros || isUndecodable(err)
}

// amountOf describes what is deleted: events, or rows if no event can be counted; empty for nothing. Rows can have data without an
// event: in columns of removed fields, and in windows of expired events.
func amountOf(d store.Deletion) string {
	rows := 0
	for _, t := range d.Tables {
		rows += t.Rows
	}
	switch {
	case rows == 0:
		return ""
	case d.Events() == 0:
		return countOf(rows, "row") + " without countable events, such as those of removed fields or in windows of expired events"
	}
	return countOf(d.Events(), "event")
}

// deleteTables deletes tables that no schema uses. Deleting checks everything again, because the confirmation may take a while.
func deleteTables(_ context.Context, r *request) error {
	tables, err := loadTables(r.schemas)
	if err != nil {
		return err
	}
	o := setup.DeleteOptions{TablePrefix: r.prefix, Timeout: r.timeout}
	if o.Removed, err = loadRemoved(r.schemas); err != nil {
		return err
	}
	ctx, admin, err := r.connectBoth()
	if err != nil {
		return err
	}
	return r.remove(func() (text, question string, err error) {
		dry := o
		dry.DryRun = true
		found, err := setup.DeleteTables(ctx, admin, r.client, tables, r.args, dry)
		if err != nil {
			return refusal(err)
		}
		var of []store.Table
		for _, u := range found {
			text += u.Deletion() + "\n"
			id := strings.TrimPrefix(u.Table, r.prefix)
			of = append(of, store.Table{ID: id})
			of = append(of, slices.DeleteFunc(slices.Clone(tables), func(t store.Table) bool { return t.ID != id })...)
		}
		if len(found) == 0 {
			return "nothing to delete: it no longer exists\n", "", nil
		}
		r.setup.TablePrefix, r.setup.Timeout = r.prefix, r.timeout
		views, err := r.views(ctx, admin, of)
		for _, v := range views {
			text += v.String() + "\n"
		}
		if err != nil {
			return "", "", err
		}
		return text, countOf(len(found), "item") + "?", nil
	}, func(func(string, ...any)) (text string, err error) {
		deleted, err := setup.DeleteTables(ctx, admin, r.client, tables, r.args, o)
		for _, u := range deleted {
			text += "deleted " + u.Name() + "\n"
		}
		kept, _, err := refusal(err)
		return text + kept, err
	})
}

// refusal returns the reasons for which tables are kept, as findings. It returns other errors unchanged.
func refusal(err error) (text, question string, _ error) {
	if kept, ok := errors.AsType[*setup.KeptError](err); ok {
		return fmt.Sprintln(kept), "", cli.ErrFindings
	}
	return "", "", err
}

// confirm asks on stderr whether to delete, unless the answer is known. It returns ErrFindings if the answer on stdin is not yes.
func (r *request) confirm(what string) error {
	if r.yes {
		return nil
	}
	if _, err := fmt.Fprintf(r.cmd.ErrOrStderr(), "Delete %s Type yes to confirm:\n", what); err == nil {
		answer, _ := bufio.NewReader(r.cmd.InOrStdin()).ReadString('\n')
		if strings.TrimSpace(strings.ToLower(answer)) == "yes" {
			return nil
		}
	}
	return r.say("not confirmed: nothing is deleted\n", true)
}
