package emit

import (
	"bytes"
	"fmt"
	"go/format"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/output"
)

// source is a Go file under construction.
type source struct {
	*jen.File
	paths  paths
	origin output.Record
}

// newSource returns an empty file of a package.
func newSource(importPath, name string, origin output.Record, paths paths) *source {
	f := jen.NewFilePathName(importPath, name)
	f.NoFormat = true
	f.ImportNames(map[string]string{
		bigtablePath: "bigtable", paths.codec: "codec", paths.store: "store", paths.setup: "setup", paths.storetest: "storetest", paths.window: "window",
		"context": "context", "encoding/json": "json", "iter": "iter", "testing": "testing", "time": "time",
	})
	return &source{File: f, paths: paths, origin: origin}
}

// importPackage imports a generated package under its name, unless generated code uses that for something
// else, parameters of the file among it.
func (s *source) importPackage(name string, parameters ...string) {
	if names.Reserved(name) || slices.Contains(parameters, name) {
		s.ImportAlias(s.paths.pkg(name), name+"pkg")
		return
	}
	s.ImportName(s.paths.pkg(name), name)
}

// codec and store refer to packages of the runtime.
func (s *source) codec(name string) *jen.Statement { return jen.Qual(s.paths.codec, name) }
func (s *source) store(name string) *jen.Statement { return jen.Qual(s.paths.store, name) }

// runtimeSetup refers to the runtime's package for setup.
func (s *source) runtimeSetup(name string) *jen.Statement { return jen.Qual(s.paths.setup, name) }

// storetest refers to the runtime's package for tests.
func (s *source) storetest(name string) *jen.Statement { return jen.Qual(s.paths.storetest, name) }

// render returns the formatted file with its header.
func (s *source) render() ([]byte, error) {
	var b bytes.Buffer
	if err := s.Render(&b); err != nil {
		return nil, err
	}
	out, err := format.Source(gocode.GroupImports(s.origin.Head()+"\n", b.Bytes(), s.paths.root))
	if err != nil {
		return nil, fmt.Errorf("rendering Go source: %w", err)
	}
	return out, nil
}

// field is one Field: value of a composite literal.
type field struct {
	name  string
	value jen.Code
}

// lines renders fields for a composite literal, each on a separate line.
func lines(fields ...field) *jen.Statement {
	return jen.CustomFunc(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, func(g *jen.Group) {
		for _, f := range fields {
			g.Id(f.name).Op(":").Add(f.value)
		}
	})
}

// wrapped renders fields for a composite literal, six on a line.
func wrapped(fields ...field) *jen.Statement {
	return jen.CustomFunc(jen.Options{Open: "{", Close: "}", Separator: ","}, func(g *jen.Group) {
		for i, f := range fields {
			at := g.Null()
			if i > 0 && i%6 == 0 {
				at.Line()
			}
			at.Id(f.name).Op(":").Add(f.value)
		}
	})
}

// inline renders fields for a composite literal on one line.
func inline(fields ...field) *jen.Statement {
	return jen.CustomFunc(jen.Options{Open: "{", Close: "}", Separator: ","}, func(g *jen.Group) {
		for _, f := range fields {
			g.Id(f.name).Op(":").Add(f.value)
		}
	})
}
