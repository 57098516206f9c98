package layout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

const day = 24 * time.Hour

// cells returns a table with bucket_new_cells.
func cells(bucket, ttl string) string {
	return fmt.Sprintf(`  cells: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, id, bucket]}, bucket: %s, family: m, ttl: %s}
`, bucket, ttl)
}

// TestDefaultLabel checks that a label is as short as the width and the origin of buckets allow,
// and does not contain the delimiter.
func TestDefaultLabel(t *testing.T) {
	for _, test := range []struct{ bucket, delimiter, want string }{
		{"1y", "#", "2006"},
		{"5y", "#", "2006"},
		{"{every: 1y, origin: 2021-04-01}", "#", "2006-01"},
		{"1mo", "#", "2006-01"},
		{"3mo", "#", "2006-01"},
		{"1w", "#", "2006-01-02"},
		{"1d", "#", "2006-01-02"},
		{"1d", "-", "20060102"},
		{"{every: 1d, origin: 2021-03-01T12:00:00Z}", "#", "2006-01-02T15"},
		{"6h", "#", "2006-01-02T15"},
		{"90m", "#", "2006-01-02T1504"},
		{"1m", "--", "20060102T1504"},
		{"90s", "#", "2006-01-02T150405"},
	} {
		table := strings.Replace(cells(test.bucket, "{max_age: 1d}"), `"#"`, fmt.Sprintf("%q", test.delimiter), 1)
		bucket := testschema.Tables(t, "1s", table).Tables[0].Bucket
		compare(t, test.want, bucket.Label.Format.Layout, test.bucket, test.delimiter)
		assert.Is(t, nil, layout.CheckBucket(bucket))
	}
}

func TestMaxCells(t *testing.T) {
	for _, test := range []struct {
		precision, bucket string
		want              int64
	}{
		{"1m", "1h", 60}, {"1m", "1w", 10080}, {"1ms", "1m", 60_000}, {"1h", "1mo", 31 * 24}, {"1d", "1y", 366}, {"1h", "1h", 1},
	} {
		l := testschema.Tables(t, test.precision, cells(test.bucket, "{keep: forever}"))
		compare(t, test.want, l.Tables[0].MaxCells, test.bucket, test.precision)
	}
}

func TestRetention(t *testing.T) {
	for ttl, want := range map[string]codec.Retention{
		"{keep: forever}": nil,
		"{max_age: 30d}":  {{MaxAge: 30 * day}},
		"{any_of: [{max_age: 30d}, {max_age: 1d}]}":                               {{MaxAge: day}},
		"{all_of: [{max_age: 30d}, {max_age: 1d}]}":                               {{MaxAge: 30 * day}},
		"{all_of: [{max_age: 1d}, {max_versions: 3}]}":                            {{MaxAge: day}, {Versions: 3}},
		"{all_of: [{max_age: 1d}, {max_versions: 60}]}":                           nil, // a bucket never has more
		"{max_versions: 60}":                                                      nil,
		"{any_of: [{max_age: 30d}, {max_versions: 60}]}":                          {{MaxAge: 30 * day}},
		"{all_of: [{max_age: 1d}, {all_of: [{max_age: 2d}, {max_versions: 1}]}]}": {{MaxAge: 2 * day}, {Versions: 1}},
	} {
		l := testschema.Tables(t, "1m", cells("1h", ttl))
		compare(t, want, l.Tables[0].Families[0].Life.Retention, ttl)
	}
}

func TestCheapest(t *testing.T) {
	const (
		columns  = "  columns: {pattern: bucket_new_columns, key: {delimiter: \"#\", segments: [host, id, metric, bucket]}, bucket: 1h, family: m, ttl: {keep: forever}}\n"
		numbered = "  numbered: {pattern: bucket_new_cells, key: {delimiter: \"#\", segments: [host, id, bucket]}, bucket: {every: 1h, origin: 2021-03-01, label: h%d}, family: m, ttl: {keep: forever}, allow: {K04: because}}\n"
		rows     = "  rows: {pattern: single_serialized, key: {delimiter: \"#\", segments: [host, id, time]}, family: m, ttl: {keep: forever}}\n"
	)
	for tables, want := range map[string]string{
		columns + rows: "rows", rows + columns: "rows", // rows replace an event that is written again
		numbered + columns: "numbered", columns + numbered: "numbered",
		cells("1h", "{keep: forever}") + rows: "cells", rows + cells("1h", "{keep: forever}"): "rows", // the first of equals
		numbered: "numbered",
	} {
		compare(t, want, testschema.Tables(t, "1m", tables).Read.ID, tables)
	}
}

