package explain_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
)

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
