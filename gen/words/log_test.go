package words

import (
	"bytes"
	"encoding/json"
	"html"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
)

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
		assert.Same(t, want, string(AppendLine(nil, []byte(line))), line)
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
		assert.Same(t, tt.want, string(AppendTerminal(nil, []byte(tt.line), tt.colored)), tt.line, tt.colored)
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"schemas/größe ☃.yaml": "schemas/größe ☃.yaml", "a\n::error::\tb": `a\n::error::\tb`,
		"\x1b[31m\u202e\u200b": `\x1b[31m\u202e\u200b`, "\xff\ufffd": "\\xff\ufffd", "": "",
	} {
		assert.Same(t, want, Printable(text), text)
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
		safe := string(AppendLine(nil, []byte(line)))
		checkLog(t, safe)
		if strings.ContainsFunc(safe, func(r rune) bool { return r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Fatalf("%q steers a terminal", safe)
		}

		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		assert.Must(t, e.Encode(text))
		encoded := LogJSON(b.Bytes())
		checkLog(t, string(encoded))
		var before, after string
		assert.Must(t, json.Unmarshal(b.Bytes(), &before))
		if err := json.Unmarshal(encoded, &after); err != nil || before != after {
			t.Fatalf("%q is %q, %v", before, after, err)
		}

		page := html.EscapeString(text)
		safe = string(LogHTML([]byte(page)))
		checkLog(t, safe)
		if got := html.UnescapeString(safe); got != text {
			t.Fatalf("%q is %q", text, got)
		}
	})
}
