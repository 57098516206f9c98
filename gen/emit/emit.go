// Package emit renders layouts as Go source with jennifer. It makes no decisions: the
// layout determines what the generated code does, and the runtime contains what is the
// same for every schema. Each function renders one declaration, in the order of the
// output.
package emit

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/btgen-dev/btgen/gen/internal/parallel"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/protofile"
	"github.com/btgen-dev/btgen/runtime"
)

// Target is the destination of generated code.
type Target struct {
	ImportPath string // import path of the output folder
	// Vendored copies the runtime to the folder runtime of the output folder.
	// Otherwise, generated code imports the runtime from the module of btgen.
	Vendored bool
}

// Emit renders all files of the layouts. They depend only on the layouts and the
// target. Their order depends only on the layouts: by package and schema as given, then
// the copies of the runtime.
func Emit(layouts []*layout.Layout, target Target) ([]output.File, error) {
	paths := paths{target.ImportPath, runtime.ImportPath}
	if target.Vendored {
		paths.runtime = path.Join(target.ImportPath, output.VendorFolder)
	}
	all := make([]*names.Schema, len(layouts))
	parallel.For(len(all), func(i int) { all[i] = names.Of(layouts[i]) })
	var jobs []func() ([]output.File, error)
	for i, l := range layouts {
		jobs = append(jobs, func() ([]output.File, error) { return schemaFiles(l, all[i], paths) })
	}
	for _, p := range packagesOf(layouts, all) {
		jobs = append(jobs, func() ([]output.File, error) { return p.files(paths) })
	}
	results := make([][]output.File, len(jobs))
	errs := make([]error, len(jobs))
	parallel.For(len(jobs), func(i int) { results[i], errs[i] = jobs[i]() })
	files, err := slices.Concat(results...), cmp.Or(errs...)
	if err != nil || !target.Vendored {
		return files, err
	}
	copies, err := runtimeFiles(paths)
	return append(files, copies...), err
}

// paths contains the import paths below which the generated packages and the runtime are.
type paths struct{ root, runtime string }

func (p paths) pkg(name string) string  { return path.Join(p.root, name) }
func (p paths) test(name string) string { return path.Join(p.root, name, name+"test") }
func (p paths) beam(name string) string { return path.Join(p.root, name, name+"beam") }

// schemaFiles renders the files of one schema.
func schemaFiles(l *layout.Layout, n *names.Schema, paths paths) (files []output.File, err error) {
	add := func(name string, content []byte, failed error) {
		if failed != nil {
			err = fmt.Errorf("%s: %w", l.File, failed)
		}
		files = append(files, output.File{Path: name, Content: content})
	}
	base := path.Join(l.Package, n.File)
	s := newSchemaFile(l, n, paths.pkg(l.Package), l.Package, paths)
	s.declare()
	source, failed := s.render()
	add(base+"_btgen.go", source, failed)
	test, failed := roundTripFile(l, n, paths)
	add(base+"_btgen_test.go", test, failed)
	if l.Stores(layout.Protobuf) {
		of := protofile.Of(l, n)
		proto, failed := of.Text(recordOf(l).Head())
		add(of.Path, proto, failed)
	}
	if l.Beam {
		beam, failed := beamFile(l, n, paths)
		add(path.Join(l.Package, l.Package+"beam", n.File+"_btgen.go"), beam, failed)
	}
	return files, err
}

// licenseLine names the license of the runtime in each copy of its files.
const licenseLine = "// SPDX-License-Identifier: Apache-2.0\n"

// runtimeFiles returns the copies of the runtime.
func runtimeFiles(paths paths) ([]output.File, error) {
	sources, err := runtime.Sources(paths.runtime)
	if err != nil {
		return nil, err
	}
	var files []output.File
	for _, s := range sources {
		content := append([]byte(output.Record{}.Head()+licenseLine+"\n"), s.Content...)
		files = append(files, output.File{Path: path.Join(output.VendorFolder, s.Path), Content: content})
	}
	return files, nil
}
