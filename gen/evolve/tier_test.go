package evolve_test

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// TestTierIsNoData checks that neither btgen.lock nor the history of setups has the tier of a table:
// which storage holds a cell does not decide where readers find it.
func TestTierIsNoData(t *testing.T) {
	var locks, records []string
	for _, tier := range []string{"", ", tier: ssd", ", tier: {infrequent_access: {after: 60d}}"} {
		l := testschema.Tables(t, "1s", "  events: {pattern: single_unserialized, key: {delimiter: \"#\", segments: [host, id, {time: unix_s}]}, family: m, ttl: {keep: forever}"+tier+"}\n")
		if tier != "" && l.Tables[0].Tier == 0 {
			t.Fatal("the layout has no tier")
		}
		locks = append(locks, string(evolve.LockOf([]*layout.Layout{l}).Text()))
		records = append(records, lock.Record(l, l.Tables[0]))
	}
	for i := range locks {
		if locks[i] != locks[0] || records[i] != records[0] || !strings.Contains(locks[i], "events") {
			t.Errorf("%s\n%s", locks[i], records[i])
		}
	}
}
