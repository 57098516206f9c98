package gen_test

import (
	"bytes"
	"context"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/golden/archive"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime"
	"github.com/btgen-dev/btgen/templates"
)

// root is the import path of the output of the random schemas.
const root = "example.com/app/generated"

// TestRandomSchemas checks the code of all schemas without findings: it is formatted
// Go, imports nothing that a schema could have injected, depends neither on the order
// nor on the folder of the files, and its .proto files compile.
func TestRandomSchemas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs := randomInputs.Draw(t, "schemas")
		files := generateRandom(t, inputs, root).Files
		for _, f := range files {
			switch {
			case strings.HasSuffix(f.Path, ".proto"):
				compiledProto(t, f.Path, string(f.Content))
			default:
				checkGo(t, f)
			}
		}
		moved := rapid.Permutation(inputs).Draw(t, "order")
		for i := range moved {
			moved[i].Name = "/somewhere/else/" + moved[i].Name
		}
		again := generateRandom(t, moved, root).Files
		if !slices.EqualFunc(files, again, func(a, b output.File) bool { return a.Path == b.Path && bytes.Equal(a.Content, b.Content) }) {
			t.Error("another order, other code")
		}
	})
}

// TestGeneratedTests vets the code of the schema sets and runs its generated tests,
// which must pass for every schema without errors. It merges the tests into a few
// packages, which build faster than one package per schema and than a single package.
func TestGeneratedTests(t *testing.T) {
	testlong.Skip(t, "builds much code")
	dir := testlong.Scratch(t)
	root := "github.com/btgen-dev/btgen/gen/" + filepath.ToSlash(dir)
	want := 0
	for _, inputs := range schemaSets(t, 3) {
		want += writeTested(t, dir, want, generateRandom(t, inputs, root).Files)
	}
	if out, err := exec.Command("go", "vet", testlong.CompileFast(root), "./"+filepath.ToSlash(dir)+"/...").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := exec.Command("go", "test", "-v", "-vet=off", testlong.CompileFast(root), "./"+filepath.ToSlash(dir)+"/tests...").CombinedOutput()
	if got := strings.Count(string(out), "--- PASS: "); err != nil || got != want {
		t.Errorf("%d of %d tests pass, %v\n%s", got, want, err, out)
	}
}

// schemaSets returns sets of schemas by name: random ones, the edges, the starters and
// the golden cases. Sets do not share packages.
func schemaSets(t *testing.T, seeds int) map[string][]gen.Input {
	t.Helper()
	sets := map[string][]gen.Input{"edges": edgeSchemas(), "conversions": corpus.Inputs(t, "testdata/conversions.yaml")}
	for seed := range seeds {
		sets[fmt.Sprintf("seed%d", seed)] = randomInputs.Example(seed)
	}
	for _, pattern := range templates.Starters() {
		text, err := templates.Starter(pattern)
		must(t, err)
		sets[pattern] = []gen.Input{{Name: "starter.yaml", Text: text}}
	}
	goldenSets(t, sets)
	for name, inputs := range sets {
		for i := range inputs {
			inputs[i].Text = packageLine.ReplaceAll(inputs[i].Text, []byte("${0}_"+name))
		}
	}
	return sets
}

// packageLine matches the line that names the package of a schema.
var packageLine = regexp.MustCompile(`(?m)^package: \w+`)

// nameLine matches the line with the name of a schema.
var nameLine = regexp.MustCompile(`(?m)^name: "?(\w+)"?`)

// goldenSets adds the golden cases that generate code.
func goldenSets(t *testing.T, sets map[string][]gen.Input) {
	t.Helper()
	paths, err := filepath.Glob("../golden/code/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no golden cases", err)
	}
	for _, path := range paths {
		a, err := archive.ParseFile(path)
		must(t, err)
		name := "golden_" + strings.TrimSuffix(filepath.Base(path), ".txtar")
		for _, f := range a.Files {
			if strings.HasPrefix(f.Name, "schemas/") {
				sets[name] = append(sets[name], gen.Input{Name: f.Name, Text: f.Data})
			}
		}
	}
}

// writeTested writes generated files, and their tests to a few packages, beginning with the one with the given number. It
// returns the number of tests.
func writeTested(t *testing.T, dir string, first int, files []output.File) (tests int) {
	t.Helper()
	for _, f := range files {
		folder, isTest := strings.CutSuffix(f.Path, "_btgen_test.go")
		if !isTest {
			write(t, filepath.Join(dir, filepath.FromSlash(f.Path)), f.Content)
			continue
		}
		name := strings.ReplaceAll(folder, "/", "_")
		content := packageClause.ReplaceAll(f.Content, []byte("package tests_test"))
		content = testNames.ReplaceAll(content, []byte("${0}_"+name))
		write(t, filepath.Join(dir, fmt.Sprint("tests", (first+tests)%testlong.Pick(1, 4)), name+"_btgen_test.go"), content)
		tests += bytes.Count(f.Content, []byte("\nfunc Test"))
	}
	return tests
}

