package lint_test

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/golden/assert"
)

// text is a schema without findings.
const text = `btgen: v1
package: app
name: Event
series: {host: string}
time: {precision: 1m}
fields: {value: int64}
tables:
  cells:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1w
    family: m
    ttl: {max_age: 30d}
  rows:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [host, {time: "2006-01-02-1504"}]}
    family: m
    ttl: {max_age: 30d}
    allow: {C07: "the same data twice"}
expect: {rate: 1/h}
`

// TestFindings edits the text. The bucket of an earlier layout is that of its own entry, in whatever table it is, and its family
// must not be one that another table uses.
func TestFindings(t *testing.T) {
	const inAMinute = "bucket: 1m\n    since: 2027-01-01\n    before:\n      - "
	often := []string{
		"precision: 1m", "precision: 1ms", "expect: {rate: 1/h}", "expect: {rate: 1000/s}",
		"2006-01-02-1504", "2006-01-02T15:04:05.000", "bucket: 1w",
	}
	before := func(entry string) []string {
		return []string{"bucket: 1w", "bucket: 1d\n    since: 2027-01-01\n    before: [" + entry + "]"}
	}
	for _, c := range []struct {
		edit             []string
		only, want, says string
	}{
		{nil, "", "", ""},
		// all events of a bucket are versions of one column
		{[]string{"{max_age: 30d}", "{max_versions: 10079}"}, "", "error T02", ""},
		// the rule deletes nothing
		{[]string{"{max_age: 30d}", "{max_versions: 10080}"}, "", "T08", ""},
		// younger cells are kept at any rank
		{[]string{"{max_age: 30d}", "{all_of: [{max_age: 30d}, {max_versions: 1}]}"}, "", "", ""},
		// dates contain "-"
		{[]string{`{delimiter: "#", segments: [host, {time`, `{delimiter: "-", segments: [host, {time`}, "", "error K05", ""},
		{append(often, inAMinute+"bucket: 1y"), "L03", "error L03", "Bigtable cannot read"},
		{append(often, inAMinute+"{table: older, bucket: 1y}"), "L03", "error L03", "Bigtable cannot read"},
		{append(often, inAMinute+"bucket: 1h"), "L03", "", ""},
		{append(often, inAMinute+"{table: older, bucket: 1h}"), "L03", "", ""},
		{before("{table: rows, bucket: 1h}"), "", "error ", `family "m" of table "rows" is already used`},
		{before("{table: rows, family: older, bucket: 1h}"), "", "", ""},
	} {
		changed := text
		for i := 0; i < len(c.edit); i += 2 {
			changed = strings.Replace(changed, c.edit[i], c.edit[i+1], 1)
		}
		var got, says []string
		for _, d := range gen.Resolve([]gen.Input{{Name: "event.yaml", Text: []byte(changed)}}).Diagnostics {
			if c.only != "" && d.Rule != c.only {
				continue
			}
			says = append(says, d.Message)
			got = append(got, map[diag.Severity]string{diag.Error: "error "}[d.Severity]+d.Rule)
		}
		assert.Same(t, c.want, strings.Join(got, ", "), c.edit, says)
		assert.Contains(t, c.says, says, c.edit)
	}
}
