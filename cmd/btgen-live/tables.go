package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/project"
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

// load loads the schema of the request.
func (r *request) load() error {
	result, err := load(r.schemas)
	if err != nil {
		return err
	}
	names := uniqueNames(result.Layouts)
	i := slices.Index(names, r.name)
	if i < 0 {
		return fmt.Errorf("no schema has the name %q; the names are %s", r.name, strings.Join(names, ", "))
	}
	r.schema, r.file = dynamic.New(result.Layouts[i]), result.Schemas[i]
	return nil
}

// uniqueNames returns the names of schemas, with their packages where several have the same, or else their files.
func uniqueNames(layouts []*layout.Layout) (names []string) {
	forms := []func(l *layout.Layout) string{
		func(l *layout.Layout) string { return l.Name },
		func(l *layout.Layout) string { return l.Package + "." + l.Name },
		func(l *layout.Layout) string { return l.File },
	}
	for _, l := range layouts {
		i := slices.IndexFunc(forms, func(form func(*layout.Layout) string) bool {
			return !slices.ContainsFunc(layouts, func(other *layout.Layout) bool { return other != l && form(other) == form(l) })
		})
		names = append(names, forms[max(i, 0)](l))
	}
	return names
}

// namesHere lists the names of the schemas that a command finds by itself; empty if there are none, or they have errors.
func namesHere() string {
	result, err := load(nil)
	if err != nil || len(result.Layouts) == 0 {
		return ""
	}
	return ", here " + strings.Join(uniqueNames(result.Layouts), ", ")
}

// loadTables returns the tables of the schemas in paths, in their order. A table that several schemas share occurs several times;
// setup.Setup combines them.
func loadTables(paths []string) (tables []store.Table, err error) {
	result, err := load(paths)
	if err != nil {
		return nil, err
	}
	for _, l := range result.Layouts {
		tables = append(tables, dynamic.New(l).Tables()...)
	}
	return tables, nil
}

// loadRemoved returns the tables and families whose removal from the schemas in paths was accepted.
func loadRemoved(paths []string) ([]string, error) {
	p, err := loadProject(paths)
	if err != nil {
		return nil, err
	}
	locks, err := p.Locks()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, l := range locks {
		facts, err := cli.ReadLock(l.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, facts.Removed()...)
	}
	return out, nil
}
