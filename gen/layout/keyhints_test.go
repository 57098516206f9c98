package layout_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// proposedSegments are those of a hint.
var proposedSegments = regexp.MustCompile("`segments: \\[(.*?)\\]`")

// TestProposedSegments pastes the segments that are proposed for wrong keys, after which none are. Class of faults: a way out that is
// another mistake, so that a user goes in circles.
func TestProposedSegments(t *testing.T) {
	all := []string{"region", "line", "host", "metric", "time", "{time: unix_s}", "bucket", "{bucket: unix_s}", "{sequence: true}", "{const: x}"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range testlong.Pick(500, 20_000) {
		var parts []string
		for _, i := range rng.Perm(len(all))[:1+rng.IntN(6)] {
			parts = append(parts, all[i])
		}
		pattern, segments := codec.Patterns()[rng.IntN(len(codec.Patterns()))], strings.Join(parts, ", ")
		tried := []string{segments}
		for step := 0; ; step++ {
			_, found := ask(t, "{by: [region, line, host]}", queryTable(pattern.String(), segments))
			next, told := "", ""
			for _, d := range found {
				told += fmt.Sprintf("\n%s: %s", d.Message, d.Hint)
				if m := proposedSegments.FindStringSubmatch(d.Hint); m != nil && next == "" {
					next = m[1]
				}
			}
			if next == "" {
				break
			}
			if segments = next; step > 0 {
				t.Errorf("%s: %q%s", pattern, tried, told)
				break
			}
			tried = append(tried, segments)
		}
	}
}
