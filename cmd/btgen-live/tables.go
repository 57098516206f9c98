package main

import (
	"io"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/runtime/store"
)

// loadTables returns the tables of the schemas in paths. If there are errors, it prints the
// findings and returns ErrFindings.
func loadTables(stdout io.Writer, paths []string) ([]store.Table, error) {
	p, err := project.Load(paths, "")
	if err != nil {
		return nil, err
	}
	result := gen.Resolve(p.Inputs)
	if result.Diagnostics.HasErrors() { // btgen prints warnings without errors
		return nil, cli.Report(stdout, p, result.Diagnostics)
	}
	return tablesOf(result.Layouts), nil
}

// tablesOf returns the tables of layouts without errors, in their order. A table that several
// schemas share occurs several times; store.Setup combines them.
func tablesOf(layouts []*layout.Layout) []store.Table {
	var tables []store.Table
	for _, l := range layouts {
		tables = append(tables, dynamic.New(l).Tables()...)
	}
	return tables
}
