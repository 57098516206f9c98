package gocode

import (
	"bytes"
	"fmt"
	"go/format"
	"strings"
	"testing"
	"time"

	"github.com/dave/jennifer/jen"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/assert"
)

var compare = assert.Same

func TestGroupImports(t *testing.T) {
	const root = "example.com/app/generated"
	src := "package app\n\nimport (\n\t\"context\"\n\tbigtable \"cloud.google.com/go/bigtable\"\n\t\"example.com/app/generated/weather\"\n\t\"time\"\n\t\"example.com/app/generated2\"\n\t\"example.com/app/generated\"\n\t\"encoding/json\"\n)\n\nvar x = \"import (\"\n"
	got, err := format.Source(GroupImports("// head\n\n", []byte(src), root))
	assert.Must(t, err)
	compare(t, `// head

package app

import (
	"context"
	"encoding/json"
	"time"

	bigtable "cloud.google.com/go/bigtable"
	"example.com/app/generated2"

	"example.com/app/generated"
	"example.com/app/generated/weather"
)

var x = "import ("
`, string(got))
	const none = "package app\n\nvar x = 1\n"
	compare(t, none, string(GroupImports("", []byte(none), root)))
}

func TestComment(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "//",
		"text ":              "// text",
		"\tcode":             "//\tcode",
		"a\nb\rc\x00d\u2028": "// a b c d",
		"\u202eevil":         "// \ufffdevil",
		"+build ignore":      `// \+build ignore`,
		"\t+build ignore":    "//\t\\+build ignore",
		"\u3000+build x":     "// \u3000\\+build x",
		"go:build ignore":    "// go:build ignore",
		"[a]: ``b''":         "// [a] : \"b\"",
		"\t[a]:``b''":        "//\t[a]:``b''",
		"*/ `\"":             "// */ `\"",
	} {
		compare(t, want, Comment(text))
	}
}

func TestWrap(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for _, test := range []struct {
		name     string
		in, want []string
	}{
		{"short lines are joined", []string{"a", "b c"}, []string{"a b c"}},
		{"paragraphs stay", []string{"a", "", "", "b"}, []string{"a", "", "b"}},
		{"code stays, apart from text", []string{"a", "\tcode", "\tmore", "b"}, []string{"a", "", "\tcode", "\tmore", "", "b"}},
		{"long lines are broken", []string{long}, []string{strings.TrimSpace(long[:110]), strings.TrimSpace(long[110:])}},
		{"a long word is not", []string{strings.Repeat("x", 200)}, []string{strings.Repeat("x", 200)}},
		{"empty lines at the end go", []string{"a", "", "\x00"}, []string{"a"}},
		{"nothing", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) { compare(t, test.want, Wrap(test.in)) })
	}
}

// TestTextStaysInItsComment puts any text into a comment before a declaration
// and behind a field.
func TestTextStaysInItsComment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([ \t]{0,3}(\+build|//go:build|/\*|\*/|#|[-*+•] |1[.)] |a|\[a\]: b|"|)[ a-z]{0,3}\n{0,2}){0,6}`)).Draw(t, "text")
		f := jen.NewFile("app")
		f.NoFormat = true
		f.Add(Doc("T is an event: " + strings.TrimSpace(text))).Line().Type().Id("T").Struct(jen.Id("A").Int().Comment(Comment(text)))
		got, err := format.Source([]byte(f.GoString()))
		assert.Must(t, err)
		if again, err := format.Source(got); err != nil || !bytes.Equal(got, again) {
			t.Errorf("gofmt changes\n%s\nto\n%s, %v", got, again, err)
		}
		for i, line := range strings.Split(strings.TrimSpace(string(got)), "\n") {
			code, _, _ := strings.Cut(line, "//")
			code = strings.TrimSpace(code)
			if i == 0 && code != "package app" || i > 0 && code != "" && code != "type T struct {" && code != "A int" && code != "}" {
				t.Errorf("code from a comment: %q in\n%s", code, got)
			}
		}
	})
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 1: "time.Nanosecond", time.Second: "time.Second", 90 * time.Second: "90 * time.Second",
		time.Hour: "time.Hour", 24 * time.Hour: "24 * time.Hour", 7 * 24 * time.Hour: "7 * 24 * time.Hour",
		36 * time.Hour: "36 * time.Hour", 1500 * time.Microsecond: "1500 * time.Microsecond",
	} {
		compare(t, want, fmt.Sprintf("%#v", Duration(d)))
	}
}

func TestDate(t *testing.T) {
	at := time.Date(2021, 3, 5, 1, 0, 0, 7, time.FixedZone("", 3600))
	compare(t, "time.Date(2021, time.March, 5, 0, 0, 0, 7, time.UTC)", fmt.Sprintf("%#v", Date(at)))
}

func TestSentence(t *testing.T) {
	for in, want := range map[string]string{"": "", " a ": "a.", "a.": "a.", "a!": "a!", "a?": "a?"} {
		compare(t, want, Sentence(in))
	}
}
