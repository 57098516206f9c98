package schema_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/internal/editor"
	"github.com/btgen-dev/btgen/gen/internal/frame"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/archive"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// sample is a schema file, valid or not.
type sample struct {
	name string
	text []byte
}

// samples returns the schemas of this repository: examples, starters, the inputs
// of the golden cases, and the cases of errors of the language.
func samples(tb testing.TB) []sample {
	tb.Helper()
	out := []sample{{"a package named true", []byte(frame.Schema("package: true\n"))}}
	for _, path := range glob(tb, "../../schemas/*.yaml", "../../templates/starter/*.yaml", "testdata/*.yaml") {
		text, err := os.ReadFile(path)
		must(tb, err)
		out = append(out, sample{path, text})
	}
	for _, path := range glob(tb, "../../golden/*/*.txtar", "testdata/errors/*.txtar") {
		a, err := archive.ParseFile(path)
		must(tb, err)
		for _, f := range a.Files {
			if filepath.Ext(f.Name) != ".yaml" {
				continue
			}
			text := f.Data
			if strings.HasPrefix(path, "testdata") && filepath.Base(path) != "raw.txtar" {
				text = []byte(frame.Schema(string(text)))
			}
			out = append(out, sample{path + "/" + f.Name, text})
		}
	}
	return out
}

// glob returns the files that match patterns.
func glob(tb testing.TB, patterns ...string) []string {
	tb.Helper()
	var out []string
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			tb.Fatal("no files ", pattern, err)
		}
		out = append(out, paths...)
	}
	return out
}

// inexpressible lists errors that JSON Schema cannot express: the reason, and a pattern of
// the message with its hint after a semicolon.
var inexpressible = []struct {
	why     string
	message *regexp.Regexp
}{
	{"it refers to another place of the file", regexp.MustCompile(`is not a series value; (did you|the series|every query|it is a field)|is already a series value|is already used by ".*"|is not a value of the enum|names the unknown (table|value|query|field)|^where of .* names the series value|is not in its by|but no by|has both .* and|has prefix and range|, and cannot (delete|list series)|^written_at is set twice`)},
	{"it is about how the YAML is written, which is gone in JSON", regexp.MustCompile(`^duplicate key|^text after the closing bracket|^YAML .* are not supported|found "(010|0x10)"`)},
	{"it depends on several keys of a mapping", regexp.MustCompile(`^an older column needs a name|^only older enums have values`)},
	{"it needs arithmetic", regexp.MustCompile(`does not divide|is longer than 29[02] years|narrower than|does not fit in 64 bits`)},
	{"it is a syntax within a string", regexp.MustCompile(`is not valid JSON;`)},
}

// reason returns why JSON Schema cannot express any of the diagnostics, or "" if it can
// express one of them.
func reason(found diag.List) string {
	why := ""
	for _, d := range found {
		why = ""
		for _, i := range inexpressible {
			if i.message.MatchString(d.Message + "; " + d.Hint) {
				why = i.why
			}
		}
		if why == "" {
			return ""
		}
	}
	return why
}

// keyless returns errors for series values that a row key cannot contain. Package layout
// reports them, and the JSON Schema can express them.
func keyless(s *schema.Schema) diag.List {
	var out diag.List
	for _, f := range s.Series {
		if t := f.Type.V; t == schema.Float32 || t == schema.Float64 || t == schema.JSON {
			out.Errorf(f.Type.Pos, "a %s cannot be part of a row key", t)
		}
	}
	return out
}

// TestJSONSchemaAgrees checks that an editor reports an error if and only if Parse does,
// except for errors that JSON Schema cannot express.
func TestJSONSchemaAgrees(t *testing.T) {
	refused, accepted := 0, 0
	for _, s := range testlong.Sample(samples(t), 10) {
		parsed, found := schema.Parse("x.yaml", s.text)
		if len(found) == 0 {
			found = keyless(parsed)
		}
		err := editor.Check(s.text)
		switch why := reason(found); {
		case len(found) == 0 && err != nil:
			t.Errorf("%s: refused by the editor alone: %v", s.name, err)
		case len(found) > 0 && why == "" && err == nil:
			t.Errorf("%s: accepted by the editor: %v", s.name, found)
		case len(found) > 0 && why != "" && err != nil && !strings.Contains(s.name, "raw.txtar"): // those are not schemas
			t.Errorf("%s: refused by the editor, although %s: %v", s.name, why, err)
		case err != nil:
			refused++
		default:
			accepted++
		}
	}
	if least := testlong.Pick(20, 200); refused < least || accepted < least {
		t.Errorf("%d samples refused and %d accepted", refused, accepted)
	}
}

// TestJSONSchemaIsValid checks both schemas against the JSON Schema meta-schema, and that
// they are deterministic.
func TestJSONSchemaIsValid(t *testing.T) {
	for name, write := range map[string]func() []byte{"schema": schema.JSONSchema, "config": schema.ConfigJSONSchema} {
		text := write()
		if _, err := editor.Compile(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(text, write()) || !bytes.HasSuffix(text, []byte("}\n")) {
			t.Errorf("%s is different every time, or has no end", name)
		}
	}
}

// TestConfigJSONSchema checks the schema of btgen.yaml with a few files.
func TestConfigJSONSchema(t *testing.T) {
	check, err := editor.Compile(schema.ConfigJSONSchema())
	must(t, err)
	for _, text := range []string{
		"btgen: v1\n", "btgen: v1\nschemas: [schemas, more/balloon.yaml]\nout: internal/gen\n", "",
		"out: gen\n", "btgen: v1\nouts: gen\n", "btgen: v1\nschemas: x\n", "btgen: v1\nschemas: []\n", "btgen: v1\nout: \"\"\n",
	} {
		_, found := schema.ParseConfig(schema.ConfigName, []byte(text))
		if err := check([]byte(text)); (err != nil) != found.HasErrors() {
			t.Errorf("%q: %v, but the editor: %v", text, found, err)
		}
	}
}
