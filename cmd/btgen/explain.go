package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	format, output string
	compare, serve bool
	addr, against  string   // of serve
	prices         []string // names and amounts
	measured       []string // files
}

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

For the load that the schema expects, show how writes and reads would spread over tablets
and nodes, with the time first and with a salt for comparison. Also show writes, reads,
storage over time, and the nodes that they take on each storage type. Monthly costs need
prices: those in btgen.yaml, or --price node_hour=0.65 --price ssd_gib_month=0.17.

Bigtable bills compressed bytes. To see what a year of the load takes compressed, in this
layout and with other patterns, measure a live table: write the output of
btgen-live stats NAME --sample 1000 --format json to a file, and name it with --measured.

btgen explain rule K01 describes a rule of lint or of changes.

--compare shows two schemas side by side, with their differences first.

--serve shows the schemas in a browser until interrupted, and draws them again whenever a schema,
btgen.yaml or btgen.lock is saved, or the version of --against changes: with the findings, and
what has changed since then. A schema with errors leaves the last picture. Only this machine
can open the page, and nothing is written.

` + cli.NamedHelp + ` A
file is shown alone; with --serve, with the schemas next to it that have the same package.`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			if f.serve {
				return runServe(cmd, f, paths)
			}
			if f.compare {
				return runCompare(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), f, paths)
			}
			return runExplain(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), f, paths)
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "text", "text, markdown, html or json")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write to a file instead")
	cmd.Flags().BoolVar(&f.compare, "compare", false, "compare two schema files")
	cmd.Flags().BoolVar(&f.serve, "serve", false, "show the schemas in a browser, and follow changes")
	cmd.Flags().StringVar(&f.addr, "addr", "localhost:8088", "with --serve, host:port to listen on, on the loopback interface; port 0 chooses a free port")
	cmd.Flags().StringVar(&f.against, "against", "lock", "with --serve, the earlier version: lock, a folder, or git:REVISION, as for btgen breaking")
	cli.Exclusive(cmd, "--serve shows a page", "serve", "format")
	cli.Exclusive(cmd, "--serve writes nothing", "serve", "output")
	cli.Exclusive(cmd, "--serve shows all schemas", "serve", "compare")
	cli.Exclusive(cmd, "a measurement is of one layout of a table", "measured", "compare")
	cli.Exclusive(cmd, "a measurement is of one layout of a table, and --serve follows changes", "measured", "serve")
	cmd.Flags().StringArrayVar(&f.measured, "measured", nil, "a `file` of btgen-live stats with compressed sizes")
	cmd.AddCommand(newExplainRule())
	cmd.Flags().StringSliceVar(&f.prices, "price", nil, "`prices` for monthly costs, such as node_hour=0.65")
	return cmd
}

// check returns an error for flags without the flag that they belong to, and for unknown formats.
func (f *explainFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"addr", "against"} {
		if !f.serve && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s: add --serve", name)
		}
	}
	if !slices.Contains([]string{"text", "markdown", "html", "json"}, f.format) {
		return fmt.Errorf("--format %s: want text, markdown, html or json", f.format)
	}
	return nil
}

// runExplain explains schemas. It prints warnings to stdout before text for a terminal, and
// to stderr for documents.
func runExplain(ctx context.Context, stdout, stderr io.Writer, f explainFlags, paths []string) error {
	p, err := project.LoadNamed(paths)
	if err != nil {
		return err
	}
	doc, err := explained(stdout, stderr, f, p, p.Prices())
	if err != nil {
		return err
	}
	return f.write(ctx, stdout, &doc.Document)
}

// writePictures writes the pictures of a document next to the output file.
func (f *explainFlags) writePictures(ctx context.Context, doc *document.Document, prefix string) error {
	dir := filepath.Dir(f.output)
	pictures := doc.Pictures(prefix)
	for _, file := range slices.Sorted(maps.Keys(pictures)) {
		if err := cli.Write(ctx, filepath.Join(dir, file), pictures[file]); err != nil {
			return err
		}
	}
	return nil
}

// runCompare compares two schemas.
func runCompare(ctx context.Context, stdout, stderr io.Writer, f explainFlags, paths []string) error {
	if len(paths) != 2 {
		return fmt.Errorf("--compare: want two schema files, not %d", len(paths))
	}
	whole, err := project.Configured()
	if err != nil {
		return err
	}
	var docs []*explain.Explanation
	for _, path := range paths {
		p, err := project.Files([]string{path})
		if err != nil {
			return err
		}
		doc, err := explained(stdout, stderr, f, p, whole.Prices())
		if err != nil {
			return err
		}
		if n := len(doc.Sections); n != 1 {
			return fmt.Errorf("--compare: %s contains %d schemas; name one file", words.Printable(path), n)
		}
		docs = append(docs, doc)
	}
	return f.write(ctx, stdout, explain.Compare(docs[0], docs[1]))
}

// explained explains the schemas of a project with prices, after it has printed the findings.
func explained(
	stdout, stderr io.Writer, f explainFlags, p *project.Project, config []schema.Price,
) (*explain.Explanation, error) {
	prices, err := f.allPrices(config)
	if err != nil {
		return nil, err
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
		return nil, err
	}
	measured, err := f.compressions()
	if err != nil {
		return nil, err
	}
	o := explain.Options{Prices: prices, Measured: measured, Hotspots: !f.compare}
	doc, err := explain.New(result.Schemas, result.Layouts, o)
	if err != nil {
		err = fmt.Errorf("--measured %s: %w", words.Printable(strings.Join(f.measured, ", ")), err)
	}
	return doc, err
}

// compressions returns the compressed sizes that were measured.
func (f *explainFlags) compressions() ([]explain.Compression, error) {
	var out []explain.Compression
	for _, path := range f.measured {
		switch path {
		case "":
			return nil, errors.New("--measured: want the name of a file")
		case "-":
			return nil, errors.New("--measured -: standard input is not read; write the figures to a file, and name it")
		}
		measured, err := explain.ReadCompressions(path)
		if err != nil {
			return nil, fmt.Errorf("--measured %s: %w", words.Printable(path), err)
		}
		out = append(out, measured...)
	}
	return out, nil
}

// allPrices returns the prices of btgen.yaml and of flags, which take precedence.
func (f *explainFlags) allPrices(config []schema.Price) (capacity.Prices, error) {
	prices := capacity.Prices{}
	for _, price := range config {
		prices[price.Name.V] = price.Amount.V
	}
	given := map[string]bool{}
	for _, price := range f.prices {
		name, text, _ := strings.Cut(price, "=")
		amount, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil || !(amount >= 0 && amount <= 1e6):
			return nil, fmt.Errorf("--price %s: want a name and a number from 0 to 1000000, such as node_hour=0.65", words.Printable(price))
		case given[name]:
			return nil, fmt.Errorf("--price %s is given twice", words.Printable(name))
		}
		prices[name], given[name] = amount, true
	}
	return prices, prices.Check()
}

// textOptions returns how text is rendered.
func (f *explainFlags) textOptions(stdout io.Writer) document.TextOptions {
	if f.output != "" {
		return document.TextOptions{}
	}
	return document.TextOptions{Color: cli.Colored(stdout), Width: cli.Width(stdout)}
}

// render returns a document in the format. Markdown in a file refers to pictures next to it.
func (f *explainFlags) render(ctx context.Context, stdout io.Writer, doc *document.Document) ([]byte, error) {
	switch f.format {
	case "text":
		return []byte(doc.Text(f.textOptions(stdout))), nil
	case "html":
		return doc.HTML(), nil
	case "json":
		return doc.JSON()
	}
	name := filepath.Base(f.output)
	prefix := strings.TrimSuffix(name, filepath.Ext(name))
	if f.output == "" {
		return []byte(doc.Markdown("")), nil
	}
	return []byte(doc.Markdown(prefix)), f.writePictures(ctx, doc, prefix)
}

// write writes a document to the output.
func (f *explainFlags) write(ctx context.Context, stdout io.Writer, doc *document.Document) error {
	text, err := f.render(ctx, stdout, doc)
	if err != nil {
		return err
	}
	if f.output != "" {
		return cli.Write(ctx, f.output, text)
	}
	_, err = stdout.Write(text)
	return err
}
