package explain

import (
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
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
	return guidance[t.Pattern]
}

// guidance says when to use each pattern.
var guidance = map[codec.Pattern]Guidance{
	codec.BucketNewColumns: {
		"Buckets are faster to write and read than a row per event, and compress better. New columns save space, because a value is stored only as the name of its column. Use them if you don't need to measure changes over time.",
		timeSeriesPage,
	},
	codec.BucketNewCells: {
		"Buckets are faster to write and read than a row per event, and compress better. Use new cells to measure changes over time and to read individual fields. Without garbage collection, rows only grow.",
		timeSeriesPage,
	},
	codec.BucketSerialized: {
		"Serialized events in the row of a bucket are the cheapest to store and the fastest to read, as long as the row stays small. Reads cannot fetch individual fields.",
		timeSeriesPage,
	},
	codec.BucketOffsets: {
		"Buckets are faster to write and read than a row per event, and compress better. Because the column name contains the time, the cell timestamp is free for any time to live, and events can be less than a millisecond apart. Reads cannot fetch individual fields.",
		timeSeriesPage,
	},
	codec.SingleSerialized: {
		"A row per event is simple, and a single value is the cheapest and fastest way to store it. Use it for varied queries, and for events so large that a bucket would exceed 100 MB. Reads cannot fetch individual fields.",
		timeSeriesPage,
	},
	codec.SingleUnserialized: {
		"A row per event with a column per field is the simplest pattern. It is slower than buckets and compresses less, and writes can concentrate at one end of the table even if the time comes last. Use it for an unbounded number of events that are always read whole.",
		timeSeriesPage,
	},
}
