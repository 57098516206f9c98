package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// ofSchema returns the check of the arguments of a command that takes the name of a schema, and at
// most most arguments in all; 0 for any number.
func ofSchema(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s needs the name of a schema%s: write btgen-live %s", cmd.Name(), schemaNames(), cmd.Use)
		case most > 0 && len(args) > most:
			return fmt.Errorf("%q is one argument too many, and nothing is done: write btgen-live %s", args[most], cmd.Use)
		}
		return nil
	}
}

// schemaNames lists the names of the schemas that a command finds by itself; empty if there are
// none, or they have errors.
func schemaNames() string {
	layouts, err := loadLayouts(nil)
	if err != nil || len(layouts) == 0 {
		return ""
	}
	var names []string
	for _, l := range layouts {
		names = append(names, l.Name)
	}
	return ", here " + strings.Join(names, ", ")
}
