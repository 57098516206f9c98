package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/layout"
)

// verifyTables prints what the schemas can read of a sample of their tables.
func verifyTables(_ context.Context, r *request) error {
	result, err := load(r.args)
	if err != nil {
		return err
	}
	tables := schemasByTable(result.Layouts, r.tableID)
	if len(tables) == 0 {
		return fmt.Errorf("--table %q: no schema has this table", r.tableID)
	}
	ctx, err := r.connect()
	if err != nil {
		return err
	}
	progress := r.step("reading rows")
	defer progress.Stop()
	var reports []*verify.Report
	text, findings := "", false
	for _, schemas := range tables {
		name := r.prefix + schemas[0].Table.ID
		progress.Step("reading up to %d rows of table %s", r.sample, name)
		report, err := verify.Table(ctx, r.client, schemas, verify.Options{Prefix: r.prefix, Rows: r.sample, Timeout: r.timeout})
		if err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
		reports, text, findings = append(reports, report), text+reportText(report), findings || len(report.Findings) > 0
	}
	progress.Stop()
	return r.report(text, reports, findings)
}

// schemasByTable returns the tables of layouts, or the one with an ID, each with the schemas that have it.
func schemasByTable(layouts []*layout.Layout, id string) (out [][]verify.Schema) {
	for _, l := range layouts {
		for _, t := range l.AllPeriods() {
			if id != "" && t.ID != id {
				continue
			}
			i := slices.IndexFunc(out, func(s []verify.Schema) bool { return s[0].Table.ID == t.ID })
			if i < 0 {
				i, out = len(out), append(out, nil)
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
		b.WriteString("  granularity MICROS: reads are exact to the microsecond, but writers store whole milliseconds, " +
			"and replace other events of theirs\n")
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
