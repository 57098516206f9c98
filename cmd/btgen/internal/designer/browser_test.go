package designer_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/cmd/btgen/internal/designer"
	"github.com/btgen-dev/btgen/cmd/internal/web"
	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/testbrowser"
)

// inspect finds the faults of a page.
//
//go:embed testdata/inspect.js
var inspect string

// edits goes through the page while acts edit the schema.
//
//go:embed testdata/edits.js
var edits string

// explained returns an explanation of schemas without errors, with simulations.
func explained(t *testing.T, pattern string) *explain.Explanation {
	t.Helper()
	r := gen.Resolve(corpus.Inputs(t, "../../../../schemas/"+pattern))
	assert.Must(t, r.Diagnostics.Err())
	doc, err := explain.New(r.Schemas, r.Layouts, explain.Options{Hotspots: true})
	assert.Must(t, err)
	return doc
}

// TestBrowser displays explanations and a comparison in a headless Chromium, in light and dark
// mode, wide and narrow.
func TestBrowser(t *testing.T) {
	browser := testbrowser.New(t)
	compared := explain.Compare(explained(t, "balloon_new_cells.yaml"), explained(t, "seismic_tremors.yaml"))
	for name, page := range map[string][]byte{"explain": explained(t, "*.yaml").HTML(), "compare": compared.HTML()} {
		for _, look := range testbrowser.Looks {
			browser.Inspect(t, name, page, look, inspect)
		}
	}
}

// TestDesigner edits a schema while a browser shows it: the page is drawn again, keeps the picture while there are errors, and
// neither jumps nor runs hostile text.
func TestDesigner(t *testing.T) {
	browser := testbrowser.New(t)
	l, err := web.Listen(t.Context(), "127.0.0.1:0")
	assert.Must(t, err)
	page := designer.New()
	go func() { _ = web.Serve(t.Context(), l, page, nil) }()
	doc := explained(t, "balloon_new_cells.yaml")
	source := func(string) []byte { return []byte(strings.Repeat("x", 150) + "\n") }
	hostile := `<img src=x onerror="document.title=1"><script>document.title=2</script>`
	show := func(s designer.State) func() {
		return func() {
			s.Source = source
			assert.Is(t, nil, page.Show(&s))
		}
	}
	finding := func(message string) diag.List {
		return diag.List{{Pos: diag.Pos{File: "balloon.yaml", Line: 1, Column: 140}, Message: message + " " + strings.Repeat("long", 60), Hint: "write `bucket: 1w`"}}
	}
	changes := diag.List{{Severity: diag.Warning, Class: "ROLLOUT", Message: "a change"}}
	good := show(designer.State{Document: &doc.Document, Compared: true, Since: "btgen.lock", Changes: changes})
	acts := map[string]func(){
		"mistake": show(designer.State{Findings: finding(hostile)}),
		"good":    good,
	}
	for _, look := range testbrowser.Looks {
		good()
		shown := browser.Visit(t, "http://"+l.Addr().String()+"/", look, acts, strings.Replace(edits, "INSPECT", inspect, 1))
		want := "BalloonNewCells on Bigtable\nTable balloon_new_cells: bucket_new_cells\n1 change since btgen.lock\n" +
			"✗ BalloonNewCells on Bigtable\nTable balloon_new_cells: bucket_new_cells\nBelow is the last version without errors.\nBalloonNewCells on Bigtable"
		assert.Same(t, want, shown, look)
	}
}
