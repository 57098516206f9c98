package lint_test

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
)

// moved is a schema whose earlier layout can only answer its query by reading all rows.
const moved = `btgen: v1
package: app
name: Poll
series: {region: string, meter: string}
time: {precision: 1s}
fields: {power: int64}
tables:
  polls:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [region, time, meter]}
    family: m
    ttl: {max_age: 30d}
    since: 2026-06-01
    before:
      - table: old_polls
        key: {delimiter: "#", segments: [meter, region, time]}
queries:
  ByRegion: {by: [region]}
`

// TestScanOfEarlierLayout: a query that reads a whole table only for events of an earlier
// layout is an error that names them, unless it has a scan; that is then used.
func TestScanOfEarlierLayout(t *testing.T) {
	errors := func(text string) string {
		var found []string
		for _, d := range gen.Resolve([]gen.Input{{Name: "poll.yaml", Text: []byte(text)}}).Diagnostics {
			found = append(found, d.Rule+" "+d.Message)
		}
		return strings.Join(found, "\n")
	}
	const want = `K06 query ByRegion reads the whole table for events before 2026-06-01: row keys of table "old_polls" do not begin with region`
	if got := errors(moved); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := errors(strings.Replace(moved, "[region]}", `[region], scan: "until the old events expire"}`, 1)); got != "" {
		t.Errorf("with a scan: %s", got)
	}
}
