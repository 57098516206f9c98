// Package gen is btgen as a library: schemas in, files out. It reads and writes
// nothing on disk; packages project and output do.
package gen

import (
	"cmp"
	"slices"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/gen/internal/parallel"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Input is one schema file.
type Input struct {
	Name string // for positions
	Text []byte
	// Source and Project are what generated code records of the file: see
	// output.Record. Without a Source that is the base of its name. Inputs are in the
	// order of their sources, then of their names.
	Source, Project string
}

// Result is what became of the schemas.
type Result struct {
	Layouts []*layout.Layout // in the order of the inputs
	Schemas []*schema.Schema // that the layouts are of, one each; of Resolve
	Files   []output.File    // sorted by path; none where Diagnostics has an error
	// Diagnostics is what was found, in the order of files and lines.
	Diagnostics diag.List
}

// Resolve turns schemas into layouts and checks them against all rules.
func Resolve(inputs []Input) Result {
	inputs = slices.SortedFunc(slices.Values(inputs), func(a, b Input) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Name, b.Name))
	})
	each := make([]resolved, len(inputs))
	parallel.For(len(inputs), func(i int) { each[i] = resolve(inputs[i]) })
	var r Result
	for _, one := range each {
		r.Diagnostics = append(r.Diagnostics, one.found...)
		if one.layout != nil {
			r.Layouts, r.Schemas = append(r.Layouts, one.layout), append(r.Schemas, one.schema)
		}
	}
	r.Diagnostics = append(r.Diagnostics, lint.CheckShared(r.Layouts)...)
	r.Diagnostics = append(r.Diagnostics, emit.Check(r.Layouts)...)
	r.Diagnostics.Sort()
	return r
}

// resolved is what became of one schema by itself.
type resolved struct {
	schema *schema.Schema
	layout *layout.Layout // nil if the schema cannot be read: what it means would be a guess
	found  diag.List
}

// resolve turns a schema into a layout and checks it by itself.
func resolve(in Input) resolved {
	s, found := schema.Parse(in.Name, in.Text)
	if found.HasErrors() {
		return resolved{found: found}
	}
	l, more := layout.Resolve(s)
	l.Source, l.Project = in.Source, in.Project
	if !more.HasErrors() {
		more = append(more, sample.Check(s, l)...)
	}
	return resolved{s, l, slices.Concat(found, more, lint.Check(s, l))}
}

// Generate renders the code of the schemas for a target. The same schemas and
// target give the same bytes, in whatever order the schemas come. An error is a defect of btgen; what is wrong with the schemas stands in
// the Result.
func Generate(inputs []Input, target emit.Target) (Result, error) {
	r := Resolve(inputs)
	if r.Diagnostics.HasErrors() || len(r.Layouts) == 0 {
		return r, nil
	}
	r.Schemas = nil // most of what would stay in memory, and code is made of layouts alone
	files, err := emit.Emit(r.Layouts, target)
	if err != nil {
		return r, err
	}
	slices.SortFunc(files, func(a, b output.File) int { return cmp.Compare(a.Path, b.Path) })
	r.Files = files
	return r, nil
}
