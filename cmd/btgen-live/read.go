package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic/format"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/store"
)

// newRead returns the command read.
func newRead() *cobra.Command {
	var r reading
	cmd := &cobra.Command{
		Use:   "read NAME [VALUE=...] --project P --instance I",
		Short: "Print events as a table, NDJSON, CSV or Parquet",
		Long: `Read events of the schema with the given name, and print them by name and type.

` + selectionHelp + `

--format ndjson and csv write what other programs read, without loss: one JSON object per
line, or comma-separated values with a header; so does parquet, with a column of the right
type for each value. --output writes a file, which appears once it is complete; its
extension determines the format. Events are written as they arrive, so that memory is
bounded.

Events that cannot be decoded are reported on stderr, and the others are printed.

Exit codes: 0 success, 1 some events could not be decoded, 2 failure.`,
		Args: ofSchema(0),
		RunE: r.run,
	}
	r.target.flags(cmd, "app `profile` of the reads")
	r.selection.flags(cmd)
	cmd.Flags().BoolVar(&r.options.LatestOnly, "latest", false, "print only the newest event of each series")
	cmd.Flags().BoolVar(&r.options.NewestFirst, "newest-first", false, "print the newest events first")
	cmd.Flags().IntVar(&r.options.Limit, "limit", 0, "maximum number of `events`; 0 for no limit")
	cmd.Flags().StringSliceVar(&r.fields, "fields", nil, "`fields` to print, separated by commas; by default all")
	cmd.Flags().StringVar(&r.format, "format", "", "table, ndjson, csv or parquet; by default that of the extension of --output, or table")
	cmd.Flags().StringVar(&r.output, "output", "", "`file` to write instead of stdout")
	return cmd
}

// reading are the flags of the command read.
type reading struct {
	target
	selection
	options store.ReadOptions
	fields  []string
	format  string
	output  string
}

// run prints events.
func (r *reading) run(cmd *cobra.Command, args []string) error {
	if err := r.check(); err != nil {
		return err
	}
	selected, err := r.resolve(cmd.OutOrStdout(), args)
	if err != nil {
		return err
	}
	columns, err := r.project(selected)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	client, err := r.connect(ctx)
	if err != nil {
		return err
	}
	out, err := r.open(cmd, selected.schema.Layout(), columns)
	if err != nil {
		return errors.Join(err, client.Close())
	}
	return errors.Join(r.print(ctx, cmd, client, selected, out), client.Close())
}

// check checks the flags.
func (r *reading) check() error {
	if err := r.target.check(); err != nil {
		return err
	}
	if r.options.Limit < 0 {
		return fmt.Errorf("--limit %d: must not be negative", r.options.Limit)
	}
	if r.format == "" {
		var err error
		if r.format, err = formatOf("--output "+words.Printable(r.output), r.output, "table"); err != nil {
			return err
		}
	}
	if !slices.Contains(outputFormats, r.format) {
		return fmt.Errorf("--format %q: must be %s", r.format, words.List(outputFormats, "or"))
	}
	return nil
}

// project returns the columns to print, and restricts the read to them.
func (r *reading) project(s *selected) ([]format.Column, error) {
	if s.of == ofTable && (r.options.LatestOnly || r.options.NewestFirst) {
		return nil, errors.New("--latest and --newest-first need series values, or those of a query")
	}
	l := s.schema.Layout()
	columns := format.Columns(l)
	if r.fields == nil {
		return columns, nil
	}
	r.options.Fields = []store.Field{}
	for _, name := range r.fields {
		i := slices.IndexFunc(l.Fields, func(f layout.Field) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("--fields: the schema has no field %q; it has %s", name, fieldNames(l))
		}
		for _, c := range s.readTable().Columns {
			if c.Field == i {
				r.options.Fields = append(r.options.Fields, store.Field(c.Qualifier))
			}
		}
	}
	return slices.DeleteFunc(columns, func(c format.Column) bool { return c.OfField() && !slices.Contains(r.fields, c.Name) }), nil
}

// fieldNames lists the fields of a schema.
func fieldNames(l *layout.Layout) string {
	var names []string
	for i := range l.Fields {
		names = append(names, l.Fields[i].Name)
	}
	return strings.Join(names, ", ")
}

// maxReported is the maximum number of undecodable events that are reported one by one.
const maxReported = 10

// print prints the selected events.
func (r *reading) print(ctx context.Context, cmd *cobra.Command, client store.Client, s *selected, out exporter) error {
	progress := newMeter(cmd)
	if r.output == "" && cli.IsTerminal(cmd.OutOrStdout()) {
		progress.terminal, progress.shown = false, time.Now().Add(time.Hour*24*365) // the events are the progress
	}
	events, undecodable, begun := 0, 0, time.Now()
	err := func() error {
		for e, err := range s.events(ctx, client, store.ReaderOptions{TablePrefix: r.prefix, Timeout: r.timeout}, r.options) {
			if _, ok := errors.AsType[*store.DecodeError](err); ok {
				if undecodable++; undecodable <= maxReported {
					progress.line("%v", err)
				}
				continue
			}
			if err != nil {
				return err
			}
			if err := out.add(&e); err != nil {
				return err
			}
			if events++; events%1024 == 0 {
				progress.show(func() string { return rateText(events, begun) })
			}
			if events == r.options.Limit {
				break
			}
		}
		return nil
	}()
	progress.end()
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.Join(fmt.Errorf("interrupted after %s", countOf(events, "event")), out.end(false))
	case err != nil:
		return errors.Join(err, out.end(false))
	}
	if err := out.end(true); err != nil {
		return err
	}
	if table, ok := out.(*textFile); ok {
		table.explain(progress)
	}
	if undecodable > 0 {
		progress.line("%s could not be decoded; btgen-live verify explains why", countOf(undecodable, "event or row"))
		return cli.ErrFindings
	}
	return nil
}

// rateText describes how many events were processed.
func rateText(events int, begun time.Time) string {
	perSecond := float64(events) / time.Since(begun).Seconds()
	return fmt.Sprintf("%s, %s/s", countOf(events, "event"), words.Number(perSecond))
}

// newEncoder returns the encoder of a text format.
func newEncoder(name string, columns []format.Column, o format.TableOptions) format.Encoder {
	switch name {
	case "ndjson":
		return format.NewNDJSON(columns)
	case "csv":
		return format.NewCSV(columns)
	}
	return format.NewTable(columns, o)
}
