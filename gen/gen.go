// Package gen is btgen as a library: schemas in, files out. It reads and writes
// nothing on disk; packages project and output do.
package gen

import (
	"cmp"
	"slices"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Input is one schema file.
type Input struct {
	Name string // for positions; the order of inputs is that of their names
	Text []byte
}

// Result is what became of the schemas.
type Result struct {
	Layouts []*layout.Layout // in the order of the names of their files
	Files   []emit.File      // sorted by path; none where Diagnostics has an error
	// Diagnostics is what was found, in the order of files and lines.
	Diagnostics diag.List
}

// Resolve turns schemas into layouts and checks them against all rules.
func Resolve(inputs []Input) Result {
	inputs = slices.SortedFunc(slices.Values(inputs), func(a, b Input) int { return cmp.Compare(a.Name, b.Name) })
	var r Result
	for _, in := range inputs {
		s, found := schema.Parse(in.Name, in.Text)
		r.Diagnostics = append(r.Diagnostics, found...)
		if found.HasErrors() {
			continue // what it means would be a guess
		}
		l, found := layout.Resolve(s)
		r.Diagnostics = append(r.Diagnostics, found...)
		r.Layouts = append(r.Layouts, l)
	}
	r.Diagnostics = append(r.Diagnostics, lint.CheckAll(r.Layouts)...)
	r.Diagnostics = append(r.Diagnostics, emit.Check(r.Layouts)...)
	r.Diagnostics.Sort()
	return r
}

// Generate renders the code of the schemas for an output folder with the
// import path. The same schemas give the same bytes, in whatever order they
// come. An error is a defect of btgen; what is wrong with the schemas stands in
// the Result.
func Generate(inputs []Input, importPath string) (Result, error) {
	r := Resolve(inputs)
	if r.Diagnostics.HasErrors() || len(r.Layouts) == 0 {
		return r, nil
	}
	files, err := emit.Emit(r.Layouts, importPath)
	if err != nil {
		return r, err
	}
	slices.SortFunc(files, func(a, b emit.File) int { return cmp.Compare(a.Path, b.Path) })
	r.Files = files
	return r, nil
}
