// Package golden compares the output of btgen with reviewed output: files or
// diagnostics. Each case is an archive, as package archive reads it, with the schemas in "schemas/"
// and the results in "want/".
//
//	go test ./golden -update
//
// rewrites the results. It does not save code that does not compile.
package golden

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/golden/archive"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// importPath is the import path of the output folder in all cases.
const importPath = "example.com/app/generated"

// diagnostics is the name of the file with the findings, if there are any.
const diagnostics = archive.Results + "diagnostics"

// goldenCase is one archive.
type goldenCase struct {
	path    string
	archive *txtar.Archive
}

// cases reads all archives.
func cases(t *testing.T) []goldenCase {
	t.Helper()
	var out []goldenCase
	for _, pattern := range []string{"code/*.txtar", "diagnostics/*.txtar", "newcomer/*.txtar", "matrix/*.txtar", "rules/*.txtar"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal("no cases in ", pattern, err)
		}
		for _, path := range paths {
			a, err := archive.ParseFile(path)
			if a == nil || err != nil && !*update {
				t.Fatal(err)
			}
			out = append(out, goldenCase{path, a})
		}
	}
	return out
}

// generate runs btgen on the schemas of a case, for code below root. It returns the
// results as files of an archive.
func (c goldenCase) generate(t *testing.T, root string) ([]txtar.File, gen.Result) {
	t.Helper()
	var inputs []gen.Input
	for _, f := range c.archive.Files {
		if strings.HasPrefix(f.Name, "schemas/") {
			inputs = append(inputs, gen.Input{Name: f.Name, Text: f.Data})
		}
	}
	if len(inputs) == 0 {
		t.Fatalf("%s: no schemas", c.path)
	}
	result, err := gen.Generate(inputs, emit.Target{ImportPath: root})
	assert.Must(t, err)
	var out []txtar.File
	text := result.Diagnostics.Format(func(file string) []byte {
		i := slices.IndexFunc(inputs, func(in gen.Input) bool { return in.Name == file })
		return inputs[i].Text
	})
	if text != "" {
		out = append(out, txtar.File{Name: diagnostics, Data: []byte(text)})
	}
	if strings.HasPrefix(c.path, "code") {
		for _, f := range result.Files {
			out = append(out, txtar.File{Name: archive.Results + f.Path, Data: f.Content})
		}
	}
	return out, result
}

// wanted returns the expected results in the archive.
func (c goldenCase) wanted() []txtar.File {
	return slices.DeleteFunc(slices.Clone(c.archive.Files), func(f txtar.File) bool { return !strings.HasPrefix(f.Name, archive.Results) })
}

func TestGolden(t *testing.T) {
	all := cases(t)
	if *update {
		compile(t, all)
	}
	results := map[string][]txtar.File{}
	for _, c := range all {
		t.Run(c.path, func(t *testing.T) {
			got, result := c.generate(t, importPath)
			checkErrors(t, c, result)
			if *update {
				results[c.path] = got
			} else if diff := cmp.Diff(texts(c.wanted()), texts(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for range 2 { // the second time as edits of what was saved
		for path, got := range results {
			assert.Must(t, archive.Save(path, got))
		}
	}
}

// TestExamples compares the code of the example schemas with that in generated/, which has every type.
func TestExamples(t *testing.T) {
	inputs := corpus.Inputs(t, "../schemas/*.yaml")
	for i := range inputs {
		inputs[i].Source = inputs[i].Name
	}
	result, err := gen.Generate(inputs, emit.Target{ImportPath: "github.com/btgen-dev/btgen/generated"})
	if err != nil || result.Diagnostics.HasErrors() {
		t.Fatal(err, result.Diagnostics)
	}
	for _, f := range result.Files {
		want, err := os.ReadFile("../generated/" + f.Path)
		assert.Must(t, err)
		if diff := cmp.Diff(string(want), string(f.Content)); diff != "" {
			t.Fatalf("%s: run go run ./cmd/btgen generate (-file +generated)\n%s", f.Path, diff)
		}
	}
}

// texts converts files for comparison with readable differences.
func texts(files []txtar.File) map[string]string {
	out := map[string]string{}
	for _, f := range files {
		out[f.Name] = string(f.Data)
	}
	return out
}

// compile vets the changed code of all cases in a folder of this module, and fails the
// test before anything is saved if it does not compile. The folder always has the same
// name, so that Go's build cache contains what has not changed.
func compile(t *testing.T, all []goldenCase) {
	t.Helper()
	const dir = "compile-cases"
	assert.Must(t, os.RemoveAll(dir)) // left by an interrupted run
	defer os.RemoveAll(dir)
	changed := 0
	for _, c := range all {
		if got, _ := c.generate(t, importPath); !strings.HasPrefix(c.path, "code") || cmp.Equal(texts(c.wanted()), texts(got)) {
			continue // compiled before it was saved
		}
		changed++
		name := strings.TrimSuffix(filepath.Base(c.path), ".txtar")
		_, result := c.generate(t, "github.com/btgen-dev/btgen/golden/"+dir+"/"+name)
		for _, f := range result.Files {
			path := filepath.Join(dir, name, filepath.FromSlash(f.Path))
			assert.Must(t, os.MkdirAll(filepath.Dir(path), 0o777))
			writeFile(t, path, f.Content)
		}
	}
	if changed == 0 {
		return
	}
	if out, err := exec.Command("go", "vet", "./"+dir+"/...").CombinedOutput(); err != nil {
		t.Fatalf("not saved, since the code does not compile: %v\n%s", err, out)
	}
}

// TestRules checks that every rule has a case with a finding and a similar one without.
func TestRules(t *testing.T) {
	for _, rule := range lint.Rules() {
		if rule.By != lint.BySchema && rule.By != lint.ByLanguage {
			continue // not about schemas
		}
		if found := reviewed(t, "rules/"+rule.ID+".txtar"); !strings.Contains(found, "["+rule.ID+"]") {
			t.Errorf("rule %s does not fire in its case", rule.ID)
		}
		found := reviewed(t, "rules/"+rule.ID+"_near.txtar")
		if strings.Contains(found, "["+rule.ID+"]") || found != "" && !strings.Contains(found, ": advice: ") {
			t.Errorf("the near miss of rule %s is none:%s", rule.ID, found)
		}
	}
}

// reviewed returns the diagnostics in an archive.
func reviewed(t *testing.T, path string) string {
	t.Helper()
	a, err := archive.ParseFile(path)
	if err != nil {
		t.Error(err)
		return ""
	}
	return texts(a.Files)[diagnostics]
}

// checkErrors checks that a case with code has no errors and that the others have findings.
func checkErrors(t *testing.T, c goldenCase, result gen.Result) {
	t.Helper()
	found := result.Diagnostics.HasErrors()
	switch kind, _, _ := strings.Cut(c.path, "/"); {
	case kind == "rules":
	case kind == "newcomer" && len(result.Diagnostics) == 0, kind != "newcomer" && found == (kind == "code"):
		t.Errorf("%s: errors: %v", c.path, found)
	}
}
