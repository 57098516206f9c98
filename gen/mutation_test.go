package gen_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// pinned is a schema whose generated tests must notice each of the mutations.
const pinned = `btgen: v1
package: app
name: Usage
series: {region: string, host: string}
time: {precision: 1s}
fields: {busy: {type: float64, number: 1}, idle: {type: float64, number: 2}, errors: {type: int64, number: 3}}
tables:
  cells:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [region, host, bucket]}
    bucket: 1h
    family: m
    ttl: {max_age: 30d}
  blobs:
    pattern: single_serialized
    key: {delimiter: "#", segments: [host, region, time]}
    family: b
    ttl: {max_age: 60d}
    allow: {C07: "failed writes are repeated"}
queries:
  ByRegions: {by: [region], many: region, allow: {K18: "rarely"}}
`

// mutations are edits of the schema after which other bytes are stored, and none.
var mutations = []struct{ what, old, new string }{
	{"columns are swapped", "busy: {type: float64, number: 1}, idle: {type: float64,", "busy: {type: float64, number: 1, column: idle}, idle: {type: float64, column: busy,"},
	{"another delimiter", `cells:
    pattern: bucket_new_cells
    key: {delimiter: "#"`, `cells:
    pattern: bucket_new_cells
    key: {delimiter: "|"`},
	{"other segments", "segments: [region, host, bucket]", "segments: [region, bucket, host]"},
	{"a doubled bucket", "bucket: 1h", "bucket: 2h"},
	{"a tenfold ttl", "max_age: 30d", "max_age: 300d"},
	{"another family", "family: b", "family: c"},
	{"other numbers", "idle: {type: float64, number: 2}, errors: {type: int64, number: 3}", "idle: {type: float64, number: 4}, errors: {type: int64, number: 3}"},
	{"text values", "    bucket: 1h", "    bucket: 1h\n    values: text"},
	{"no change", "", ""},
}

// Class: tests that pass whatever the code does. The generated tests of a schema fail for the code of each schema
// that stores other bytes, without a change of theirs.
func TestGeneratedTestsFail(t *testing.T) {
	testlong.Skip(t, "builds much code")
	dir := testlong.Scratch(t)
	at := "github.com/btgen-dev/btgen/gen/" + filepath.ToSlash(dir)
	for i, m := range mutations {
		target := emit.Target{ImportPath: fmt.Sprintf("%s/m%d", at, i)}
		if strings.Count(pinned, m.old) != 1 && m.old != "" {
			t.Fatalf("%s: not one place", m.what)
		}
		for name, text := range map[string]string{"code": strings.Replace(pinned, m.old, m.new, 1), "tests": pinned} {
			r, err := gen.Generate([]gen.Input{{Name: "usage.yaml", Text: []byte(text)}}, target)
			if err != nil || r.Diagnostics.HasErrors() {
				t.Fatalf("%s: %v %v", m.what, err, r.Diagnostics)
			}
			for _, f := range r.Files {
				if strings.HasSuffix(f.Path, "_btgen_test.go") == (name == "tests") {
					write(t, filepath.Join(dir, fmt.Sprintf("m%d", i), filepath.FromSlash(f.Path)), f.Content)
				}
			}
		}
		out, err := exec.Command("go", "test", "-vet=off", testlong.CompileFast(at), fmt.Sprintf("./%s/m%d/...", filepath.ToSlash(dir), i)).CombinedOutput()
		failed := bytes.Contains(out, []byte("--- FAIL: TestUsageStored"))
		if changed := m.old != ""; failed != changed || (err != nil) != changed {
			t.Errorf("%s: %v\n%s", m.what, err, out)
		}
	}
}
