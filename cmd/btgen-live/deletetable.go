package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/runtime/setup"
)

// newDeleteTable returns the command delete-table.
func newDeleteTable() *cobra.Command {
	var d tableRemoval
	cmd := command("delete-table", d.run)
	d.target.flags(cmd, "app `profile` for reading the tables and their history")
	d.schemaFlags.flags(cmd, 0)
	cmd.Args = cli.AtLeastOne("the name of a table")
	cmd.Flags().BoolVar(&d.options.DryRun, "dry-run", false, "print what would be deleted and delete nothing")
	cmd.Flags().BoolVar(&d.yes, "yes", false, "do not ask for confirmation")
	cli.Exclusive(cmd, "--dry-run only shows what --yes deletes", "dry-run", "yes")
	return cmd
}

// tableRemoval are the flags of the command delete-table.
type tableRemoval struct {
	target
	schemaFlags
	options setup.DeleteOptions
	yes     bool
}

// run deletes the tables with the given names.
func (d *tableRemoval) run(cmd *cobra.Command, names []string) error {
	d.options.TablePrefix, d.options.Timeout = d.prefix, d.timeout
	tables, err := loadTables(d.schemas)
	if err != nil {
		return err
	}
	if d.options.Removed, err = removedTables(d.schemas); err != nil {
		return err
	}
	return d.withAdmin(cmd, func(ctx context.Context, admin *bigtable.AdminClient, client *bigtable.Client) error {
		return d.remove(cmd, func(o setup.DeleteOptions) ([]setup.Unmanaged, error) {
			return setup.DeleteTables(ctx, admin, client, tables, names, o)
		})
	})
}

// remove prints what it would delete, asks for confirmation, and deletes it. Deleting checks
// everything again, because the confirmation may take a while.
func (d *tableRemoval) remove(cmd *cobra.Command, remove func(setup.DeleteOptions) ([]setup.Unmanaged, error)) error {
	out, progress := cmd.OutOrStdout(), cli.StartProgress(cmd.ErrOrStderr(), cmd.Root().Name())
	progress.Step("looking for events that have not expired")
	dry := d.options
	dry.DryRun = true
	found, err := remove(dry)
	progress.Stop()
	if err != nil {
		return refusal(cmd, err)
	}
	text := ""
	for _, u := range found {
		text += u.Deletion() + "\n"
	}
	if _, err := io.WriteString(out, cmp.Or(text, "nothing to delete: it no longer exists\n")); err != nil || len(found) == 0 || d.options.DryRun {
		return err
	}
	if err := confirm(cmd, d.yes, countOf(len(found), "item")+"?"); err != nil {
		return err
	}
	deleted, err := remove(d.options)
	for _, u := range deleted {
		if _, failed := fmt.Fprintln(out, "deleted "+u.Name()); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return refusal(cmd, err)
}

// refusal prints the reasons for which tables are kept. It returns other errors unchanged.
func refusal(cmd *cobra.Command, err error) error {
	kept, ok := errors.AsType[*setup.KeptError](err)
	if !ok {
		return err
	}
	_, failed := fmt.Fprintln(cmd.OutOrStdout(), kept)
	return cmp.Or(failed, cli.ErrFindings)
}

// removedTables returns the tables and families whose removal from the schemas in paths was
// accepted.
func removedTables(paths []string) ([]string, error) {
	p, err := loadProject(paths)
	if err != nil {
		return nil, err
	}
	locks, err := p.Locks()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, l := range locks {
		facts, err := cli.ReadLock(l.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, facts.Removed()...)
	}
	return out, nil
}
