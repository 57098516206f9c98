package layout_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
)

var compare = assert.Same

// queryTable returns table t with the given pattern and segments.
func queryTable(pattern, segments string) string {
	bucket := ""
	if codec.ParsePattern(pattern).Bucketed() {
		bucket = "bucket: 1h, "
	}
	return fmt.Sprintf("  t: {pattern: %s, key: {delimiter: \"#\", segments: [%s]}, %sfamily: m, ttl: {max_age: 30d}}\n", pattern, segments, bucket)
}

// ask resolves a query Q of the series region, line and host. There may be errors.
func ask(t *testing.T, query, tables string) (*layout.Layout, diag.List) {
	t.Helper()
	s, found := schema.Parse("event.yaml", fmt.Appendf(nil, `btgen: v1
package: app
name: Event
series: {region: string, line: string, host: int64}
time: {precision: 1m}
fields: {a: {type: int64, number: 1}, b: {type: int64, number: 2}}
tables:
%squeries: {Q: %s}
`, tables, query))
	if len(found) != 0 {
		t.Fatal(found)
	}
	return layout.Resolve(s)
}

// TestBest checks which of two tables answers a query, whichever is listed first: the one that reads fewer rows, and of equals
// the one that keeps events longer.
func TestBest(t *testing.T) {
	const byLine, byHost, whole = "region, line, bucket, host", "host, bucket, region, line", "region, line, host, bucket"
	const salted = "{hash: [region, line, host], buckets: 16}, bucket, region, line, host"
	table := func(id, segments, age string) string {
		return strings.NewReplacer("  t:", "  "+id+":", "30d", age).Replace(queryTable("bucket_new_cells", segments))
	}
	for _, test := range []struct{ by, want, other string }{
		{"region, line", table("long", byLine, "365d"), table("short", byLine, "1d")},
		{"region, line", table("short", byLine, "1d"), table("long", byHost, "365d")},
		{"", table("long", byHost, "365d"), table("short", byLine, "1d")},
		{"", table("salted", salted, "30d"), table("whole", whole, "30d")},
		{"", table("salted", salted, "30d"), table("whole", whole, "365d")},
		{"", table("long", "host, line, region, bucket", "365d"), table("short", whole, "1d")},
	} {
		for _, tables := range []string{test.want + test.other, test.other + test.want} {
			l, found := ask(t, "{by: ["+test.by+"]}", tables)
			if len(found) != 0 || !strings.HasPrefix(test.want, "  "+l.Queries[0].Table.ID+":") {
				t.Errorf("by [%s]: %s, %v, want %s", test.by, l.Queries[0].Table.ID, found, test.want)
			}
		}
	}
}

// TestUnanswered checks that the message says for each table why it cannot answer; TestProposals follows the hint.
func TestUnanswered(t *testing.T) {
	for _, test := range []struct{ segments, by, why, hint string }{
		{"region, bucket, line, metric, host", "region", "the unspecified line precedes the metric", "segments: [region, metric, bucket, line, host]"},
		{"region, bucket, {hash: [line], buckets: 4}, metric, line, host", "region", "a salt of unspecified values precedes the metric", "segments: [{hash: [region], buckets: 4}, region, metric, bucket, line, host]"},
		{"{hash: [host], buckets: 4}, region, metric, bucket, line, host", "region", "rows, with a salt of unspecified values", "segments: [{hash: [region], buckets: 4}, region, metric, bucket, line, host]"},
		{"region, line, host, metric, bucket", "", "the unspecified region precedes the metric", "segments: [metric, region, line, host, bucket]"},
	} {
		_, found := ask(t, "{by: ["+test.by+"]}", queryTable("bucket_new_columns", test.segments))
		if len(found) != 1 || !strings.Contains(found[0].Message, test.why) || !strings.Contains(found[0].Hint, test.hint+"}\n") {
			t.Errorf("[%s] by [%s]: %v", test.segments, test.by, found)
		}
	}
}

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
