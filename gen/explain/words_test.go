package explain_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// eventOf returns a schema with the given series values, fields, table and other parts.
func eventOf(series, fields, table, more string) gen.Input {
	return gen.Input{Name: "s.yaml", Text: fmt.Appendf(nil, `btgen: v1
package: app
name: Event
series: %s
time: {precision: 1s}
fields: %s
tables:
  events: %s
%s
`, series, fields, table, more)}
}

// textOf explains such a schema as text.
func textOf(t *testing.T, series, fields, table, more string) string {
	t.Helper()
	return documentOf(t, eventOf(series, fields, table, more)).Text(document.TextOptions{})
}

// Tables with hourly buckets, and with a row per event.
const (
	hostTable = `{pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}, bucket: 1h, family: m, ttl: {max_age: 30d}}`
	rowTable  = `{pattern: single_unserialized, key: {delimiter: "#", segments: [host, time]}, family: m, ttl: {max_age: 30d}}`
)

// has checks that text contains all parts.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		assert.Contains(t, part, text)
	}
}

// Wide events show only their first fields.
func TestWideEvents(t *testing.T) {
	var fields []string
	for i := range 11 {
		fields = append(fields, fmt.Sprintf("f%d: int64", i))
	}
	text := textOf(t, "{host: string}", "{"+strings.Join(fields, ", ")+"}", hostTable, "")
	has(t, text, "f5  5 more fields")
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "more fields") && strings.Contains(line, "f6") {
			t.Error(line)
		}
	}
}

// Reads of many salts are paginated: there may be more requests than spans.
func TestPages(t *testing.T) {
	table := `{pattern: bucket_new_cells, key: {delimiter: "#", segments: [{hash: [host], buckets: 100}, kind, bucket, host]}, bucket: 1h, family: m, ttl: {max_age: 30d}}`
	text := textOf(t, "{host: string, kind: string}", "{a: int64}", table, "queries: {ByKind: {by: [kind]}}")
	has(t, text, "at least 100 requests with pages of 4 rows: ")
	has(t, text, `no: no table can answer ByKind: in table "events"`) // the reason, if there is no rule
}

// Long keys and their descriptions fit the page.
func TestLongKeys(t *testing.T) {
	long := strings.Repeat("0123456789", 15)
	series := fmt.Sprintf("{host: {type: string, example: %q}, kind: {type: string, example: %q}}", long, "k"+long)
	text := textOf(t, series, "{a: int64}", `{pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, kind, bucket]}, bucket: 1h, family: m, ttl: {max_age: 30d}}`, "")
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 && strings.Contains(line, "0123456789") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	has(t, text, "#2021-03-05T12  316 bytes\n", "\n    request   rows from\n              0123")
}

// Drawings show the number of their events, even if events are rarer than buckets.
func TestPicturedEvents(t *testing.T) {
	for rate, want := range map[string]string{"1/s": "6 events in one bucket, 2 later", "1/1d": "1 event in one bucket, 5 later"} {
		doc := documentOf(t, eventOf("{host: string}", "{a: int64}", hostTable, "expect: {rate: "+rate+"}"))
		page := string(doc.HTML())
		has(t, page, want)
		text := doc.Text(document.TextOptions{})
		if strings.Contains(text, "1.00 ") || strings.Contains(text, "0.00 ") || strings.Contains(text, " 0 B") {
			t.Error(text)
		}
	}
}

// Every format says that a query names its table.
func TestNamedTable(t *testing.T) {
	const text = `btgen: v1
package: app
name: Event
series: {region: string, host: string}
fields: {value: int64}
tables:
  regions: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [region, bucket, host]}, bucket: 1h, family: m, ttl: {max_age: 30d}}
  hosts: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [region, host, bucket]}, bucket: 1h, family: m, ttl: {max_age: 30d}}
queries:
  Named: {by: [region], table: hosts, allow: {K18: "it is a test"}}
  Found: {by: [region]}
`
	for end, got := range rendered(t, documentOf(t, gen.Input{Name: "event.yaml", Text: []byte(text)})) {
		named := "hosts (named by the query):"
		assert.Same(t, 1, strings.Count(got, named), end, named)
	}
}

// TestNoWordIsBroken checks that explanations and comparisons of the examples contain the same
// words in 80 columns as in 300.
func TestNoWordIsBroken(t *testing.T) {
	word := regexp.MustCompile(`\p{L}{3,}`)
	elided := regexp.MustCompile(`\S*…\S*`)
	check := func(name string, render func(width int) string) {
		known := map[string]bool{"more": true, "fields": true} // as in "and 2 more"
		for _, w := range word.FindAllString(render(300), -1) {
			known[w] = true
		}
		for _, w := range word.FindAllString(elided.ReplaceAllString(render(80), ""), -1) {
			if !known[w] {
				t.Errorf("%s: %q is a part of a word", name, w)
			}
		}
	}
	var docs []*explain.Explanation
	for _, in := range testlong.Sample(corpus.Inputs(t, "../../schemas/*.yaml"), 10) {
		doc := explanationOf(t, explain.Options{}, in)
		docs = append(docs, doc)
		check(in.Name, func(width int) string { return doc.Text(document.TextOptions{Width: width}) })
	}
	for i := range docs {
		a, b := docs[i], docs[(i+5)%len(docs)]
		c := explain.Compare(a, b)
		check(a.Title+" and "+b.Title, func(width int) string { return c.Text(document.TextOptions{Width: width}) })
	}
}

// TestManyTables checks that only the first tables are simulated, and that every format says so
// of the others.
func TestManyTables(t *testing.T) {
	testlong.Skip(t, "a hundred simulations")
	text := "btgen: v1\npackage: app\nname: Event\nseries: {host: string}\nfields: {value: int64}\ntables:\n"
	for i := range 102 {
		text += fmt.Sprintf("  t%d: {pattern: bucket_new_cells, key: {delimiter: \"#\", segments: [host, bucket]}, bucket: 1h, family: m, ttl: {max_age: 30d}}\n", i)
	}
	doc := simulated(t, gen.Input{Name: "event.yaml", Text: []byte(text)})
	for end, got := range rendered(t, doc) {
		assert.Same(t, 2, strings.Count(got, "Not simulated: only"), end)
	}
}
