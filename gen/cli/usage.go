package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Usage errors are ours instead of those of the library for command lines: each says what to write.

// Exclusive adds the check that at most one of some flags of a command is set. why says what the
// flags stand for, so that the user can choose.
func Exclusive(cmd *cobra.Command, why string, names ...string) {
	Before(cmd, func(cmd *cobra.Command, _ []string) error {
		var set []string
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				set = append(set, "--"+name)
			}
		}
		if len(set) > 1 {
			return fmt.Errorf("%s cannot be combined: %s: leave out all but one", strings.Join(set, " and "), why)
		}
		return nil
	})
}

// Before adds a check to those that a command makes before it runs.
func Before(cmd *cobra.Command, check func(cmd *cobra.Command, args []string) error) {
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if before != nil {
			if err := before(cmd, args); err != nil {
				return err
			}
		}
		return check(cmd, args)
	}
}

// AtMost accepts up to a number of arguments.
func AtMost(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > most {
			return fmt.Errorf("%q is one argument too many, and nothing is done: write %s", args[most], usage(cmd))
		}
		return nil
	}
}

// AtLeastOne requires an argument; what says which.
func AtLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs %s: write %s", cmd.CommandPath(), what, usage(cmd))
		}
		return nil
	}
}

// usage returns the first line of a command's help.
func usage(cmd *cobra.Command) string {
	if cmd.Parent() == nil {
		return cmd.Use
	}
	return cmd.Parent().CommandPath() + " " + cmd.Use
}

// unknownCommand returns the error for a command that does not exist; nil if it does.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	if _, _, err := root.Find(args); err == nil {
		return nil
	}
	name := args[max(0, slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") }))]
	near := root.SuggestionsFor(name)
	if len(near) == 0 {
		return fmt.Errorf("unknown command %q: run %s --help, which lists the commands", name, root.Name())
	}
	return fmt.Errorf("unknown command %q: write %s %s", name, root.Name(), strings.Join(near, " or "))
}

// flagError returns the error for flags that cannot be parsed.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	case errors.As(err, &missing):
		return fmt.Errorf("--%s has no value: write --%[1]s %s", missing.GetFlag().Name, placeholder(missing.GetFlag()))
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), kindOfValue(invalid.GetFlag()))
	}
	return fmt.Errorf("%w: run %s --help, which lists the flags", err, cmd.CommandPath())
}

// unknownFlag returns the error for a flag that a command does not have, with those of almost the
// same name.
func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) error {
	name := "--" + e.GetSpecifiedName()
	if short := e.GetSpecifiedShortnames(); short != "" {
		name = "-" + e.GetSpecifiedName()
	}
	what := fmt.Sprintf("unknown flag %s of %s", name, cmd.CommandPath())
	if name == "--version" || name == "-v" || name == "-V" {
		return fmt.Errorf("%s: write %s version", what, cmd.Root().Name())
	}
	var near []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if like(f.Name, e.GetSpecifiedName()) {
			near = append(near, "--"+f.Name)
		}
	})
	if len(near) == 0 {
		return fmt.Errorf("%s: run %s --help, which lists the flags", what, cmd.CommandPath())
	}
	return fmt.Errorf("%s: write %s", what, strings.Join(near, " or "))
}

// like reports whether a word may be a misspelling of a name: it begins it, or differs in at most
// two characters.
func like(name, word string) bool {
	if len(word) < 2 {
		return false
	}
	return strings.HasPrefix(name, word) || distance(name, word) <= min(2, len(word)/2)
}

// distance returns the number of characters to insert, delete or replace to get from one word to
// the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// placeholder returns what stands for the value of a flag in help.
func placeholder(f *pflag.Flag) string {
	name, _ := pflag.UnquoteUsage(f)
	if name == "" || name == "string" || name == "stringArray" || name == "strings" {
		name = "value"
	}
	return strings.ToUpper(name)
}

// kindOfValue describes the values of a flag.
func kindOfValue(f *pflag.Flag) string {
	if own, ok := f.Value.(interface{ Want() string }); ok {
		return own.Want()
	}
	if f.Value.Type() == "bool" {
		return "true or false"
	}
	return "a value of the form that --help describes"
}
