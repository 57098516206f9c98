package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/store"
)

// newDelete returns the command delete.
func newDelete() *cobra.Command {
	var d removal
	cmd := command("delete", d.run)
	d.target.flags(cmd, "app `profile` of the requests, for example one with a low priority")
	d.schemaFlags.flags(cmd, 0)
	cmd.Flags().StringVar(&d.query, "query", "", "delete what the query with this `name` selects, which has delete: true")
	cmd.Flags().StringVar(&d.from, "from", "", "`time` of the first event to delete")
	cmd.Flags().StringVar(&d.to, "to", "", "`time` before which events are deleted")
	cmd.Flags().BoolVar(&d.all, "all", false, "delete the events of all times, including the future")
	cmd.Flags().BoolVar(&d.dryRun, "dry-run", false, "print the counts and delete nothing")
	cmd.Flags().BoolVar(&d.yes, "yes", false, "do not ask for confirmation")
	cli.Exclusive(cmd, "--all deletes the events of all times", "all", "from")
	cli.Exclusive(cmd, "--all deletes the events of all times", "all", "to")
	cli.Exclusive(cmd, "--dry-run only shows what --yes deletes", "dry-run", "yes")
	return cmd
}

// removal are the flags of the command delete.
type removal struct {
	target
	selection        // without a query, of a series
	all, dryRun, yes bool
}

// run counts and deletes events.
func (d *removal) run(cmd *cobra.Command, args []string) error {
	if err := d.checkRange(); err != nil {
		return err
	}
	d.deleting = true
	s, err := d.resolve(args)
	if err != nil {
		return err
	}
	return d.with(cmd, func(ctx context.Context, client *bigtable.Client) error {
		w := s.schema.NewWriter(client, store.WriterOptions{TablePrefix: d.prefix, Timeout: d.timeout})
		return d.remove(ctx, cmd, func(ctx context.Context, o store.DeleteOptions) (store.Deletion, error) {
			if d.all {
				return s.schema.DeleteAll(ctx, w, s.selection(), o)
			}
			return s.schema.Delete(ctx, w, s.selection(), s.from, s.to, o)
		})
	})
}

// checkRange returns an error if the flags name no range, or one without an end.
func (d *removal) checkRange() error {
	switch {
	case d.all || d.from != "" && d.to != "":
		return nil
	case d.from == "" && d.to == "":
		return errors.New("nothing is deleted without a time range: add --from 2021-03-05 --to 2021-03-06, for example, or --all for the events of all times")
	}
	return errors.New("nothing is deleted, since the time range lacks an end: add both --from and --to, such as --from 1970-01-01 for all earlier events")
}

// leaves reports whether an error is about events that a deletion leaves, and not about one that
// ends it.
func leaves(err error) bool {
	_, micros := errors.AsType[*store.MicrosError](err)
	return micros || isUndecodable(err)
}

// remove counts what there is, asks for confirmation, deletes it, and counts what is left. Rows
// can have data without an event that could be counted: in columns of removed fields.
func (d *removal) remove(ctx context.Context, cmd *cobra.Command, erase func(context.Context, store.DeleteOptions) (store.Deletion, error)) error {
	out, progress := cmd.OutOrStdout(), cli.StartProgress(cmd.ErrOrStderr(), cmd.Root().Name())
	progress.Step("counting the events")
	found, err := erase(ctx, store.DeleteOptions{DryRun: true})
	progress.Stop()
	if err != nil && !leaves(err) {
		return err
	}
	for _, t := range found.Tables {
		if _, err := fmt.Fprintf(out, "table %s: %s in %s\n", t.Table, countOf(t.Events, "event"), countOf(t.Rows, "row")); err != nil {
			return err
		}
	}
	if d.dryRun || rowsOf(found) == 0 {
		return err
	}
	if err := confirm(cmd, d.yes, amountOf(found)+"? This cannot be undone."); err != nil {
		return err
	}
	progress = cli.StartProgress(cmd.ErrOrStderr(), cmd.Root().Name())
	progress.Step("deleting %s", amountOf(found))
	deleted, err := erase(ctx, store.DeleteOptions{Progress: func(d store.Deletion) { progress.Step("deleting %s: %s so far", amountOf(found), d) }})
	if _, failed := fmt.Fprintf(out, "deleted: %s\n", deleted); failed != nil || err != nil && !leaves(err) {
		progress.Stop()
		return errors.Join(err, failed)
	}
	progress.Step("counting what is left")
	left, failed := erase(ctx, store.DeleteOptions{DryRun: true})
	progress.Stop()
	if failed != nil && !leaves(failed) || err != nil {
		return errors.Join(err, failed)
	}
	if rowsOf(left) == 0 {
		return nil
	}
	_, err = fmt.Fprintf(out, "left: %s, written in the meantime; stop the programs that write them, and repeat the command\n", amountOf(left))
	return cmp.Or(err, cli.ErrFindings)
}

// rowsOf returns the number of rows in all tables.
func rowsOf(d store.Deletion) int {
	n := 0
	for _, t := range d.Tables {
		n += t.Rows
	}
	return n
}

// amountOf describes what is deleted: events, or rows if no event can be counted.
func amountOf(d store.Deletion) string {
	if d.Events() == 0 {
		return countOf(rowsOf(d), "row") + " without countable events, such as columns of removed fields"
	}
	return countOf(d.Events(), "event")
}

// countOf formats a number of things, such as "1 row".
func countOf(n int, noun string) string { return words.Count(float64(n), noun, noun+"s") }

// confirm asks on stderr whether to delete, unless the answer is known. It returns ErrFindings if the answer on stdin is not yes.
func confirm(cmd *cobra.Command, yes bool, what string) error {
	if yes {
		return nil
	}
	if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "Delete %s Type yes to confirm:\n", what); err == nil {
		answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
		if strings.TrimSpace(strings.ToLower(answer)) == "yes" {
			return nil
		}
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), "not confirmed: nothing is deleted")
	return cmp.Or(err, cli.ErrFindings)
}
