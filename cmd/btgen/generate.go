package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/project"
)

// newGenerate returns the command that writes code.
func newGenerate() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "generate [path...]",
		Short: "Write the code of the schemas",
		Long: `Write the code of the schemas: all files or none. Files that were not generated
are never touched; those whose schema is gone are removed.

` + cli.PathsHelp,
		RunE: func(cmd *cobra.Command, paths []string) error {
			plan, schemas, err := plan(cmd.OutOrStdout(), paths, out)
			if err != nil {
				return err
			}
			if err := plan.Commit(); err != nil {
				return err
			}
			created, updated, removed := plan.Changed()
			if created+updated+removed == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: all %s up to date\n", count(schemas, "schema"), count(len(plan.Steps), "file"))
				return nil
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d of %s created, %d updated, %d removed\n",
				count(schemas, "schema"), created, count(len(plan.Steps)-removed, "file"), updated, removed)
			return nil
		},
	}
	outFlag(cmd, &out)
	return cmd
}

// newCheck returns the command that compares code with its schemas.
func newCheck() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "check [path...]",
		Short: "Compare the code with the schemas",
		Long: `Write nothing, and exit with 1 and a unified diff if the code is not what the
schemas give: a file is missing, was edited, or should be gone.

` + cli.PathsHelp,
		RunE: func(cmd *cobra.Command, paths []string) error {
			plan, _, err := plan(cmd.OutOrStdout(), paths, out)
			if err != nil {
				return err
			}
			return printDiff(cmd.OutOrStdout(), plan)
		},
	}
	outFlag(cmd, &out)
	return cmd
}

// printDiff prints what a plan would change, which is a finding.
func printDiff(stdout io.Writer, plan *output.Plan) error {
	diff := plan.Diff()
	if len(diff) == 0 {
		return nil
	}
	if _, err := stdout.Write(diff); err != nil {
		return err
	}
	return cli.ErrFindings
}

// outFlag adds the flag for the output folder.
func outFlag(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "out", "o", "", `folder of the generated code (default "generated")`)
}

// plan returns what has to be done to bring the code up to date, and for how
// many schemas. It prints what was found in them.
func plan(stdout io.Writer, paths []string, out string) (*output.Plan, int, error) {
	p, err := project.Load(paths, out)
	if err != nil {
		return nil, 0, err
	}
	importPath, err := p.ImportPath()
	if err != nil {
		return nil, 0, err
	}
	result, err := gen.Generate(p.Inputs, importPath)
	if err != nil {
		return nil, 0, err
	}
	if err := cli.Report(stdout, p, result.Diagnostics); err != nil {
		return nil, 0, err
	}
	plan, err := output.Compare(p.Out, result.Files, p.Stale)
	return plan, len(p.Inputs), err
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
