package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/gen/project"
)

// newExplain returns the command that says what the tables look like.
func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [path...]",
		Short: "Say what the tables look like, and what reads ask for",
		Long: `Print for each table its row key with an example, its columns, and when events
expire; and for each read of the generated reader which rows it asks for.

` + cli.PathsHelp,
		RunE: func(cmd *cobra.Command, paths []string) error {
			p, err := project.Load(paths, "")
			if err != nil {
				return err
			}
			result := gen.Resolve(p.Inputs)
			if err := cli.Report(cmd.OutOrStdout(), p, result.Diagnostics); err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), explain.Text(result.Layouts))
			return err
		},
	}
}
