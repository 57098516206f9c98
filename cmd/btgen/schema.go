package main

import (
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/schema"
)

// newSchema returns the command that prints the JSON Schema of the language.
func newSchema() *cobra.Command {
	var out string
	var config bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the language, for editors",
		Long: `Print the JSON Schema of the language, by which editors complete keys, show what
they mean and underline what is wrong. A schema names it in a first line such as

  # yaml-language-server: $schema=` + editorSchema + `

btgen init writes both. After an update of btgen, write it again with

  btgen schema -o schemas/` + editorSchema,
		Args: cobra.NoArgs,
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
	cmd.Flags().StringVarP(&out, "out", "o", "", "write it to a file instead")
	cmd.Flags().BoolVar(&config, "config", false, "that of "+schema.ConfigName)
	return cmd
}
