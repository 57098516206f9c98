package gen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/bufbuild/protocompile"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/golden/archive"
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
				checkProto(t, f)
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
	out, err := exec.Command("go", append([]string{"test", "-v", "-vet=off", testlong.CompileFast(root)}, testFolders(dir)...)...).CombinedOutput()
	if got := strings.Count(string(out), "--- PASS: "); err != nil || got != want {
		t.Errorf("%d of %d tests pass, %v\n%s", got, want, err, out)
	}
}

// schemaSets returns sets of schemas by name: random ones, the edges, the starters and
// the golden cases. Sets do not share packages.
func schemaSets(t *testing.T, seeds int) map[string][]Input {
	t.Helper()
	sets := map[string][]Input{"edges": edgeSchemas(), "odd": oddSchemas(), "conversions": conversions(t)}
	for seed := range seeds {
		sets[fmt.Sprintf("seed%d", seed)] = randomInputs.Example(seed)
	}
	for _, pattern := range templates.Starters() {
		text, err := templates.Starter(pattern)
		if err != nil {
			t.Fatal(err)
		}
		sets[pattern] = []Input{{Name: "starter.yaml", Text: text}}
	}
	goldenSets(t, sets)
	for name, inputs := range sets {
		for i := range inputs {
			if name == "odd" {
				break // these packages have the names
			}
			inputs[i].Text = packageLine.ReplaceAll(inputs[i].Text, []byte("${0}_"+name))
		}
	}
	return sets
}

// packageLine matches the line that names the package of a schema.
var packageLine = regexp.MustCompile(`(?m)^package: \w+`)

// goldenSets adds the golden cases that generate code.
func goldenSets(t *testing.T, sets map[string][]Input) {
	t.Helper()
	paths, err := filepath.Glob("../golden/code/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no golden cases", err)
	}
	for _, path := range paths {
		a, err := archive.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := "golden_" + strings.TrimSuffix(filepath.Base(path), ".txtar")
		for _, f := range a.Files {
			if strings.HasPrefix(f.Name, "schemas/") {
				sets[name] = append(sets[name], Input{Name: f.Name, Text: f.Data})
			}
		}
	}
}

// testPackages returns the number of packages into which tests are merged.
func testPackages() int { return testlong.Pick(1, 4) }

// testFolder returns the folder of the n-th test package.
func testFolder(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprint("tests", n%testPackages()))
}

// testFolders returns the folders of all test packages, for the go command.
func testFolders(dir string) []string {
	var out []string
	for n := range testPackages() {
		out = append(out, "./"+filepath.ToSlash(testFolder(dir, n)))
	}
	return out
}

// writeTested writes generated files, and their tests to the test packages, beginning
// with the one with the given number. It returns the number of tests.
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
		write(t, filepath.Join(testFolder(dir, (first+tests)/2), name+"_btgen_test.go"), content)
		tests += bytes.Count(f.Content, []byte("\nfunc Test"))
	}
	return tests
}

// Replacements in generated tests that are merged into one package.
var (
	packageClause = regexp.MustCompile(`(?m)^package \w+_test$`)
	testNames     = regexp.MustCompile(`\b(Test[A-Z]\w*(?:RoundTrip|Stored)|example[A-Z]\w*)\b`)
)

// write writes a file and creates its folders.
func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
}

// fataler is the common interface of testing.T and rapid.T.
type fataler interface {
	Fatalf(format string, args ...any)
}

// texts returns schemas, for messages.
func texts(inputs []Input) []string {
	var out []string
	for _, in := range inputs {
		out = append(out, string(in.Text))
	}
	return out
}

// generateRandom generates code and fails the test if the schemas, which are valid,
// have errors.
func generateRandom(t fataler, inputs []Input, root string) Result {
	r, err := Generate(inputs, emit.Target{ImportPath: root})
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
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil || !slices.Contains(imports, path) && !strings.HasPrefix(path, root+"/") {
			t.Errorf("%s imports %s", f.Path, i.Path.Value)
		}
	}
}

// checkProto compiles one .proto file.
func checkProto(t *rapid.T, f output.File) {
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{f.Path: string(f.Content)}),
	})}
	if _, err := compiler.Compile(t.Context(), f.Path); err != nil {
		t.Errorf("%v in\n%s", err, f.Content)
	}
}

