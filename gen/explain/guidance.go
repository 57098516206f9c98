package explain

import (
	"github.com/btgen-dev/btgen/gen/layout"
)

// timeSeriesPage is where Bigtable's documentation says when to use which pattern.
const timeSeriesPage = "https://cloud.google.com/bigtable/docs/schema-design-time-series"

// guidance is when to use each pattern.
var guidance = map[layout.Pattern]Guidance{
	layout.BucketNewColumns: {
		"Buckets are faster to write and to read than a row for each event, and compress better. New columns save space, since a value is stored once as the name of its column; they are for events whose change over time need not be measured.",
		timeSeriesPage,
	},
	layout.BucketNewCells: {
		"Buckets are faster to write and to read than a row for each event, and compress better. New cells are for measuring change over time, and for reading single fields; without garbage collection their rows only grow.",
		timeSeriesPage,
	},
	layout.BucketSerialized: {
		"Serialized events inside the row of a bucket are the cheapest to store and the fastest to read, as long as the row stays small enough. A reader cannot fetch single fields.",
		timeSeriesPage,
	},
	layout.BucketOffsets: {
		"Buckets are faster to write and to read than a row for each event, and compress better. With the time in the name of the column, the timestamp of the cell is free for any time to live, and events may be closer than a millisecond. A reader cannot fetch single fields.",
		timeSeriesPage,
	},
	layout.SingleSerialized: {
		"A row for each event is simple, and one value is the cheapest and fastest way to store it. It is for queries that vary, and for events so wide that a bucket of them would pass 100 MB. A reader cannot fetch single fields.",
		timeSeriesPage,
	},
	layout.SingleUnserialized: {
		"A row for each event with a column for each field is the simplest. It is slower than buckets, compresses less, and its writers may meet at one end of the table even with the time last; it is for events without bounds that are always read whole.",
		timeSeriesPage,
	},
}
