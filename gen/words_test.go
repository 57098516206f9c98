package gen_test

import (
	"bytes"
	"encoding/json"
	"html"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/golden/assert"
)

func TestWords(t *testing.T) {
	parts := func(name string) string { return strings.Join(words.Split(name), " ") }
	for pair := range slices.Chunk([]string{
		words.Number(0), "0", words.Number(1.5), "1.50", words.Number(12), "12", words.Number(1234.4), "1,234", words.Number(1e6), "1,000,000",
		words.Number(1.001), "1", words.Number(99.999), "100", words.Number(0.0421), "0.042", words.Number(1.0 / 86400), "1.2e-5", words.Number(1.25e15), "1.2e15", words.Number(999_999_999_999_999), "999,999,999,999,999",
		words.Count(1.000001, "event", "events"), "1 event", words.Count(1.0/86400, "event", "events"), "1.2e-5 events",
		words.Size(1.5e18), "1.50 EB", words.Size(1.1986e33), "1.2e33 bytes", words.Sizes(1e17, 2e18), "0.10–2.00 EB", words.Sizes(1.2e23, 4.5e24), "1.2e23–4.5e24 B", words.Sizes(0.1, 0.4), "<1 B", words.Sizes(0.1, 4), "<1–4 B",
		words.WithArticle("int64"), "an int64", words.WithArticle("uint64"), "a uint64", words.WithArticle("enum"), "an enum", words.WithArticle("bool"), "a bool", words.WithArticle(""), "a ",
		words.Count(1, "row", "rows"), "1 row", words.Count(2, "row", "rows"), "2 rows", words.Count(0.5, "row", "rows"), "0.50 rows",
		words.Rate(1), "one event a second", words.Rate(1.0 / 60), "one event a minute", words.Rate(2.5), "2.50 events a second", words.Rate(1.0 / 3600), "one event an hour", words.Rate(6.0 / 3600), "6 events an hour", words.Rate(1.0 / 864000), "one event in 10 days",
		words.Size(999), "999 bytes", words.Size(1000), "1.00 kB", words.Size(92_200), "92.2 kB", words.Size(276_480), "276 kB", words.Size(2.5e12), "2.50 TB",
		words.ShellPair("a", "b"), "a=b", words.ShellPair("a", ""), "a=", words.ShellPair("", "b"), "'=b'",
		words.ShellPair("a b", "c"), "'a b=c'", words.ShellPair("a", "it's"), `'a=it'\''s'`, words.ShellPair("$x", ""), "'$x='",
		parts("balloon_id"), "balloon id", parts("balloonId"), "balloon Id", parts("HTTPUrl"), "HTTPUrl", parts("temp2M"), "temp2 M",
		parts("a__b_"), "a b", parts("my-table.v2"), "my table v2", parts("ÄgyptÖl"), "Ägypt Öl", parts("___"), "", parts(""), "",
		words.Printable("schemas/größe ☃.yaml"), "schemas/größe ☃.yaml", words.Printable("a\n::error::\tb"), `a\n::error::\tb`,
		words.Printable(""), "", words.Printable("\x1b[31m\u202e\u200b"), `\x1b[31m\u202e\u200b`, words.Printable("\xff\ufffd"), "\\xff\ufffd",
		words.Sizes(92_200, 276_480), "92.2–276 kB", words.Sizes(900, 1200), "0.90–1.20 kB", words.Sizes(64, 211.4), "64–211 B", words.Sizes(8, 8), "8 B",
	}, 2) {
		assert.Same(t, pair[1], pair[0])
	}
}

func TestAppendLine(t *testing.T) {
	for line, want := range map[string]string{
		"":                             "",
		"schemas/a.yaml:1:2: größe\t☃": "schemas/a.yaml:1:2: größe\t☃",
		"::error::x":                   `:\:error::x`,
		" \t::anything":                " \t" + `:\:anything`,
		"\u00a0::error::x":             "\u00a0" + `:\:error::x`,
		"a ::error file=b::c":          `a :\:error file=b::c`,
		"std::chrono::seconds":         "std::chrono::seconds",
		"##[error]x ##vso[task]":       `#\#[error]x #\#vso[task]`,
		"###[group]":                   `##\#[group]`,
		"## heading [link]":            "## heading [link]",
		"a\x1b[31m\r\x7f\u009b\u202e":  `a\u001b[31m\u000d\u007f\u009b\u202e`,
		"\xff\u2028":                   `\xff\u2028`,
		"\u200b\ufeff\U000e0041":       `\u200b\ufeff\U000e0041`,
	} {
		assert.Same(t, want, string(words.AppendLine(nil, []byte(line))), line)
	}
}

func TestAppendTerminal(t *testing.T) {
	for _, tt := range []struct {
		line    string
		colored bool
		want    string
	}{
		{"\x1b[1;31mred\x1b[0m ::error::", true, "\x1b[1;31mred\x1b[0m ::error::"},
		{"\x1b[1;31mred\x1b[0m", false, `\u001b[1;31mred\u001b[0m`},
		{"\x1b[8mhidden\x1b[2J\x1b]0;title\a\r", true, `\u001b[8mhidden\u001b[2J\u001b]0;title\u0007\u000d`},
		{"größe\t☃", false, "größe\t☃"},
	} {
		assert.Same(t, tt.want, string(words.AppendTerminal(nil, []byte(tt.line), tt.colored)), tt.line, tt.colored)
	}
}

// hostile draws strings that logs and terminals may interpret.
var hostile = rapid.Custom(func(t *rapid.T) string {
	part := rapid.SampledFrom([]string{":", "::", "#", "##", "[", "]", "error", "group", " ", "\t", "\x1b", "\r", "\u202e", "\u2028", "\xff", "é", "<", "&", `"`, `\`, "\n"})
	return strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
})

// checkLog fails if a line would be interpreted.
func checkLog(t *rapid.T, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "::error") || strings.Contains(line, "::group") ||
			strings.Contains(line, "##[") || strings.Contains(line, "##error[") {
			t.Fatalf("%q is a command", line)
		}
	}
}

func TestLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := hostile.Draw(t, "text")
		line := strings.ReplaceAll(text, "\n", "")
		safe := string(words.AppendLine(nil, []byte(line)))
		checkLog(t, safe)
		if strings.ContainsFunc(safe, func(r rune) bool { return r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Fatalf("%q steers a terminal", safe)
		}

		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		assert.Must(t, e.Encode(text))
		encoded := words.LogJSON(b.Bytes())
		checkLog(t, string(encoded))
		var before, after string
		assert.Must(t, json.Unmarshal(b.Bytes(), &before))
		if err := json.Unmarshal(encoded, &after); err != nil || before != after {
			t.Fatalf("%q is %q, %v", before, after, err)
		}

		page := html.EscapeString(text)
		safe = string(words.LogHTML([]byte(page)))
		checkLog(t, safe)
		if got := html.UnescapeString(safe); got != text {
			t.Fatalf("%q is %q", text, got)
		}
	})
}
