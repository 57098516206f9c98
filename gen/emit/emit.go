// Package emit renders layouts as Go source with jennifer. It makes no decisions: the
// layout determines what the generated code does, and the runtime contains what is the
// same for every schema. Each function renders one declaration, in the order of the
// output.
package emit

import (
	"fmt"
	"path"

	"github.com/btgen-dev/btgen/gen/internal/parallel"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
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
	paths := newPaths(target)
	all := make([]*names.Schema, len(layouts))
	parallel.For(len(all), func(i int) { all[i] = names.Of(layouts[i]) })
	var jobs []func() ([]output.File, error)
	for i, l := range layouts {
		jobs = append(jobs, func() ([]output.File, error) { return schemaFiles(l, all[i], paths) })
	}
	for _, p := range packagesOf(layouts, all) {
		jobs = append(jobs, func() ([]output.File, error) { return packageFiles(p, paths) })
	}
	for _, p := range beamPackagesOf(layouts, all) {
		jobs = append(jobs, func() ([]output.File, error) { return beamPackageFile(p, paths) })
	}
	results := make([][]output.File, len(jobs))
	errs := make([]error, len(jobs))
	parallel.For(len(jobs), func(i int) { results[i], errs[i] = jobs[i]() })
	var files []output.File
	for i := range jobs {
		if errs[i] != nil {
			return nil, errs[i]
		}
		files = append(files, results[i]...)
	}
	if !target.Vendored {
		return files, nil
	}
	copies, err := runtimeFiles(paths)
	return append(files, copies...), err
}

// paths contains the import paths of the generated packages and of the runtime.
type paths struct{ root, codec, setup, store, storetest, window string }

// newPaths returns the import paths of a target.
func newPaths(t Target) paths {
	from := runtime.ImportPath
	if t.Vendored {
		from = path.Join(t.ImportPath, output.VendorFolder)
	}
	return paths{t.ImportPath, path.Join(from, "codec"), path.Join(from, "setup"), path.Join(from, "store"), path.Join(from, "storetest"), path.Join(from, "window")}
}

func (p paths) pkg(name string) string  { return path.Join(p.root, name) }
func (p paths) test(name string) string { return path.Join(p.root, name, name+"test") }
func (p paths) beam(name string) string { return path.Join(p.root, name, name+"beam") }

// bigtablePath is the import path of the official client.
const bigtablePath = "cloud.google.com/go/bigtable"

// schemaFiles renders the files of one schema.
func schemaFiles(l *layout.Layout, n *names.Schema, paths paths) ([]output.File, error) {
	s := newSchemaFile(l, n, paths)
	s.declare()
	source, err := s.render()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.File, err)
	}
	base := path.Join(l.Package, n.File)
	test, err := roundTripFile(l, n, paths)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.File, err)
	}
	files := []output.File{{Path: base + "_btgen.go", Content: source}, {Path: base + "_btgen_test.go", Content: test}}
	if l.Stores(layout.Protobuf) {
		of := protofile.Of(l, n)
		proto, err := of.Text(recordOf(l).Head())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.File, err)
		}
		files = append(files, output.File{Path: of.Path, Content: proto})
	}
	if !l.Beam {
		return files, nil
	}
	beam, err := beamFiles(l, n, paths)
	return append(files, beam...), err
}

// goPackage contains the schemas that share a Go package.
type goPackage struct {
	name    string
	layouts []*layout.Layout
	schemas []*names.Schema // of the layouts, in their order
	origin  []output.Record
	locked  []string // the tables that btgen.lock has
	drafts  bool     // whether any table is a draft
}

// packagesOf groups layouts by package, in the order of their first schema.
func packagesOf(layouts []*layout.Layout, all []*names.Schema) []*goPackage {
	var out []*goPackage
	known := map[string]*goPackage{}
	for i, l := range layouts {
		p := known[l.Package]
		if p == nil {
			p = &goPackage{name: l.Package}
			known[l.Package] = p
			out = append(out, p)
		}
		p.layouts, p.schemas = append(p.layouts, l), append(p.schemas, all[i])
		p.origin = append(p.origin, recordOf(l))
		for _, t := range l.Tables {
			p.drafts = p.drafts || t.Draft
			if !t.Draft {
				p.locked = append(p.locked, lock.Of(l, t).Key())
			}
		}
	}
	return out
}

// licenseLine names the license of the runtime in each copy of its files.
const licenseLine = "// SPDX-License-Identifier: Apache-2.0\n"

// runtimeFiles returns the copies of the runtime.
func runtimeFiles(paths paths) ([]output.File, error) {
	sources, err := runtime.Sources(path.Join(paths.root, output.VendorFolder))
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
