package gen_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// Class: names of a schema that generated code uses for itself. Each receiver, parameter and variable
// that any generated code declares, and each package that it imports, is reserved, and is tried as the
// name of a series value, of a field in a condition, and of a package, as the names of the language are.
func TestNamesOfGeneratedCode(t *testing.T) {
	used := map[string]bool{}
	for name, inputs := range testlong.SampleMap(schemaSets(t, 1), 2) {
		for i := range inputs {
			inputs[i].Beam = true
		}
		r := generateRandom(t, inputs, root)
		given := parametersOf(r)
		for _, local := range localsOf(t, r.Files) {
			if used[local] = true; !given[local] && !names.Reserved(local) {
				t.Errorf("%s: generated code declares %s, which is not reserved", name, local)
			}
		}
	}
	if len(used) < 60 || !used["w"] || !used["ctx"] || !used["dst"] || !used["beamstore"] {
		t.Fatalf("only %d names: %q", len(used), slices.Sorted(maps.Keys(used)))
	}
	for _, name := range types.Universe.Names() {
		used[name] = true
	}
	c := newTypeChecker(t)
	tried := 0
	for i, name := range testlong.Sample(slices.Sorted(maps.Keys(used)), 40) {
		r, err := gen.Generate(namedSchemas(i, name), emit.Target{ImportPath: root})
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case r.Diagnostics.HasErrors(): // refused by name, as the series value bucket is
		default:
			tried++
			assert.Is(t, nil, c.check(r.Files), name)
		}
	}
	if most := testlong.Pick(len(used)/40, len(used)); tried < most/2 {
		t.Errorf("%d of %d names are tried", tried, most)
	}
}

// namedSchemas returns schemas with a series value, a field and, if possible, a package of a name.
func namedSchemas(i int, name string) []gen.Input {
	pkg := name
	if pkg != strings.ToLower(name) || token.IsKeyword(name) || slices.Contains([]string{"codec", "setup", "store", "storetest", "window"}, name) {
		pkg = fmt.Sprintf("p%d", i)
	}
	const schema = `btgen: v1
package: %[1]s
name: %[2]s
series: {%[3]s}
time: {precision: 1s}
fields: {%[4]s}
tables:
  t%[5]d_%[2]s: {pattern: single_unserialized, key: {delimiter: "#", segments: [%[6]s, time]}, family: m, ttl: {max_age: 30d}}
queries:
  %[7]s
`
	const enum = ": {type: enum, of: [one, two]}"
	of := func(title, series, fields, segments string, queries ...string) gen.Input {
		return gen.Input{Name: title + ".yaml", Text: fmt.Appendf(nil, schema, pkg, title, series, fields, i, segments, strings.Join(queries, "\n  "))}
	}
	return []gen.Input{
		of("Series", name+enum, "value: int64", name,
			"One: {by: ["+name+"], delete: true, series: true}", "Many: {by: ["+name+"], many: "+name+", delete: true}"),
		of("Fields", "id: string", name+enum+", number: {type: int64, optional: true}", "id",
			"One: {by: [id], where: {"+name+": equal}, delete: true}", "Most: {by: [id], where: {number: range, "+name+": equal}, delete: true}"),
		of("Ranges", "id: string", name+": {type: int64, optional: true}", "id", "One: {by: [id], where: {"+name+": range}, delete: true}"),
		of("Named", "id: string, "+name+": int64", "value: int64", "id, {name: "+name+", encoding: decimal, pad: 19}",
			"One: {by: [id, "+name+"], range: "+name+", delete: true}", "Many: {by: [id, "+name+"], many: id, range: "+name+", delete: true}"),
	}
}

// parametersOf returns the names of generated code that come from series values and fields.
func parametersOf(r gen.Result) map[string]bool {
	out := map[string]bool{}
	for _, l := range r.Layouts {
		out[l.Package] = true
		n := names.Of(l)
		for i := range l.Queries {
			for _, p := range n.Query(&l.Queries[i]).Parameters() {
				out[p] = true
			}
		}
	}
	return out
}

// localsOf returns what the functions of Go files declare, and the names of the packages that they import.
func localsOf(t *testing.T, files []output.File) (out []string) {
	for _, f := range files {
		if !strings.HasSuffix(f.Path, ".go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Content, 0)
		must(t, err)
		for _, spec := range file.Imports {
			if name, _ := strconv.Unquote(spec.Path.Value); !strings.HasPrefix(name, root) {
				out = append(out, path.Base(name))
			}
		}
		for _, d := range file.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				out = append(out, declaredBy(n)...)
				return true
			})
		}
	}
	return slices.DeleteFunc(out, func(name string) bool { return name == "_" })
}

// declaredBy returns the names that a part of a function declares.
func declaredBy(n ast.Node) (out []string) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		out = fieldNames(n.Recv)
	case *ast.FuncType:
		out = append(fieldNames(n.Params), fieldNames(n.Results)...)
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			out = idents(n.Lhs)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			out = idents([]ast.Expr{n.Key, n.Value})
		}
	case *ast.DeclStmt:
		for _, spec := range n.Decl.(*ast.GenDecl).Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				out = append(out, name.Name)
			}
		}
	}
	return out
}

// fieldNames returns the names of parameters, results or receivers.
func fieldNames(list *ast.FieldList) (out []string) {
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		for _, name := range f.Names {
			out = append(out, name.Name)
		}
	}
	return out
}

// idents returns the names among expressions.
func idents(of []ast.Expr) (out []string) {
	for _, e := range of {
		if name, ok := e.(*ast.Ident); ok {
			out = append(out, name.Name)
		}
	}
	return out
}
