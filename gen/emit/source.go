package emit

import (
	"bytes"
	"fmt"
	"go/format"
	"path"
	"reflect"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/runtime"
)

// source is a Go file under construction.
type source struct {
	*jen.File
	template gocode.Template
	paths    paths
	origin   output.Record
}

// newSource returns an empty file of a package.
func newSource(importPath, name string, origin output.Record, paths paths) *source {
	f := jen.NewFilePathName(importPath, name)
	f.NoFormat = true
	imports := map[string]string{
		"bigtable": "cloud.google.com/go/bigtable", "beamstore": runtime.BeamModule,
		"context": "context", "errors": "errors", "iter": "iter", "json": "encoding/json", "slices": "slices", "testing": "testing", "time": "time",
	}
	for _, name := range []string{"codec", "setup", "store", "storetest", "window"} {
		imports[name] = path.Join(paths.runtime, name)
	}
	for name, importPath := range imports {
		f.ImportName(importPath, name)
	}
	return &source{File: f, template: gocode.Template{Imports: imports}, paths: paths, origin: origin}
}

// code returns Go source with parts in its holes; see gocode.Template.
func (s *source) code(template string, parts ...any) *jen.Statement {
	return s.template.Fill(template, parts...)
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

// codec refers to a name of package codec.
func (s *source) codec(name string) *jen.Statement { return s.code("codec.$1", name) }

// add adds declarations with a blank line between them.
func (s *source) add(decls ...jen.Code) {
	for _, d := range decls {
		s.Add(d).Line()
	}
}

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

// schemaFile renders a Go file of one schema. Holes of its templates are the names of the schema, such as $Event.
type schemaFile struct {
	*source
	names  *names.Schema
	layout *layout.Layout
}

// newSchemaFile returns an empty file of a schema, in a package.
func newSchemaFile(l *layout.Layout, n *names.Schema, importPath, name string, paths paths) *schemaFile {
	s := &schemaFile{newSource(importPath, name, recordOf(l), paths), n, l}
	s.template.Package = paths.pkg(l.Package)
	s.template.Name = func(hole string) string { return reflect.ValueOf(n).Elem().FieldByName(hole).String() }
	return s
}

// own renders a name of the schema's package, in that package or in another one.
func (s *schemaFile) own(name string) *jen.Statement { return jen.Qual(s.template.Package, name) }

// set renders a field of a composite literal.
func set(name string, value jen.Code) jen.Code { return jen.Id(name).Op(":").Add(value) }

// setIf is set for a field that is there on a condition.
func setIf(condition bool, name string, value jen.Code) jen.Code {
	if !condition {
		return nil
	}
	return set(name, value)
}

// each renders each of some values.
func each[T any](values []T, render func(i int, v *T) jen.Code) []jen.Code {
	out := make([]jen.Code, len(values))
	for i := range values {
		out[i] = render(i, &values[i])
	}
	return out
}

// multi puts each element of a composite literal on a separate line, and oneRow all of them on one.
var (
	multi  = jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}
	oneRow = jen.Options{Open: "{", Close: "}", Separator: ","}
)

// lines renders a composite literal with each element on a separate line.
func lines(elements ...jen.Code) *jen.Statement { return jen.Custom(multi, elements...) }
