package main

import (
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/schema"
)

// newSchema returns the command schema.
func newSchema() *cobra.Command {
	var out string
	var config bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the language, for editors",
		Long: `Print the JSON Schema of the language, which editors use to complete keys, show their
documentation and underline errors. A schema refers to it in its first line:

  # yaml-language-server: $schema=` + editorSchema + `

btgen init creates both, and Git ignores the file. In a new clone, or after updating
btgen, generate it again:

  btgen schema -o schemas/` + editorSchema,
		Args: cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := schema.JSONSchema()
			if config {
				text = schema.ConfigJSONSchema()
			}
			if out != "" {
				return cli.Write(cmd.Context(), out, text)
			}
			_, err := cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "write to a file instead")
	cmd.Flags().BoolVar(&config, "config", false, "print the JSON Schema of "+schema.ConfigName)
	return cmd
}
