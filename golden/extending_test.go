package golden

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// extensions are the kinds of extensions that docs/extending.md describes. Each has a
// representative: the files that name it are those that another one would change.
var extensions = []struct {
	kind        string         // as in the marks of the page
	identifiers *regexp.Regexp // matches the identifiers of the representative
	literals    *regexp.Regexp // matches the string literals that name it
	most        int            // files
}{
	{"a field type", regexp.MustCompile(`(?i)uuid`), regexp.MustCompile(`(?i)uuid`), 15},
	{"a key encoding", regexp.MustCompile(`(?i)base64url|KeyBase64`), regexp.MustCompile(`(?i)base64url`), 8},
	{"a pattern", regexp.MustCompile(`(?i)bucket_?offsets`), regexp.MustCompile(`bucket_offsets`), 7},
	{"a sketch", regexp.MustCompile(`(?i)quantile`), regexp.MustCompile(`(?i)quantile`), 3},
	{"a strategy of time to live", regexp.MustCompile(`(?i)one_?second$`), regexp.MustCompile(`one_second`), 8},
	{"a form of queries", regexp.MustCompile(`Where`), regexp.MustCompile(`^where$`), 11},
	{"a rule", regexp.MustCompile(`K10`), regexp.MustCompile(`K10`), 1},
	{"a rule of change", regexp.MustCompile(`^E13$`), regexp.MustCompile(`^was-required$`), 1},
}

// TestExtending compares the lists of files in docs/extending.md with the files that name a
// representative of each kind of extension. With -update, it rewrites the lists, and keeps
// the notes after the names. A list that becomes longer than it was needs a better place for
// what the new file decides, rather than a greater number here.
func TestExtending(t *testing.T) {
	const page = "docs/extending.md"
	all := extensibleSources(t)
	for _, e := range extensions {
		var files []string
		for name, tokens := range all {
			if slices.ContainsFunc(tokens.identifiers, e.identifiers.MatchString) || slices.ContainsFunc(tokens.literals, e.literals.MatchString) {
				files = append(files, name)
			}
		}
		slices.Sort(files)
		t.Logf("%s: %d files", e.kind, len(files))
		if len(files) > e.most {
			t.Errorf("%s changes %d files, and at most %d are expected", e.kind, len(files), e.most)
		}
		checkGenerated(t, page, "<!-- "+e.kind+" -->\n", "<!-- end of "+e.kind+" -->", fileList(read(t, page), e.kind, files))
	}
}

// TestPatternFiles checks that no pattern is named in many files: code asks for facts instead.
func TestPatternFiles(t *testing.T) {
	const most = 9
	all := extensibleSources(t)
	for _, p := range codec.Patterns() {
		if p == codec.Latest {
			continue // an ordinary word
		}
		identifier := strings.ReplaceAll(p.String(), "_", "")
		names := func(identifiers, literals []string) bool {
			return slices.ContainsFunc(identifiers, func(text string) bool { return strings.Contains(strings.ToLower(text), identifier) }) ||
				slices.ContainsFunc(literals, func(text string) bool { return strings.Contains(text, p.String()) })
		}
		var files []string
		for name, tokens := range all {
			if names(tokens.identifiers, tokens.literals) {
				files = append(files, name)
			}
		}
		slices.Sort(files)
		t.Logf("%s: %d files", p, len(files))
		if len(files) == 0 || len(files) > most {
			t.Errorf("%s is named in %d files, and at most %d are expected: %s", p, len(files), most, strings.Join(files, ", "))
		}
	}
}

// fileList renders the list of the files of a kind, with the notes that a page has for
// them.
func fileList(page, kind string, files []string) string {
	_, list, _ := strings.Cut(page, "<!-- "+kind+" -->\n")
	list, _, _ = strings.Cut(list, "<!-- end of "+kind+" -->")
	notes := map[string]string{}
	for line := range strings.Lines(list) {
		if name, note, ok := strings.Cut(strings.TrimPrefix(line, "- "), ": "); ok {
			notes[strings.Trim(name, "`")] = strings.TrimSpace(note)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n\n", words.Count(float64(len(files)), "file", "files"))
	for _, name := range files {
		fmt.Fprintln(&b, strings.TrimSuffix(fmt.Sprintf("- `%s`: %s", name, notes[name]), ": "))
	}
	return b.String()
}

// sourceTokens are the identifiers and the values of string literals of a source file.
type sourceTokens struct{ identifiers, literals []string }

// extensibleSources returns the tokens of the source files that are not tests, generated
// code, or packages only for tests. Comments are omitted.
func extensibleSources(t *testing.T) map[string]sourceTokens {
	t.Helper()
	out, tests := map[string]sourceTokens{}, map[string]bool{}
	for name, file := range sources(t, "") {
		if strings.HasPrefix(name, "runtime/beamstore/example/") || strings.HasPrefix(name, "runtime/internal/conformance/") {
			continue
		}
		out[name] = tokensOf(file)
		tests[path.Dir(name)] = tests[path.Dir(name)] || slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
			return i.Path.Value == `"testing"` || i.Path.Value == `"pgregory.net/rapid"` // as only those of packages for tests do
		})
	}
	starters, err := filepath.Glob("../templates/*/*")
	assert.Must(t, err)
	for _, name := range starters {
		name = strings.TrimPrefix(filepath.ToSlash(name), "../")
		out[name] = sourceTokens{literals: strings.Fields(read(t, name))}
	}
	maps.DeleteFunc(out, func(name string, _ sourceTokens) bool { return tests[path.Dir(name)] })
	if len(out) < 300 {
		t.Fatalf("only %d source files", len(out))
	}
	return out
}

// tokensOf returns the tokens of a Go file.
func tokensOf(file *ast.File) (out sourceTokens) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			out.identifiers = append(out.identifiers, n.Name)
		case *ast.BasicLit:
			if value, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				out.literals = append(out.literals, value)
			}
		}
		return true
	})
	return out
}
