package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/templates"
)

// newInit returns the command init.
func newInit() *cobra.Command {
	pattern := templates.DefaultStarter
	cmd := &cobra.Command{
		Use:   "init [file]",
		Short: "Create a starter schema",
		Long: `Create a commented schema to start from, in schemas/balloon.yaml or the given file,
and next to it ` + editorSchema + `, which editors use to complete and check schemas.
Existing files are not overwritten.`,
		Args: cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := filepath.Join(project.DefaultSchemas, "balloon.yaml")
			if len(args) == 1 {
				file = args[0]
				if ext := filepath.Ext(file); ext != ".yaml" && ext != ".yml" {
					return fmt.Errorf("%s: schemas are files with the extension .yaml: write btgen init %s.yaml", file, file)
				}
			}
			wrote, err := writeStarter(file, pattern)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s; next: btgen generate\n", filepath.ToSlash(strings.Join(wrote, " and ")))
			return nil
		},
	}
	cmd.Flags().StringVar(&pattern, "pattern", pattern, "storage pattern: "+strings.Join(templates.Starters(), ", "))
	return cmd
}

// editorSchema is the name of the JSON Schema file that starter schemas refer to.
const editorSchema = "btgen.schema.json"

// writeStarter creates a file with the starter schema of a pattern, and editorSchema next to
// it unless that exists. It returns the files that it has created.
func writeStarter(file, pattern string) ([]string, error) {
	text, err := templates.Starter(pattern)
	if err != nil {
		return nil, err
	}
	if err := output.WriteNew(file, text); errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s already exists; name another file: btgen init FILE", filepath.ToSlash(file))
	} else if err != nil {
		return nil, err
	}
	beside := filepath.Join(filepath.Dir(file), editorSchema)
	err = output.WriteNew(beside, schema.JSONSchema())
	if errors.Is(err, fs.ErrExist) {
		return []string{file}, nil
	}
	return []string{file, beside}, err
}
