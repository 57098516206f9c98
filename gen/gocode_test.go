package gen_test

import (
	"bytes"
	"fmt"
	"go/format"
	"strings"
	"testing"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/golden/assert"
)

func TestGroupImports(t *testing.T) {
	const root = "example.com/app/generated"
	src := "package app\n\nimport (\n\t\"context\"\n\tbigtable \"cloud.google.com/go/bigtable\"\n\t\"example.com/app/generated/weather\"\n\t\"time\"\n\t\"example.com/app/generated2\"\n\t\"example.com/app/generated\"\n\t\"encoding/json\"\n)\n\nvar x = \"import (\"\n"
	got, err := format.Source(gocode.GroupImports("// head\n\n", []byte(src), root))
	assert.Must(t, err)
	assert.Same(t, `// head

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
	assert.Same(t, none, string(gocode.GroupImports("", []byte(none), root)))
}

func TestTexts(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 1: "time.Nanosecond", time.Second: "time.Second", 90 * time.Second: "90 * time.Second",
		time.Hour: "time.Hour", 24 * time.Hour: "24 * time.Hour", 7 * 24 * time.Hour: "7 * 24 * time.Hour",
		36 * time.Hour: "36 * time.Hour", 1500 * time.Microsecond: "1500 * time.Microsecond",
	} {
		assert.Same(t, want, fmt.Sprintf("%#v", gocode.Duration(d)))
	}
	for in, want := range map[string]string{"": "", " a ": "a.", "a.": "a.", "a!": "a!", "a?": "a?"} {
		assert.Same(t, want, gocode.Sentence(in))
	}
	for text, want := range map[string]string{
		"": "//", "text ": "// text", "\tcode": "//\tcode", "\t \tcode": "//\tcode", "a\nb\rc\x00d\u2028": "// a b c d",
		"\u202eevil": "// \ufffdevil", "+build ignore": `// \+build ignore`, "\t+build ignore": "//\t\\+build ignore",
		"\u3000+build x": "// \u3000\\+build x", "go:build ignore": "// go:build ignore", "[a]: ``b''": "// [a] : \"b\"",
		"\t[a]:``b''": "//\t[a]:``b''", "*/ `\"": "// */ `\"",
	} {
		assert.Same(t, want, gocode.Comment(text))
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
		t.Run(test.name, func(t *testing.T) { assert.Same(t, test.want, gocode.Wrap(test.in)) })
	}
}

func TestTemplate(t *testing.T) {
	template := gocode.Template{
		Imports: map[string]string{"store": "example.com/runtime/store"},
		Package: "example.com/app",
		Name:    func(hole string) string { return "Click" + hole },
	}
	var absent *jen.Statement
	f := jen.NewFilePath("example.com/other")
	f.NoFormat = true
	f.Add(template.Fill(`
		// $1 returns $Event; it is $2
		func $1(of []$Event, \
			opts ...store.Options) any {
			// $2
			$3
			for range of { // $2
				$4
			}
			x.store.Field = of.$5 // not a package
			return store.$6[$Event](of, $7, "$1 store.Options // text")
		}`, "read", "text\n*/ func f() {}", absent, []jen.Code{template.Fill("store.Do()"), absent, template.Fill("$1()", "done")}, "Name", "Results", 5))
	var b bytes.Buffer
	assert.Must(t, f.Render(&b))
	got, err := format.Source(b.Bytes())
	assert.Must(t, err)
	assert.Same(t, `package other

import (
	app "example.com/app"
	store "example.com/runtime/store"
)

// read returns ClickEvent; it is text */ func f() {}
func read(of []app.ClickEvent, opts ...store.Options) any {
	// text */ func f() {}
	for range of { // text */ func f() {}
		store.Do()
		done()
	}
	x.store.Field = of.Name // not a package
	return store.Results[app.ClickEvent](of, 5, "$1 store.Options // text")
}
`, string(got))
}
