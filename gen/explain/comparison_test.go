package explain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
)

// TestCompare checks that a comparison begins with the differences, that no fact of either
// schema is missing, and that every format contains them.
func TestCompare(t *testing.T) {
	a := documentOf(t, corpus.Inputs(t, "../../schemas/balloon_new_cells.yaml")...).Schemas[0]
	b := documentOf(t, corpus.Inputs(t, "../../schemas/balloon_serialized.yaml")...).Schemas[0]
	c := explain.Compare(&a, &b)
	same, facts := false, map[string]explain.Fact{}
	for _, f := range c.Facts {
		if f.Differs != (f.A != f.B) || same && f.Differs {
			t.Errorf("%+v is in the wrong place", f)
		}
		same = !f.Differs
		facts[f.What] = f
	}
	for what, want := range map[string]explain.Fact{
		"pattern": {What: "pattern", A: "bucket_new_cells, 1w", B: "single_serialized", Differs: true},
		"Read, ReadOptions.Fields: pressure only": {What: "Read, ReadOptions.Fields: pressure only", A: "1 request: 1 row, 1,440 cells, 1,440 events", Differs: true},
		"load": {What: "load", A: "1,000 series (assumed), one event a minute each (assumed)", B: "1,000 series (assumed), one event a minute each (assumed)"},
	} {
		assert.Same(t, want, facts[what])
	}
	page, err := c.HTML()
	must(t, err)
	checkHTML(t, string(page))
	data, err := c.JSON()
	must(t, err)
	var again explain.Comparison
	must(t, json.Unmarshal(data, &again))
	if diff := cmp.Diff(c, again); diff != "" {
		t.Error(diff)
	}
	for _, width := range []int{60, 100} {
		checkWidth(t, c.Text(explain.TextOptions{Width: width}), width)
	}
	for format, text := range map[string]string{"text": c.Text(explain.TextOptions{}), "markdown": c.Markdown(), "html": string(page)} {
		if n := strings.Index(text, "bucket_new_cells, 1w"); n < 0 || n > strings.Index(text, "he same in both") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
}

// TestCompareForms checks that keys of the same segments in other forms differ.
func TestCompareForms(t *testing.T) {
	text := `btgen: v1
package: p
name: P
series: {id: int64}
time: {precision: 1s}
fields: {value: int64}
tables:
  p:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [id, time]}
    family: m
    ttl: {max_age: 30d}
`
	padded := strings.Replace(text, "[id,", "[{name: id, pad: 4},", 1)
	a := documentOf(t, gen.Input{Name: "a.yaml", Text: []byte(text)})
	b := documentOf(t, gen.Input{Name: "b.yaml", Text: []byte(padded)})
	c := explain.Compare(&a.Schemas[0], &b.Schemas[0])
	if f := c.Facts[0]; f.What != "key segments" || !f.Differs || !strings.Contains(f.B, "padded to 4") {
		t.Errorf("%+v", f)
	}
}

// TestLongColumn checks that patterns whose keys would be too long with a column name in them
// are explained as findings.
func TestLongColumn(t *testing.T) {
	doc := documentOf(t, gen.Input{Name: "a.yaml", Text: []byte(`btgen: v1
package: p
name: P
series: {id: string}
time: {precision: 1s}
fields: {value: {type: int64, column: ` + strings.Repeat("c", 4090) + `}}
tables:
  p:
    pattern: single_unserialized
    key: {delimiter: "#", segments: [id, time]}
    family: m
    ttl: {max_age: 30d}
`)})
	found := map[string]bool{}
	for _, c := range doc.Schemas[0].Tables[0].Choices {
		for _, f := range c.Findings {
			found[c.Pattern+" "+f.Rule] = true
		}
	}
	if !found["bucket_new_columns L01"] {
		t.Error(found)
	}
}

// TestCompareHostile compares schemas whose texts contain markup.
func TestCompareHostile(t *testing.T) {
	doc := documentOf(t, gen.Input{Name: "<script>alert(1)</script>.yaml", Text: []byte(hostile)})
	c := explain.Compare(&doc.Schemas[0], &doc.Schemas[0])
	page, err := c.HTML()
	must(t, err)
	checkHTML(t, string(page))
	if c.Facts[0].Differs || strings.Contains(string(page), "<script") {
		t.Error("a schema differs from itself, or a text got out")
	}
	if prose := codeOfMarkdown.ReplaceAllString(c.Markdown(), ""); meansSomething.MatchString(prose) {
		t.Error(prose)
	}
}