// Replacements in generated tests that are merged into one package.
var (
	packageClause = regexp.MustCompile(`(?m)^package \w+_test$`)
	testNames     = regexp.MustCompile(`\bTest[A-Z]\w*Stored\b`)
)

// write writes a file and creates its folders.
func write(t *testing.T, path string, content []byte) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must(t, os.WriteFile(path, content, 0o666))
}

// texts returns schemas, for messages.
func texts(inputs []gen.Input) []string {
	var out []string
	for _, in := range inputs {
		out = append(out, string(in.Text))
	}
	return out
}

// generateRandom generates code and fails the test if the schemas, which are valid,
// have errors.
func generateRandom(t rapid.TB, inputs []gen.Input, root string) gen.Result {
	r, err := gen.Generate(inputs, emit.Target{ImportPath: root})
	if err == nil {
		err = r.Diagnostics.Err()
	}
	if err != nil {
		t.Fatalf("%v in\n%s", err, texts(inputs))
	}
	return r
}

// imports lists what generated code may import besides its own packages: the standard
// library, the client, and the runtime.
var imports = []string{
	"bytes", "context", "encoding/json", "errors", "iter", "slices", "testing", "time",
	"cloud.google.com/go/bigtable",
	runtime.ImportPath + "/codec", runtime.ImportPath + "/setup", runtime.ImportPath + "/store", runtime.ImportPath + "/storetest", runtime.ImportPath + "/window",
}

// checkGo checks one Go file.
func checkGo(t *rapid.T, f output.File) {
	formatted, err := format.Source(f.Content)
	if err != nil || !bytes.Equal(formatted, f.Content) {
		t.Errorf("%s is not as gofmt writes it (%v):\n%s", f.Path, err, f.Content)
	}
	if !bytes.HasPrefix(f.Content, []byte(output.Header+"\n"+output.SourceLine)) {
		t.Errorf("%s has no header", f.Path)
	}
	file, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Content, parser.ImportsOnly|parser.ParseComments)
	must(t, err)
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil || !slices.Contains(imports, path) && !strings.HasPrefix(path, root+"/") {
			t.Errorf("%s imports %s", f.Path, i.Path.Value)
		}
	}
}

// compiledProto compiles a .proto file.
func compiledProto(t rapid.TB, path, text string) protoreflect.FileDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{path: text}),
	})}
	out, err := compiler.Compile(context.Background(), path)
	must(t, err, text)
	return out[0]
}

// schemas is the corpus from which schemas are drawn.
var schemas = sync.OnceValues(func() (*corpus.Corpus, error) { return corpus.Load("../schemas", "../golden/code", "testdata") })

// randomInputs draws schemas without findings: up to three, in two packages.
var randomInputs = rapid.Custom(func(t *rapid.T) (out []gen.Input) {
	c, err := schemas()
	must(t, err)
	for i := range rapid.IntRange(1, 3).Draw(t, "schemas") {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		text := spoken(t, c.Draw(random, random.IntN(6)).Text)
		text = packageLine.ReplaceAll(text, []byte("package: "+rapid.SampledFrom([]string{"app", "time"}).Draw(t, "package")))
		in := gen.Input{Name: fmt.Sprintf("s%d.yaml", i), Text: nameLine.ReplaceAll(text, fmt.Appendf(nil, "name: ${1}%d", i))}
		if len(out) == 0 || !gen.Resolve(append(out, in)).Diagnostics.HasErrors() { // some have the same table
			out = append(out, in)
		}
	}
	return out
})

// spoken returns a schema whose texts for readers are such as a malicious author could write.
func spoken(t *rapid.T, text []byte) []byte {
	var schema map[string]any
	must(t, yaml.Unmarshal(text, &schema))
	schema["doc"] = prose(t)
	for _, section := range []string{"series", "fields", "queries"} {
		members, _ := schema[section].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if member, ok := members[name].(map[string]any); ok {
				if member["doc"] = prose(t); section == "fields" {
					member["unit"] = prose(t)
				}
			}
		}
	}
	text, err := yaml.Marshal(schema)
	must(t, err)
	return text
}

// prose returns a text that a malicious author could write, in quotes.
func prose(t *rapid.T) *yaml.Node {
	parts := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{"*/", "/*", "//", "`", `"`, `\`, "\n", "\n\n", "\u202e", "%d", "\n# Heading", "\n - item", "\n1. item", "\n\tcode", "\n[link]: http://x", "//go:build ignore", "+build x", "import \"C\"", "func init() {}", "}"}),
		rapid.StringN(0, 12, -1),
	), 0, 8).Draw(t, "prose")
	text := strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) && r != '\t' || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == utf8.RuneError) {
			return -1 // not allowed in schemas
		}
		return r
	}, strings.Join(parts, " "))
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text}
}

var must = assert.Must
