package store

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"iter"
	"path/filepath"
	"strings"
	"testing"
)

// layers are the layers of the package, from the lowest one. Their files call those of the same and of lower layers.
var layers = []struct{ name, files string }{
	{"clients", "store options client needs_client_v1_58 keyrange"},
	{"rows", "table mapping keys selection older columns cells form where assemble staterow"},
	{"writing", "writer batcher stage absent duplicate rollupmark"},
	{"reading", "reader readcolumns period many latest parts page series windows windowsdown windowparts scanner state runs"},
	{"deleting", "delete erase settle"},
	{"moving", "digest job hidden backfill backfillcopy backfillmerge backfillparts backfillplace backfillsettle backfillstates backfillverify seal sealrun sealparts " +
		"checkpoint"},
}

// noImports makes the type checker ignore what is imported: only calls within the package count.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

// parsed returns the files of a folder, without those of tests, by their paths.
func parsed(t *testing.T, fset *token.FileSet, dir string) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	must(t, err)
	out := map[string]*ast.File{}
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.go") {
			out[path], err = parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			must(t, err)
		}
	}
	return out
}

// functions yields the functions and methods of a folder, with the paths of their files.
func functions(t *testing.T, dir string) iter.Seq2[string, *ast.FuncDecl] {
	return func(yield func(string, *ast.FuncDecl) bool) {
		for path, f := range parsed(t, token.NewFileSet(), dir) {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && !yield(path, fn) {
					return
				}
			}
		}
	}
}

// TestLayers checks that files call only functions of their own layer and of lower ones.
func TestLayers(t *testing.T) {
	rank := map[string]int{}
	for i, l := range layers {
		for _, name := range strings.Fields(l.files) {
			rank[name+".go"] = i
		}
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for path, f := range parsed(t, fset, ".") {
		if _, known := rank[path]; !known {
			t.Errorf("%s has no layer", path)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	_, _ = config.Check("store", fset, files, info) // the errors are about imports
	calls := 0
	for id, used := range info.Uses {
		f, ok := used.(*types.Func)
		if !ok || f.Pkg() == nil || f.Pkg().Path() != "store" {
			continue
		}
		if r := f.Signature().Recv(); r != nil && types.IsInterface(r.Type()) {
			continue
		}
		from, to := fset.Position(id.Pos()).Filename, fset.Position(f.Pos()).Filename
		if calls++; rank[to] > rank[from] {
			t.Errorf("%s is in layer %s and calls %s in layer %s", fset.Position(id.Pos()), layers[rank[from]].name, f.Name(), layers[rank[to]].name)
		}
	}
	if calls < 1000 {
		t.Errorf("only %d calls were found", calls)
	}
}
