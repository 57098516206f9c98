package explain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/explain"
)

// TestCompare checks that a comparison begins with the differences, that no fact of either
// schema is missing, and that every format contains them.
func TestCompare(t *testing.T) {
	a := documentOf(t, exampleSchemas(t, "balloon_new_cells.yaml")...).Schemas[0]
	b := documentOf(t, exampleSchemas(t, "balloon_serialized.yaml")...).Schemas[0]
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
		if diff := cmp.Diff(want, facts[what]); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	page, err := c.HTML()
	if err != nil {
		t.Fatal(err)
	}
	checkHTML(t, string(page))
	data, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var again explain.Comparison
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
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

// TestCompareHostile compares schemas whose texts contain markup.
func TestCompareHostile(t *testing.T) {
	doc := documentOf(t, gen.Input{Name: "<script>alert(1)</script>.yaml", Text: []byte(hostile)})
	c := explain.Compare(&doc.Schemas[0], &doc.Schemas[0])
	page, err := c.HTML()
	if err != nil {
		t.Fatal(err)
	}
	checkHTML(t, string(page))
	if c.Facts[0].Differs || strings.Contains(string(page), "<script") {
		t.Error("a schema differs from itself, or a text got out")
	}
	if prose := codeOfMarkdown.ReplaceAllString(c.Markdown(), ""); meansSomething.MatchString(prose) {
		t.Error(prose)
	}
}