// randomInputs draws schemas without findings: one to three, in two packages.
var randomInputs = rapid.Custom(func(t *rapid.T) []Input {
	var out []Input
	for i := range rapid.IntRange(1, 3).Draw(t, "schemas") {
		s := randomSchema{T: t, n: i}
		out = append(out, Input{Name: fmt.Sprintf("s%d.yaml", i), Text: s.text()})
	}
	return out
})

// randomSchema formats one random schema.
type randomSchema struct {
	*rapid.T
	n         int
	b         strings.Builder
	precision string
	series    []string
	fields    []string
	enums     int
	sparse    bool              // a field is optional
	expiring  bool              // events may specify their expiry; they then have no classes
	types     map[string]string // of the series values
	metrics   bool              // a table has one row per field
	families  string            // what fields specify about their families if tables have several
	ttls      []string          // of the tables
	seriesKey string            // how the last table begins its row keys: with a series
}

// line appends a line of YAML.
func (s *randomSchema) line(format string, args ...any) { fmt.Fprintf(&s.b, format+"\n", args...) }

// pick returns one of several words.
func (s *randomSchema) pick(label string, words ...string) string {
	return rapid.SampledFrom(words).Draw(s.T, label)
}

// chance returns true once in n times on average.
func (s *randomSchema) chance(label string, n int) bool {
	return rapid.IntRange(1, n).Draw(s.T, label) == n
}