// A time without a format has the precision of the schema.
func TestTimeKey(t *testing.T) {
	for precision, want := range map[string]codec.TimeKind{
		"1d": codec.UnixMillis, "1ms": codec.UnixMillis, "500us": codec.UnixMicros, "1us": codec.UnixMicros, "100ns": codec.UnixNanos,
	} {
		l := testschema.Tables(t, precision, "  rows: {pattern: single_unserialized, key: {delimiter: \"#\", segments: [host, id, time]}, family: m, ttl: {keep: forever}}\n")
		compare(t, want, l.Tables[0].Time.Kind)
	}
}

// A table whose keys begin with a salt is split at the salts.
func TestSaltSplits(t *testing.T) {
	table := func(key string) []string {
		return testschema.Tables(t, "1m", fmt.Sprintf("  t: {pattern: bucket_new_cells, key: {%s}, bucket: 1h, family: m, ttl: {max_age: 1d}}\n", key)).Tables[0].Splits
	}
	compare(t, []string{"1#", "2#", "3#"}, table(`delimiter: "#", segments: [{hash: [host], buckets: 4}, host, id, bucket]`))
	compare(t, []string{"\x01", "\x02"}, table(`segments: [{hash: [host], buckets: 3}, host, id, bucket]`))
	compare(t, []string(nil), table(`delimiter: "#", segments: [host, {hash: [host], buckets: 4}, id, bucket]`))
	many := table(`delimiter: "#", segments: [{hash: [host], buckets: 1000}, host, id, bucket]`)
	compare(t, 100, len(many))
	compare(t, []string{"009#", "019#", "990#"}, []string{many[0], many[1], many[99]})
}

// TestBucketFormat resolves the label of a bucket that its segment gives, wherever it is in the key.
func TestBucketFormat(t *testing.T) {
	for _, segments := range []string{"{bucket: 20060102}, host, id", "host, {bucket: 20060102}, id", "host, id, {bucket: 20060102}"} {
		l := testschema.Tables(t, "1ms", fmt.Sprintf(`  cells: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [%s]}, bucket: 1d, family: m, ttl: {max_age: 9d}}
`, segments))
		compare(t, "20060102", l.Tables[0].Bucket.Label.String(), segments)
	}
}

// TestOutlives refuses each required field that can expire before the rest of its event, whichever it is, and no other one.
func TestOutlives(t *testing.T) {
	for field, want := range map[string]bool{
		"a: {type: int64, number: 1, family: %s}": true, "z: {type: int64, number: 1, family: %s}": true,
		"a: {type: int64, number: 1, optional: true, family: %s}": false, "z: {type: int64, number: 1, default: 1, family: %s}": false,
	} {
		for family, other := range map[string]string{"short": "long", "long": "short"} {
			s, found := schema.Parse("event.yaml", fmt.Appendf(nil, `btgen: v1
package: app
name: Event
series: {host: string}
time: {precision: 1ms}
fields: {%s, m: {type: int64, number: 2, optional: true, family: %s}}
tables:
  cells: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}, bucket: 1d, families: {short: {ttl: {max_age: 1d}}, long: {ttl: {max_age: 9d}}}}
`, fmt.Sprintf(field, family), other))
			if len(found) == 0 {
				_, found = layout.Resolve(s)
			}
			refused := slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return strings.Contains(d.Message, "can expire before the rest") })
			if refused != (want && family == "short") || !refused && len(found) > 0 {
				t.Errorf("%s in %s: %v", field, family, found)
			}
		}
	}
}
