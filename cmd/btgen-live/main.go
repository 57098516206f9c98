// Command btgen-live sets up the tables of btgen schemas and reads and writes their events, on
// an instance of Cloud Bigtable or in an emulator.
package main

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/status"

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
		Short: "Set up Bigtable for btgen schemas, and read and write events",
		Long: `btgen-live creates and updates the tables of btgen schemas on an instance of Cloud
Bigtable, shows how the tables of an instance differ from the schemas, verifies that the
schemas can read what the tables contain, proposes schemas for existing tables, reads,
summarizes, draws, serves, writes and counts events of any schema, deletes events and expired
tables, and runs an emulator with the tables. It rejects the schemas that btgen rejects.

Exit codes: 0 success, 1 findings, 2 failure.`,
	}
	root.AddCommand(newSetup(), newPlan(), newVerify(), newInfer(), newRead(), newWindows(), newPlot(), newWrite(), newCount(), newStats(),
		newServe(), newDelete(), newBackfill(), newRollup(), newDeleteTable(), newEmulator(), cli.NewVersion())
	for _, c := range root.Commands() {
		if run := c.RunE; run != nil {
			c.RunE = func(cmd *cobra.Command, args []string) error { return interrupted(run(cmd, args)) }
		}
	}
	return root
}

// interruption is an error of a command that was interrupted, in the words of people.
type interruption struct {
	error
	text string
}

// Error says that the command was interrupted.
func (e interruption) Error() string { return e.text }

// Unwrap returns the error.
func (e interruption) Unwrap() error { return e.error }

// canceled are the texts of errors after an interruption, which alone cancels what commands do: those of requests, of contexts,
// and of their causes.
var canceled = strings.NewReplacer(
	status.FromContextError(context.Canceled).Err().Error(), "interrupted",
	context.Canceled.Error(), "interrupted",
	os.Interrupt.String()+" signal received", "interrupted",
	syscall.SIGTERM.String()+" signal received", "interrupted",
)

// interrupted returns the error of a command.
func interrupted(err error) error {
	if err == nil {
		return nil
	}
	if text := canceled.Replace(err.Error()); text != err.Error() {
		return interruption{err, text}
	}
	return err
}
