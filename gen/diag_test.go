package gen_test

import (
	"errors"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/golden/assert"
)

func TestListErr(t *testing.T) {
	var list diag.List
	if list.Err() != nil {
		t.Error("an empty list is an error")
	}
	list = append(list, diag.Diagnostic{Message: "look", Severity: diag.Warning})
	if list.Err() != nil || list.HasErrors() {
		t.Error("a warning is an error")
	}
	list.Errorf(diag.Pos{File: "a.yaml"}, "bad %d", 5).Hint = "write 6"
	var got diag.List
	if !errors.As(list.Err(), &got) || got.Error() != "warning: look\na.yaml: bad 5" || got[1].Hint != "write 6" {
		t.Errorf("got %v", got)
	}
}

func TestListSort(t *testing.T) {
	at := func(file string, line, column int, severity diag.Severity, message string) diag.Diagnostic {
		return diag.Diagnostic{Pos: diag.Pos{File: file, Line: line, Column: column}, Severity: severity, Message: message}
	}
	list := diag.List{
		at("b", 1, 1, diag.Error, "x"), at("a", 2, 1, diag.Error, "x"), at("a", 1, 2, diag.Error, "x"),
		at("a", 1, 1, diag.Warning, "x"), at("a", 1, 1, diag.Error, "y"), at("a", 1, 1, diag.Error, "x"), at("a", 1, 2, diag.Error, "x"),
	}
	list.Sort()
	want := diag.List{
		at("a", 1, 1, diag.Error, "y"), at("a", 1, 1, diag.Error, "x"), at("a", 1, 1, diag.Warning, "x"),
		at("a", 1, 2, diag.Error, "x"), at("a", 2, 1, diag.Error, "x"), at("b", 1, 1, diag.Error, "x"),
	}
	assert.Same(t, want, list)
}

func TestListFormat(t *testing.T) {
	text := "\uFEFFa: 1\n\tunit: °C # x\r\nbell: \a\u202e\n" + strings.Repeat("long", 100) + "\n"
	d := func(line, column int) diag.List {
		return diag.List{{Pos: diag.Pos{File: "a.yaml", Line: line, Column: column}, Message: "bad"}}
	}
	hinted := d(1, 1)
	hinted[0].Hint = "write\ngood"
	for _, test := range []struct {
		name string
		list diag.List
		want string
	}{
		{"first line", d(1, 4), "a.yaml:1:4: bad\n    1 | a: 1\n      |    ^\n"},
		{"tab and rune", d(2, 10), "a.yaml:2:10: bad\n    2 | \tunit: °C # x\n      | \t        ^\n"},
		{"control characters", d(3, 8), "a.yaml:3:8: bad\n    3 | bell: ��\n      |        ^\n"},
		{"past the end", d(1, 99), "a.yaml:1:99: bad\n    1 | a: 1\n      |     ^\n"},
		{"line alone", d(1, 0), "a.yaml:1: bad\n    1 | a: 1\n"},
		{"long line", d(4, 1), "a.yaml:4:1: bad\n"},
		{"no such line", d(99, 1), "a.yaml:99:1: bad\n"},
		{"no line", d(0, 0), "a.yaml: bad\n"},
		{"hint", hinted, "a.yaml:1:1: bad\n    1 | a: 1\n      | ^\n  help: write\n        good\n"},
	} {
		assert.Same(t, test.want, test.list.Format(func(string) []byte { return []byte(text) }), test.name)
	}
	assert.Same(t, "a.yaml:1:1: bad\n", d(1, 1).Format(func(string) []byte { return nil }))
}

func TestNearest(t *testing.T) {
	names := []string{"pattern", "key", "bucket", "family", "families", "ttl"}
	for name, want := range map[string]string{
		"patern": "pattern", "Pattern": "pattern", "pattren": "pattern", "kye": "key", "buckets": "bucket", "familys": "family",
		"tll": "ttl", "TTL": "ttl", "x": "", "": "", "retention": "", "k": "", strings.Repeat("ttl", 100): "",
	} {
		if got, ok := diag.Nearest(name, names); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", name, got, ok, want)
		}
	}
}