// prose returns a string that a malicious author could write. JSON is YAML.
func (s *randomSchema) prose(label string) string {
	parts := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{"*/", "/*", "//", "`", `"`, `\`, "\n", "\n\n", "\u202e", "%d", "\n# Heading", "\n - item", "\n1. item", "\n\tcode", "\n[link]: http://x", "//go:build ignore", "+build x", "import \"C\"", "func init() {}", "}"}),
		rapid.StringN(0, 12, -1),
	), 0, 8).Draw(s.T, label)
	text, err := json.Marshal(strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) && r != '\t' || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == utf8.RuneError) {
			return -1 // not allowed in schemas
		}
		return r
	}, strings.Join(parts, " ")))
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// text returns the schema.
func (s *randomSchema) text() []byte {
	s.line("btgen: v1\npackage: %s\nname: %s%d", s.pick("package", "app", "time"), s.pick("name", "Event", "HTTPLog", "A_b"), s.n)
	if s.chance("doc", 2) {
		s.line("doc: %s", s.prose("doc"))
	}
	s.precision = s.pick("precision", "1ms", "20ms", "1s", "1m", "1h")
	s.line("time: {precision: %s}\nseries:\n  site: string", s.precision)
	for i := range rapid.IntRange(0, 4).Draw(s.T, "series") {
		name := s.name("series", i)
		if s.chance("odd name", 4) {
			name = []string{"from", "from_value", "ctx", "yield"}[i]
		}
		s.series = append(s.series, name)
		typed := s.typed("series", false)
		if s.types == nil {
			s.types = map[string]string{}
		}
		s.types[name] = strings.TrimPrefix(strings.Split(typed, ",")[0], "type: ")
		s.line("  %s: {%s, doc: %s}", name, typed, s.prose("series doc"))
	}
	s.line("fields:")
	if s.chance("families", 4) { // one table that has both; a field that may expire is optional
		s.line("  early: {type: bool, number: 91, optional: true, family: fa}")
		s.families, s.sparse = ", family: fb", true
	}
	for i := range rapid.IntRange(1, 6).Draw(s.T, "fields") {
		s.fields = append(s.fields, s.name("value", i))
		s.line("  %s: {%s, number: %d, unit: %s, doc: %s%s}", s.fields[i], s.typed("field", true), i+1, s.prose("unit"), s.prose("field doc"), s.families)
	}
	s.expiring = s.chance("expiring", 2)
	s.line("tables:")
	for i := range rapid.IntRange(1, 3).Draw(s.T, "tables") {
		s.table(i)
	}
	if s.families != "" {
		s.line("  families%d: {pattern: single_unserialized, key: {delimiter: \"#\", segments: [%s, time]}, families: {fa: {ttl: {max_age: 1d}}, fb: {ttl: {max_age: 2d}}}}", s.n, strings.Join(append([]string{"site"}, s.series...), ", "))
	}
	lasting := !slices.ContainsFunc(s.ttls, func(ttl string) bool {
		return strings.Contains(ttl, "classes") || strings.Contains(ttl, "write") || strings.Contains(ttl, "default") || strings.Contains(ttl, "one_second")
	})
	if lasting && !s.metrics && s.chance("latest", 2) {
		s.line("  now%d: {pattern: latest, key: %s, family: n, ttl: %s}", s.n, s.seriesKey, s.pick("ttl of the newest", "{max_age: 1m}", "{any_of: [{max_age: 1m}, {max_versions: 1}]}"))
	}
	s.line("queries:\n  One: {by: [%s], doc: %s}", strings.Join(append(slices.Clone(s.series), "site"), ", "), s.prose("query doc"))
	if !s.metrics {
		s.line("  BySite: {by: [site]}\n  Export: {by: [], scan: to be tried}")
	}
	return []byte(s.b.String())
}

// name returns a name in one of the possible styles.
func (s *randomSchema) name(word string, i int) string {
	return fmt.Sprintf(s.pick("spelling", "%s_%d", "%s%d_id", "x_%s%d", "%sURL%d", "http_%s_%d"), word, i)
}

// typed returns a type; that of a field may be optional or have a default.
func (s *randomSchema) typed(what string, field bool) string {
	defaults := map[string]string{
		"string": s.prose("default"), "bytes": `"AP8="`, "bool": "true", "int32": "-2147483648", "int64": "-9223372036854775808",
		"uint32": "4294967295", "uint64": "18446744073709551615", "timestamp": `"2021-03-05T12:00:00.000000001Z"`,
		"duration": s.pick("age", "0s", "1h30m", "1ns", "2w"), "uuid": "f81d4fae-7dec-41d0-a765-00a0c91e6bf6",
	}
	if field {
		defaults["float32"], defaults["float64"], defaults["json"] = "0.1", "1e300", `'{"a": "*/ `+"`"+`"}'`
	}
	types := []string{"enum"}
	for name := range defaults {
		types = append(types, name)
	}
	slices.Sort(types)
	typ := s.pick(what, types...)
	text := "type: " + typ
	if typ == "enum" {
		s.enums++
		defaults["enum"] = "a" + strconv.Itoa(s.enums)
		values := s.pick("values", ", of: [a%[1]d, b-%[1]d, HTTP_%[1]d]", ", of: {b-%[1]d: 3, a%[1]d: 0}", ", of: {a%[1]d: 2, unspecified: 0}")
		text += fmt.Sprintf(values, s.enums)
	}
	if !field {
		return text
	}
	switch s.pick("presence", "required", "required", "optional", "default") {
	case "optional":
		s.sparse = true
		text += ", optional: true"
	case "default":
		text += ", default: " + defaults[typ]
	}
	if s.chance("text", 3) {
		text += ", values: " + s.pick("values of the field", "text", "big_endian", "little_endian")
	}
	return text
}

// segment returns a series value in a form that its type supports.
func (s *randomSchema) segment(name string) string {
	number := []string{"decimal, pad: 20", "decimal, pad: 19, reverse: true", "hex, pad: 16", "hex, pad: 8, reverse: true", "binary", "binary, reverse: true", "little_endian"}
	forms := map[string][]string{
		"string": {"text, escape: true", "hex", "base32hex"}, "bytes": {"base64url", "base32hex", "raw, pad: 4", "raw, escape: true"}, "bool": {"binary"},
		"int32": number, "int64": number, "uint32": number, "uint64": number, "duration": number,
		"timestamp": {"binary", "decimal, reverse: true"}, "uuid": {"hex", "binary"}, "enum": {"decimal, pad: 3", "binary, reverse: true"},
	}[s.types[name]]
	form := s.pick("form", append(forms, "")...)
	if form == "" {
		return name
	}
	return fmt.Sprintf("{name: %s, encoding: %s}", name, form)
}

// table appends a table of any pattern.
func (s *randomSchema) table(i int) {
	pattern := s.pick("pattern", "bucket_new_columns", "bucket_new_cells", "bucket_serialized", "single_serialized", "single_unserialized")
	segments := append([]string{"site"}, rapid.Permutation(slices.Clone(s.series)).Draw(s.T, "segments")...) // K01: no timestamp first
	for i, name := range segments[1:] {
		segments[i+1] = s.segment(name)
	}
	s.metrics = s.metrics || pattern == "bucket_new_columns"
	if s.chance("salt", 4) {
		segments = append([]string{"{hash: [site], buckets: 16}"}, segments...)
	}
	if s.chance("const", 3) {
		segments = append([]string{"{const: c}"}, segments...)
	}
	delimiter := s.pick("delimiter", "#", "|", "##")
	s.seriesKey = fmt.Sprintf("{delimiter: %q, segments: [%s]}", delimiter, strings.Join(segments, ", "))
	ages := []string{"{max_age: 30d}", "{keep: forever}", "{any_of: [{max_age: 90s}, {max_age: 1w}]}"}
	if !s.expiring {
		ages = append(ages, "{classes: {short: 1h, long-lived: 3d}}")
	}
	if pattern == "bucket_new_columns" {
		segments = append(segments, "metric")
	} else if !s.sparse {
		ages = append(ages, "{all_of: [{max_age: 1d12h}, {max_versions: 3}]}")
	}
	bucket := ""
	if strings.HasPrefix(pattern, "bucket") {
		segments = append(segments, "bucket")
		bucket = s.pick("bucket", "1h", "1d", "{every: 1d, origin: 2021-03-01T12:00:00Z}", `{every: 1h, origin: 2021-03-01, label: "h%06d"}`)
		if s.precision != "1s" { // rows would be too large
			bucket = s.pick("wide bucket", bucket, "1mo", "1y", "{every: 1w, label: iso_week}", "{every: 3mo, label: unix_ms}")
		}
	} else {
		ages = append(ages, "{max_age: 1d, from: write}")
		if s.expiring {
			ages = append(ages, "{one_second: {}}", "{one_second: {written_at: w}}", "{default_expiration: 2d, written_at: at w}")
		}
		segments = append(segments, s.pick("time", "time", "{time: unix_us}", "{time: unix_ms, reverse: max_int64}", "{time: binary_ms}", `{time: "2006-01-02T15:04:05.000"}`))
	}
	s.line("  table%d_%d:\n    pattern: %s\n    key: {delimiter: %q, segments: [%s]}", s.n, i, pattern, delimiter, strings.Join(segments, ", "))
	if bucket != "" {
		s.line("    bucket: %s", bucket)
	}
	if strings.HasSuffix(pattern, "_serialized") {
		s.line("    blob: {column: e, format: %s}", s.pick("format", "protobuf", "json"))
	}
	if s.families != "" && !strings.HasSuffix(pattern, "_serialized") {
		ttl := s.pick("ttl", slices.DeleteFunc(ages, func(a string) bool { return strings.Contains(a, "classes") })...)
		s.line("    families: {fa: {ttl: %s}, fb: {ttl: {keep: forever}}}", ttl)
		s.ttls = append(s.ttls, ttl)
		return
	}
	ttl := s.pick("ttl", ages...)
	s.line("    family: m\n    ttl: %s", ttl)
	s.ttls = append(s.ttls, ttl)
	if ttl == "{keep: forever}" || ttl == "{max_age: 30d}" && !regexp.MustCompile(`\d(w|mo|y)\b`).MatchString(bucket) {
		s.rollup(pattern, bucket)
	}
}

// rollup may append a rollup of the table.
func (s *randomSchema) rollup(pattern, bucket string) {
	if pattern != "bucket_new_cells" && pattern != "bucket_serialized" || !s.chance("rollup", 2) {
		return
	}
	every := s.pick("windows", "15m", "1h")
	if strings.Contains(bucket, "1h") {
		every = "15m"
	}
	more := s.pick("more of the rollup", "", ", serves: false", ", after: 1h", ", fields: ["+s.fields[0]+"]")
	s.line("    rollup: {every: %s, family: h, ttl: {keep: forever}%s}", every, more)
}
