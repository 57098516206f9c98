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
</script>`

var foundInPage = regexp.MustCompile(`(?s)<pre id="found">(.*?)</pre>`)

// TestBrowser displays explanations in a headless Chromium, in light and dark mode,
// wide and narrow. testdata/screenshot.sh takes screenshots of them.
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
	path := filepath.Join(t.TempDir(), "explain.html")
	page = []byte(strings.Replace(string(page), "</body>", inspect+"</body>", 1))
	if err := os.WriteFile(path, page, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		scheme, width int
		background    string
	}{{1, 1240, "rgb(255, 255, 255)"}, {0, 1240, "rgb(13, 17, 23)"}, {1, 500, "rgb(255, 255, 255)"}} {
		cmd := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(),
			fmt.Sprintf("--window-size=%d,1200", test.width), fmt.Sprintf("--blink-settings=preferredColorScheme=%d", test.scheme),
			"--dump-dom", "file://"+path)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		found := foundInPage.FindSubmatch(out)
		if found == nil {
			t.Fatalf("the page was not looked at:\n%s", out)
		}
		if got := html.UnescapeString(string(found[1])); got != "background "+test.background {
			t.Errorf("scheme %d, %d pixels wide:\n%s", test.scheme, test.width, got)
		}
	}
}
