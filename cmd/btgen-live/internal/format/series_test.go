package format

import (
	"testing"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// TestSeriesContains finds series by what their values contain, however that is shown.
func TestSeriesContains(t *testing.T) {
	columns := []Column{seriesColumn(layout.Field{Name: "host", Type: schema.String}, 0)}
	for value, found := range map[string][]string{
		`a "quoted" One`: {`"quoted"`, "quoted", "one", "host=", `\"quoted`, " "},
		"tab\there":      {"\t", "b\th", `\t`},
		"\u202eb\x00":    {"\u202e", "\x00", `\u202e`},
		"Ärger":          {"ärg"},
	} {
		e := dynamic.Event{Series: []any{value}}
		for _, text := range found {
			if !SeriesContains(columns, &e, text) {
				t.Errorf("%q is not found in %q", text, value)
			}
		}
		if SeriesContains(columns, &e, "other") {
			t.Errorf("other is found in %q", value)
		}
	}
}
