package explain

import (
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
)

// timeSeriesPage is the page of Bigtable's documentation about patterns, and openTSDBPage that of
// OpenTSDB about its tables.
const (
	timeSeriesPage = "https://cloud.google.com/bigtable/docs/schema-design-time-series"
	openTSDBPage   = "https://opentsdb.net/docs/build/html/user_guide/backends/hbase.html"
)

// guidanceOf says when to use the layout of a table.
func guidanceOf(t *layout.Table) Guidance {
	if t.HasPoints() {
		return Guidance{
			"The columns are those of OpenTSDB, so that it and this schema can share the table. Reads request whole hours, because a cell may have the values of several times. Other patterns suit new tables better.",
			openTSDBPage,
		}
	}
	return Guidance{schema.TextOf(t.Pattern).Guidance, timeSeriesPage}
}
