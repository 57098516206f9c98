package designer_test

import (
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

// inspect finds the faults of a page: truncated text in a drawing, a page that is wider than its
// window, and text with little contrast. WCAG 2.1 requires a contrast of 4.5 for text (success
// criterion 1.4.3).
const inspect = `for (const text of document.querySelectorAll("svg text")) {
  const box = text.getBBox(), view = text.ownerSVGElement.viewBox.baseVal;
  if (box.x < -0.5 || box.y < -0.5 || box.x + box.width > view.width + 0.5 || box.y + box.height > view.height + 0.5)
    faults.push("cut off: " + text.textContent);
}
for (const box of document.querySelectorAll(".panel, .beside > section" + (window.innerWidth > 1200 ? ", .scroll" : "")))
  if (box.scrollWidth > box.clientWidth + 1) faults.push("wider than its column, " + box.scrollWidth + " of " + box.clientWidth + " pixels: " + box.textContent.trim().slice(0, 40));
if (document.documentElement.scrollWidth > window.innerWidth)
  faults.push("a page of " + document.documentElement.scrollWidth + " pixels in a window of " + window.innerWidth);
const style = getComputedStyle(document.documentElement);
function luminance(name) {
  const n = parseInt(style.getPropertyValue(name).trim().slice(1), 16);
  const [r, g, b] = [n >> 16, n >> 8 & 255, n & 255].map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
for (const [text, behind] of [["fg", "bg"], ["fg", "card"], ["muted", "bg"], ["muted", "card"], ["good", "card"], ["bad", "bg"], ["warn", "bg"],
    ...[0, 1, 2, 3, 4].map(i => ["s" + i, "bg"])]) {
  const [light, dark] = [luminance("--" + text), luminance("--" + behind)].sort((a, b) => b - a);
  const contrast = (light + 0.05) / (dark + 0.05);
  if (!(contrast >= 4.5)) faults.push("contrast of " + text + " on " + behind + ": " + contrast);
}`

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
// mode, wide and narrow. testdata/screenshot.sh takes screenshots of them.
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
		shown := browser.Visit(t, "http://"+l.Addr().String()+"/", look, acts, `
const heading = () => document.querySelector("main h2");
shown.push(document.title, heading().textContent, document.querySelector(".state summary").textContent);
heading().scrollIntoView();
await until("scrolled", () => Math.abs(heading().getBoundingClientRect().top) < 2);
await act("mistake");
await until("errors", () => document.querySelector(".bad pre"));
shown.push(document.title, heading().textContent, document.querySelector(".old").textContent);
if (Math.abs(heading().getBoundingClientRect().top) > 2) faults.push("jumped to " + heading().getBoundingClientRect().top);
if (document.querySelector("img")) faults.push("an image");
scrollTo(0, 0);
`+inspect+`
await act("good");
await until("no errors", () => !document.querySelector(".bad"));
shown.push(document.title);`)
		want := "BalloonNewCells on Bigtable\nTable balloon_new_cells: bucket_new_cells\n1 change since btgen.lock\n" +
			"✗ BalloonNewCells on Bigtable\nTable balloon_new_cells: bucket_new_cells\nBelow is the last version without errors.\nBalloonNewCells on Bigtable"
		assert.Same(t, want, shown, look)
	}
}
