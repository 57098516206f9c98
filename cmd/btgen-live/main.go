// Command btgen-live sets up Bigtable for the schemas of btgen: the tables of an
// instance, or an emulator with the tables in it.
package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the command line and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	return cli.Run(newRoot(), args, stdout, stderr)
}

// newRoot returns the command line.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "btgen-live",
		Short: "Set up Bigtable for the schemas of btgen",
		Long: `btgen-live makes the tables of btgen's schemas: on an instance of Cloud Bigtable,
or in an emulator that it runs; and it says in which way those of an instance
are not as the schemas say. It refuses the schemas that btgen refuses.

Exit codes: 0 clean, 1 findings, 2 could not run.`,
	}
	root.AddCommand(newSetup(), newPlan(), newEmulator(), cli.NewVersion())
	return root
}
