package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestUsageErrors tests that no text of the libraries for command lines reaches users: each mistake
// names what was written, and what to write instead.
func TestUsageErrors(t *testing.T) {
	root := func() *cobra.Command {
		root := &cobra.Command{Use: "tool"}
		cmd := &cobra.Command{Use: "work NAME", Args: AtLeastOne("a name"), RunE: func(*cobra.Command, []string) error { return nil }}
		cmd.Flags().Bool("dry-run", false, "")
		cmd.Flags().Int("limit", 0, "most `events`")
		cmd.Flags().Duration("timeout", 0, "")
		cmd.Flags().StringP("out", "o", "", "")
		Exclusive(cmd, "each is another run", "dry-run", "limit", "out")
		root.AddCommand(cmd, &cobra.Command{Use: "rest", Args: AtMost(0), RunE: func(*cobra.Command, []string) error { return nil }})
		return root
	}
	for args, want := range map[string]string{
		"wrok":                               `unknown command "wrok": write tool work`,
		"zzz":                                `unknown command "zzz": run tool --help, which lists the commands`,
		"-x zzz":                             ` -x `,
		"work":                               `tool work needs a name: write tool work NAME`,
		"rest a":                             `"a" is one argument too many, and nothing is done: write tool rest`,
		"work a --limt 1":                    `unknown flag --limt of tool work: write --limit`,
		"work a --time 1":                    `unknown flag --time of tool work: write --timeout`,
		"work a --zzz":                       `unknown flag --zzz of tool work: run tool work --help`,
		"work a -z":                          `unknown flag -z of tool work: run tool work --help`,
		"--version":                          `unknown flag --version of tool: write tool version`,
		"work a --limit":                     `--limit has no value: write --limit EVENTS`,
		"work a -o":                          `--out has no value: write --out VALUE`,
		"work a --dry-run=x":                 `--dry-run "x": want true or false`,
		"work a --dry-run --limit 1":         `--dry-run and --limit cannot be combined: each is another run: leave out all but one`,
		"work a --dry-run --limit 1 --out b": `--dry-run and --limit and --out cannot be combined`,
		"work a --=x":                        `run tool work --help, which lists the flags`,
	} {
		var out, failures bytes.Buffer
		code := Run(root(), strings.Fields(args), &out, &failures)
		if code != ExitFailure || !strings.Contains(failures.String(), want) {
			t.Errorf("%s: %d, %q, want %q", args, code, failures.String(), want)
		}
		if regexp.MustCompile(`strconv|in the group|arg\(s\)|flag needs|unknown flag:`).MatchString(failures.String()) {
			t.Errorf("%s: %q is the library's", args, failures.String())
		}
	}
}
