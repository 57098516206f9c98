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

// TestReadsOfEarlierLayout: the rules about what a query reads apply to earlier layouts, which it
// reads, too. They can be allowed, and an allow is then used.
func TestReadsOfEarlierLayout(t *testing.T) {
	const schema = `btgen: v1
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
        key: {delimiter: "#", segments: [OLD]}
queries:
  ByRegion: {by: [region]ALLOW}
`
	for _, tt := range []struct{ rule, old, want string }{
		{"K18", "region, meter, time", `K18 for events before 2026-06-01, query ByRegion does not give meter, which precedes the time in "old_polls": a day takes 3,196,800 rows per series instead of 86,400`},
		{"K09", "{hash: [meter], buckets: 4}, region, time, meter", `K09 for events before 2026-06-01, query ByRegion does not give every value in the salt: each call reads 4 key ranges`},
		{"K08", "{hash: [meter], buckets: 200}, region, time, meter", `K08 for events before 2026-06-01, query ByRegion reads 200 key ranges, one per salt bucket`},
		{"", "region, {time: unix_ms}, meter", ""},
	} {
		found := func(allow string) string {
			text := strings.NewReplacer("OLD", tt.old, "ALLOW", allow).Replace(schema)
			var out []string
			for _, d := range gen.Resolve([]gen.Input{{Name: "poll.yaml", Text: []byte(text)}}).Diagnostics {
				out = append(out, d.Rule+" "+d.Message)
			}
			return strings.Join(out, "\n")
		}
		if got := found(""); got != tt.want {
			t.Errorf("%s: got  %s\nwant %s", tt.old, got, tt.want)
		}
		if tt.rule == "" {
			continue
		}
		if got := found(", allow: {" + tt.rule + ": until the old events expire}"); got != "" {
			t.Errorf("%s, allowed: %s", tt.old, got)
		}
	}
}
