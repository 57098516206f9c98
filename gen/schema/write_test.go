package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestWritten checks that series values, fields and tables of the samples survive a
// round trip.
func TestWritten(t *testing.T) {
	tables := 0
	for _, sample := range some(samples(t)) {
		s, found := schema.Parse(sample.name, sample.text)
		if len(found) > 0 {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "btgen: v1\npackage: app\nname: Event\ntime: {precision: %s}\n", schema.FormatDuration(s.Time.Precision.V))
		for _, block := range []struct {
			name   string
			fields []schema.Field
		}{{"series", s.Series}, {"fields", s.Fields}} {
			b.WriteString(block.name + ":\n")
			for _, f := range block.fields {
				fmt.Fprintf(&b, "  %s: %s\n", f.Name.V, f)
			}
		}
		b.WriteString("tables:\n")
		for _, table := range s.Tables {
			b.WriteString("  " + strings.Join(table.Lines(table.Name.V, table.SegmentTexts()), "\n  ") + "\n")
			tables++
		}
		again, found := schema.Parse("again.yaml", []byte(b.String()))
		if len(found) > 0 {
			t.Errorf("%s: %v\n%s", sample.name, found, b.String())
			continue
		}
		ignore := cmp.Options{cmpopts.IgnoreTypes(diag.Pos{}), cmpopts.IgnoreFields(schema.Table{}, "Doc", "Allow", "Splits", "Since", "Before"), cmpopts.EquateEmpty()}
		if diff := cmp.Diff([]any{s.Series, s.Fields, s.Tables}, []any{again.Series, again.Fields, again.Tables}, ignore); diff != "" {
			t.Errorf("%s (-want +got)\n%s\n%s", sample.name, diff, b.String())
		}
	}
	if tables < testlong.Pick(5, 30) {
		t.Errorf("%d tables", tables)
	}
}
