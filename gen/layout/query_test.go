package layout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/layout"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/prose"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
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

// answer is like ask for a query that has an answer.
func answer(t *testing.T, query, tables string) (*layout.Layout, *layout.Query) {
	t.Helper()
	l, found := ask(t, query, tables)
	if len(found) != 0 {
		t.Fatal(found)
	}
	return l, &l.Queries[0]
}

func TestPlans(t *testing.T) {
	const cells, columns, rows = "bucket_new_cells", "bucket_new_columns", "single_serialized"
	for _, test := range []struct{ pattern, segments, by, want string }{
		{cells, "region, line, bucket, host", "region, line", "one range of rows"},
		{cells, "region, bucket, line, host", "region, line", "a range of rows for each bucket"},
		{cells, "region, line, host, bucket", "host", "the whole table, skipping rows with another host"},
		{cells, "region, bucket, host, line", "region, line", "one range of rows, skipping rows with another line"},
		{cells, "{hash: [host], buckets: 4}, region, line, bucket, host", "region, line", "one range of rows for each of 4 salt buckets, read in parallel and merged"},
		{cells, "{hash: [host], buckets: 4}, region, line, host, bucket", "", "the whole table"},
		// An unknown salt after the time is unknown, too.
		{cells, "region, bucket, {hash: [host], buckets: 4}, line, host", "region, line", "one range of rows, skipping rows with another line"},
		{cells, "region, bucket, {hash: [line], buckets: 4}, line, host", "region, line", "a range of rows for each bucket"},
		{rows, "region, time, {hash: [host], buckets: 4}, line, host", "region, line", "one range of rows, skipping rows with another line"},
		// A constant after the time does not split a range into buckets.
		{cells, "region, line, bucket, {const: v1}, host", "region, line", "one range of rows"},
		{cells, "region, line, bucket, {hash: [region], buckets: 4}, host", "region, line", "one range of rows"},
		// Segments after the time identify the rows of buckets.
		{cells, "{hash: [host], buckets: 4}, bucket, host, region, line", "host", "a range of rows for each bucket"},
		{cells, "{hash: [host], buckets: 4}, bucket, region, line, host", "host", "the rows of all series in one of 4 salt buckets within the time range, skipping rows with another host"},
		{cells, "{const: v}, bucket, host, region, line", "host, region, line", "the rows of the buckets, by their keys"},
		{cells, "{const: v}, bucket, host, region, line", "", "the rows of all series within the time range"},
		{rows, "{const: v}, time, host, region, line", "host", "the rows of all series within the time range, skipping rows with another host"},
		{rows, "region, line, time, host", "region, line, host", "one range of rows, skipping rows with another host"},
		// A reader iterates over the metrics, wherever they are in the key.
		{columns, "host, region, line, bucket, metric", "region, line, host", "the rows of the buckets, by their keys for each field"},
		{columns, "region, metric, bucket, line, host", "region", "one range of rows for each field"},
		{columns, "metric, region, line, host, bucket", "", "the whole table for each field"},
	} {
		_, q := answer(t, "{by: ["+test.by+"]}", queryTable(test.pattern, test.segments))
		compare(t, test.want, prose.Ranges(q), test.pattern, test.segments, test.by)
		all := test.by == "" && strings.HasSuffix(test.want, "the time range") // the query returns all of them
		if scans := !all && (strings.HasPrefix(test.want, "the whole") || strings.HasPrefix(test.want, "the rows of all")); q.Scans() != scans {
			t.Errorf("%s of [%s] by [%s]: scans: %v", test.pattern, test.segments, test.by, q.Scans())
		}
	}
}

// cellsTable returns a table of cells with the given ID, segments and age.
func cellsTable(id, segments, age string) string {
	return strings.NewReplacer("  t:", "  "+id+":", "30d", age).Replace(queryTable("bucket_new_cells", segments))
}

// Among tables that answer a query equally well, the one that keeps events longest
// answers it. If a better one keeps them for less time, the query's comment says so.
func TestLongestTable(t *testing.T) {
	const byLine = "region, line, bucket, host"
	for _, test := range []struct{ by, tables, want, note string }{
		{"region, line", cellsTable("short", byLine, "1d") + cellsTable("long", byLine, "365d"), "long", ""},
		{"region, line", cellsTable("long", byLine, "365d") + cellsTable("short", byLine, "1d"), "long", ""},
		{"region, line", cellsTable("short", byLine, "1d") + cellsTable("long", "host, bucket, region, line", "365d"), "short", "Events may expire earlier in table short than in table long, which Read reads."},
		{"", cellsTable("short", byLine, "1d") + cellsTable("long", "host, bucket, region, line", "365d"), "long", "The server scans rows of all times and drops those outside the range."},
	} {
		l, q := answer(t, "{by: ["+test.by+"]}", test.tables)
		compare(t, test.want, q.Table.ID)
		compare(t, test.note, strings.Join(prose.Notes(l, q), " "))
	}
}

// A query of all series uses the table whose time follows a salt, wherever the table is
// listed: it reads one range per salt, not every row. Another table that keeps events
// longer would have to be read as a whole.
func TestAllSeries(t *testing.T) {
	const salted = "{hash: [region, line, host], buckets: 16}, bucket, region, line, host"
	for _, tables := range []string{
		cellsTable("whole", "region, line, host, bucket", "30d") + cellsTable("salted", salted, "30d"),
		cellsTable("salted", salted, "30d") + cellsTable("whole", "region, line, host, bucket", "30d"),
		cellsTable("whole", "region, line, host, bucket", "365d") + cellsTable("salted", salted, "30d"),
	} {
		_, q := answer(t, "{by: []}", tables)
		compare(t, "salted", q.Table.ID)
		compare(t, "the rows of all series within the time range for each of 16 salt buckets, read in parallel and merged", prose.Ranges(q))
		compare(t, false, q.Scans())
	}
	// Of two tables that must be read as a whole, the one that keeps events longer.
	_, q := answer(t, "{by: []}", cellsTable("short", "region, line, host, bucket", "1d")+cellsTable("long", "host, line, region, bucket", "365d"))
	compare(t, "long", q.Table.ID)
	compare(t, true, q.Scans())
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

// The language allows raw bytes as wide as a row key.
func TestRawPad(t *testing.T) {
	for pad, want := range map[int]bool{1: true, codec.MaxKey: true, codec.MaxKey + 1: false} {
		s, found := schema.Parse("event.yaml", fmt.Appendf(nil, `btgen: v1
package: app
name: Event
series: {id: bytes}
fields: {a: int64}
tables:
  t: {pattern: bucket_new_cells, key: {segments: [{name: id, encoding: raw, pad: %d}, bucket]}, bucket: 1h, family: m, ttl: {max_age: 30d}}
`, pad))
		if len(found) == 0 {
			var l *layout.Layout
			l, found = layout.Resolve(s)
			compare(t, pad, l.Tables[0].Width(&l.Tables[0].Segments[0]))
		}
		compare(t, want, len(found) == 0)
	}
}
