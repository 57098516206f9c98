package gen_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestGeneratedTypes type-checks the code of the schema sets and of its tests. It finds
// most compiler errors within seconds, whereas TestGeneratedTests, which replaces it in a long run, takes minutes.
func TestGeneratedTypes(t *testing.T) {
	if testlong.Enabled() {
		t.Skip("TestGeneratedTests compiles the same code")
	}
	c := newTypeChecker(t)
	for name, inputs := range testlong.SampleMap(schemaSets(t, 2), 3) {
		assert.Is(t, nil, c.check(generateRandom(t, inputs, root).Files), name)
	}
}

// typeChecker checks generated packages and their imports: each other and compiled
// packages.
type typeChecker struct {
	fset     *token.FileSet
	compiled types.Importer
	sources  map[string][]*ast.File
	checked  map[string]*types.Package
}

// positions are those of all files that are type-checked.
var positions = token.NewFileSet()

// compiled imports the compiled packages that generated code may import, which it locates once.
var compiled = sync.OnceValues(func() (types.Importer, error) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}", "../runtime/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[name] = file
	}
	return importer.ForCompiler(positions, "gc", func(name string) (io.ReadCloser, error) {
		if exports[name] == "" {
			return nil, fmt.Errorf("nothing is compiled of %s", name)
		}
		return os.Open(exports[name])
	}), err
})

// newTypeChecker returns a checker that knows the compiled packages.
func newTypeChecker(t *testing.T) *typeChecker {
	t.Helper()
	known, err := compiled()
	must(t, err)
	return &typeChecker{fset: positions, compiled: known, sources: map[string][]*ast.File{}, checked: map[string]*types.Package{}}
}

// check checks all generated files. It skips packages with import paths that were
// already checked.
func (c *typeChecker) check(files []output.File) error {
	for _, f := range files {
		if !strings.HasSuffix(f.Path, ".go") {
			continue
		}
		name := path.Join(root, path.Dir(f.Path))
		if strings.HasSuffix(f.Path, "_test.go") {
			name += "_test"
		}
		if c.checked[name] != nil {
			continue
		}
		file, err := parser.ParseFile(c.fset, f.Path, f.Content, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		c.sources[name] = append(c.sources[name], file)
	}
	for _, name := range slices.Sorted(maps.Keys(c.sources)) {
		if _, err := c.Import(name); err != nil {
			return err
		}
	}
	return nil
}

// Import checks a generated package, or loads a compiled one.
func (c *typeChecker) Import(name string) (*types.Package, error) {
	if p := c.checked[name]; p != nil {
		return p, nil
	}
	files := c.sources[name]
	if len(files) == 0 {
		return c.compiled.Import(name)
	}
	delete(c.sources, name)
	config := types.Config{Importer: c}
	p, err := config.Check(name, c.fset, files, nil)
	if err != nil {
		return nil, err
	}
	c.checked[name] = p
	return p, nil
}
