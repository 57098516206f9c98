package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/gen/words"
)

// newGenerate returns the command that writes code.
func newGenerate() *cobra.Command {
	var out string
	var prune, watching bool
	cmd := &cobra.Command{
		Use:   "generate [path...]",
		Short: "Write the code of the schemas",
		Long: `Write the code of the schemas: all files or none. Files that were not generated
are never touched, and those that another project has generated stay. Those whose
schema is gone are removed; if that is the code of more than one schema, --prune
must say so.

With --watch it keeps running until it is interrupted, and generates the code again
whenever a schema or btgen.yaml changes.

` + cli.PathsHelp,
		RunE: func(cmd *cobra.Command, paths []string) error {
			generate := func() error { return runGenerate(cmd, paths, out, prune) }
			if watching {
				return watch(cmd, paths, out, generate)
			}
			return generate()
		},
	}
	outFlag(cmd, &out)
	cmd.Flags().BoolVar(&prune, "prune", false, "remove the code of schemas that are gone, however many they are")
	cmd.Flags().BoolVar(&watching, "watch", false, "generate again whenever a schema changes, until interrupted")
	return cmd
}

// runGenerate writes code. One run at a time works in a module: schemas are read
// when it is this one's turn.
func runGenerate(cmd *cobra.Command, paths []string, out string, prune bool) error {
	module, err := project.Module(out)
	if err != nil {
		return err
	}
	unlock, err := output.Lock(module)
	if err != nil {
		return err
	}
	defer unlock()
	progress := cli.StartProgress(cmd.ErrOrStderr(), cmd.Root().Name())
	defer progress.Stop()
	target, plan, schemas, err := plan(cmd, progress, paths, out)
	if err != nil {
		return err
	}
	if !prune {
		if err := plan.CheckRemovals(); err != nil {
			return err
		}
	}
	progress.Step("writing %s", count(len(plan.Steps), "file"))
	if err := cli.Commit(cmd.Context(), plan); err != nil {
		return err
	}
	progress.Stop()
	note(cmd, target, plan)
	return printChanged(cmd, target, plan, schemas)
}

// printChanged prints what was done, and how to get what the code imports.
func printChanged(cmd *cobra.Command, target *project.Target, plan *output.Plan, schemas int) error {
	if target.LacksRuntime {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: note: go.mod does not require the runtime, which the code imports; run: go get %s\n", cmd.Root().Name(), cli.ModuleVersion())
	}
	created, updated, removed := plan.Changed()
	if created+updated+removed == 0 {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: all %s up to date\n", count(schemas, "schema"), count(len(plan.Steps), "file"))
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %d of %s created, %d updated, %d removed\n",
		count(schemas, "schema"), created, count(len(plan.Steps)-removed, "file"), updated, removed)
	return err
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
			progress := cli.StartProgress(cmd.ErrOrStderr(), cmd.Root().Name())
			defer progress.Stop()
			target, plan, _, err := plan(cmd, progress, paths, out)
			if err != nil {
				return err
			}
			progress.Stop()
			note(cmd, target, plan)
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

// plan returns where code goes, what has to be done to bring it up to date, and for how
// many schemas. It prints what was found in them.
func plan(cmd *cobra.Command, progress *cli.Progress, paths []string, out string) (*project.Target, *output.Plan, int, error) {
	progress.Step("reading schemas")
	p, err := project.Load(paths, out)
	if err != nil {
		return nil, nil, 0, err
	}
	target, err := p.Target()
	if err != nil {
		return nil, nil, 0, err
	}
	progress.Step("generating the code of %s", count(len(p.Inputs), "schema"))
	result, err := gen.Generate(p.Inputs, target.Target)
	if err != nil {
		return nil, nil, 0, err
	}
	if err := cli.Report(cmd.OutOrStdout(), p, result.Diagnostics); err != nil {
		return nil, nil, 0, err
	}
	progress.Step("comparing %s", count(len(result.Files), "file"))
	plan, err := output.Compare(target.Dir, result.Files, target)
	if err != nil {
		return nil, nil, 0, err
	}
	return target, plan, len(p.Inputs), nil
}

// note prints which generated files are left alone, though nobody may need them.
func note(cmd *cobra.Command, target *project.Target, plan *output.Plan) {
	print := func(format, path string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: note: "+format+"\n", cmd.Root().Name(), words.Printable(filepath.ToSlash(path)))
	}
	for _, path := range plan.Orphans {
		print("%s is left alone: it was generated from a schema of another project, which is gone too; remove it if nobody needs it", path)
	}
	if !plan.New() {
		return
	}
	for _, dir := range target.Elsewhere() {
		print("code of these schemas is also in %s; if the output folder has moved, remove that: nothing updates it any more", dir)
	}
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
