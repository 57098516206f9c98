package explain

import (
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// timeSeriesPage is the page of Bigtable's documentation about patterns.
const timeSeriesPage = "https://cloud.google.com/bigtable/docs/schema-design-time-series"

// guidanceOf says when to use the layout of a table.
func guidanceOf(t *layout.Table) Guidance {
	return Guidance{schema.TextOf(t.Pattern).Guidance, timeSeriesPage}
}
