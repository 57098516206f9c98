package golden

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
)

// positions are those of the sources.
var positions = token.NewFileSet()

// parsed are the Go files of the commands and of all packages that they use, without tests, by their paths in the repository.
var parsed = sync.OnceValues(func() (map[string]*ast.File, error) {
	out := map[string]*ast.File{}
	for _, top := range []string{"cmd", "gen", "runtime", "templates"} {
		err := fs.WalkDir(os.DirFS(".."), top, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			out[name], err = parser.ParseFile(positions, filepath.Join("..", name), nil, parser.SkipObjectResolution)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
})

// sources returns the parsed files whose paths begin with one of some texts.
func sources(t *testing.T, begins ...string) map[string]*ast.File {
	t.Helper()
	all, err := parsed()
	assert.Must(t, err)
	out := map[string]*ast.File{}
	for name, file := range all {
		if slices.ContainsFunc(begins, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			out[name] = file
		}
	}
	return out
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	assert.Must(t, err)
	return string(text)
}

// TestNamedTests checks that there are tests of all names that the race detector and sessions leave out.
func TestNamedTests(t *testing.T) {
	var tests []string
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	assert.Must(t, fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		for _, m := range declared.FindAllStringSubmatch(read(t, name), -1) {
			tests = append(tests, m[1])
		}
		return nil
	}))
	for file, list := range map[string]string{".ci/common": `unraced='([^']*)'`, "generated/examples/sessionoverlay_test.go": `"\^\((Test[^"]*)\)\$"`} {
		lists := regexp.MustCompile(list).FindAllStringSubmatch(read(t, file), -1)
		if len(lists) == 0 {
			t.Errorf("%s: no list", file)
		}
		for _, l := range lists {
			for name := range strings.SplitSeq(l[1], "|") {
				if is := regexp.MustCompile("^" + name); !slices.ContainsFunc(tests, is.MatchString) {
					t.Errorf("%s: there is no test %s", file, name)
				}
			}
		}
	}
}

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

// TestTraced checks that the commands read the disk by package files alone, so that a trace has all that they read.
func TestTraced(t *testing.T) {
	found := map[string]bool{}
	for name, file := range sources(t, "gen/", "cmd/btgen/") {
		if strings.HasPrefix(name, "gen/internal/files/") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
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
	}
	for _, name := range slices.Sorted(maps.Keys(untraced)) {
		if !found[name] {
			t.Errorf("%s no longer needs its entry", name)
		}
	}
}

// TestImportedHereAlone checks that package yaml alone imports the library.
func TestImportedHereAlone(t *testing.T) {
	var found []string
	for name, file := range sources(t, "") {
		for _, i := range file.Imports {
			if strings.HasPrefix(i.Path.Value, `"gopkg.in/yaml`) {
				found = append(found, name)
			}
		}
	}
	assert.Same(t, []string{"gen/internal/yaml/yaml.go"}, found)
}

// TestRepositoryFiles parses the YAML files in this repository that other programs use, and checks that they have the required keys.
func TestRepositoryFiles(t *testing.T) {
	hook := []string{"id", "name", "description", "entry", "language", "files", "pass_filenames"}
	for name, want := range map[string][][]string{
		".github/workflows/ci.yml": {{"name", "on", "permissions", "concurrency", "jobs"}},
		"docs/ci/btgen.yml":        {{"name", "on", "permissions", "jobs"}},
		".pre-commit-hooks.yaml":   {hook, hook, hook},
	} {
		text := read(t, name)
		if name == ".github/workflows/ci.yml" {
			assert.Contains(t, "- run: .ci/run\n", text, name)
		}
		var document yaml.Node
		assert.Must(t, yaml.Unmarshal([]byte(text), &document), name)
		blocks := document.Content
		if blocks[0].Kind == yaml.SequenceNode {
			blocks = blocks[0].Content
		}
		var got [][]string
		for _, block := range blocks {
			var keys []string
			for i := 0; i < len(block.Content); i += 2 {
				keys = append(keys, block.Content[i].Value)
			}
			if block.Content[1].Value == "btgen-check" { // pre-commit does not match a btgen.lock that was deleted
				keys[slices.Index(keys, "always_run")] = "files"
			}
			got = append(got, keys)
		}
		assert.Same(t, want, got, name)
	}
}

// typeTables are the files with a table of all types, and the tests that check them for gaps.
var typeTables = map[string][2]string{
	"gen/value/value.go":                       {"gen/sample/types_test.go", "TestSamples"},
	"gen/sample/types.go":                      {"gen/sample/types_test.go", "TestSamples"},
	"gen/googlesql/types.go":                   {"gen/decoding_test.go", "TestDecodings"},
	"cmd/btgen-live/internal/parquet/types.go": {"cmd/btgen-live/internal/format/parquet_columns_test.go", "TestColumnTypes"},
}

// fewTypes is the number of types that a switch or a map may list without being such a table.
const fewTypes = 6

// TestTypeTables checks that no other switch or map lists many types: what they say of each
// belongs to schema.Traits, or to the table of the package.
func TestTypeTables(t *testing.T) {
	found := map[string]bool{}
	for name, file := range sources(t, "cmd/", "gen/") {
		ast.Inspect(file, func(n ast.Node) bool {
			if types := typesListed(n); len(types) > fewTypes {
				found[name] = true
				if _, known := typeTables[name]; !known {
					t.Errorf("%s lists %d types", positions.Position(n.Pos()), len(types))
				}
			}
			return true
		})
	}
	for name, test := range typeTables {
		assert.Contains(t, "func "+test[1]+"(", read(t, test[0]))
		assert.Same(t, true, found[name], name)
	}
}

// typesListed returns the types that the cases of a switch, or the keys of a map, name.
func typesListed(n ast.Node) map[string]bool {
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
				e = kv.Key
			}
			add(e)
		}
	}
	return types
}

// isType reports whether package schema has a type with the name in Go.
func isType(name string) bool {
	return slices.ContainsFunc(schema.Types(), func(t schema.Type) bool { return t.Traits().Codec == name })
}
