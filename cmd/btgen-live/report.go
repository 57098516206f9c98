package main

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
)

// reporting is the flag of commands that report as text or JSON.
type reporting struct{ format string }

// flags adds the flag to a command.
func (r *reporting) flags(cmd *cobra.Command) {
	cmd.Flags().Var(oneOf(&r.format, "text", []string{"text", "json"}), "format", "`text` or json")
}

// report prints a report. It returns ErrFindings if the report has findings.
func (r *reporting) report(out io.Writer, text string, document any, findings bool) error {
	if r.format == "json" {
		encoded, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return err
		}
		text = string(encoded) + "\n"
	}
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if findings {
		return cli.ErrFindings
	}
	return nil
}
