// Package cli contains what the commands of this module share: exit codes, and how findings
// and failures are printed. It does not depend on the Bigtable client.
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
	"github.com/btgen-dev/btgen/gen/words"
)

// The exit codes.
const (
	ExitClean    = 0
	ExitFindings = 1 // findings, or outdated code
	ExitFailure  = 2 // the command failed
)

// PathsHelp describes the arguments of commands that read schemas.
const PathsHelp = NamedHelp + ` A
file includes the schemas next to it that have the same package.`

// NamedHelp is PathsHelp without what files include.
const NamedHelp = `A path is a schema file, a folder with schema files, or the folder of a project. The
default is the schemas of btgen.yaml or, without a btgen.yaml, the folder schemas.`

// ErrFindings ends a command that has printed findings, with ExitFindings.
var ErrFindings = errors.New("findings")

// Run runs a command line and returns its exit code. It prints findings to stdout, and
// failures to stderr after the name of the root command. All output is escaped, so that no
// untrusted text steers a terminal or a CI system: see [Unguarded].
func Run(root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	return run(root, args, guarded(stdout), guarded(stderr))
}

// run is Run with guards.
func run(root *cobra.Command, args []string, out, failures *guard) int {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(failures)
	root.SetFlagErrorFunc(flagError)
	err := unknownCommand(root, args)
	if err == nil {
		err = printFindings(out, root.Execute())
	}
	if failed := out.flush(); err == nil || errors.Is(err, ErrFindings) {
		err = cmp.Or(failed, err)
	}
	switch {
	case err == nil:
		return ExitClean
	case errors.Is(err, ErrFindings):
		return ExitFindings
	}
	printFailure(failures, root, err)
	_ = failures.flush()
	return ExitFailure
}

// PrintError prints an error of a command that continues, as [Run] prints one that ends it.
func PrintError(cmd *cobra.Command, err error) {
	if err := printFindings(cmd.OutOrStdout(), err); err != nil && !errors.Is(err, ErrFindings) {
		printFailure(cmd.ErrOrStderr(), cmd.Root(), err)
	}
}

// printFindings prints an error that is a list of findings, and returns ErrFindings in its
// place. It returns other errors.
func printFindings(out io.Writer, err error) error {
	var found diag.List
	if !errors.As(err, &found) {
		return err
	}
	_, failed := io.WriteString(out, Findings(out, found, readSource))
	return cmp.Or(failed, ErrFindings)
}

// printFailure prints any other error after the name of the root command.
func printFailure(failures io.Writer, root *cobra.Command, err error) {
	if p, ok := errors.AsType[*ProjectError](err); ok {
		fmt.Fprintf(failures, "%s: %s:\n%s", root.Name(), p.Error(), Findings(failures, p.Found, readSource))
		return
	}
	fmt.Fprintf(failures, "%s: %s\n", root.Name(), message(err))
}

// ProjectError is the error of a command that needs a project whose files have errors. [Run] prints them to stderr, with
// ExitFailure: findings of the command itself are about something else.
type ProjectError struct {
	Found diag.List // the errors and warnings
}

// Error counts the errors.
func (e *ProjectError) Error() string {
	n := 0
	for _, d := range e.Found {
		if d.Severity == diag.Error {
			n++
		}
	}
	return "nothing is done, since the project has " + words.Count(float64(n), "error", "errors")
}

// CheckProject returns err, and a *ProjectError in place of findings.
func CheckProject(err error) error {
	var found diag.List
	if !errors.As(err, &found) {
		return err
	}
	return &ProjectError{withoutAdvice(found)}
}

// withoutAdvice returns findings without advice.
func withoutAdvice(found diag.List) diag.List {
	return slices.DeleteFunc(slices.Clone(found), func(d diag.Diagnostic) bool { return d.Severity == diag.Advice })
}

// Report prints the errors and warnings in the schemas of a project, and returns
// ErrFindings if any is an error. It omits advice.
func Report(stdout io.Writer, p *project.Project, found diag.List) error {
	found = withoutAdvice(found)
	if _, err := io.WriteString(stdout, Findings(stdout, found, p.Text)); err != nil {
		return err
	}
	if found.HasErrors() {
		return ErrFindings
	}
	return nil
}

// Findings formats findings for an output, in color for a terminal. source returns the text
// of a file; see [diag.List.Format].
func Findings(out io.Writer, found diag.List, source func(file string) []byte) string {
	if Colored(out) {
		return found.FormatColor(source)
	}
	return found.Format(source)
}

// readSource reads a file for the snippets of its diagnostics. Without a readable file,
// there are no snippets.
func readSource(file string) []byte {
	text, _ := files.Head(file, schema.MaxFile)
	return text
}
