// Package gen is btgen as a library: it turns schemas into generated files. It does not
// access the disk; packages project and output do.
//
// Of the packages in this folder, only gen promises compatibility, with the target of package emit
// that it takes, and the findings of package diag and the files of package output in its results; all
// others, and the layouts and schemas in the results, may change in any release.
package gen

import (
	"cmp"
	"slices"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/gen/googlesql"
	"github.com/btgen-dev/btgen/gen/internal/parallel"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Input is one schema file.
type Input struct {
	Name string // file name in positions
	Text []byte
	// Source and Project are recorded in generated code: see [output.Record]. An empty
	// Source stands for the base of Name. Inputs are sorted by Source, then by Name.
	Source, Project string
	// Beam generates code for Apache Beam pipelines, too. The runtime must not be vendored.
	Beam bool
}

// Result is the result of [Resolve] or [Generate].
type Result struct {
	Layouts []*layout.Layout // of the schemas without syntax errors, sorted like the inputs
	Schemas []*schema.Schema // the schemas of Layouts, with the same indexes; nil from Generate
	Files   []output.File    // sorted by path; empty from Resolve, and if Diagnostics has an error
	// Diagnostics are all findings, sorted by file and line.
	Diagnostics diag.List
}

// Resolve resolves schemas to layouts and checks them against all rules.
func Resolve(inputs []Input) Result {
	inputs = slices.SortedFunc(slices.Values(inputs), func(a, b Input) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Name, b.Name))
	})
	each := make([]resolved, len(inputs))
	parallel.For(len(inputs), func(i int) { each[i] = checked(inputs[i]) })
	var r Result
	for _, one := range each {
		r.Diagnostics = append(r.Diagnostics, one.found...)
		if one.layout != nil {
			r.Layouts, r.Schemas = append(r.Layouts, one.layout), append(r.Schemas, one.schema)
		}
	}
	r.Diagnostics = append(r.Diagnostics, lint.CheckShared(r.Layouts)...)
	r.Diagnostics = append(r.Diagnostics, names.Check(r.Layouts)...)
	if !r.Diagnostics.HasErrors() { // views are those of valid tables
		_, found := googlesql.Materialized(layout.StoredTables(r.Layouts))
		r.Diagnostics = append(r.Diagnostics, found...)
	}
	r.Diagnostics.Sort()
	return r
}

// Layouts resolves schemas to layouts, in the order of the inputs, without checking them
// against the rules. Layouts of schemas with errors are missing.
func Layouts(inputs []Input) ([]*layout.Layout, diag.List) {
	each := make([]resolved, len(inputs))
	parallel.For(len(inputs), func(i int) { each[i] = resolve(inputs[i]) })
	var layouts []*layout.Layout
	var all diag.List
	for _, one := range each {
		all = append(all, one.found...)
		if !one.found.HasErrors() {
			layouts = append(layouts, one.layout)
		}
	}
	all.Sort()
	return layouts, all
}

// resolved is the result of resolve.
type resolved struct {
	schema *schema.Schema
	layout *layout.Layout // nil if the schema has syntax errors
	found  diag.List
}

// resolve resolves one schema to a layout, independently of the others.
func resolve(in Input) resolved {
	s, found := schema.Parse(in.Name, in.Text)
	if found.HasErrors() {
		return resolved{found: found}
	}
	l, more := layout.Resolve(s)
	l.Source, l.Project, l.Beam = in.Source, in.Project, in.Beam
	return resolved{s, l, append(found, more...)}
}

// checked resolves one schema and checks it against the rules.
func checked(in Input) resolved {
	r := resolve(in)
	if r.layout == nil {
		return r
	}
	if r.found.HasErrors() {
		r.found = append(r.found, lint.CheckBroken(r.schema, r.layout)...)
		return r
	}
	r.found = append(r.found, sample.Check(r.schema, r.layout)...)
	r.found = append(r.found, lint.Check(r.schema, r.layout)...)
	return r
}

// Generate generates the code of the schemas for a target. The output is deterministic and
// does not depend on the order of the inputs. Errors in the schemas are in the Diagnostics;
// a non-nil error is a bug in btgen.
func Generate(inputs []Input, target emit.Target) (Result, error) {
	r := Resolve(inputs)
	if r.Diagnostics.HasErrors() || len(r.Layouts) == 0 {
		return r, nil
	}
	r.Schemas = nil // frees memory: emitting needs only the layouts
	files, err := emit.Emit(r.Layouts, target)
	if err != nil {
		return r, err
	}
	slices.SortFunc(files, func(a, b output.File) int { return cmp.Compare(a.Path, b.Path) })
	r.Files = files
	return r, nil
}
