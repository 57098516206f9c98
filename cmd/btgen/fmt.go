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

// newFmt returns the command that formats schemas.
func newFmt() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "fmt [path...]",
		Short: "Format schemas",
		Long: `Give schemas the one form that all have: keys in the order of the language, two
spaces of indentation, values of names in one column, at most one blank line.
Comments, quotes and brackets are kept. Print the names of the files that were
changed. Where something in a file cannot be kept, say so and change none.

A path is a schema file or a folder with schema files. Without any, btgen.yaml
names them and is formatted too, and without a btgen.yaml they are those of the
folder schemas. - is the standard input, which is formatted to the output.`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if len(paths) == 1 && paths[0] == "-" {
				return formatInput(cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			steps, err := planFormat(cmd.OutOrStdout(), paths)
			if err != nil {
				return err
			}
			if check {
				return printDiff(cmd.OutOrStdout(), &output.Plan{Steps: steps})
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

// format formats a schema or a btgen.yaml, as the name says.
func format(name string, text []byte) ([]byte, diag.List) {
	if filepath.Base(name) == schema.ConfigName {
		return schema.FormatConfig(name, text)
	}
	return schema.Format(name, text)
}

// planFormat returns what has to be done so that files are formatted. It prints
// why some cannot be.
func planFormat(stdout io.Writer, paths []string) ([]output.Step, error) {
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
		path, err := filepath.EvalSymlinks(filepath.FromSlash(in.Name)) // a link stays one
		if err != nil {
			return nil, err
		}
		step, err := output.Replace(path, text)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, cli.Report(stdout, p, all)
}

// formatInput formats what it reads. Where it cannot, it writes nothing: editors
// take what it writes for the file.
func formatInput(stdin io.Reader, stdout, stderr io.Writer) error {
	text, err := io.ReadAll(io.LimitReader(stdin, schema.MaxFile+1))
	if err != nil {
		return err
	}
	out, found := schema.Format("-", text)
	if found != nil {
		fmt.Fprint(stderr, found.Format(func(string) []byte { return text }))
		return cli.ErrFindings
	}
	_, err = stdout.Write(out)
	return err
}