// A file is read and split once, however many findings it has, and lines that are too
// long to show are skipped.
func TestFormatManyFindings(t *testing.T) {
	text := []byte(strings.Repeat("a", 1<<20) + "\n" + strings.Repeat("b: c\n", 1000))
	list := make(diag.List, 2000)
	for i := range list {
		list[i] = diag.Diagnostic{Pos: diag.Pos{File: "a.yaml", Line: 1 + i%1000, Column: i}, Message: "bad"}
	}
	read := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_ = list.Format(func(string) []byte { read++; return text })
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	const most = 64 << 20
	if read != 1 || allocated > most {
		t.Errorf("read %d times, %d bytes allocated", read, allocated)
	}
}

// File names and messages take one line.
func TestFormatIsSafe(t *testing.T) {
	list := diag.List{{Pos: diag.Pos{File: "a\n::error::b\x1b[31m.yaml", Line: 1}, Message: "bad\r\u202e", Hint: "write\n\x1bgood"}}
	const want = `a\n::error::b\x1b[31m.yaml:1: bad\r\u202e
  help: write
        \x1bgood
`
	assert.Same(t, want, list.Format(func(string) []byte { return nil }))
}

// Colors do not change the text. Proposals stand out, and texts of schemas and file
// names cannot contain colors.
func TestFormatColor(t *testing.T) {
	list := diag.List{
		{Pos: diag.Pos{File: "a\x1b[31m.yaml", Line: 1, Column: 2}, Message: "bad", Rule: "K01", Hint: "write `key: x` or `b`:\ntables:\n  a: \x1b[0m"},
		{Pos: diag.Pos{File: "b.yaml", Line: 9}, Severity: diag.Warning, Message: "doubtful"},
		{Severity: diag.Advice, Message: "look", Rule: "C01", Hint: "look"},
	}
	source := func(string) []byte { return []byte("a: \x1b[31m1\n") }
	colored := list.FormatColor(source)
	assert.Same(t, list.Format(source), regexp.MustCompile("\x1b\\[[0-9;]+m").ReplaceAllString(colored, ""))
	for _, part := range []string{"\x1b[1;31m[K01]\x1b[0m", "\x1b[1;31m^\x1b[0m", "\x1b[32m`key: x`\x1b[0m or \x1b[32m`b`\x1b[0m:", "\x1b[32mtables:\x1b[0m", "\x1b[1;33mwarning:\x1b[0m", "\x1b[1;36madvice:\x1b[0m"} {
		assert.Contains(t, part, colored)
	}
	if strings.Contains(list.Format(source), "\x1b") {
		t.Error("colors in plain text")
	}
}

func TestSentence(t *testing.T) {
	s := diag.Sentence{Says: "%[1]s%%d of %q: %.1f%% of %[1]s events", Way: "write `bucket: %s`"}
	says, way := s.Fill(12345, "host", 2.25, "1d")
	if want := `12,345%d of "host": 2.2% of 12,345 events`; says != want || way != "write `bucket: 1d`" {
		t.Errorf("got %s / %s", says, way)
	}
	if !regexp.MustCompile(s.Pattern()).MatchString(says) {
		t.Errorf("%s does not match", s.Pattern())
	}
	catalog := diag.NewCatalog("wide\n\t%s is %d wide\n\tuse %s\nnarrow\n\tnarrow\n")
	for _, tt := range []struct {
		name, says, way string
		args            []any
	}{{"wide", "it is 1000 wide", "use less", []any{"it", 1000, "less"}}, {"narrow", "narrow", "", nil}, {"none", "none", "", nil}} {
		says, way := catalog.Fill(tt.name, tt.args...)
		assert.Same(t, [2]string{tt.says, tt.way}, [2]string{says, way}, tt.name)
	}
}
