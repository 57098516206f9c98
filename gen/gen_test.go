package gen_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
)

// many returns n schemas of six fields with alternating patterns.
func many(n int) []gen.Input {
	tables := []string{
		"pattern: bucket_new_cells\n    key: {delimiter: \"#\", segments: [region, host, bucket]}\n    bucket: 1d",
		"pattern: bucket_new_columns\n    key: {delimiter: \"#\", segments: [region, host, metric, bucket]}\n    bucket: 1d",
		"pattern: bucket_serialized\n    key: {delimiter: \"#\", segments: [region, host, bucket]}\n    bucket: 1d",
		"pattern: single_unserialized\n    key: {delimiter: \"#\", segments: [region, host, time]}",
	}
	out := make([]gen.Input, n)
	for i := range out {
		out[i] = gen.Input{Name: fmt.Sprintf("s%04d.yaml", i), Text: fmt.Appendf(nil, `btgen: v1
package: bench
name: Event%[1]d
series: {region: string, host: int64}
time: {precision: 1s}
fields:
  cpu: {type: float64, number: 1, doc: used}
  memory: {type: int64, number: 2, unit: B}
  disk: {type: int64, number: 3, optional: true}
  state: {type: enum, of: [up, down], number: 4}
  note: {type: string, number: 5, default: none}
  since: {type: timestamp, number: 6}
tables:
  events%[1]d:
    %[2]s
    family: m
    ttl: {max_age: 30d}
`, i, tables[i%len(tables)])}
	}
	return out
}

// generate fails the test if the schemas have errors.
func generate(tb testing.TB, inputs []gen.Input) gen.Result {
	tb.Helper()
	r, err := gen.Generate(inputs, emit.Target{ImportPath: "example.com/app/generated"})
	must(tb, err)
	must(tb, r.Diagnostics.Err())
	return r
}

// TestOneMoreFieldAddsLines checks that adding an optional field at the end adds at
// most fourteen lines to the code of a table and changes at most three, so that a review
// shows the addition. Events in one value have four more, which say what fields readers can choose, and how it is parsed.
func TestOneMoreFieldAddsLines(t *testing.T) {
	for i, before := range many(4) {
		after := before
		after.Text = bytes.Replace(before.Text, []byte("tables:"), []byte("  extra: {type: string, number: 7, optional: true}\ntables:"), 1)
		file := fmt.Sprintf("bench/event%d_btgen.go", i)
		lines := map[string]int{}
		for _, line := range linesOf(t, before, file) {
			lines[line]--
		}
		for _, line := range linesOf(t, after, file) {
			lines[line]++
		}
		added, gone := 0, 0
		for line, n := range lines {
			if n != 0 {
				t.Logf("%+d: %s", n, line)
			}
			added, gone = added+max(n, 0), gone+max(-n, 0)
		}
		if added > 18 || gone > 3 {
			t.Errorf("%s: %d lines added and %d gone", file, added, gone)
		}
	}
}

// linesOf returns the lines of a file generated from a schema.
func linesOf(t *testing.T, input gen.Input, file string) []string {
	t.Helper()
	for _, f := range generate(t, []gen.Input{input}).Files {
		if f.Path == file {
			return strings.Split(string(f.Content), "\n")
		}
	}
	t.Fatalf("no %s", file)
	return nil
}

// TestUntested checks that the generated test of a schema says so if no event fits all
// of its tables.
func TestUntested(t *testing.T) {
	const text = `btgen: v1
package: app
name: Event
series: {id: bytes}
fields: {v: int64}
tables:
  short: {pattern: single_unserialized, key: {delimiter: "#", segments: [{name: id, encoding: raw, pad: 2}, time]}, family: m, ttl: {keep: forever}}
  long:  {pattern: single_unserialized, key: {delimiter: "#", segments: [{name: id, encoding: raw, pad: 4}, time]}, family: m, ttl: {keep: forever}}
`
	for _, f := range generate(t, []gen.Input{{Name: "event.yaml", Text: []byte(text)}}).Files {
		if f.Path == "app/event_btgen_test.go" && bytes.Contains(f.Content, []byte("t.Skip(")) {
			return
		}
	}
	t.Error("no test that is skipped")
}

func FuzzGenerate(f *testing.F) {
	for _, in := range append(corpus.Inputs(f, "../schemas/*.yaml"), many(4)...) {
		f.Add(in.Text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := gen.Generate([]gen.Input{{Name: "x.yaml", Text: text}}, emit.Target{ImportPath: "example.com/app"})
		assert.Is(t, nil, err)
		if r.Diagnostics.HasErrors() != (len(r.Files) == 0) {
			t.Errorf("%d files, %v", len(r.Files), r.Diagnostics)
		}
	})
}

// TestExportsAreDocumented checks that every exported function, method and type of generated code has a comment that begins
// with its name.
func TestExportsAreDocumented(t *testing.T) {
	packages, positions := map[string][]*ast.File{}, token.NewFileSet()
	for _, f := range generate(t, append(corpus.Inputs(t, "../schemas/*.yaml"), many(4)...)).Files {
		if strings.HasSuffix(f.Path, ".go") && !strings.HasSuffix(f.Path, "_test.go") {
			file, err := parser.ParseFile(positions, f.Path, f.Content, parser.ParseComments)
			must(t, err)
			packages[path.Dir(f.Path)] = append(packages[path.Dir(f.Path)], file)
		}
	}
	for name, files := range packages {
		pkg, err := doc.NewFromFiles(positions, files, name)
		must(t, err)
		functions := pkg.Funcs
		for _, of := range pkg.Types {
			functions = slices.Concat(functions, of.Funcs, of.Methods)
			if !strings.HasPrefix(of.Doc, of.Name) {
				t.Errorf("%s: %s is documented as %q", name, of.Name, of.Doc)
			}
		}
		for _, f := range functions {
			if !strings.HasPrefix(f.Doc, f.Name) {
				t.Errorf("%s: %s is documented as %q", name, f.Name, f.Doc)
			}
		}
	}
}
