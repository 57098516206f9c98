// Package cli is what the commands of this module have in common: exit codes,
// how findings and failures are printed, and what the arguments mean. It knows
// neither how code is made nor the Bigtable client.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/gen/schema"
)

// The exit codes.
const (
	ExitClean    = 0
	ExitFindings = 1 // findings, or something out of date
	ExitFailure  = 2 // could not run
)

// PathsHelp says what the arguments of a command are that reads schemas.
const PathsHelp = `A path is a schema file or a folder with schema files. Without any, btgen.yaml
names them, and without a btgen.yaml they are those of the folder schemas. A
file stands for all schemas beside it that have the same package.`

// ErrFindings ends a command whose findings were printed already.
var ErrFindings = errors.New("findings")

// Run runs a command line and returns its exit code. Findings go to stdout and
// failures to stderr, after the name of the root command. Nothing that is printed
// steers who shows it: see [Unguarded].
func Run(root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	out, flush := guarded(stdout)
	failures := &guard{out: stderr}
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(failures)
	err := root.Execute()
	var found diag.List
	if errors.As(err, &found) {
		_, failed := io.WriteString(out, Findings(out, found, readSource))
		err = cmp.Or(failed, ErrFindings)
	}
	if failed := flush(); err == nil || errors.Is(err, ErrFindings) {
		err = cmp.Or(failed, err)
	}
	switch {
	case err == nil:
		return ExitClean
	case errors.Is(err, ErrFindings):
		return ExitFindings
	}
	fmt.Fprintf(failures, "%s: %s\n", root.Name(), message(err))
	return ExitFailure
}

// Report prints the errors and warnings that were found in the schemas of a
// project, and returns ErrFindings if they forbid to go on. Advice is for those
// who ask for it.
func Report(stdout io.Writer, p *project.Project, found diag.List) error {
	found = slices.DeleteFunc(slices.Clone(found), func(d diag.Diagnostic) bool { return d.Severity == diag.Advice })
	if _, err := io.WriteString(stdout, Findings(stdout, found, p.Text)); err != nil {
		return err
	}
	if found.HasErrors() {
		return ErrFindings
	}
	return nil
}

// Findings returns findings as they are shown on an output, with the lines of their
// files: in color in a terminal.
func Findings(out io.Writer, found diag.List, source func(file string) []byte) string {
	if Colored(out) {
		return found.FormatColor(source)
	}
	return found.Format(source)
}

// readSource reads a file for the snippets of its diagnostics, which go without
// them if it cannot be read.
func readSource(file string) []byte {
	text, _ := files.Head(file, schema.MaxFile)
	return text
}
