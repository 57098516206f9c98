package explain_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// TestBalloonWeek computes the size of the documented weather balloon's week: 10,080
// events of four fields. It is known for the documented keys and names: key + family +
// qualifier + 8 + value per cell.
// An estimate does not know the values: it counts 8 bytes per number, also as text, and 24 for the protobuf. The test
// replaces these sizes by those of the documented values, short decimals of 5, 3, 2 and 3 bytes, and of a blob of 16.
func TestBalloonWeek(t *testing.T) {
	const (
		events  = 7 * 24 * 60
		values  = 5 + 3 + 2 + 3
		blob    = 16
		columns = "pattern: bucket_new_columns, key: {delimiter: \"#\", segments: [location, balloon_id, metric, bucket]}, bucket: {every: 1w, origin: 2021-03-01, label: week%d}, values: text"
		cells   = "pattern: bucket_new_cells, key: {delimiter: \"#\", segments: [location, balloon_id, bucket]}, bucket: {every: 1w, origin: 2021-03-01, label: week%d}, values: text"
		rows    = "pattern: single_unserialized, key: {delimiter: \"#\", segments: [location, balloon_id, {time: \"2006-01-02-1504\"}]}, values: text"
		blobs   = "pattern: single_serialized, key: {delimiter: \"#\", segments: [location, balloon_id, {time: \"2006-01-02-1504\"}]}, blob: {column: measurements_blob}"
	)
	for _, test := range []struct {
		location, table string
		values          float64
		cell            string // computed by hand
		event           float64
		week            string
	}{
		{"us-west2", columns, values, "28+12+5+8, 31+12+3+8, 28+12+2+8, 28+12+3+8", 53 + 54 + 50 + 51, "2.10 MB"},
		{"asia-south2", cells, values, "22+12+8+8+5, 22+12+11+8+3, 22+12+8+8+2, 22+12+8+8+3", 55 + 56 + 52 + 53, "2.18 MB"},
		{"us-west2", rows, values, "29+12+8+8+5, 29+12+11+8+3, 29+12+8+8+2, 29+12+8+8+3", 62 + 63 + 59 + 60, "2.46 MB"},
		{"us-west2", blobs, blob, "29+12+17+8+16", 82, "0.83 MB"},
	} {
		l := testschema.Layout(t, fmt.Sprintf(`
btgen: v1
package: weather
name: Balloon
series: {location: {type: string, example: %s}, balloon_id: int64}
time: {precision: 1m}
fields:
  pressure:    {type: int64, number: 1}
  temperature: {type: float64, number: 2}
  humidity:    {type: int64, number: 3}
  altitude:    {type: int64, number: 4}
tables:
  balloon: {%s, family: measurements, ttl: {max_age: 52w}}
`, test.location, test.table))
		e := estimate.Of(l, l.Tables[0])
		event := e.Event.Typical - e.Values + test.values
		if math.Abs(event-test.event) > 1e-9 {
			t.Errorf("%s: an event of %v bytes, want %v (%s)", l.Tables[0].Pattern, event, test.event, test.cell)
		}
		assert.Same(t, test.week, fmt.Sprintf("%.2f MB", event*events/1e6))
	}
}

// TestEstimateRows checks the number of rows once garbage collection keeps pace with
// writes.
func TestEstimateRows(t *testing.T) {
	for tables, want := range map[string]float64{
		cells("1h", "{max_age: 1d}"):   8 * 24, // a day, and the week that garbage collection may take
		cells("1h", "{keep: forever}"): 0,
		"  rows: {pattern: single_serialized, key: {delimiter: \"#\", segments: [host, id, time]}, family: m, ttl: {max_age: 1d}}\n": 8 * 24 * 60,
	} {
		l := testschema.Tables(t, "1m", tables)
		e := estimate.Of(l, l.Tables[0])
		assert.Same(t, want, e.Rows)
	}
}

// The returned cells of a column are as old as its own family keeps them.
func TestWorkOfFamilies(t *testing.T) {
	l := testschema.Layout(t, `btgen: v1
package: app
name: Event
series: {host: string}
time: {precision: 1s}
fields: {a: {type: int64, optional: true, family: s}, b: {type: int64, family: l}}
tables:
  events:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1h
    families: {s: {ttl: {max_age: 1h}}, l: {ttl: {max_age: 30d}}}
expect: {rate: 1/s}
`)
	q := l.ReadQuery()
	from := time.Date(2021, 3, 5, 0, 0, 0, 0, time.UTC)
	to := from.Add(24 * time.Hour)
	for name, test := range map[string]struct {
		columns []int
		want    estimate.Work
	}{
		"a":    {[]int{0}, estimate.Work{Requests: 1, Rows: 24, Cells: 90_000, Events: 86_400}}, // b shows which events exist without a
		"b":    {[]int{1}, estimate.Work{Requests: 1, Rows: 24, Cells: 86_400, Events: 86_400}},
		"both": {nil, estimate.Work{Requests: 1, Rows: 24, Cells: 90_000, Events: 86_400}},
	} {
		assert.Same(t, test.want, estimate.WorkOf(l, &q, to, from, to, test.columns), name)
	}
	// A day later, all data with a lifetime of an hour has expired: only b shows which
	// events exist.
	got := estimate.WorkOf(l, &q, to.Add(24*time.Hour), from, to, []int{0})
	assert.Same(t, 86_400.0, got.Cells)
}

// cells returns a table with bucket_new_cells.
func cells(bucket, ttl string) string {
	return fmt.Sprintf(`  cells: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, id, bucket]}, bucket: %s, family: m, ttl: %s}
`, bucket, ttl)
}
