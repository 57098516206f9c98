package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/templates/store"
)

// newSetup returns the command that makes tables.
func newSetup() *cobra.Command {
	var project, instance, prefix string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "setup [path...] --project P --instance I",
		Short: "Make the tables of the schemas on an instance",
		Long: `Make the tables and column families that are missing on an instance of Cloud
Bigtable, or on the emulator that BIGTABLE_EMULATOR_HOST names, and print each.
What exists is never changed: a column family with another garbage collection
rule than the schema's is a finding.

` + cli.PathsHelp,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if timeout <= 0 {
				return fmt.Errorf("--timeout %s: must be more than 0", timeout)
			}
			tables, err := loadTables(cmd.OutOrStdout(), paths)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			admin, err := bigtable.NewAdminClient(ctx, project, instance)
			if err != nil {
				return fmt.Errorf("connecting to instance %s of project %s: %w", instance, project, err)
			}
			options := store.Options{TablePrefix: prefix, Timeout: timeout}
			err = setUp(ctx, cmd.OutOrStdout(), admin, tables, options)
			if host := os.Getenv("BIGTABLE_EMULATOR_HOST"); host != "" && errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("%w (is an emulator running at %s, as BIGTABLE_EMULATOR_HOST says?)", err, host)
			}
			return errors.Join(err, admin.Close())
		},
	}
	cmd.Flags().StringVar(&project, "project", "", "project of the instance")
	cmd.Flags().StringVar(&instance, "instance", "", "instance that gets the tables")
	cmd.Flags().StringVar(&prefix, "prefix", "", `what stands before every table id, for instance "staging_"`)
	cmd.Flags().DurationVar(&timeout, "timeout", store.DefaultTimeout, "how long each request may take, retries included")
	for _, name := range []string{"project", "instance"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // there is no such flag
		}
	}
	return cmd
}

// setUp makes tables and prints what it made. Rules that differ are findings.
func setUp(ctx context.Context, stdout io.Writer, admin store.Admin, tables []store.Table, options store.Options) error {
	changes, err := store.Setup(ctx, admin, tables, options)
	findings, failures := split(err)
	var lines strings.Builder
	for _, c := range changes {
		fmt.Fprintln(&lines, c)
	}
	for _, f := range findings {
		fmt.Fprintln(&lines, f)
	}
	if err == nil && len(changes) == 0 {
		lines.WriteString("nothing to do\n")
	}
	_, err = io.WriteString(stdout, lines.String())
	switch failures = errors.Join(failures, err); {
	case failures != nil:
		return failures
	case len(findings) > 0:
		return cli.ErrFindings
	}
	return nil
}

// split takes the error of the set-up apart into rules that differ and what
// went wrong.
func split(err error) (findings []*store.GCRuleError, failures error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok { // of errors.Join
		var errs []error
		for _, err := range many.Unwrap() {
			f, failure := split(err)
			findings = append(findings, f...)
			errs = append(errs, failure)
		}
		return findings, errors.Join(errs...)
	}
	var rule *store.GCRuleError
	if errors.As(err, &rule) {
		return []*store.GCRuleError{rule}, nil
	}
	return nil, err
}
