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
tables, and runs an emulator with the tables. It fails for schemas that btgen rejects.

Exit codes: 0 success, 1 findings, 2 failure.`,
	}
	root.AddCommand(newSetup(), newPlan(), newVerify(), newInfer(), newRead(), newWindows(), newPlot(), newWrite(), newCount(), newStats(),
		newServe(), newDelete(), newBackfill(), newRollup(), newDeleteTable(), newEmulator(), cli.NewVersion())
	for _, c := range root.Commands() {
		if run := c.RunE; run != nil {
			c.RunE = func(cmd *cobra.Command, args []string) error {
				err := run(cmd, args)
				return ended(cmd.Context(), err) // the context that run has set
			}
		}
	}
	return root
}

// ending is the error that ended a command, in the words of people.
type ending struct {
	error
	text string
}

// Error says how the command ended.
func (e ending) Error() string { return e.text }

// Unwrap returns the error.
func (e ending) Unwrap() error { return e.error }

// ended returns the error of a command that had a context, see [interruptible], after a signal or after a timeout, which cancels
// requests, too.
func ended(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	canceled, expired := context.Canceled, context.DeadlineExceeded
	request := func(end error) string { return status.FromContextError(end).Err().Error() }
	var replace []string
	switch cause := context.Cause(ctx); {
	case cause != nil && cause != canceled: // the signal
		for _, text := range []string{request(canceled), canceled.Error(), os.Interrupt.String() + " signal received", syscall.SIGTERM.String() + " signal received"} {
			replace = append(replace, text, "interrupted")
		}
	case strings.Contains(err.Error(), expired.Error()):
		for _, text := range []string{expired.Error() + ": " + request(expired), request(expired), expired.Error()} {
			replace = append(replace, text, "timed out")
		}
		replace = append(replace, ": "+request(canceled), "")
	default:
		return err
	}
	return ending{err, strings.NewReplacer(replace...).Replace(err.Error())}
}
