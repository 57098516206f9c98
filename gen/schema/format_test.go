package schema_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/btgen-dev/btgen/gen/internal/editor"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestFormat runs the cases in testdata/format: pairs of a schema and its formatted
// form, or its errors.
func TestFormat(t *testing.T) {
	for _, path := range glob(t, "testdata/format/*.txtar") {
		archive, err := txtar.ParseFile(path)
		must(t, err)
		for i := 0; i < len(archive.Files); i += 2 {
			in, want := archive.Files[i], &archive.Files[i+1]
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+in.Name, func(t *testing.T) {
				out, found := schema.Format("x.yaml", in.Data)
				if found != nil {
					out = []byte(found.Format(func(string) []byte { return in.Data }))
				}
				if *schema.Update {
					want.Data = out
				}
				assert.Same(t, string(want.Data), string(out))
			})
		}
		if *schema.Update {
			must(t, os.WriteFile(path, txtar.Format(archive), 0o644))
		}
	}
}

// some returns one of fifty samples, or one of three in a long run.
func some(all []sample) (out []sample) {
	for i := 0; i < len(all); i += testlong.Pick(50, 3) {
		out = append(out, all[i])
	}
	return out
}

// TestFormatIsIndependentOfLayout formats schemas with a different layout and the same
// meaning.
func TestFormatIsIndependentOfLayout(t *testing.T) {
	for _, s := range some(samples(t)) {
		want, found := schema.Format("x.yaml", s.text)
		if found != nil || strings.Contains(s.name, "raw.txtar") {
			continue
		}
		text := string(want)
		for name, changed := range map[string]string{
			"CRLF":            strings.ReplaceAll(text, "\n", "\r\n"),
			"blank lines":     strings.ReplaceAll(text, "\n\n", "\n\n \n\n"),
			"byte order mark": "\uFEFF" + text,
			"indentation":     indented(text),
			"spaces in lines": spaced(text),
		} {
			if name == "indentation" && (strings.Contains(text, " #") || mappingItem.MatchString(text)) {
				continue // comments would have to move, too, and hyphens replace spaces
			}
			if strings.Contains(text, "|\n") && name != "CRLF" || name == "spaces in lines" && strings.ContainsAny(text, `"'`) {
				continue // a space there may be part of a string
			}
			got, found := schema.Format("x.yaml", []byte(changed))
			assert.Same(t, text, string(got), s.name, name, found)
		}
	}
}

// mappingItem matches a mapping in a list whose first key follows the hyphen.
var mappingItem = regexp.MustCompile(`(?m)^ *- \w+:`)

// indented doubles the indentation of text.
func indented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		lines[i] = strings.Repeat(" ", indent) + line
	}
	return strings.Join(lines, "\n")
}

// spaced adds spaces to lines without comments.
func spaced(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.Contains(line, "#") {
			lines[i] = strings.NewReplacer("{", "{ ", "]", " ]", ", ", " ,  ").Replace(line) + " "
		}
	}
	return strings.Join(lines, "\n")
}

// checkFormat checks that a text is either formatted or rejected. Formatting must keep
// its meaning and every character of its comments and values, and must be idempotent.
func checkFormat(t *testing.T, text []byte) {
	t.Helper()
	out, found := schema.Format("x.yaml", text)
	if (out == nil) != (len(found) > 0) {
		t.Fatalf("%d bytes and %v", len(out), found)
	}
	if out == nil {
		return
	}
	again, found := schema.Format("x.yaml", out)
	if diff := cmp.Diff(string(out), string(again)); diff != "" {
		t.Fatalf("formatted again: %v (-first +second)\n%s", found, diff)
	}
	before, wrong := schema.Parse("x.yaml", text)
	after, wrongAfter := schema.Parse("x.yaml", out)
	if len(wrong) != len(wrongAfter) {
		t.Fatalf("before: %v\nafter: %v", wrong, wrongAfter)
	}
	if diff := cmp.Diff(before, after, schema.NoPositions); len(wrong) == 0 && diff != "" {
		t.Fatalf("says something else (-before +after)\n%s", diff)
	}
	if diff := cmp.Diff(letters(text), letters(out)); diff != "" {
		t.Fatalf("(-before +after)\n%s\n%s", diff, out)
	}
}

// letters returns the sorted characters of a text without spaces and punctuation.
func letters(text []byte) string {
	runes := slices.DeleteFunc([]rune(string(text)), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("{}[],:-.\uFEFF", r)
	})
	slices.Sort(runes)
	return string(runes)
}

// FuzzFormat formats arbitrary texts and validates the result like an editor.
func FuzzFormat(f *testing.F) {
	for _, s := range some(samples(f)) {
		f.Add(s.text)
	}
	for _, text := range testlong.SampleMap(schema.Hostile(2000), 3) {
		f.Add([]byte(text))
	}
	for _, path := range testlong.Sample(glob(f, "testdata/format/*.txtar"), 3) {
		archive, err := txtar.ParseFile(path)
		must(f, err)
		for _, file := range archive.Files {
			f.Add(file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkFormat(t, text)
		schema.FormatConfig("btgen.yaml", text)
		if s, found := schema.Parse("x.yaml", text); len(found) == 0 && len(keyless(s)) == 0 {
			assert.Is(t, nil, editor.Check(text))
		}
	})
}

// TestFormatHostile formats large files that make YAML libraries slow. It fails by
// timeout.
func TestFormatHostile(t *testing.T) {
	for name, text := range schema.Hostile(testlong.Pick(1<<12, 1<<16)) {
		t.Run(name, func(t *testing.T) { schema.Format("x.yaml", []byte(text)) })
	}
}

var must = assert.Must
