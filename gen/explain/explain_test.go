package explain_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/explain"
)

// TestExamples checks that every table of the example schemas has an example of
// its key, and every read of them a range that its example lies in.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("../../schemas/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	var inputs []gen.Input
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, gen.Input{Name: path, Text: text})
	}
	result := gen.Resolve(inputs)
	if err := result.Diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	text := explain.Text(result.Layouts)
	for _, l := range result.Layouts {
		for _, table := range l.Tables {
			key := table.ExampleKey(l)
			if key == "" || !strings.Contains(text, "table "+table.ID+":") {
				t.Errorf("table %s: no example key, or no explanation", table.ID)
			}
		}
		for _, q := range append(l.Queries, l.ReadQuery()) {
			key, in := q.Table.ExampleKey(l), false
			from := q.Table.ExampleTime()
			for _, rows := range q.ExampleRows(l, from, from.Add(1)) {
				in = in || rows.Keys == nil && rows.Start <= key && (rows.End == "" || key < rows.End)
				for _, k := range rows.Keys {
					in = in || k == key
				}
			}
			if !in {
				t.Errorf("%s.%s does not ask for %q: %v", l.Name, q.Name, key, q.ExampleRows(l, from, from.Add(1)))
			}
		}
	}
}
