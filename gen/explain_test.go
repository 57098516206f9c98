package gen_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestRandomExplanations explains random schemas. The result must be deterministic,
// JSON must be complete, HTML must not contain elements from a schema, and no text may
// contain terminal escapes.
func TestRandomExplanations(t *testing.T) {
	for seed := range testlong.Pick(5, 100) {
		inputs := randomInputs.Example(seed)
		resolve := func() explain.Document {
			r := gen.Resolve(inputs)
			if err := r.Diagnostics.Err(); err != nil {
				t.Fatalf("%v in\n%s", err, texts(inputs))
			}
			return explain.New(r.Schemas, r.Layouts)
		}
		doc := resolve()
		if !reflect.DeepEqual(doc, resolve()) {
			t.Error("another explanation of the same schemas")
		}
		data, err := explain.JSON(doc)
		if err != nil {
			t.Fatal(err)
		}
		var again explain.Document
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatal(err)
		}
		if second, err := explain.JSON(again); err != nil || !bytes.Equal(data, second) {
			t.Errorf("JSON does not come back: %v", err)
		}
		for _, text := range []string{explain.Text(doc, explain.TextOptions{}), explain.Markdown(doc)} {
			if strings.ContainsAny(text, "\x1b\u202e\r") {
				t.Errorf("a text of a schema got out:\n%s", text)
			}
		}
		page, err := explain.HTML(doc)
		if err != nil {
			t.Fatal(err)
		}
		checkPage(t, page)
	}
}

// checkPage checks that the page contains only elements that an explanation uses.
func checkPage(t *testing.T, page []byte) {
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		switch n.Data {
		case "script", "img", "iframe", "object", "embed", "form", "input", "link", "base":
			if n.Type == html.ElementNode {
				t.Errorf("element %s", n.Data)
			}
		}
	}
}
