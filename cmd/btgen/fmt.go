package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// newFmt returns the command fmt.
func newFmt() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "fmt [path...]",
		Short: "Format schemas",
		Long: `Format schemas: keys in canonical order, two-space indentation, aligned values, and at
most one blank line in a row. Comments, quotes and brackets are kept.
The names of changed files are printed. If any file cannot be formatted without changing
its meaning, no file is changed.

A path is a schema file or a folder with schema files. The default is btgen.yaml and
its schemas or, without a btgen.yaml, the folder schemas. The path - formats standard
input to standard output.`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if len(paths) == 1 && paths[0] == "-" {
				return formatInput(cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			steps, err := formatSteps(cmd.OutOrStdout(), paths)
			if err != nil {
				return err
			}
			if check {
				return printDiff(cmd.OutOrStdout(), &output.Changes{Steps: steps})
			}
			if err := cli.Replace(cmd.Context(), steps...); err != nil {
				return err
			}
			for _, s := range steps {
				if s.Action != output.Keep {
					fmt.Fprintln(cmd.OutOrStdout(), words.Printable(filepath.ToSlash(s.Path)))
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, and exit with 1 and a unified diff if a file is not formatted")
	return cmd
}

// format formats a schema or a btgen.yaml, depending on the file name.
func format(name string, text []byte) ([]byte, diag.List) {
	if filepath.Base(name) == schema.ConfigName {
		return schema.FormatConfig(name, text)
	}
	return schema.Format(name, text)
}

// formatSteps returns the steps that format files. It prints the errors of files that cannot
// be formatted.
func formatSteps(stdout io.Writer, paths []string) ([]output.Step, error) {
	p, err := project.Files(paths)
	if err != nil {
		return nil, err
	}
	var steps []output.Step
	var all diag.List
	for _, in := range p.Inputs {
		text, found := format(in.Name, in.Text)
		if all = append(all, found...); found != nil {
			continue
		}
		path, err := filepath.EvalSymlinks(filepath.FromSlash(in.Name)) // keep the link
		if err != nil {
			return nil, err
		}
		step, err := output.Replace(path, text)
		if err != nil {
			return nil, err
		}
		step.Base = output.Base(filepath.FromSlash(in.Name))
		steps = append(steps, step)
	}
	return steps, cli.Report(stdout, p, all)
}

// formatInput formats stdin to stdout. If there are errors, it writes nothing to stdout, since
// editors replace their buffer with the output.
func formatInput(stdin io.Reader, stdout, stderr io.Writer) error {
	text, err := io.ReadAll(io.LimitReader(stdin, schema.MaxFile+1))
	if err != nil {
		return err
	}
	out, found := schema.Format("-", text)
	if found != nil {
		fmt.Fprint(stderr, cli.Findings(stderr, found, func(string) []byte { return text }))
		return cli.ErrFindings
	}
	_, err = cli.Unguarded(stdout).Write(out) // it replaces the input
	return err
}
