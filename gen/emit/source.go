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

// with returns fields with one more, if it is set.
func with(fields []field, set bool, name string, value jen.Code) []field {
	if !set {
		return fields
	}
	return append(fields, field{name, value})
}

// each renders each of some values.
func each[T any](values []T, render func(i int, v *T) jen.Code) []jen.Code {
	out := make([]jen.Code, len(values))
	for i := range values {
		out[i] = render(i, &values[i])
	}
	return out
}

// multi puts each element of a composite literal on a separate line.
var multi = jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}

// lines renders fields for a composite literal, each on a separate line, inline on one line, and wrapped six on a line.
func lines(fields ...field) *jen.Statement {
	return jen.Custom(multi, each(fields, func(_ int, f *field) jen.Code { return jen.Id(f.name).Op(":").Add(f.value) })...)
}
func inline(fields ...field) *jen.Statement {
	return jen.Values(each(fields, func(_ int, f *field) jen.Code { return jen.Id(f.name).Op(":").Add(f.value) })...)
}
func wrapped(fields ...field) *jen.Statement {
	return jen.Values(each(fields, func(i int, f *field) jen.Code {
		at := jen.Null()
		if i > 0 && i%6 == 0 {
			at.Line()
		}
		return at.Id(f.name).Op(":").Add(f.value)
	})...)
}
