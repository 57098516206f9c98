// Command btgen-live sets up the tables of btgen schemas and reads and writes their events, on
// an instance of Cloud Bigtable or in an emulator.
package main

import (
	"context"
	"errors"
	"fmt"
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

// command is what the program does. Its usage is in usage.txt.
type command struct {
	name string
	most int  // arguments; 0 for any number
	of   need // what is there when it runs
	run  func(ctx context.Context, r *request) error
}

// need is what a command needs.
type need int

const (
	nothing   need = iota
	ofSchema       // a schema, and the connection to the instance
	selection      // and what is selected of the schema
)

var commands = []command{
	{"setup", 0, nothing, setUp}, {"plan", 0, nothing, setUp}, {"delete-table", 0, nothing, deleteTables},
	{"emulator", 0, nothing, runEmulator}, {"serve", 0, nothing, serve}, {"verify", 0, nothing, verifyTables},
	{"infer", 1, nothing, inferSchema}, {"write", 2, nothing, writeEvents},
	{"stats", 1, ofSchema, measure}, {"backfill", 1, ofSchema, backfill}, {"rollup", 1, ofSchema, summarize},
	{"read", 0, selection, readEvents}, {"windows", 0, selection, readWindows}, {"plot", 0, selection, draw},
	{"count", 0, selection, count}, {"delete", 0, selection, deleteEvents}, {"trial", 0, nothing, tryInstance},
}

// newRoot returns the command line.
func newRoot() *cobra.Command {
	root := usage("btgen-live", section("btgen-live\n"))
	for _, c := range commands {
		arguments, text, _ := strings.Cut(section(c.name+" "), "\n")
		cmd := usage(c.name+" "+arguments, text)
		r := newRequest(c.name, cmd)
		r.addFlags()
		cmd.Args = func(_ *cobra.Command, args []string) error { return r.checkArguments(args, c.most) }
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			r.args = args
			err := r.run(c)
			return ended(cmd.Context(), errors.Join(err, r.close()))
		}
		root.AddCommand(cmd)
	}
	root.AddCommand(cli.NewVersion())
	return root
}

// run runs a command once what it needs is there.
func (r *request) run(c command) (err error) {
	ctx := r.cmd.Context()
	if err = r.check(); err == nil && c.of >= ofSchema {
		err = r.load()
	}
	if err == nil && c.of == selection {
		err = r.choose()
	}
	if err == nil && c.of >= ofSchema {
		ctx, err = r.connect()
	}
	if err != nil {
		return err
	}
	return c.run(ctx, r)
}

// checkArguments checks the number of arguments.
func (r *request) checkArguments(args []string, most int) error {
	switch {
	case len(args) == 0 && strings.HasPrefix(r.cmd.Use, r.command+" NAME"):
		return fmt.Errorf("%s needs the name of a schema%s: write btgen-live %s", r.command, namesHere(), r.cmd.Use)
	case r.command == "delete-table":
		return cli.AtLeastOne("the name of a table")(r.cmd, args)
	case most > 0:
		return cli.AtMost(most)(r.cmd, args)
	}
	return nil
}

// ended returns the error of a command that had a context, see [request.interruptible], in the words of people after a signal or after
// a timeout, which cancels requests, too.
func ended(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, cli.ErrFindings) {
		return err
	}
	canceled, expired := context.Canceled, context.DeadlineExceeded
	request := func(end error) string { return status.FromContextError(end).Err().Error() }
	var replace []string
	switch cause := context.Cause(ctx); {
	case cause != nil && cause != canceled: // the signal
		signals := []string{os.Interrupt.String() + " signal received", syscall.SIGTERM.String() + " signal received"}
		for _, text := range append(signals, request(canceled), canceled.Error()) {
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
	text := strings.NewReplacer(replace...).Replace(err.Error())
	return errors.New(strings.ReplaceAll(text, "interrupted: interrupted", "interrupted")) // the cause, and what a request says
}
