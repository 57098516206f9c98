package explain_test

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// inspect inspects a page in a browser and appends its faults and colors: truncated
// text in a drawing, a page that is wider than its window, and text with little
// contrast. WCAG 2.1 requires a contrast of 4.5 for text (success criterion 1.4.3).
const inspect = `
<pre id="found"></pre>
<script>
const found = [];
for (const text of document.querySelectorAll("svg text")) {
  const box = text.getBBox(), view = text.ownerSVGElement.viewBox.baseVal;
  if (box.x < -0.5 || box.y < -0.5 || box.x + box.width > view.width + 0.5 || box.y + box.height > view.height + 0.5)
    found.push("cut off: " + text.textContent);
}
for (const box of document.querySelectorAll("svg rect.s0, svg rect.s1, svg rect.s2, svg rect.s3, svg rect.s4")) {
  const name = box.previousElementSibling.getBBox();
  if (name.width > box.getBBox().width + 14) found.push("wider than its box: " + box.previousElementSibling.textContent);
}
for (const box of document.querySelectorAll("svg.fit, table.compared"))
  if (box.getBoundingClientRect().right > document.body.getBoundingClientRect().right + 0.5) found.push("wider than the page: " + box.textContent.trim().slice(0, 40));
for (const box of document.querySelectorAll(".compared, .panel, .beside > div:not(.scroll)" + (window.innerWidth > 1200 ? ", .scroll" : "")))
  if (box.scrollWidth > box.clientWidth + 1) found.push("wider than its column: " + box.textContent.trim().slice(0, 40));
if (document.documentElement.scrollWidth > window.innerWidth)
  found.push("a page of " + document.documentElement.scrollWidth + " pixels in a window of " + window.innerWidth);
const style = getComputedStyle(document.documentElement);
function luminance(name) {
  const n = parseInt(style.getPropertyValue(name).trim().slice(1), 16);
  const [r, g, b] = [n >> 16, n >> 8 & 255, n & 255].map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
for (const [text, behind] of [["fg", "bg"], ["fg", "card"], ["muted", "bg"], ["muted", "card"], ["good", "card"], ["bad", "bg"], ["warn", "bg"],
    ...[0, 1, 2, 3, 4].flatMap(i => [["s" + i, "bg"], ["fg", "b" + i]])]) {
  const [light, dark] = [luminance("--" + text), luminance("--" + behind)].sort((a, b) => b - a);
  const contrast = (light + 0.05) / (dark + 0.05);
  if (!(contrast >= 4.5)) found.push("contrast of " + text + " on " + behind + ": " + contrast);
}
found.push("background " + getComputedStyle(document.body).backgroundColor);
document.getElementById("found").textContent = found.join("\n");
if (parent !== window) parent.postMessage(found.join("\n"), "*");
</script>`

var foundInPage = regexp.MustCompile(`(?s)<pre id="found">(.*?)</pre>`)

// TestBrowser displays explanations and a comparison in a headless Chromium, in light and dark
// mode, wide and narrow. testdata/screenshot.sh takes screenshots of them.
func TestBrowser(t *testing.T) {
	testlong.Skip(t, "starts a browser")
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs chromium: ", err)
	}
	page, err := explain.HTML(simulated(t, exampleSchemas(t, "*.yaml")...))
	if err != nil {
		t.Fatal(err)
	}
	a, b := documentOf(t, exampleSchemas(t, "balloon_new_cells.yaml")...), documentOf(t, exampleSchemas(t, "seismic_tremors.yaml")...)
	c := explain.Compare(&a.Schemas[0], &b.Schemas[0])
	compared, err := c.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string][]byte{"explain": page, "compare": compared} {
		for _, test := range []struct {
			scheme, width int
			background    string
		}{{1, 1280, "rgb(255, 255, 255)"}, {0, 1280, "rgb(13, 17, 23)"}, {1, 390, "rgb(255, 255, 255)"}} {
			if got := inspectPage(t, chromium, page, test.scheme, test.width); got != "background "+test.background {
				t.Errorf("%s, scheme %d, %d pixels wide:\n%s", name, test.scheme, test.width, got)
			}
		}
	}
}

// inspectPage displays a page in a frame, since windows have a least width, and returns what
// the inspection found.
func inspectPage(t *testing.T, chromium string, page []byte, scheme, width int) string {
	t.Helper()
	dir := t.TempDir()
	page = []byte(strings.Replace(string(page), "</body>", inspect+"</body>", 1))
	frame := fmt.Sprintf(`<!DOCTYPE html><meta name="color-scheme" content="light dark"><pre id="found"></pre>
<script>addEventListener("message", e => document.getElementById("found").textContent = e.data)</script>
<iframe src="page.html" style="width:%dpx;height:1200px;border:0"></iframe>`, width)
	for name, text := range map[string][]byte{"page.html": page, "frame.html": []byte(frame)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(),
		"--window-size=1400,1200", fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme),
		"--virtual-time-budget=10000", "--dump-dom", "file://"+filepath.Join(dir, "frame.html"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := foundInPage.FindSubmatch(out)
	if found == nil {
		t.Fatalf("the page was not looked at:\n%s", out)
	}
	return html.UnescapeString(string(found[1]))
}
