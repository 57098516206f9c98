package gocode

import (
	"bytes"
	"go/format"
	"testing"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/golden/assert"
)

func TestTemplate(t *testing.T) {
	template := Template{
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
