package sample_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// oneQuery resolves a schema with one table and a query by some series values.
func oneQuery(t *testing.T, precision, table, by string) (*layout.Layout, *layout.Query) {
	t.Helper()
	l := testschema.Layout(t, fmt.Sprintf(`btgen: v1
package: app
name: Event
series: {host: string, id: int64, kind: string}
time: {precision: %s}
fields: {a: {type: int64, number: 1}}
tables:
  events: {family: m, %s}
queries:
  ByThem: {by: [%s], scan: "for a test"}
`, precision, table, by))
	return l, &l.Queries[0]
}

// Several spans are one request. More spans than a connection has streams are
// paginated.
func TestPaginatedRequests(t *testing.T) {
	from := time.Date(2021, 3, 5, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		requests, limit int
		table           string
	}{
		{1, 0, "pattern: bucket_new_cells, bucket: 1d, ttl: {keep: forever}, key: {delimiter: \"#\", segments: [{hash: [host, id], buckets: 64}, kind, bucket, host, id]}"},
		{65, scan.PageRows, "pattern: bucket_new_cells, bucket: 1d, ttl: {keep: forever}, key: {delimiter: \"#\", segments: [{hash: [host, id], buckets: 65}, kind, bucket, host, id]}"},
		{65, scan.PageEvents, "pattern: single_unserialized, ttl: {keep: forever}, key: {delimiter: \"#\", segments: [{hash: [host, id], buckets: 65}, kind, {time: unix_s}, host, id]}"},
	} {
		l, q := oneQuery(t, "1s", test.table, "kind")
		requests := sample.Requests(l, q, from, from, from.Add(time.Hour), nil)
		compare(t, test.requests, len(requests))
		compare(t, test.limit, estimate.WorkOf(l, q, from, from, from.Add(time.Hour), nil).Pages)
		if test.limit == 0 && len(requests[0].Rows) != 64 {
			t.Errorf("%d ranges", len(requests[0].Rows))
		}
		for _, r := range requests {
			if r.Limit != test.limit || r.Paginated != (test.limit > 0) {
				t.Errorf("limit %d, paginated %v", r.Limit, r.Paginated)
			}
		}
	}
}

// If cell timestamps are not event times and the query reads rows of all times, the
// keys select the time and, in partial buckets, the columns do.
func TestTimeInKeys(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2021, 3, 5, hour, minute, 0, 0, time.UTC) }
	l, q := oneQuery(t, "1s", "pattern: bucket_offsets, bucket: {every: 1h, label: 2006-01-02T15}, ttl: {default_expiration: 2d}, key: {delimiter: \"#\", segments: [host, id, bucket, kind]}", "host, kind")
	requests := sample.Requests(l, q, at(12, 0), at(9, 30), at(12, 0), nil)
	if len(requests) != 1 {
		t.Fatal(requests)
	}
	text, anything := func(s string) codec.KeyPiece { return codec.KeyPiece{Text: s} }, codec.KeyPiece{Any: true}
	first := codec.KeyPieces{text("host#"), anything, text("#2021-03-05T09#kind")}
	rest := codec.KeyPieces{text("host#"), anything, text("#"), {Text: "2021-03-05T10", High: "2021-03-05T11"}, text("#kind")}
	compare(t, `host#\C*#2021-03-05T09#kind`, first.Regexp())
	compare(t, `host#\C*#2021-03-05T1(?:[\x30-\x31])#kind`, rest.Regexp())
	filters := requests[0].Filter.(scan.Chain)
	compare(t, scan.Interleave{
		scan.Chain{scan.Keys{Form: first}, scan.ColumnRange{Families: []string{"m"}, Begin: "\x07\x08"}},
		scan.Keys{Form: rest},
	}, filters[0])
	if _, cells := filters[1].(scan.Cells); len(filters) != 2 || !cells { // of any time
		t.Error(filters)
	}
}

// If a cell is live only by its rank, cells of its bucket after the range determine the
// rank, and reads request them in tables where events are cells of one column.
func TestRestOfTheBucket(t *testing.T) {
	const ranked = "ttl: {all_of: [{max_age: 2h}, {max_versions: 10}]}"
	at := func(hour, minute int) time.Time { return time.Date(2021, 3, 5, hour, minute, 0, 0, time.UTC) }
	for name, test := range map[string]struct {
		table         string
		from, to, end time.Time
	}{
		"cells":             {"pattern: bucket_new_cells, bucket: 6h, " + ranked, at(9, 0), at(11, 0), at(12, 0)},
		"serialized":        {"pattern: bucket_serialized, bucket: 6h, " + ranked, at(9, 0), at(11, 0), at(12, 0)},
		"young":             {"pattern: bucket_new_cells, bucket: 6h, " + ranked, at(11, 0), at(11, 30), at(11, 30)},
		"whole":             {"pattern: bucket_new_cells, bucket: 1h, " + ranked, at(9, 0), at(11, 0), at(11, 0)},
		"by age":            {"pattern: bucket_new_cells, bucket: 6h, ttl: {max_age: 2h}", at(9, 0), at(11, 0), at(11, 0)},
		"each a new column": {"pattern: bucket_new_columns, bucket: 6h, " + ranked, at(9, 0), at(11, 0), at(11, 0)},
	} {
		segments := "host, id, kind, bucket"
		if name == "each a new column" {
			segments = "host, id, kind, metric, bucket"
		}
		l, _ := oneQuery(t, "1s", test.table+", key: {delimiter: \"#\", segments: ["+segments+"]}", "host, id, kind")
		q := l.ReadQuery()
		last := int64(0)
		for _, r := range sample.Requests(l, &q, at(12, 0), test.from, test.to, nil) {
			for _, w := range r.Filter.(scan.Cells).Windows {
				last = max(last, w.To)
			}
		}
		if got := codec.FromMicros(last); !got.Equal(test.end) {
			t.Errorf("%s: cells until %v, want %v", name, got, test.end)
		}
	}
}
