package gen

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/output"
)

// TestGeneratedTypes checks the types of the code of the schema sets, with that of its
// tests: it is what a compiler refuses code for, and takes seconds for what takes
// minutes to compile and run, as TestGeneratedTests does.
func TestGeneratedTypes(t *testing.T) {
	c := newTypeChecker(t)
	for name, inputs := range schemaSets(t, 5) {
		if err := c.check(generateRandom(t, inputs, root).Files); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// typeChecker checks packages of generated code against what they import: each other,
// and packages that are compiled.
type typeChecker struct {
	fset     *token.FileSet
	compiled types.Importer
	sources  map[string][]*ast.File
	checked  map[string]*types.Package
}

// newTypeChecker finds what the go command has compiled of the packages that generated
// code may import.
func newTypeChecker(t *testing.T) *typeChecker {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}", "../runtime/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[name] = file
	}
	fset := token.NewFileSet()
	return &typeChecker{
		fset: fset,
		compiled: importer.ForCompiler(fset, "gc", func(name string) (io.ReadCloser, error) {
			if exports[name] == "" {
				return nil, fmt.Errorf("nothing is compiled of %s", name)
			}
			return os.Open(exports[name])
		}),
		sources: map[string][]*ast.File{},
		checked: map[string]*types.Package{},
	}
}

// check checks files, all of what was generated. Packages that were checked before, by
// their paths, are not checked again.
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
	names := make([]string, 0, len(c.sources))
	for name := range c.sources {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if _, err := c.Import(name); err != nil {
			return err
		}
	}
	return nil
}

// Import checks a package of generated code, or loads another.
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
