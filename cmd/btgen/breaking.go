package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen/internal/report"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/project"
)

// breakingFlags are the flags of breaking.
type breakingFlags struct {
	against, format, failOn, now string
	exact                        bool
}

// newBreaking returns the command breaking.
func newBreaking() *cobra.Command {
	var f breakingFlags
	cmd := &cobra.Command{
		Use:   "breaking [path...]",
		Short: "Show how schema changes affect stored events and programs",
		Long: `Compare the schemas with an earlier version, and print the effect of each change, most
severe first: DATA if stored events become unreadable, wrong or deleted; ROLLOUT if it
is safe only in one order of deployment; SOURCE if Go code must change; or SAFE. The
exit code is 1 if any change is at least as severe as --fail-on and is not accepted in
btgen.lock.

The earlier version is btgen.lock, a folder with schemas, or a git revision, as in
--against git:main. Changes of Go names and of queries, and facts that btgen.lock has
forgotten, are detected only with a folder or a revision. If the revision has commits that
the working directory lacks, the last common commit is compared, or each of several. With
--exact, it is always the revision itself, as after a forced push.

` + cli.PathsHelp,
		RunE: func(cmd *cobra.Command, paths []string) error { return runBreaking(cmd, f, paths) },
	}
	cmd.Flags().StringVar(&f.against, "against", "lock", "the earlier version: lock, a folder, or git:REVISION")
	cmd.Flags().BoolVar(&f.exact, "exact", false, "compare with the git revision itself, though the working directory lacks commits of it")
	cmd.Flags().StringVar(&f.format, "format", "text", "text, json, sarif, github or markdown (for pull request comments)")
	cmd.Flags().StringVar(&f.failOn, "fail-on", "data", "least severe class that makes the command exit with 1: data, rollout, source, safe, or never")
	cmd.Flags().StringVar(&f.now, "now", "", "the current time, which determines the layouts that have begun or expired, such as 2027-01-11T00:00:00Z; default: the clock")
	return cmd
}

// runBreaking prints the changes of schemas.
func runBreaking(cmd *cobra.Command, f breakingFlags, paths []string) error {
	worst, err := classThreshold(f.failOn)
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"text", "json", "sarif", "github", "markdown"}, f.format) {
		return fmt.Errorf("--format %s: want text, json, sarif, github or markdown", f.format)
	}
	p, err := project.Load(paths, "")
	if err != nil {
		return err
	}
	clock := time.Now()
	if f.now != "" {
		if clock, err = time.Parse(time.RFC3339, f.now); err != nil {
			return fmt.Errorf("--now %s: want a time such as 2027-01-11T00:00:00Z", f.now)
		}
	}
	findings, notes, err := cli.Changes(p, f.against, f.exact, clock)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: note: %s\n", cmd.Root().Name(), note)
	}
	stdout := cmd.OutOrStdout()
	text, err := changesText(stdout, p, f.format, findings)
	if err != nil {
		return err
	}
	if f.format == "github" {
		stdout = cli.Unguarded(stdout) // the lines are commands
	}
	if _, err := stdout.Write(text); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(c evolve.Finding) bool { return c.Rule.Class <= worst && c.Accepted == "" }) {
		return cli.ErrFindings
	}
	return nil
}

// changesText formats changes.
func changesText(stdout io.Writer, p *project.Project, format string, findings []evolve.Finding) ([]byte, error) {
	found := cli.ListOf(findings)
	switch format {
	case "json":
		return report.JSON(found)
	case "sarif":
		return report.SARIF(found, cli.Version())
	case "github":
		return report.GitHub(found), nil
	case "markdown":
		return report.Markdown("btgen: "+changesSummary(findings), found), nil
	}
	return []byte(cli.Findings(stdout, found, p.Text) + changesSummary(findings) + "\n"), nil
}

// changesSummary counts changes by class.
func changesSummary(findings []evolve.Finding) string {
	if len(findings) == 0 {
		return "no changes"
	}
	var parts []string
	for class, name := range evolve.Classes {
		n := 0
		for _, f := range findings {
			if f.Rule.Class == evolve.Class(class) {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	return count(len(findings), "change") + ": " + strings.Join(parts, ", ")
}

// classThreshold returns the least bad class that fails the command.
func classThreshold(failOn string) (evolve.Class, error) {
	for class, name := range evolve.Classes {
		if strings.EqualFold(name, failOn) {
			return evolve.Class(class), nil
		}
	}
	if failOn == "never" {
		return evolve.Data - 1, nil
	}
	return 0, fmt.Errorf("--fail-on %s: want data, rollout, source, safe or never", failOn)
}
