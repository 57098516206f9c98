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
	collectGarbage(300) // a run is too short to collect it more often
	os.Exit(cli.RunOnce(newRoot(), os.Args[1:], os.Stdout, os.Stderr))
}

// collectGarbage sets how much garbage there may be, in percent of the live memory, unless GOGC
// does.
func collectGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
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
		Long: `btgen generates typed Go writers, readers and table setup for Cloud Bigtable from
schemas of time series. It rejects schemas that would lose data or scale poorly.

Exit codes: 0 success, 1 findings or outdated code, 2 failure.`,
	}
	ofProjects := []*cobra.Command{newGenerate(), newCheck(), newBreaking(), newLint(), newExplain(), newFmt()}
	for _, cmd := range ofProjects {
		cli.InProject(cmd)
	}
	root.AddCommand(newInit(), newSchema(), cli.NewVersion())
	root.AddCommand(ofProjects...)
	return root
}
