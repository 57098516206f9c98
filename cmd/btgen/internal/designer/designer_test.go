package designer

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/golden/assert"
)

const schemaText = `btgen: v1
package: app
name: Event
doc: Readings %s
series: {host: string}
fields: {value: int64}
tables:
  events: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}, bucket: 1h, family: m,
    ttl: {max_age: 30d}}
`

// documentOf explains a schema.
func documentOf(t *testing.T, doc string) *document.Document {
	t.Helper()
	r := gen.Resolve([]gen.Input{{Name: "event.yaml", Text: []byte(strings.Replace(schemaText, "%s", doc, 1))}})
	must(t, r.Diagnostics.Err())
	out, err := explain.New(r.Schemas, r.Layouts, explain.Options{})
	must(t, err)
	return &out.Document
}

// get returns the answer to a request.
func get(t *testing.T, d *Designer, ctx context.Context, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
	body, err := io.ReadAll(w.Result().Body)
	must(t, err)
	return w.Code, string(body)
}

// show shows a state and returns the page.
func show(t *testing.T, d *Designer, s *State) string {
	t.Helper()
	if s.Source == nil {
		s.Source = func(string) []byte { return []byte("btgen: v1\n") }
	}
	must(t, d.Show(s))
	code, page := get(t, d, t.Context(), "/")
	if code != http.StatusOK {
		t.Fatal(code)
	}
	return page
}

// TestStates shows a schema that is edited: the last picture stays while there are errors.
func TestStates(t *testing.T) {
	d := New()
	mistake := diag.List{{Pos: diag.Pos{File: "event.yaml", Line: 1, Column: 8}, Message: "unknown version", Hint: "write `btgen: v1`"}}
	advice := diag.List{{Severity: diag.Warning, Rule: "K01", Message: "one prefix"}}
	changes := diag.List{{Severity: diag.Error, Class: "DATA", Message: "the type of value changes"}}
	const drawn, old = "Row key", "Below is the last version without errors."
	for _, c := range []struct {
		name       string
		state      State
		has, lacks []string
	}{
		{"mistakes at first", State{Findings: mistake}, []string{"<h2>1 error</h2>", "event.yaml:1:8: unknown version", "    1 | btgen: v1", "help: write `btgen: v1`", "<title>✗ Schemas"}, []string{drawn, old, "since"}},
		{"no schemas", State{Failure: "schemas does not exist"}, []string{"cannot be read", "schemas does not exist"}, []string{drawn, old}},
		{"good", State{Document: documentOf(t, "of a sensor"), Findings: advice, Compared: true, Since: "btgen.lock"}, []string{drawn, "of a sensor", "1 finding", "one prefix", "No changes since btgen.lock", "<title>Event on"}, []string{old, "error</h2>"}},
		{"changed", State{Document: documentOf(t, "of a meter"), Compared: true, Since: "git:main", Changes: changes, Notes: []string{"a note"}}, []string{drawn, "of a meter", "1 change since git:main", `<li class="DATA">`, "the type of value changes", "a note"}, []string{old, "1 finding", "of a sensor"}},
		{"mistakes", State{Findings: mistake}, []string{drawn, "of a meter", "<h2>1 error</h2>", old, "<title>✗ Event"}, []string{"since"}},
		{"good again", State{Document: documentOf(t, "of a clock"), Since: "No lock"}, []string{"of a clock", "No lock"}, []string{old, "error</h2>", "<summary>"}},
	} {
		page := show(t, d, &c.state)
		for _, want := range c.has {
			assert.Contains(t, want, page, c.name)
		}
		for _, not := range c.lacks {
			if strings.Contains(page, not) {
				t.Errorf("%s: has %q", c.name, not)
			}
		}
	}
}

// TestNext waits for versions.
func TestNext(t *testing.T) {
	d := New()
	show(t, d, &State{Failure: "first"})
	version := d.version(1)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if code, page := get(t, d, canceled, "/next?after="+version); code != http.StatusNoContent || page != "" {
		t.Errorf("%d %s", code, page)
	}
	if code, page := get(t, d, t.Context(), "/next?after=other-1"); code != http.StatusOK || !strings.Contains(page, "first") { // of a server before
		t.Errorf("%d %s", code, page)
	}
	answered := make(chan string)
	go func() {
		_, page := get(t, d, t.Context(), "/next?after="+version)
		answered <- page
	}()
	show(t, d, &State{Failure: "second"})
	if page := <-answered; !strings.Contains(page, "second") || !strings.Contains(page, `data-version="`+d.version(2)+`"`) {
		t.Errorf("got %s", page)
	}
	for path, want := range map[string]string{"/designer.js": "follow()", "/designer.css": "--bg:"} {
		if code, text := get(t, d, t.Context(), path); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, _ := get(t, d, t.Context(), "/../designer.go"); code != http.StatusNotFound {
		t.Error(code)
	}
	if New().run == d.run {
		t.Error("versions of two servers are the same")
	}
}

// TestInert shows hostile text wherever text is shown. Nothing of it is an element or an attribute.
func TestInert(t *testing.T) {
	for _, text := range []string{
		`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, `</pre></main><script src="//evil"></script>`,
		`</title><script>alert(1)</script>`, "{{.}}", `' onmouseover='alert(1)`, "javascript:alert(1)", "<!--", "]]>", "\x1b[31m\x00\xff<b>",
	} {
		found := diag.List{{Pos: diag.Pos{File: text, Line: 1}, Severity: diag.Warning, Message: text, Hint: text, Note: text, Class: text}, {Message: text}}
		s := &State{
			Document: documentOf(t, "of "+strings.NewReplacer("\x1b", "", "\x00", "", "\xff", "", "\"", "", "'", "", "{", "", "}", "", "[", "", "]", "", "#", "", ":", "", "&", "", "*", "", "!", "", "|", "", ">", "").Replace(text)),
			Findings: found, Changes: found, Compared: true, Since: text, Notes: []string{text}, Failure: text,
			Source: func(string) []byte { return []byte(text + "\n") },
		}
		s.Document.Sections[0].Title, s.Document.Title = text, text
		page := show(t, New(), s)
		root, err := html.Parse(strings.NewReader(page))
		must(t, err)
		scripts := 0
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if n.Data == "img" || n.Data == "b" && n.FirstChild == nil || n.Data == "style" {
				t.Errorf("%q: element %s", text, n.Data)
			}
			if n.Data == "script" {
				scripts++
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" && a.Val != "/designer.js" || a.Key == "href" && strings.HasPrefix(a.Val, "javascript") {
					t.Errorf("%q: attribute %s=%q", text, a.Key, a.Val)
				}
			}
		}
		assert.Same(t, 1, scripts, text)
	}
}

var must = assert.Must
