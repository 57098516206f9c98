package golden

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/schema"
)

// typeTables are the files with a table of all types, which a test of their package checks for
// gaps.
var typeTables = map[string]string{
	"gen/value/value.go":                       "TestKinds",
	"gen/sample/types.go":                      "TestSamples",
	"gen/googlesql/types.go":                   "TestValueTypes",
	"cmd/btgen-live/internal/parquet/types.go": "TestColumnTypes",
}

// fewTypes is the number of types that a switch or a map may list without being such a table.
const fewTypes = 6

// TestTypeTables checks that no other switch or map lists many types: what they say of each
// belongs to schema.Traits, or to the table of the package.
func TestTypeTables(t *testing.T) {
	found := map[string]bool{}
	visit := func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join("..", name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			types := typesListed(n)
			if len(types) <= fewTypes {
				return true
			}
			found[name] = true
			if typeTables[name] == "" {
				t.Errorf("%s lists %d types", files.Position(n.Pos()), len(types))
			}
			return true
		})
		return nil
	}
	for _, top := range []string{"cmd", "gen"} {
		if err := fs.WalkDir(os.DirFS(".."), top, visit); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range typeTables {
		tests, err := filepath.Glob(filepath.Join("..", filepath.Dir(name), "*_test.go"))
		checked := slices.ContainsFunc(tests, func(path string) bool {
			text, err := os.ReadFile(path)
			return err == nil && strings.Contains(string(text), "func "+test+"(")
		})
		if err != nil || !found[name] || !checked {
			t.Errorf("%s: table %t, and test %s %t", name, found[name], test, checked)
		}
	}
}

// typesListed returns the types that the cases of a switch, or the keys of a map, name.
func typesListed(n ast.Node) []string {
	types := map[string]bool{}
	add := func(e ast.Expr) {
		if s, ok := e.(*ast.SelectorExpr); ok {
			if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "schema" && isType(s.Sel.Name) {
				types[s.Sel.Name] = true
			}
		}
	}
	switch n := n.(type) {
	case *ast.SwitchStmt:
		for _, c := range n.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				add(e)
			}
		}
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				add(kv.Key)
			} else {
				add(e)
			}
		}
	}
	return slices.Sorted(maps.Keys(types))
}

// isType reports whether package schema has a type with the name in Go.
func isType(name string) bool {
	return slices.ContainsFunc(schema.Types(), func(t schema.Type) bool { return t.Traits().Codec == name })
}
