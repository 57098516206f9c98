package evolve_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/golden/inmemory"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// Snapshot is what a history has stored at its end, for the generated code of its newest schema.
// The program in testdata reads it.
type Snapshot struct {
	Seed   uint64
	Schema string
	Now    time.Time
	Series [][]Value
	Cells  []Cell
}

// Value is one of the types of series values.
type Value struct {
	Text  *string `json:",omitempty"`
	Bytes []byte  `json:",omitempty"`
	Int   *int64  `json:",omitempty"`
	Uint  *uint64 `json:",omitempty"`
	Bool  *bool   `json:",omitempty"`
}

// Cell is a cell of a table.
type Cell struct {
	Table, Family      string
	Row, Column, Value []byte
	Micros             int64
}

//go:embed testdata/stored.go.txt
var storedProgram []byte

// generatedVariable is the environment variable for how many histories have their code compiled.
const generatedVariable = "BTGEN_EDITS_GENERATED"

// TestHistoriesGenerated compiles the code of the last schemas of some histories, and has it read
// what all their versions have stored. The histories check that package dynamic reads what was
// promised, and the program that the generated code reads the same.
func TestHistoriesGenerated(t *testing.T) {
	testlong.Skip(t, "compiles the code of histories")
	dir := testlong.Scratch(t)
	root := "github.com/btgen-dev/btgen/gen/evolve/" + filepath.ToSlash(dir)
	m := new(inmemory.Bigtable)
	b, err := inMemory(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	var all []Snapshot
	var imports, cases bytes.Buffer
	first := number(t, seedVariable, 1)
	for seed := first; seed < first+number(t, generatedVariable, 6); seed++ {
		h, err := lived(t.Context(), b, uint64(seed))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range h.lives {
			v := l.newest()
			name := fmt.Sprintf("c%d", len(all))
			generate(t, dir, root, name, v)
			fmt.Fprintf(&imports, "\t%s %q\n", name, root+"/"+name+"/app")
			fmt.Fprintf(&cases, "\t%d: func(t *testing.T, c *bigtable.Client, l *layout.Layout, series [][]any, o store.ReaderOptions) int {\n\t\treturn dynamictest.Reads(t, c, l, series, o, %s.New%sReader)\n\t},\n", len(all), name, v.drawn.name)
			all = append(all, snapshot(m, uint64(seed), l))
		}
	}
	text := bytes.Replace(storedProgram, []byte("// IMPORTS\n"), imports.Bytes(), 1)
	text = bytes.Replace(text, []byte("\t// CASES\n"), cases.Bytes(), 1)
	stored, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{"stored_test.go": text, "stored.json": stored} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-v", "-vet=off", testlong.CompileFast(root), ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// generate writes the code of a version.
func generate(t *testing.T, dir, root, name string, v *version) {
	t.Helper()
	result, err := gen.Generate([]gen.Input{{Name: name + ".yaml", Text: v.text}}, emit.Target{ImportPath: root + "/" + name})
	if err != nil || result.Diagnostics.HasErrors() {
		t.Fatal(err, result.Diagnostics)
	}
	for _, f := range result.Files {
		if !strings.HasSuffix(f.Path, ".go") || strings.HasSuffix(f.Path, "_test.go") || strings.Contains(f.Path, "apptest/") {
			continue
		}
		path := filepath.Join(dir, name, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// snapshot returns what a life has stored.
func snapshot(m *inmemory.Bigtable, seed uint64, l *life) Snapshot {
	v := l.newest()
	out := Snapshot{Seed: seed, Schema: string(v.text), Now: l.now}
	for _, series := range l.series {
		var values []Value
		for _, value := range v.given(series) {
			values = append(values, valueOf(value))
		}
		out.Series = append(out.Series, values)
	}
	for _, id := range allTables {
		for key, row := range m.Rows(id) {
			for _, c := range row {
				out.Cells = append(out.Cells, Cell{id, c.Family, []byte(key), []byte(c.Qualifier), c.Value, c.Micros})
			}
		}
	}
	return out
}

// valueOf returns a series value.
func valueOf(v any) Value {
	switch v := v.(type) {
	case string:
		return Value{Text: &v}
	case int64:
		return Value{Int: &v}
	case uint64:
		return Value{Uint: &v}
	case bool:
		return Value{Bool: &v}
	}
	return Value{Bytes: v.([]byte)}
}
