package schema

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/btgen-dev/btgen/gen/internal/frame"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// hostile returns files of about the given size that make YAML libraries panic, or use
// much time or memory.
func hostile(size int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, max(1, size/len(s))) }
	upTo := func(size int, format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size-len(format)-8; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	count := func(format string) string { return upTo(size, format) }
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 {x: y}\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d {<<: [*a%d, *a%d, *a%d], k%d: 1}\n", i, i, i-1, i-1, i-1, i)
	}
	return map[string]string{
		"panic":            "{<<: {a: 1}, ? [x] : 1}",
		"merge bomb":       bomb.String(),
		"keys":             count("k%d: 1\n"),
		"duplicate keys":   repeat("a: 1\n"),
		"anchors":          count("- &a%d x\n"),
		"aliases":          "- &a x\n" + repeat("- *a\n"),
		"directives":       count("%%TAG !a%d! x\n"),
		"late directives":  "a: 1\n...\n" + count("%%TAG !a%d! x\n"),
		"flow lists":       repeat("["),
		"closed lists":     strings.Repeat("[", size/2) + strings.Repeat("]", size/2),
		"flow mappings":    repeat("{a: "),
		"block lists":      repeat("- "),
		"complex keys":     repeat("? "),
		"question marks":   repeat("? a\n"),
		"comments":         repeat("#\n"),
		"values, comments": repeat("a: #\n"),
		"items, comments":  repeat("- #a\n"),
		"flow comments":    "[" + repeat("a, #\n"),
		"mixed comments":   repeat("a:\n  b: c\n  #d\n#e\n"),
		"newlines":         repeat("\n"),
		"quoted newlines":  "\"" + repeat("\n"),
		"block scalar":     "a: |\n" + repeat(" b\n"),
		"folded scalar":    "a: >\n" + repeat(" b\n\n"),
		"long text":        "doc: " + repeat("a"),
		"long key":         repeat("a") + ": 1",
		"long lines":       "{" + repeat("a: b, "),
		"nulls in a line":  "{" + repeat("a:,") + "}",
		"list in a line":   "series: [" + repeat("a,") + "]",
		"tags":             "[" + repeat("! a,") + "]",
		"documents":        repeat("---\n"),
		"tabs":             repeat("\t"),
		"escapes":          "\"" + repeat("\\x41"),
		"carriage returns": repeat("\r"),
		"fields":           frame.Schema("fields:\n" + count("  f%d: int64\n")),
		"long fields":      frame.Schema("fields:\n" + count("  f%d: {type: int64, number: %[1]d}\n")),
		"bad fields":       frame.Schema("fields:\n" + count("  f%d: int46\n")),
		"enum values":      frame.Schema("fields:\n  f: {type: enum, of: [" + count("v%d,") + "]}\n"),
		"same enum values": frame.Schema("fields:\n  f: {type: enum, of: [" + repeat("v,") + "]}\n"),
		"segments":         frame.Schema("tables:\n  t:\n    pattern: single_serialized\n    key: {segments: [" + repeat("{const: a},") + "]}\n"),
		"ttls":             frame.Schema(oneTable + "    ttl: {any_of: [" + repeat("{max_versions: 1},") + "]}\n"),
		"nested ttls":      frame.Schema(oneTable + "    ttl: " + repeat("{any_of: [")),
		"bad ttls":         frame.Schema(oneTable + "    ttl: {any_of: [" + repeat("{a: 1},") + "]}\n"),
		"bad queries":      frame.Schema("series:\n" + upTo(size/2, "  f%d: int64\n") + "queries: {A: {by: [" + upTo(size/2, "g%d,") + "]}}\n"),
		"durations":        frame.Schema(oneTable + "    ttl: {max_age: " + repeat("1w") + "}\n"),
		"numbers":          frame.Schema("expect: {series: " + repeat("9") + "}\n"),
		"defaults":         frame.Schema("fields: {f: {type: json, default: '" + repeat("[") + "'}}\n"),
	}
}

// TestHostile parses every hostile file at the maximum size, and at the maximum size
// for which the position of a syntax error is searched. It fails by timeout; each file
// takes well below a second.
func TestHostile(t *testing.T) {
	for _, size := range testlong.Pick([]int{maxTrace}, []int{MaxFile, maxTrace}) {
		for name, text := range testlong.SampleMap(hostile(size-1000), 6) {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				s, list := Parse("x.yaml", []byte(text))
				if s == nil || len(list) > maxErrors+1 {
					t.Errorf("%d errors", len(list))
				}
			})
		}
	}
}

// FuzzParse checks that Parse does not panic, that positions are within the file, and
// that a schema without errors survives a round trip.
func FuzzParse(f *testing.F) {
	for _, text := range testlong.SampleMap(hostile(2000), 3) {
		f.Add([]byte(text))
	}
	valid, _ := filepath.Glob("../../templates/starter/*.yaml") // of each pattern
	for _, path := range append(valid, "testdata/balloon.yaml") {
		text, err := os.ReadFile(path)
		assert.Must(f, err)
		f.Add(text)
	}
	paths, _ := filepath.Glob("testdata/errors/*.txtar")
	for _, path := range testlong.Sample(paths, 5) {
		archive, err := txtar.ParseFile(path)
		assert.Must(f, err)
		for i := 0; i < len(archive.Files); i += 2 {
			f.Add([]byte(frame.Schema(string(archive.Files[i].Data))))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, list := Parse("x.yaml", text)
		if s == nil {
			t.Fatal("no schema")
		}
		lines := strings.Split(strings.TrimPrefix(string(text), "\uFEFF"), "\n")
		for _, d := range list {
			if d.Message == "" || d.Pos.File != "x.yaml" || d.Pos.Line < 0 || d.Pos.Line > len(lines) {
				t.Fatalf("%+v in %d lines", d, len(lines))
			}
			if d.Pos.Line > 0 && d.Pos.Column > len([]rune(lines[d.Pos.Line-1]))+1 {
				t.Fatalf("%+v in %q", d, lines[d.Pos.Line-1])
			}
		}
		list.Format(func(string) []byte { return text })
		ParseConfig("x.yaml", text)
		again, list2 := Parse("x.yaml", text)
		if diff := cmp.Diff(list, list2); diff != "" {
			t.Fatalf("different errors: %s", diff)
		}
		if diff := cmp.Diff(s, again); len(list) == 0 && diff != "" {
			t.Fatalf("different schemas: %s", diff)
		}
	})
}
