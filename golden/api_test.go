package golden

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
)

// frozen are the packages that programs of users import, and the types of each that promise compatibility; nil for all.
var frozen = map[string][]string{
	"gen": nil, "gen/diag": {"List", "Diagnostic", "Pos", "Severity"}, "gen/emit": {"Target"}, "gen/output": {"File"},
	"runtime/beamstore": nil, "runtime/codec": nil, "runtime/otelstore": nil, "runtime/setup": nil, "runtime/store": nil,
	"runtime/storetest": nil, "runtime/window": nil,
}

// TestAPI compares what the packages for users export with golden/api, which has a declaration a line. With -update, it
// rewrites these files: a line that is gone breaks programs.
func TestAPI(t *testing.T) {
	for _, folder := range slices.Sorted(maps.Keys(frozen)) {
		file := filepath.Join("api", path.Base(folder)+".txt")
		a := readAPI(t, filepath.Join("..", folder), frozen[folder])
		text, err := os.ReadFile(file)
		if err != nil && !*update {
			t.Fatal(err)
		}
		gone := map[string]bool{}
		for line := range strings.Lines(string(text)) {
			gone[line] = true
		}
		var all, changes []string
		for line := range a.lines {
			if all = append(all, line); !gone[line] {
				changes = append(changes, "new:  "+line)
			}
			delete(gone, line)
		}
		for line := range gone {
			changes = append(changes, "gone: "+line) // sorted before what is new
		}
		slices.Sort(all)
		slices.Sort(changes)
		switch {
		case len(all) == 0:
			t.Errorf("%s exports nothing", folder)
		case *update:
			assert.Must(t, os.WriteFile(file, []byte(strings.Join(all, "")), 0o666))
		case changes != nil:
			t.Errorf("%s has another API than golden/api: what is gone breaks programs of users; what is new must be kept from now on\n"+
				"%sif this is meant: go test ./golden -run TestAPI -update", folder, strings.Join(changes, ""))
		}
	}
}

// api is what a package exports, a declaration a line, in the notation of api/*.txt of Go's repository. It is read from the
// source alone, so that it needs no dependencies, and types of other packages are written as they are there.
type api struct {
	types []string // all if nil
	lines map[string]bool
	files *token.FileSet
}

// readAPI reads the package in a folder.
func readAPI(t *testing.T, folder string, types []string) *api {
	a := &api{types: types, lines: map[string]bool{}, files: token.NewFileSet()}
	var parsed []*ast.File
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, name := range names {
		if err == nil && !strings.HasSuffix(name, "_test.go") {
			file, failed := parser.ParseFile(a.files, name, nil, 0)
			parsed, err = append(parsed, file), failed
		}
	}
	assert.Must(t, err)
	pkg, err := doc.NewFromFiles(a.files, parsed, folder)
	assert.Must(t, err)
	if a.types == nil {
		a.values(pkg.Consts)
		a.values(pkg.Vars)
		a.functions(pkg.Funcs)
	}
	for _, typ := range pkg.Types {
		if a.types == nil || slices.Contains(a.types, typ.Name) {
			a.declared(typ.Decl.Specs[0].(*ast.TypeSpec))
			a.values(typ.Consts)
			a.values(typ.Vars)
			a.functions(typ.Funcs)
			a.functions(typ.Methods)
		}
	}
	return a
}

// add adds a declaration.
func (a *api) add(format string, args ...any) {
	a.lines[strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")+"\n"] = true
}

// values adds constants or variables: the type of each or, without one, what tells it.
func (a *api) values(all []*doc.Value) {
	for _, v := range all {
		var last *ast.ValueSpec
		for _, spec := range v.Decl.Specs {
			s := spec.(*ast.ValueSpec)
			if last == nil || s.Type != nil || s.Values != nil {
				last = s
			}
			for i, name := range s.Names {
				if !name.IsExported() {
					continue
				}
				what := a.text(last.Type)
				if what == "" && i < len(last.Values) {
					what = a.typeOf(last.Values[i])
				}
				a.add("%s %s %s", v.Decl.Tok, name.Name, what)
			}
		}
	}
}

// typeOf returns what tells the type of a value. The message of an error is no part of the API.
func (a *api) typeOf(value ast.Expr) string {
	if composite, ok := value.(*ast.CompositeLit); ok {
		return a.text(composite.Type)
	}
	if text := a.text(value); !strings.HasPrefix(text, "errors.New(") {
		return "= " + text
	}
	return "error"
}

// functions adds functions or methods, among them those of embedded types that are not exported.
func (a *api) functions(all []*doc.Func) {
	for _, f := range all {
		kind := "func"
		if f.Recv != "" {
			kind = "method (" + f.Recv + ")"
		}
		a.add("%s %s%s", kind, f.Name, strings.TrimPrefix(a.text(f.Decl.Type), "func"))
	}
}

// declared adds a type, and each of its fields or methods.
func (a *api) declared(s *ast.TypeSpec) {
	name := s.Name.Name
	parameters := ""
	if s.TypeParams != nil { // printed as those of a function
		parameters = strings.TrimSuffix(strings.TrimPrefix(a.text(&ast.FuncType{TypeParams: s.TypeParams, Params: &ast.FieldList{}}), "func"), "()")
	}
	switch typ := s.Type.(type) {
	case *ast.StructType:
		a.add("type %s%s struct", name, parameters)
		a.members(name+" struct", typ.Fields)
	case *ast.InterfaceType:
		a.add("type %s%s interface", name, parameters)
		a.members(name+" interface", typ.Methods)
		if typ.Incomplete {
			a.add("type %s interface, unexported methods", name)
		}
	default:
		a.add("type %s%s %s%s", name, parameters, map[bool]string{true: "= "}[s.Assign.IsValid()], a.text(typ))
	}
}

// members adds the fields or methods of a type.
func (a *api) members(of string, fields *ast.FieldList) {
	for _, f := range fields.List {
		text := a.text(f.Type)
		if _, method := f.Type.(*ast.FuncType); method && strings.HasSuffix(of, "interface") {
			text = strings.TrimPrefix(text, "func")
		} else {
			text = " " + text
		}
		for _, name := range f.Names {
			a.add("type %s, %s%s", of, name.Name, text)
		}
		if f.Names == nil {
			a.add("type %s, embedded%s", of, text)
		}
	}
}

// text returns the source of a type or value, without the names of parameters; empty for none.
func (a *api) text(node ast.Expr) string {
	if node == nil {
		return ""
	}
	ast.Inspect(node, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncType); ok {
			f.Params, f.Results = unnamed(f.Params), unnamed(f.Results)
		}
		return true
	})
	var b bytes.Buffer
	if err := printer.Fprint(&b, a.files, node); err != nil {
		return err.Error()
	}
	return b.String()
}

// unnamed returns parameters without their names, which callers do not write.
func unnamed(all *ast.FieldList) *ast.FieldList {
	if all == nil {
		return nil
	}
	out := &ast.FieldList{}
	for _, f := range all.List {
		for range max(1, len(f.Names)) {
			out.List = append(out.List, &ast.Field{Type: f.Type})
		}
	}
	return out
}
