package names_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/archive"
	"github.com/btgen-dev/btgen/golden/assert"
)

// Every name that generated code declares in its package, and every method of a reader,
// must be registered, because collisions with others are not detected.
func TestEveryEmittedNameIsRegistered(t *testing.T) {
	cases, err := filepath.Glob("../../golden/code/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, error %v", len(cases), err)
	}
	declared := 0
	for _, name := range cases {
		a, err := archive.ParseFile(name)
		assert.Must(t, err)
		declared += checkEmitted(t, filepath.Base(name), a)
	}
	if declared < 500 {
		t.Errorf("%d declarations: the test does not see the code", declared)
	}
}

// checkEmitted checks the declarations of generated code, which is in the archive beside
// its schemas. It returns how many these are.
func checkEmitted(t *testing.T, what string, a *txtar.Archive) (declared int) {
	packages := map[string][]*layout.Layout{}
	for _, f := range a.Files {
		if !strings.HasPrefix(f.Name, "schemas/") {
			continue
		}
		s, found := schema.Parse(f.Name, f.Data)
		if found.HasErrors() {
			t.Fatalf("%s: %v", what, found)
		}
		l, _ := layout.Resolve(s)
		packages[l.Package] = append(packages[l.Package], l)
	}
	for _, f := range a.Files {
		layouts, known := packages[path.Base(path.Dir(f.Name))]
		if !known || !strings.HasSuffix(f.Name, ".go") || strings.HasSuffix(f.Name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Data, 0)
		assert.Must(t, err)
		pkg, readers := names.Declared(layouts)
		for _, name := range declarations(file) {
			declared++
			if name != "_" && !pkg[name] {
				t.Errorf("%s: %s declares %s, which is not registered", what, f.Name, name)
			}
		}
		for _, name := range readerMethods(file) {
			declared++
			if !readers[name] {
				t.Errorf("%s: %s has a reader with the method %s, which is not registered", what, f.Name, name)
			}
		}
	}
	return declared
}

// declarations returns the names that a file declares in its package.
func declarations(file *ast.File) (out []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				out = append(out, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					out = append(out, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						out = append(out, name.Name)
					}
				}
			}
		}
	}
	return out
}

// readerMethods returns the methods that a file declares for readers.
func readerMethods(file *ast.File) (out []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
			if of, ok := star.X.(*ast.Ident); ok && strings.HasSuffix(of.Name, "Reader") {
				out = append(out, f.Name.Name)
			}
		}
	}
	return out
}
