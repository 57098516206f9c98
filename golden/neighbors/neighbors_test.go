// Package neighbors_test checks the files for other tools as these tools would: it parses them,
// compares them with the published schemas of the tools, and with what setup creates. It is a
// separate module, so that no other depends on the parsers.
package neighbors_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/neighbor"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/archive"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/schemas"
)

// project is a set of schemas and the files that btgen generates of them.
type project struct {
	name    string
	layouts []*layout.Layout
	files   map[string]string
}

// exampleProject returns the project of the example schemas.
func exampleProject(t *testing.T) project {
	t.Helper()
	files := map[string][]byte{"btgen.yaml": []byte("btgen: v1\nterraform: true\nlogical_views: true\n" +
		"bigquery: {dataset: warehouse, instance: projects/my-project/instances/events}\n")}
	for name, text := range schemas.All() {
		files["schemas/"+name+".yaml"] = []byte(text)
	}
	return projectOf(t, "example schemas", files)
}

// projects returns the examples and the golden cases.
func projects(t *testing.T) []project {
	t.Helper()
	out := []project{exampleProject(t)}
	paths, err := filepath.Glob("*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		a, err := archive.ParseFile(path)
		assert.Must(t, err)
		files := map[string][]byte{}
		for _, f := range a.Files {
			files[f.Name] = f.Data
		}
		if _, fails := files["want/diagnostics"]; !fails {
			out = append(out, projectOf(t, path, files))
		}
	}
	return out
}

// projectOf generates the files of a project.
func projectOf(t *testing.T, name string, files map[string][]byte) project {
	t.Helper()
	config, found := schema.ParseConfig("btgen.yaml", files["btgen.yaml"])
	if len(found) > 0 {
		t.Fatal(found)
	}
	var inputs []gen.Input
	for name, text := range files {
		if strings.HasPrefix(name, "schemas/") {
			inputs = append(inputs, gen.Input{Name: name, Text: text, Source: name, Project: "btgen.yaml"})
		}
	}
	result := gen.Resolve(inputs)
	if result.Diagnostics.HasErrors() {
		t.Fatal(result.Diagnostics)
	}
	made, found := neighbor.Files(result.Layouts, config)
	if len(found) > 0 {
		t.Fatal(found)
	}
	p := project{name: name, layouts: result.Layouts, files: map[string]string{}}
	for _, f := range made {
		p.files[f.Path] = string(f.Content)
	}
	return p
}

// facts reads facts about a tool.
func facts[T any](t *testing.T, name string) T {
	t.Helper()
	var out T
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	assert.Must(t, err)
	assert.Must(t, json.Unmarshal(text, &out))
	return out
}
