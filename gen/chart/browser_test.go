package chart

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/testlong"
)

// inspect appends to a page what is wrong with it, and what it shows: the values at the pointer, those
// three keys later, and the number of lines after the last series is hidden.
const inspect = `
<pre id="found"></pre>
<script>
addEventListener("load", () => {
  const found = [], svg = drawn(), area = svg.getBoundingClientRect();
  for (const text of svg.querySelectorAll("text")) {
    const box = text.getBBox(), view = svg.viewBox.baseVal;
    if (box.x < -0.5 || box.x + box.width > view.width + 0.5 || box.y + box.height > view.height + 0.5) found.push("cut off: " + text.textContent);
  }
  const labels = [...svg.querySelectorAll("text")].map(t => [t.getBoundingClientRect(), t.textContent]);
  for (const [i, [a, first]] of labels.entries()) for (const [b, second] of labels.slice(0, i))
    if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom) found.push("overlap: " + first + ", " + second);
  if (document.documentElement.scrollWidth > window.innerWidth) found.push("wider than the window");
  found.push("background " + getComputedStyle(document.body).backgroundColor);
  const show = () => {
    const box = tip.getBoundingClientRect();
    if (box.left < -0.5 || box.right > window.innerWidth + 0.5) found.push("values beside the window");
    found.push([...tip.querySelectorAll("b, td:not(.range)")].map(e => e.textContent).join(" | ") || tip.textContent);
  };
  chart.dispatchEvent(new PointerEvent("pointermove", {clientX: area.left + area.width / 3, clientY: area.top + 60}));
  show();
  for (const key of ["Home", "ArrowRight", "ArrowDown"]) chart.dispatchEvent(new KeyboardEvent("keydown", {key}));
  show();
  buttons.at(-1)?.click();
  found.push(svg.querySelectorAll("path.line:not(.off)").length + " lines");
  document.getElementById("found").textContent = found.join("\n");
  if (parent !== window) parent.postMessage(found.join("\n"), "*");
});
</script>`

var foundInPage = regexp.MustCompile(`(?s)<pre id="found">(.*?)</pre>`)

// TestBrowser displays pages in a headless Chromium, in light and dark mode, wide and narrow.
func TestBrowser(t *testing.T) {
	testlong.Skip(t, "starts a browser")
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs chromium: ", err)
	}
	want := map[string]string{
		"windows": "2021-03-13 20:00 – 22:00 PST | pressure (Pa) | 94,893.6 | temperature (°C) | 17.7254\n" +
			"2021-03-13 02:00 – 04:00 PST | pressure (Pa) | 94,151.4 | temperature (°C) | 27.4073\n2 lines",
		"series": "temperature (°C), 2021-03-14 04:00 – 06:00 | us-west2 3698 | 17.7254\n" +
			"temperature (°C), 2021-03-13 10:00 – 12:00 | us-west2 3698 | 27.4073 | us-west2 3700 | 24.2967\n2 lines",
		"events":  "2021-03-05 12:00:00.123484\n2021-03-05 12:00:00.123496 | magnitude | 2.75\n0 lines",
		"hostile": "", "thousand": "",
	}
	for name, values := range want {
		page, err := charts(t)[name].HTML()
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			scheme, width int
			background    string
		}{{1, 1280, "rgb(255, 255, 255)"}, {0, 1280, "rgb(13, 17, 23)"}, {1, 390, "rgb(255, 255, 255)"}} {
			got, found := strings.CutPrefix(inspectPage(t, chromium, page, test.scheme, test.width), "background "+test.background+"\n")
			if !found || test.width == 1280 && values != "" && got != values {
				t.Errorf("%s, scheme %d, %d pixels wide:\n%s\nwant\n%s", name, test.scheme, test.width, got, values)
			}
		}
	}
}

// inspectPage displays a page in a frame, since windows have a least width, and returns what
// the inspection found.
func inspectPage(t *testing.T, chromium string, page []byte, scheme, width int) string {
	t.Helper()
	dir := t.TempDir()
	frame := fmt.Sprintf(`<!DOCTYPE html><meta name="color-scheme" content="light dark"><pre id="found"></pre>
<script>addEventListener("message", e => document.getElementById("found").textContent = e.data)</script>
<iframe src="page.html" style="width:%dpx;height:1200px;border:0"></iframe>`, width)
	for name, text := range map[string]string{"page.html": strings.Replace(string(page), "</body>", inspect+"</body>", 1), "frame.html": frame} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
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
