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

// The texts of the ends of contexts, and of the requests that they end.
var (
	canceled, canceledRequest = context.Canceled.Error(), status.FromContextError(context.Canceled).Err().Error()
	expired, expiredRequest   = context.DeadlineExceeded.Error(), status.FromContextError(context.DeadlineExceeded).Err().Error()
)

// interrupted are the words of errors after a signal, and timedOut those of errors after a timeout, which cancels requests, too.
var (
	interrupted = strings.NewReplacer(canceledRequest, "interrupted", canceled, "interrupted",
		os.Interrupt.String()+" signal received", "interrupted", syscall.SIGTERM.String()+" signal received", "interrupted")
	timedOut = strings.NewReplacer(expired+": "+expiredRequest, "timed out", expiredRequest, "timed out", expired, "timed out", ": "+canceledRequest, "")
)

// ended returns the error of a command that had a context, see [interruptible].
func ended(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case cause != nil && cause != context.Canceled: // the signal
		return ending{err, interrupted.Replace(err.Error())}
	case strings.Contains(err.Error(), expired):
		return ending{err, timedOut.Replace(err.Error())}
	}
	return err
}
