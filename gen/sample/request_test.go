package sample_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/golden/assert"
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
	assert.Same(t, `host#\C*#2021-03-05T09#kind`, first.Regexp())
	assert.Same(t, `host#\C*#2021-03-05T1(?:[\x30-\x31])#kind`, rest.Regexp())
	filters := requests[0].Filter.(scan.Chain)
	assert.Same(t, scan.Interleave{
		scan.Chain{scan.Keys{first}, scan.ColumnRange{Families: []string{"m"}, Begin: "\x07\x08"}},
		scan.Keys{rest},
	}, filters[0])
	if _, cells := filters[1].(scan.Cells); len(filters) != 2 || !cells { // of any time
		t.Error(filters)
	}
}
