// Package testbrowser displays pages in a headless Chromium, for tests that ask what a reader sees.
package testbrowser

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

// Look is how a page is displayed.
type Look struct {
	Width      int // in pixels
	dark       bool
	background string // the color that pages have
}

// String describes the look, for messages.
func (l Look) String() string { return fmt.Sprintf("dark %t, %d pixels wide", l.dark, l.Width) }

// Looks are light and dark mode, wide and narrow.
var Looks = []Look{{1280, false, "rgb(255, 255, 255)"}, {1280, true, "rgb(13, 17, 23)"}, {390, false, "rgb(255, 255, 255)"}, {390, true, "rgb(13, 17, 23)"}}

// found is what an inspection writes into a page.
var found = regexp.MustCompile(`(?s)<pre id="found">(.*?)</pre>`)

// Browser displays pages.
type Browser struct{ path string }

// New returns a browser. It skips the test in short runs, and if there is none.
func New(t *testing.T) Browser {
	t.Helper()
	testlong.Skip(t, "starts a browser")
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs chromium: ", err)
	}
	return Browser{path}
}

// Inspect displays a page and runs a script in it. The script adds texts to two arrays: faults, which
// fail the test, and shown, which Inspect returns as lines. Another background than that of the look is a
// fault, too.
func (b Browser) Inspect(t *testing.T, name string, page []byte, look Look, script string) string {
	t.Helper()
	dir := t.TempDir()
	inspected := strings.Replace(string(page), "</body>", `<pre id="found"></pre><script>addEventListener("load", () => {
const faults = [], shown = [], background = getComputedStyle(document.body).backgroundColor;
if (background !== "`+look.background+`") faults.push("background " + background);
`+script+`
const found = faults.concat("faults: " + faults.length, shown).join("\n");
document.getElementById("found").textContent = found;
if (parent !== window) parent.postMessage(found, "*");
});</script></body>`, 1)
	// Windows have a least width, and frames do not.
	frame := fmt.Sprintf(`<!DOCTYPE html><meta name="color-scheme" content="light dark"><pre id="found"></pre>
<script>addEventListener("message", e => document.getElementById("found").textContent = e.data)</script>
<iframe src="page.html" style="width:%dpx;height:1200px;border:0"></iframe>`, look.Width)
	for name, text := range map[string]string{"page.html": inspected, "frame.html": frame} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out, err := b.command(t, look, "--virtual-time-budget=10000", "--dump-dom", "file://"+filepath.Join(dir, "frame.html")).Output()
	if err != nil {
		t.Fatal(err)
	}
	text := found.FindSubmatch(out)
	if text == nil {
		t.Fatalf("the page was not looked at:\n%s", out)
	}
	return shownOf(t, name, look, html.UnescapeString(string(text[1])))
}

// shownOf returns what an inspection has shown, and reports its faults.
func shownOf(t *testing.T, name string, look Look, text string) string {
	t.Helper()
	faults, shown, _ := strings.Cut(text, "faults: ")
	if !strings.HasPrefix(shown, "0") {
		t.Errorf("%s, %s:\n%s", name, look, faults)
	}
	_, shown, _ = strings.Cut(shown, "\n")
	return shown
}

// command returns a browser with a look.
func (b Browser) command(t *testing.T, look Look, args ...string) *exec.Cmd {
	t.Helper()
	scheme := map[bool]int{true: 0, false: 1}[look.dark]
	profile, err := os.MkdirTemp("", "btgen-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) }) // processes of the browser may still write there
	cmd := exec.CommandContext(t.Context(), b.path, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir=" + profile,
		"--window-size=1400,1200", fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme)}, args...)...)
	cmd.Env = append(os.Environ(), "TZ=Europe/Berlin") // which pages may show times in
	return cmd
}
