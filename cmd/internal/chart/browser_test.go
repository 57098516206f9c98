package chart

import (
	"os"
	"testing"

	"github.com/btgen-dev/btgen/golden/testbrowser"
)

// TestBrowser displays pages in a headless Chromium, in light and dark mode, wide and narrow.
func TestBrowser(t *testing.T) {
	browser := testbrowser.New(t)
	inspect, err := os.ReadFile("testdata/inspect.js")
	must(t, err)
	for name, values := range map[string]string{
		"windows": "2021-03-13 20:00 – 22:00 PST | pressure (Pa) | 94,893.6 | temperature (°C) | 17.7254\n" +
			"2021-03-13 02:00 – 04:00 PST | pressure (Pa) | 94,151.4 | temperature (°C) | 27.4073\n2 lines",
		"series": "2021-03-14 04:00 – 06:00 | temperature (°C) | 17.7254\n" +
			"2021-03-13 10:00 – 12:00 |  |  |  | temperature (°C) | 27.4073 | 24.2967\n2 lines",
		"events":  "2021-03-05 12:00:00.123484\n2021-03-05 12:00:00.123496 | magnitude | 2.75\n0 lines",
		"hostile": "", "thousand": "",
	} {
		page, err := charts(t)[name].HTML()
		must(t, err)
		for _, look := range testbrowser.Looks {
			if got := browser.Inspect(t, name, page, look, string(inspect)); look.Width == 1280 && values != "" && got != values {
				t.Errorf("%s, %s:\n%s\nwant\n%s", name, look, got, values)
			}
		}
	}
}
