package lint_test

import (
	"slices"
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

// findings returns the findings in the text with old replaced by new.
func findings(t *testing.T, old, new string) diag.List {
	t.Helper()
	changed := strings.Replace(text, old, new, 1)
	if changed == text && old != new {
		t.Fatalf("%q is not in the schema", old)
	}
	return gen.Resolve([]gen.Input{{Name: "event.yaml", Text: []byte(changed)}}).Diagnostics
}

// only fails unless the only finding has the given rule.
func only(t *testing.T, found diag.List, rule string) {
	t.Helper()
	if len(found) != 1 || found[0].Rule != rule {
		t.Errorf("want one finding of %s, not: %v", rule, found)
	}
}

func TestClean(t *testing.T) {
	if found := findings(t, "", ""); len(found) != 0 {
		t.Error(found)
	}
}

// TestVersionsBelowCells: all events of a bucket are versions of one column.
func TestVersionsBelowCells(t *testing.T) {
	only(t, findings(t, "{max_age: 30d}", "{max_versions: 10079}"), "T02")
	only(t, findings(t, "{max_age: 30d}", "{max_versions: 10080}"), "T08") // the rule deletes nothing
	// Cells younger than the age are kept at any rank.
	if found := findings(t, "{max_age: 30d}", "{all_of: [{max_age: 30d}, {max_versions: 1}]}"); len(found) != 0 {
		t.Error(found)
	}
}

// TestDelimiterInADate: both regions and dates contain "-".
func TestDelimiterInADate(t *testing.T) {
	only(t, findings(t, `{delimiter: "#", segments: [host, {time`, `{delimiter: "-", segments: [host, {time`), "K05")
}

// TestEarlierLayoutInAnotherTable: the bucket of an earlier layout is that of its own entry, in
// whatever table it is, and warnings come too late.
func TestEarlierLayoutInAnotherTable(t *testing.T) {
	earlier := func(entry string) diag.List {
		changed := strings.NewReplacer("precision: 1m", "precision: 1ms", "bucket: 1w", "bucket: 1m\n    since: 2027-01-01\n    before:\n      - "+entry, "expect: {rate: 1/h}", "expect: {rate: 1000/s}", "2006-01-02-1504", "2006-01-02T15:04:05.000").Replace(text)
		return slices.DeleteFunc(gen.Resolve([]gen.Input{{Name: "event.yaml", Text: []byte(changed)}}).Diagnostics, func(d diag.Diagnostic) bool { return d.Rule != "L03" })
	}
	for _, entry := range []string{"bucket: 1y", "{table: older, bucket: 1y}"} {
		found := earlier(entry)
		only(t, found, "L03")
		if len(found) == 1 && found[0].Severity != diag.Error {
			t.Errorf("%s: %v", entry, found)
		}
	}
	for _, entry := range []string{"bucket: 1h", "{table: older, bucket: 1h}"} {
		if found := earlier(entry); len(found) > 0 {
			t.Errorf("%s: %v", entry, found)
		}
	}
}

// TestEarlierLayoutInFamilyOfAnother: an earlier layout must not be in a family that another
// table uses.
func TestEarlierLayoutInFamilyOfAnother(t *testing.T) {
	for entry, want := range map[string]int{"table: rows": 1, "{table: rows, family: older}": 0} {
		found := findings(t, "bucket: 1w", "bucket: 1d\n    since: 2027-01-01\n    before: [{"+strings.Trim(entry, "{}")+", bucket: 1h}]")
		n := 0
		for _, d := range found {
			if strings.Contains(d.Message, `family "m" of table "rows" is already used`) {
				n++
			}
		}
		assert.Same(t, want, n, entry, found)
	}
}
