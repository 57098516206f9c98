package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen/internal/report"
	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/neighbor"
	"github.com/btgen-dev/btgen/gen/project"
)

// lintFlags are the flags of lint.
type lintFlags struct {
	format, failOn string
}

// newLint returns the command lint.
func newLint() *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use:   "lint [path...]",
		Short: "Check the schemas against all rules",
		Long: `Print the errors, warnings and advice for the schemas, and exit with 1 if any of them
is at least as severe as --fail-on. btgen generate prints the same errors and
warnings, but no advice. Output to a terminal is in color, unless NO_COLOR is set.
btgen explain rule K01 prints why a rule exists and what to do.

` + cli.PathsHelp,
		RunE: func(cmd *cobra.Command, paths []string) error {
			return runLint(cmd, f, paths)
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "text", "text, json, sarif (for code scanning) or github (annotations for GitHub Actions)")
	cmd.Flags().StringVar(&f.failOn, "fail-on", "error", "lowest severity that makes the command exit with 1: error, warning, advice, or never")
	return cmd
}

// runLint checks schemas and prints the findings.
func runLint(cmd *cobra.Command, f lintFlags, paths []string) error {
	stdout := cmd.OutOrStdout()
	worst, err := threshold(f.failOn)
	if err != nil {
		return err
	}
	render, known := formats[f.format]
	if !known {
		return fmt.Errorf("--format %s: want text, json, sarif or github", f.format)
	}
	p, err := project.Load(paths, "")
	if err != nil {
		return err
	}
	progress := cli.StartProgress(cmd.ErrOrStderr(), cmd.Root().Name())
	defer progress.Stop()
	progress.Step("checking %s", count(len(p.Inputs), "schema"))
	result := gen.Resolve(p.Inputs)
	found := result.Diagnostics
	if !found.HasErrors() {
		more, err := unrendered(p, result.Layouts)
		if err != nil {
			return err
		}
		found = append(found, more...)
		found.Sort()
	}
	text, err := render(stdout, p, found)
	if err != nil {
		return err
	}
	if f.format == "github" {
		stdout = cli.Unguarded(stdout) // the lines are commands
	}
	if _, err := stdout.Write(text); err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Severity <= worst }) {
		return cli.ErrFindings
	}
	return nil
}

// unrendered returns what files for other tools that btgen.yaml or a schema requests cannot represent, as
// btgen generate reports it.
func unrendered(p *project.Project, layouts []*layout.Layout) (diag.List, error) {
	parts, err := p.Parts()
	if err != nil {
		return nil, err
	}
	var found diag.List
	for _, part := range parts {
		if !part.Whole() {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(layouts), func(l *layout.Layout) bool {
			return !slices.ContainsFunc(part.Inputs, func(in gen.Input) bool { return in.Name == l.File })
		})
		_, some := neighbor.Files(own, part.Config())
		found = append(found, some...)
	}
	return found, nil
}

// formats are the output formats by name.
var formats = map[string]func(stdout io.Writer, p *project.Project, found diag.List) ([]byte, error){
	"text": func(stdout io.Writer, p *project.Project, found diag.List) ([]byte, error) {
		return []byte(cli.Findings(stdout, found, p.Text) + summary(len(p.Inputs), found)), nil
	},
	"json": func(_ io.Writer, _ *project.Project, found diag.List) ([]byte, error) { return report.JSON(found) },
	"sarif": func(_ io.Writer, _ *project.Project, found diag.List) ([]byte, error) {
		return report.SARIF(found, cli.Version())
	},
	"github": func(_ io.Writer, _ *project.Project, found diag.List) ([]byte, error) {
		return report.GitHub(found), nil
	},
}

// summary returns the number of findings by severity.
func summary(schemas int, found diag.List) string {
	if len(found) == 0 {
		return count(schemas, "schema") + ": no findings\n"
	}
	var counts [3]int
	for _, d := range found {
		counts[d.Severity]++
	}
	advice := fmt.Sprintf("%d pieces of advice", counts[diag.Advice])
	if counts[diag.Advice] == 1 {
		advice = "1 piece of advice"
	}
	return fmt.Sprintf("%s: %s, %s, %s\n", count(schemas, "schema"), count(counts[diag.Error], "error"), count(counts[diag.Warning], "warning"), advice)
}

// threshold returns the lowest severity that fails the command.
func threshold(failOn string) (diag.Severity, error) {
	for _, s := range []diag.Severity{diag.Error, diag.Warning, diag.Advice} {
		if s.String() == failOn {
			return s, nil
		}
	}
	if failOn == "never" {
		return diag.Error - 1, nil
	}
	return 0, fmt.Errorf("--fail-on %s: want error, warning, advice or never", failOn)
}
