package layout_test

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/assert"
)

// periodSchema is a schema with one table, whose lines follow its ID.
func periodSchema(table string) string {
	return `btgen: v1
package: p
name: P
series: {region: string, device: int64}
time: {precision: 1s}
fields: {value: {type: int64, number: 1}}
tables:
  readings:
    ` + strings.ReplaceAll(strings.TrimSpace(table), "\n", "\n    ") + "\n"
}

// resolvePeriods resolves a table, and returns the layout and what was found.
func resolvePeriods(t *testing.T, table string) (*layout.Layout, string) {
	t.Helper()
	s, errs := schema.Parse("s.yaml", []byte(periodSchema(table)))
	if len(errs) > 0 {
		t.Fatalf("%s: %v", table, errs)
	}
	l, found := layout.Resolve(s)
	var messages []string
	for _, d := range found {
		messages = append(messages, d.Message+" / "+d.Hint)
	}
	return l, strings.Join(messages, "\n")
}

// A table that does not serve is written and not read, and is not chosen for a query.
func TestServes(t *testing.T) {
	const other = `
    pattern: single_serialized
    key: {delimiter: "#", segments: [region, time, device]}
    family: m
    ttl: {max_age: 400d}
`
	const queries = "\nqueries: {ByRegion: {by: [region], allow: {K18: a test}}}"
	for _, tt := range []struct{ first, second, want, read string }{
		{"", "", "by_region", "readings"},
		{"", "    serves: false", "readings", "readings"},
		{"    serves: false", "    serves: true", "by_region", "by_region"},
		{"    serves: false", "    serves: false", "serves is false in every table: there is nothing to read", ""},
	} {
		s, errs := schema.Parse("s.yaml", []byte(periodSchema(periodTable+"bucket: 1h\n"+strings.TrimSpace(tt.first))+"  by_region:"+other+tt.second+queries))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		l, list := layout.Resolve(s)
		if tt.read == "" {
			if len(list) == 0 || list[0].Message != tt.want {
				t.Errorf("got %v, want %q", list, tt.want)
			}
			continue
		}
		if len(list) > 0 {
			t.Fatal(list)
		}
		compare(t, tt.want+" "+tt.read, l.Queries[0].Table.ID+" "+l.Read.ID)
	}
}

const periodTable = `
pattern: bucket_new_cells
key: {delimiter: "#", segments: [region, device, bucket]}
family: m
ttl: {max_age: 400d}
`

func TestPeriods(t *testing.T) {
	l, found := resolvePeriods(t, periodTable+`
bucket: 1h
since: 2027-01-11
before:
  - bucket: 1d
    since: 2026-01-05
  - bucket: 1w
    table: old_readings
    values: text`)
	if found != "" {
		t.Fatal(found)
	}
	var got []string
	for _, p := range l.Tables[0].Periods() {
		b := p.Bucket.Every.String()
		got = append(got, p.ID+" "+b+" "+schema.FormatInstant(p.Since)+" "+schema.FormatInstant(p.Until))
	}
	compare(t, []string{
		"readings 1h0m0s 2027-01-11 0001-01-01",
		"readings 24h0m0s 2026-01-05 2027-01-11",
		"old_readings 168h0m0s 0001-01-01 2026-01-05",
	}, got)
	compare(t, true, l.Tables[0].Older[1].Columns[0].Values.Text())
	compare(t, false, l.Tables[0].Older[0].Columns[0].Values.Text())
}

// Edges that cut a bucket, layouts out of order and keys that could meet are refused, with
// what to write instead.
func TestPeriodsRefused(t *testing.T) {
	for _, tt := range []struct{ name, more, want string }{
		{"no since", "bucket: 1h\nbefore: [{bucket: 1d}]", "no since for this one"},
		{"since alone", "bucket: 1h\nsince: 2027-01-11", "remove since, or add the layout before it"},
		{"out of order", "bucket: 1h\nsince: 2027-01-11\nbefore: [{bucket: 1d, since: 2027-01-12}, {bucket: 6h}]", "list the layouts newest first"},
		{"within a bucket", "bucket: 1d\nsince: 2027-01-12\nbefore: [{bucket: 1w}]", "write `since: 2027-01-18` or `since: 2027-01-11`"},
		{"no common start", "bucket: {every: 1d, origin: 2021-01-01}\nsince: 2027-01-11\nbefore: [{bucket: {every: 1d, origin: 2021-01-01T12:00:00Z, label: 2006-01-02T15}}]", "give their buckets a common origin"},
		{"segments swapped", "bucket: 1d\nsince: 2027-01-11\nbefore: [{key: {delimiter: \"#\", segments: [device, region, bucket]}}]", ""},
		{"another delimiter", "bucket: 1d\nsince: 2027-01-11\nbefore: [{key: {delimiter: \"/\", segments: [region, device, bucket]}}]", ""},
		{"a family of its own", "bucket: 1d\nsince: 2027-01-11\nbefore: [{family: old, key: {delimiter: \"#\", segments: [device, region, bucket]}}]", ""},
		{"a salt", "bucket: 1d\nsince: 2027-01-11\nbefore: [{key: {delimiter: \"#\", segments: [{hash: [device], buckets: 16}, region, device, bucket]}}]", ""},
		{"the same label", "bucket: {every: 6h, label: 2006-01-02T15}\nsince: 2027-01-11\nbefore: [{bucket: 1h}]", ""},
		{"numbers of weeks", "bucket: {every: 1d, origin: 2021-03-01, label: week%d}\nsince: 2027-01-11\nbefore: [{bucket: {every: 1w, origin: 2021-03-01, label: week%d}}]", ""},
		{"numbers that come again", "bucket: {every: 1w, origin: 2021-03-01, label: week%d}\nsince: 2027-01-11\nbefore: [{bucket: {every: 1d, origin: 2021-03-01, label: week%d}}]", `could have the same key, such as "a#1#week307"`},
		{"another age", "bucket: 1h\nsince: 2027-01-11\nbefore: [{bucket: 1d, ttl: {max_age: 30d}}]", "a family has one rule for all its data"},
		{"another strategy", "bucket: 1h\nsince: 2027-01-11\nbefore: [{pattern: single_serialized, key: {delimiter: \"#\", segments: [region, device, time]}, family: o, ttl: {one_second: {}}}]", "they could not be written again"},
		{"no bucket", "since: 2027-01-11\nbefore: [{pattern: single_serialized, key: {delimiter: \"#\", segments: [region, device, time]}}]", "needs a bucket"},
		{"no bucket anywhere", "since: 2027-01-11\nbefore: [{family: old}]", "needs a bucket"},
	} {
		_, found := resolvePeriods(t, periodTable+tt.more)
		if tt.want == "" && found != "" || !strings.Contains(found, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, found, tt.want)
		}
	}
}

// An earlier layout needs a bucket, too, if the one above it has none.
func TestOlderLayoutNeedsBucket(t *testing.T) {
	_, found := resolvePeriods(t, `
pattern: single_serialized
key: {delimiter: "#", segments: [region, device, time]}
family: m
blob: {format: json}
ttl: {keep: forever}
since: 2027-01-11
before: [{pattern: bucket_serialized, key: {delimiter: "#", segments: [region, device, bucket]}}]`)
	assert.Contains(t, "needs a bucket", found)
}
