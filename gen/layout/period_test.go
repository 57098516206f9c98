package layout_test

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
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

const periodTable = `
pattern: bucket_new_cells
key: {delimiter: "#", segments: [region, device, bucket]}
family: m
ttl: {max_age: 400d}
`

// Layouts whose keys or families differ may follow one another; golden/diagnostics has those that are refused.
func TestPeriodsAccepted(t *testing.T) {
	for _, tt := range []struct{ name, more, want string }{
		{"no common start", "bucket: {every: 1d, origin: 2021-01-01}\nsince: 2027-01-11\nbefore: [{bucket: {every: 1d, origin: 2021-01-01T12:00:00Z, label: 2006-01-02T15}}]", "give their buckets a common origin"},
		{"segments swapped", "bucket: 1d\nsince: 2027-01-11\nbefore: [{key: {delimiter: \"#\", segments: [device, region, bucket]}}]", ""},
		{"another delimiter", "bucket: 1d\nsince: 2027-01-11\nbefore: [{key: {delimiter: \"/\", segments: [region, device, bucket]}}]", ""},
		{"a family of its own", "bucket: 1d\nsince: 2027-01-11\nbefore: [{family: old, key: {delimiter: \"#\", segments: [device, region, bucket]}}]", ""},
		{"a salt", "bucket: 1d\nsince: 2027-01-11\nbefore: [{key: {delimiter: \"#\", segments: [{hash: [device], buckets: 16}, region, device, bucket]}}]", ""},
		{"the same label", "bucket: {every: 6h, label: 2006-01-02T15}\nsince: 2027-01-11\nbefore: [{bucket: 1h}]", ""},
		{"numbers of weeks", "bucket: {every: 1d, origin: 2021-03-01, label: week%d}\nsince: 2027-01-11\nbefore: [{bucket: {every: 1w, origin: 2021-03-01, label: week%d}}]", ""},
	} {
		if _, found := resolvePeriods(t, periodTable+tt.more); !strings.Contains(found, tt.want) || tt.want == "" && found != "" {
			t.Errorf("%s: got %q, want %q", tt.name, found, tt.want)
		}
	}
}
