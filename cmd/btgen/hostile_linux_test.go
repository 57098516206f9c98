package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/termtest"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// yamlText is a hostile text in YAML.
var yamlText = func() string {
	var b strings.Builder
	for _, r := range termtest.Hostile {
		fmt.Fprintf(&b, `\U%08x`, r)
	}
	return `"` + b.String() + `"`
}()

// hostileProse is a hostile text that the language admits in comments.
const hostileProse = "x\u202e\u2066\u200b\u00ad\ufeff y"

// hostileSchema is a valid schema with hostile texts wherever the language admits them.
var hostileSchema = `btgen: v1
package: app
name: Event
doc: "` + hostileProse + `"
series: {host: {type: string, doc: "` + hostileProse + `", example: ` + yamlText + `}, id: {type: bytes, example: "eA=="}}
time: {precision: 1s}
fields:
  text: {type: string, doc: "` + hostileProse + `", column: ` + yamlText + `, unit: "` + hostileProse + `", example: ` + yamlText + `, default: ` + yamlText + `}
  json: {type: json, doc: x, example: '"\u009b` + "\u202e\u200b" + `"'}
  kind: {type: enum, of: [a, b]}
tables:
  events:
    doc: "` + hostileProse + `"
    pattern: bucket_new_cells
    key: {delimiter: "\x02", segments: [{const: ` + yamlText + `}, bucket, {name: id, encoding: hex}, host]}
    bucket: 1h
    family: m
    ttl: {max_age: 30d}
    allow: {K01: "` + hostileProse + `"}
queries:
  Export: {by: [], scan: "` + hostileProse + `", doc: "` + hostileProse + `"}
# ` + hostileProse + `
`

// hostileName is the name of a file.
const hostileName = "a\x1b]0;title\x07\u009b2J\u202e\u200b\ny.yaml"

// shown runs a command on a terminal, and returns what that shows.
func shown(t *testing.T, args ...string) string {
	t.Helper()
	terminal, end := termtest.Open(t)
	run(args, terminal, terminal)
	return end()
}

// TestHostileTexts runs every command in every format on a terminal, with schemas, files and
// arguments that contain what steers terminals. None of it reaches the terminal, nor a file that
// is written for people or other tools. Mistakes in each line are tried at length only.
func TestHostileTexts(t *testing.T) {
	all := hostileVariants()
	for _, schema := range all[:testlong.Pick(1, len(all))] {
		schemaFile, other := filepath.Join("schemas", schema.file), filepath.Join("other", schema.file)
		commands := termtest.Commands(t, "testdata/hostile.txt", "$SCHEMA", schemaFile, "$OTHER", other)
		t.Run(schema.name, func(t *testing.T) {
			for _, noColor := range testlong.Sample([]string{"", "1"}, 2) {
				t.Setenv("NO_COLOR", noColor)
				hostileProject(t, schema.file, schema.text)
				if text := shown(t, "lint"); schema.text == hostileSchema && !strings.Contains(text, " 0 errors") {
					t.Fatalf("the schema is not valid: %s", text)
				}
				for _, args := range testlong.Sample(commands, 4) {
					termtest.Check(t, strconv.Quote(strings.Join(args, " ")), shown(t, args...))
				}
				checkFiles(t, schema.file)
			}
		})
	}
}

// hostileVariant is a schema, and the name of its file.
type hostileVariant struct{ name, file, text string }

// hostileVariants are a schema that is valid, in files with usual and hostile names, and others
// with mistakes everywhere.
func hostileVariants() []hostileVariant {
	out := []hostileVariant{{"valid", "event.yaml", hostileSchema}, {"name of a file", hostileName, hostileSchema}}
	for i, line := range strings.Split(hostileSchema, "\n") {
		if strings.Contains(line, hostileProse) && i%2 == 1 {
			out = append(out, hostileVariant{fmt.Sprint("line ", i+1), "event.yaml", strings.Replace(hostileSchema, line, strings.Replace(line, `"`+hostileProse+`"`, yamlText, 1), 1)})
		}
	}
	return append(out, hostileVariant{"raw", "event.yaml", termtest.Hostile + hostileSchema}, hostileVariant{"keys", "event.yaml", hostileSchema + yamlText + ": x\n"})
}

// hostileProject creates a project with a schema, enters its folder, and generates its code.
func hostileProject(t *testing.T, file, text string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"go.mod":                           "module example.com/app\n\ngo 1.26\n\nrequire github.com/btgen-dev/btgen v1.0.0\n",
		"btgen.yaml":                       "btgen: v1\nterraform: true\nlogical_views: true\nbigquery: {instance: projects/my-project/instances/my-instance, dataset: d}\n",
		filepath.Join("schemas", file):     text,
		filepath.Join("other", file):       strings.Replace(text, "max_age: 30d", "max_age: 7d", 1),
		"generated/app/event_extra.go":     "package app // " + termtest.Hostile + "\n",
		filepath.Join("against", "a.yaml"): strings.Replace(text, "max_age: 30d", "max_age: 90d", 1),
	} {
		writeFile(t, name, text)
	}
}

// checkFiles checks the files that the commands have written.
func checkFiles(t *testing.T, source string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, source) || strings.HasSuffix(path, "event_extra.go") || strings.HasSuffix(path, "a.yaml") {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && filepath.Ext(path) != ".png" {
			termtest.Check(t, strconv.Quote(path), string(text))
		}
		return err
	})
	assert.Is(t, nil, err)
}
