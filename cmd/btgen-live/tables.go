package main

import (
	"io"
	"slices"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/templates/store"
)

// loadTables returns the tables of the schemas that the arguments name, and
// prints what was found in them.
func loadTables(stdout io.Writer, paths []string) ([]store.Table, error) {
	p, err := project.Load(paths, "")
	if err != nil {
		return nil, err
	}
	result := gen.Resolve(p.Inputs)
	if err := cli.Report(stdout, p, result.Diagnostics); err != nil {
		return nil, err
	}
	return tablesOf(result.Layouts), nil
}

// tablesOf returns what set-up makes of layouts without errors: each table once,
// with the families of all schemas that share it, in the order of the layouts.
func tablesOf(layouts []*layout.Layout) []store.Table {
	var tables []store.Table
	for _, l := range layouts {
		for _, t := range l.Tables {
			i := slices.IndexFunc(tables, func(have store.Table) bool { return have.ID == t.ID })
			if i < 0 {
				i = len(tables)
				tables = append(tables, store.Table{ID: t.ID})
			}
			for _, f := range t.Families {
				tables[i].Families = append(tables[i].Families, store.Family{Name: f.Name, GC: f.GC, Life: f.Life, Class: f.Class})
			}
		}
	}
	return tables
}
