package files

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reading are the functions that read the disk or run a program.
var reading = strings.Fields("os.Open os.OpenFile os.OpenRoot os.ReadFile os.Stat os.Lstat os.ReadDir os.Readlink os.DirFS os.CopyFS " +
	"filepath.Walk filepath.WalkDir filepath.Glob filepath.EvalSymlinks exec.Command exec.CommandContext")

// untraced are the files that read otherwise, each with the reason why no trace needs to have it.
var untraced = map[string]string{
	"gen/cli/once.go":         "reads the traces",
	"gen/cli/write.go":        "of commands that write what their arguments name",
	"gen/output/commit.go":    "writes; a run that has written is not repeated",
	"gen/output/disk.go":      "the same",
	"gen/output/partial.go":   "the same",
	"gen/output/place.go":     "the same",
	"gen/output/lock.go":      "the lock of a run",
	"gen/project/revision.go": "of the command breaking, which is not repeated",
	"cmd/btgen/fmt.go":        "the same of fmt",
	"cmd/btgen/serve.go":      "the same of explain --serve",
}

// TestTraced checks that the commands read the disk by this package alone, so that a trace has all that they read.
func TestTraced(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	found := map[string]bool{}
	for _, dir := range []string{"gen", "cmd/btgen"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			name, _ := filepath.Rel(root, path)
			name = filepath.ToSlash(name)
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || name == "gen/internal/files"):
				return fs.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && slices.Contains(reading, x.Name+"."+s.Sel.Name) {
						found[name] = true
						if untraced[name] == "" {
							t.Errorf("%s calls %s.%s: use a function of package files, so that a trace has it", name, x.Name, s.Sel.Name)
						}
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(untraced)) {
		if !found[name] {
			t.Errorf("%s no longer needs its entry", name)
		}
	}
}
