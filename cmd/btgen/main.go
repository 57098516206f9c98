// Command btgen generates Go code that stores time series in Cloud Bigtable.
package main

import (
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
)

func main() {
	if os.Getenv("GOGC") == "" { // a run is over before it is worth it to collect more often
		debug.SetGCPercent(300)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the command line and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	return cli.Run(newRoot(), args, stdout, stderr)
}

// newRoot returns the command line.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "btgen",
		Short: "Generate Go code that stores time series in Cloud Bigtable",
		Long: `btgen reads schemas of time series and writes typed Go writers, readers and
table set-up for Cloud Bigtable. It refuses schemas that would hurt.

Exit codes: 0 clean, 1 findings or code out of date, 2 could not run.`,
	}
	root.AddCommand(newInit(), newGenerate(), newCheck(), newLint(), newExplain(), newFmt(), newSchema(), cli.NewVersion())
	return root
}
