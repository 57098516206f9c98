package golden

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/neighbor"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/archive"
	"github.com/btgen-dev/btgen/golden/assert"
)

// TestNeighbors compares the files for other tools with reviewed ones. The module in neighbors
// checks these files as the tools would.
func TestNeighbors(t *testing.T) {
	paths, err := filepath.Glob("neighbors/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			a, err := archive.ParseFile(path)
			assert.Must(t, err)
			c := goldenCase{path, a}
			if got := c.neighbors(t); *update {
				assert.Must(t, archive.Save(path, got))
			} else {
				assert.Same(t, texts(c.wanted()), texts(got))
			}
		})
	}
}

// neighbors returns the files and the findings of a case with a btgen.yaml, without the findings
// in its schemas.
func (c goldenCase) neighbors(t *testing.T) []txtar.File {
	t.Helper()
	config := &schema.Config{}
	var inputs []gen.Input
	sources := map[string][]byte{}
	for _, f := range c.archive.Files {
		sources[f.Name] = f.Data
		switch {
		case f.Name == schema.ConfigName:
			var found diag.List
			if config, found = schema.ParseConfig(f.Name, f.Data); len(found) > 0 {
				t.Fatal(found)
			}
		case strings.HasPrefix(f.Name, "schemas/"):
			inputs = append(inputs, gen.Input{Name: f.Name, Text: f.Data, Source: f.Name, Project: schema.ConfigName})
		}
	}
	result := gen.Resolve(inputs)
	if result.Diagnostics.HasErrors() {
		t.Fatal(result.Diagnostics)
	}
	files, found := neighbor.Files(result.Layouts, config)
	var out []txtar.File
	if text := found.Format(func(file string) []byte { return sources[file] }); text != "" {
		out = append(out, txtar.File{Name: diagnostics, Data: []byte(text)})
	}
	if len(files) == 0 != found.HasErrors() {
		t.Errorf("%d files, %v", len(files), found)
	}
	for _, f := range files {
		out = append(out, txtar.File{Name: archive.Results + f.Path, Data: f.Content})
	}
	slices.Reverse(inputs)
	again, _ := neighbor.Files(gen.Resolve(inputs).Layouts, config)
	for i, f := range files {
		if string(again[i].Content) != string(f.Content) {
			t.Errorf("%s depends on the order of the schemas", f.Path)
		}
	}
	return out
}
