package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/gen/project"
)

// explainFlags are the flags of explain.
type explainFlags struct{ format, output string }

// newExplain returns the command explain.
func newExplain() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [path...]",
		Short: "Show the tables and the requests of reads",
		Long: `Show each table as Bigtable's documentation does: example rows with real keys, columns
and cells; what the timestamps mean, what is garbage-collected and what is read; the
size of the table, and how other patterns and buckets compare under the same load. For
each read of the generated reader, show which rows and cells it requests.

Output to a terminal is in color, unless NO_COLOR is set. --format html writes a single
self-contained file, for design documents.

` + cli.PathsHelp,
		RunE: func(cmd *cobra.Command, paths []string) error {
			return runExplain(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), f, paths)
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "text", "text, markdown, html or json")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write to a file instead")
	return cmd
}

// runExplain explains schemas. It prints warnings to stdout before text for a terminal, and
// to stderr for documents.
func runExplain(ctx context.Context, stdout, stderr io.Writer, f explainFlags, paths []string) error {
	render, known := renderers[f.format]
	if !known {
		return fmt.Errorf("--format %s: want text, markdown, html or json", f.format)
	}
	p, err := project.Load(paths, "")
	if err != nil {
		return err
	}
	progress := cli.StartProgress(stderr, "btgen")
	defer progress.Stop()
	progress.Step("checking %s", count(len(p.Inputs), "schema"))
	result := gen.Resolve(p.Inputs)
	progress.Stop()
	findings := stdout
	if !result.Diagnostics.HasErrors() && (f.format != "text" || f.output != "") {
		findings = stderr
	}
	if err := cli.Report(findings, p, result.Diagnostics); err != nil {
		return err
	}
	var o explain.TextOptions
	if f.output == "" {
		o = explain.TextOptions{Color: cli.Colored(stdout), Width: cli.Width(stdout)}
	}
	text, err := render(explain.New(result.Schemas, result.Layouts), o)
	if err != nil {
		return err
	}
	if f.output != "" {
		return cli.Write(ctx, f.output, text)
	}
	_, err = stdout.Write(text)
	return err
}

// renderers are the output formats by name.
var renderers = map[string]func(doc explain.Document, o explain.TextOptions) ([]byte, error){
	"text": func(doc explain.Document, o explain.TextOptions) ([]byte, error) {
		return []byte(explain.Text(doc, o)), nil
	},
	"markdown": func(doc explain.Document, _ explain.TextOptions) ([]byte, error) {
		return []byte(explain.Markdown(doc)), nil
	},
	"html": func(doc explain.Document, _ explain.TextOptions) ([]byte, error) { return explain.HTML(doc) },
	"json": func(doc explain.Document, _ explain.TextOptions) ([]byte, error) { return explain.JSON(doc) },
}
