package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/store"
)

// load resolves the schemas in paths. The error for errors in them is a *cli.ProjectError.
func load(paths []string) (gen.Result, error) {
	p, err := loadProject(paths)
	if err != nil {
		return gen.Result{}, cli.CheckProject(err)
	}
	result := gen.Resolve(p.Inputs) // btgen prints its warnings
	return result, cli.CheckProject(result.Diagnostics.Err())
}

// loadProject loads the project of paths or, without any, the one that btgen runs in.
func loadProject(paths []string) (*project.Project, error) {
	if len(paths) == 0 {
		root, err := project.Above(nil)
		if err != nil {
			return nil, err
		}
		if root != "" {
			here, err := os.Getwd()
			if err != nil {
				return nil, err
			}
			if root, err = filepath.Rel(here, root); err != nil { // messages name files from here
				return nil, err
			}
			paths = []string{root}
		}
	}
	return project.Load(paths, "")
}

// loadLayouts returns the layouts of the schemas in paths, like [load].
func loadLayouts(paths []string) ([]*layout.Layout, error) {
	result, err := load(paths)
	return result.Layouts, err
}

// schemaFlags are the flags of commands that take the name of a schema.
type schemaFlags struct{ schemas []string }

// flags adds the flag to a command, which takes at most most arguments in all; 0 for any number.
func (n *schemaFlags) flags(cmd *cobra.Command, most int) {
	cmd.Flags().StringArrayVar(&n.schemas, "schemas", nil, "`path` of the schemas; by default those of btgen.yaml or the folder schemas; can be repeated")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s needs the name of a schema%s: write btgen-live %s", cmd.Name(), namesHere(), cmd.Use)
		case most > 0 && len(args) > most:
			return fmt.Errorf("%q is one argument too many, and nothing is done: write btgen-live %s", args[most], cmd.Use)
		}
		return nil
	}
}

// load is [load] for the schema with a name, which it also returns as its file describes it.
func (n *schemaFlags) load(name string) (*dynamic.Schema, *schema.Schema, error) {
	result, err := load(n.schemas)
	if err != nil {
		return nil, nil, err
	}
	names := uniqueNames(result.Layouts)
	i := slices.Index(names, name)
	if i < 0 {
		return nil, nil, fmt.Errorf("no schema has the name %q; the names are %s", name, strings.Join(names, ", "))
	}
	return dynamic.New(result.Layouts[i]), result.Schemas[i], nil
}

// uniqueNames returns the names of schemas, with their packages where several have the same, or else their files.
func uniqueNames(layouts []*layout.Layout) []string {
	forms := []func(l *layout.Layout) string{
		func(l *layout.Layout) string { return l.Name },
		func(l *layout.Layout) string { return l.Package + "." + l.Name },
		func(l *layout.Layout) string { return l.File },
	}
	out := make([]string, len(layouts))
	for _, form := range forms {
		n := map[string]int{}
		for _, l := range layouts {
			n[form(l)]++
		}
		for i, l := range layouts {
			if out[i] == "" && n[form(l)] == 1 {
				out[i] = form(l)
			}
		}
	}
	return out
}

// namesHere lists the names of the schemas that a command finds by itself; empty if there are none, or they have errors.
func namesHere() string {
	layouts, err := loadLayouts(nil)
	if err != nil || len(layouts) == 0 {
		return ""
	}
	return ", here " + strings.Join(uniqueNames(layouts), ", ")
}

// tablesOf returns the tables of layouts without errors, in their order. A table that several
// schemas share occurs several times; setup.Setup combines them.
func tablesOf(layouts []*layout.Layout) []store.Table {
	var tables []store.Table
	for _, l := range layouts {
		tables = append(tables, dynamic.New(l).Tables()...)
	}
	return tables
}

// loadTables returns the tables of the schemas in paths, like [loadLayouts].
func loadTables(paths []string) ([]store.Table, error) {
	layouts, err := loadLayouts(paths)
	return tablesOf(layouts), err
}
