package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// loadLayout is like [loadSchema] without the schema.
func loadLayout(paths []string, name string) (*layout.Layout, error) {
	_, l, err := loadSchema(paths, name)
	return l, err
}

// loadSchema is like [load] for the schema with a name.
func loadSchema(paths []string, name string) (*schema.Schema, *layout.Layout, error) {
	result, err := load(paths)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	var found []int
	for i, l := range result.Layouts {
		names = append(names, l.Name)
		if l.Name == name {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil, fmt.Errorf("no schema has the name %q; the names are %s", name, strings.Join(names, ", "))
	case 1:
		return result.Schemas[found[0]], result.Layouts[found[0]], nil
	}
	return nil, nil, fmt.Errorf("%d schemas have the name %q: select one with --schemas", len(found), name)
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
