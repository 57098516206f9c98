package yaml

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
)

// TestImportedHereAlone searches all Go files of the module for imports of the library: here, and where tests draw schemas.
func TestImportedHereAlone(t *testing.T) {
	var found []string
	err := fs.WalkDir(os.DirFS("../../.."), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(filepath.Join("../../..", path))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			if strings.HasPrefix(i.Path.Value, `"gopkg.in/yaml`) {
				found = append(found, path)
			}
		}
		return nil
	})
	if want := []string{"gen/internal/yaml/yaml.go", "gen/random_test.go", "golden/corpus/corpus.go", "golden/corpus/pairs.go"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("%v, %v; want %v", found, err, want)
	}
}

// TestRepositoryFiles parses the YAML files in this repository that other programs use,
// and checks that they have the required keys.
func TestRepositoryFiles(t *testing.T) {
	for path, keys := range map[string][]string{
		".github/workflows/ci.yml": {"name", "on", "permissions", "concurrency", "jobs"},
		"docs/ci/btgen.yml":        {"name", "on", "permissions", "jobs"},
		".pre-commit-hooks.yaml":   {"id", "name", "description", "entry", "language", "files", "pass_filenames"},
	} {
		text, err := os.ReadFile(filepath.Join("../../..", path))
		assert.Must(t, err)
		if strings.HasSuffix(path, "ci.yml") && !strings.Contains(string(text), "- run: .ci/run\n") {
			t.Errorf("%s does not run .ci/run", path)
		}
		var document Node
		if err := Unmarshal(text, &document); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		blocks := []*Node{document.Content[0]}
		if blocks[0].Kind == SequenceNode {
			blocks = blocks[0].Content
		}
		for _, block := range blocks {
			var got []string
			for i := 0; i < len(block.Content); i += 2 {
				got = append(got, block.Content[i].Value)
			}
			want := slices.Clone(keys)
			if block.Content[1].Value == "btgen-check" { // pre-commit does not match a btgen.lock that was deleted
				want[slices.Index(want, "files")] = "always_run"
			}
			assert.Same(t, want, got, path, block.Line)
		}
	}
}
