package explain_test

import (
	"bytes"
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

// Tables with hourly buckets, and with a row per event.
const (
	hostTable = `{pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}, bucket: 1h, family: m, ttl: {max_age: 30d}}`
	rowTable  = `{pattern: single_unserialized, key: {delimiter: "#", segments: [host, time]}, family: m, ttl: {max_age: 30d}}`
)

// Drawings show the number of their events, even if events are rarer than buckets.
func TestPicturedEvents(t *testing.T) {
	for rate, want := range map[string]string{"1/s": "6 events in one bucket, 2 later", "1/1d": "1 event in one bucket, 5 later"} {
		doc := documentOf(t, eventOf("{host: string}", "{a: int64}", hostTable, "expect: {rate: "+rate+"}"))
		assert.Contains(t, want, string(doc.HTML()))
		text := doc.Text(document.TextOptions{})
		if strings.Contains(text, "1.00 ") || strings.Contains(text, "0.00 ") || strings.Contains(text, " 0 B") {
			t.Error(text)
		}
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

// TestCompare checks that a comparison begins with the differences, and that every format contains them.
func TestCompare(t *testing.T) {
	a := explanationOf(t, explain.Options{}, corpus.Inputs(t, "../../schemas/balloon_new_cells.yaml")...)
	b := explanationOf(t, explain.Options{}, corpus.Inputs(t, "../../schemas/balloon_serialized.yaml")...)
	c := explain.Compare(a, b)
	check(t, c)
	different, same := c.Sections[0].Parts[0].Table, c.Sections[1].Parts[0].Table
	for _, r := range different.Rows {
		if r.Cells[1] == r.Cells[2] || row(same, r.Cells[0]).Cells[0] == r.Cells[0] {
			t.Errorf("%v is no difference", r.Cells)
		}
	}
	for name, want := range map[string][]string{
		"pattern": {"bucket_new_cells", "single_serialized"},
		"Read, ReadOptions.Fields: pressure only": {"1 request: 1 row, 1,440 cells, 1,440 events", "–"},
	} {
		assert.Same(t, want, row(different, name).Cells[1:])
	}
	assert.Same(t, []string{"1,000 series (assumed), one event a minute each (assumed)"}, row(same, "load").Cells[1:])
	for format, text := range rendered(t, c) {
		if n := strings.Index(text, "bucket_new_cells"); n < 0 || n > strings.Index(text, "he same in both") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
}

// TestLongColumn checks that patterns whose keys would be too long with a column name in them
// are explained as findings.
func TestLongColumn(t *testing.T) {
	doc := documentOf(t, eventOf("{host: string}", "{value: {type: int64, column: "+strings.Repeat("c", 4090)+"}}", rowTable, ""))
	if cells := row(table(doc, choices), "bucket_new_columns").Cells; cells[1] != "no: L01" {
		t.Error(cells)
	}
}

// TestCompareHostile compares schemas whose texts contain markup.
func TestCompareHostile(t *testing.T) {
	doc := explanationOf(t, explain.Options{}, gen.Input{Name: "<script>alert(1)</script>.yaml", Text: []byte(hostile)})
	c := explain.Compare(doc, doc)
	check(t, c)
	if len(c.Sections[0].Parts[0].Table.Rows) > 0 || bytes.Contains(c.HTML(), []byte("<script")) {
		t.Error("a schema differs from itself, or a text got out")
	}
	if prose := codeOfMarkdown.ReplaceAllString(c.Markdown(""), ""); meansSomething.MatchString(prose) {
		t.Error(prose)
	}
}
