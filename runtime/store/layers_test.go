package store

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers are the layers of the package, from the lowest one, with their files. The files of a
// layer call those of the same layer and of lower ones.
var layers = []struct{ name, files string }{
	{"requests", "store options view noclient reversed version needs_client_v1_58 wirepath keyrange sort filter request newest ties stream"},
	{"rows", "table mapping complete keys selection selects period older columns cells form where frame group assemble mark versions"},
	{"writing", "writer batch batcher stage absent duplicate rollupmark"},
	{"reading", "reader many latest latestmany parts page series seriespage together windows windowsdown windowparts scanner state runs"},
	{"deleting", "delete deletefound erase settle settleknown"},
	{"moving", "digest job backfill backfillcopy backfillmerge backfillparts backfillplace backfillsettle backfillstates backfillverify seal sealrun sealcheckpoint sealparts sealcheck " +
		"checkpoint checkpointfile checkpointlock_other checkpointlock_unix checkpointlock_windows"},
}

// upward are the calls to a higher layer that are left: of a function, from a file. A new one
// belongs in another file; one that is gone is removed here.
var upward = []string{
	"columns.go: beginSelected", "columns.go: run", "columns.go: streams",
	"page.go: sequenceOf",
	"period.go: events", "period.go: groups", "period.go: inOrder", "period.go: seriesKey", "period.go: skips", "period.go: sorts",
	"request.go: covers",
}

// noImports makes the type checker ignore what is imported: only calls within the package count.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

// TestLayers checks that files call only functions of their own layer and of lower ones.
func TestLayers(t *testing.T) {
	rank := map[string]int{}
	for i, l := range layers {
		for _, name := range strings.Fields(l.files) {
			rank[name+".go"] = i
		}
	}
	fset := token.NewFileSet()
	paths, err := filepath.Glob("*.go")
	must(t, err)
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		must(t, err)
		if _, known := rank[path]; !known {
			t.Errorf("%s has no layer", path)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	_, _ = config.Check("store", fset, files, info) // the errors are about imports
	calls, found := 0, map[string]bool{}
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
			found[from+": "+f.Name()] = true
		}
	}
	if calls < 1000 {
		t.Errorf("only %d calls were found", calls)
	}
	same(t, strings.Join(upward, "\n"), strings.Join(slices.Sorted(maps.Keys(found)), "\n"))
}
