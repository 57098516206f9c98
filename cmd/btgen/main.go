// Command btgen generates Go code that stores time series in Cloud Bigtable.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/diag"
)

// The exit codes.
const (
	exitClean    = 0
	exitFindings = 1 // findings, or code out of date
	exitFailure  = 2 // could not run
)

// errFindings ends a command whose findings were printed already.
var errFindings = errors.New("findings")

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the command line and returns its exit code. Findings go to stdout
// and failures to stderr.
func run(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	var found diag.List
	switch {
	case err == nil:
		return exitClean
	case errors.Is(err, errFindings):
		return exitFindings
	case errors.As(err, &found):
		fmt.Fprint(stdout, found.Format(readSource))
		return exitFindings
	}
	fmt.Fprintln(stderr, "btgen:", err)
	return exitFailure
}

// readSource reads a file for the snippets of its diagnostics, which go without
// them if it cannot be read.
func readSource(file string) []byte {
	text, _ := os.ReadFile(file)
	return text
}

// newRoot returns the command line.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "btgen",
		Short: "Generate Go code that stores time series in Cloud Bigtable",
		Long: `btgen reads schemas of time series and writes typed Go writers, readers and
table set-up for Cloud Bigtable. It refuses schemas that would hurt.

Exit codes: 0 clean, 1 findings or code out of date, 2 could not run.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	root.AddCommand(newInit(), newGenerate(), newCheck(), newVersion())
	return root
}
