package main

import (
	"context"
	"fmt"
	"strings"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/layout"
)

// defaultSample is the number of rows of a table that verify reads.
const defaultSample = 1000

// newVerify returns the command verify.
func newVerify() *cobra.Command {
	var v verification
	cmd := command("verify", v.run)
	v.target.flags(cmd, "app `profile` of the reads")
	cmd.Flags().Var(number(&v.options.Rows, defaultSample, 1, 0), "sample", "maximum number of `rows` to read from each table")
	cmd.Flags().StringVar(&v.table, "table", "", "verify only the `table` with this ID, as in the schemas")
	v.reporting.flags(cmd)
	return cmd
}

// verification are the flags of the command verify.
type verification struct {
	target
	reporting
	options verify.Options
	table   string // empty for all
}

// run verifies the tables of the schemas in paths.
func (v *verification) run(cmd *cobra.Command, paths []string) error {
	v.options.Prefix, v.options.Timeout = v.prefix, v.timeout
	layouts, err := loadLayouts(paths)
	if err != nil {
		return err
	}
	tables := v.tables(layouts)
	if len(tables) == 0 {
		return fmt.Errorf("--table %q: no schema has this table", v.table)
	}
	var reports []*verify.Report
	err = v.with(cmd, func(ctx context.Context, client *bigtable.Client) error {
		progress := cli.StartProgress(cmd.ErrOrStderr(), cmd.Root().Name())
		defer progress.Stop()
		for _, schemas := range tables {
			name := v.prefix + schemas[0].Table.ID
			progress.Step("reading up to %d rows of table %s", v.options.Rows, name)
			report, err := verify.Table(ctx, client, schemas, v.options)
			if err != nil {
				return fmt.Errorf("table %s: %w", name, err)
			}
			reports = append(reports, report)
		}
		return nil
	})
	if err != nil {
		return err
	}
	text, findings := "", false
	for _, r := range reports {
		findings = findings || len(r.Findings) > 0
		text += reportText(r)
	}
	return v.report(cmd.OutOrStdout(), text, reports, findings)
}

// tables returns the tables to verify, each with the schemas that have it.
func (v *verification) tables(layouts []*layout.Layout) [][]verify.Schema {
	var out [][]verify.Schema
	at := map[string]int{}
	for _, l := range layouts {
		for _, t := range l.AllPeriods() {
			if v.table != "" && t.ID != v.table {
				continue
			}
			i, seen := at[t.ID]
			if !seen {
				i = len(out)
				at[t.ID] = i
				out = append(out, nil)
			}
			out[i] = append(out[i], verify.Schema{Layout: l, Table: t})
		}
	}
	return out
}

// reportText describes a report.
func reportText(r *verify.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "table %s: readable row keys %s, known columns of cells %s, readable values %s", r.Table, r.Rows, r.Columns, r.Values)
	if r.Events != nil {
		fmt.Fprintf(&b, ", complete events %s", r.Events)
	}
	if r.Windows != nil {
		fmt.Fprintf(&b, ", buckets of the rollup like their events %s", r.Windows)
	}
	b.WriteString("\n")
	if r.Times.Readable < r.Times.Total {
		fmt.Fprintf(&b, "  times of events that agree with timestamps of cells: %s\n", r.Times)
	}
	if r.Micros {
		b.WriteString("  granularity MICROS: reads are exact to the microsecond, but writers store whole milliseconds, and replace other events of theirs\n")
	}
	if r.Sample != nil {
		fmt.Fprintf(&b, "  sample: %s\n", r.Sample)
	}
	for _, f := range r.Findings {
		where := "row " + f.Row
		if f.Column != "" {
			where += ", column " + f.Column
		}
		fmt.Fprintf(&b, "  %d like %s: %s\n", f.Count, where, f.Problem)
		if f.Guess != "" {
			fmt.Fprintf(&b, "    probably: %s\n", f.Guess)
		}
	}
	return b.String()
}
