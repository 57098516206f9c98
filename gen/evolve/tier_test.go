package evolve_test

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
)

// TestTierIsNoData checks that neither btgen.lock nor the history of setups has the tier of a table:
// which storage holds a cell does not decide where readers find it.
func TestTierIsNoData(t *testing.T) {
	const text = `btgen: v1
package: app
name: Event
series: {host: string}
time: {precision: 1s}
fields: {value: int64}
tables:
  events:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [host, {time: unix_s}]}
    family: m
    ttl: {keep: forever}
`
	var locks, records []string
	for _, tier := range []string{"", "    tier: ssd\n", "    tier: {infrequent_access: {after: 60d}}\n"} {
		layouts, found := gen.Layouts([]gen.Input{{Name: "event.yaml", Text: []byte(text + tier)}})
		if found.HasErrors() {
			t.Fatal(found)
		}
		if tier != "" && layouts[0].Tables[0].Tier == 0 {
			t.Fatal("the layout has no tier")
		}
		locks = append(locks, string(evolve.LockOf([]*layout.Layout{layouts[0]}).Text()))
		records = append(records, lock.Record(layouts[0], layouts[0].Tables[0]))
	}
	for i := range locks {
		if locks[i] != locks[0] || records[i] != records[0] || !strings.Contains(locks[i], "events") {
			t.Errorf("%s\n%s", locks[i], records[i])
		}
	}
}
