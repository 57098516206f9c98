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
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/templates"
)

// newInit returns the command init.
func newInit() *cobra.Command {
	pattern := templates.DefaultStarter
	cmd := &cobra.Command{
		Use:   "init [file]",
		Short: "Create a starter schema",
		Long: `Create a commented schema to start from, in schemas/balloon.yaml or the given file,
and next to it ` + editorSchema + `, with which editors complete and check schemas,
and which Git ignores. Existing files are not overwritten.`,
		Args: cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := filepath.Join(project.DefaultSchemas, "balloon.yaml")
			if len(args) == 1 {
				file = args[0]
				if ext := filepath.Ext(file); ext != ".yaml" && ext != ".yml" {
					return fmt.Errorf("%s: schemas are files with the extension .yaml: write btgen init %s.yaml", file, file)
				}
			}
			if err := writeStarter(file, pattern); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s; next: btgen generate\n", filepath.ToSlash(file))
			return nil
		},
	}
	cmd.Flags().StringVar(&pattern, "pattern", pattern, "storage pattern: "+strings.Join(templates.Starters(), ", "))
	return cmd
}

// editorSchema is the JSON Schema that starter schemas refer to. It is not checked in: a new clone, or another version of
// btgen, makes it anew.
const editorSchema = ".btgen/schema.json"

// writeStarter creates a file with the starter schema of a pattern, and next to it the file for editors, which Git
// ignores, unless they exist.
func writeStarter(file, pattern string) error {
	text, err := templates.Starter(pattern)
	if err != nil {
		return err
	}
	if err := output.WriteNew(file, text); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already exists; name another file: btgen init FILE", filepath.ToSlash(file))
	} else if err != nil {
		return err
	}
	forEditors := filepath.Join(filepath.Dir(file), editorSchema)
	ignore := fmt.Sprintf("# Editors read it; made by: btgen schema -o %s\n/%s\n", words.Shell(filepath.ToSlash(forEditors)), filepath.Base(forEditors))
	return errors.Join(
		writeUnlessThere(forEditors, schema.JSONSchema()),
		writeUnlessThere(filepath.Join(filepath.Dir(forEditors), ".gitignore"), []byte(ignore)),
	)
}

// writeUnlessThere creates a file unless it exists.
func writeUnlessThere(file string, text []byte) error {
	if err := output.WriteNew(file, text); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
