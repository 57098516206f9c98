package format

import (
	"time"

	"github.com/google/uuid"
)

// cassandra is what COPY TO of cqlsh writes. By the documentation of Apache Cassandra ("cqlsh: the CQL
// shell", COPY TO) and pylib/cqlshlib/copyutil.py and formatting.py:
//
//   - the delimiter is a comma, the quote ", and the escape character \, which precedes quotes
//     instead of doubling them, and itself. ESCAPE = '"' doubles quotes: that is CSV;
//   - HEADER is FALSE. Without a list, the columns are those of the primary key, and then the others
//     in alphabetical order;
//   - NULL is an empty cell, and so is an empty string;
//   - timestamps are like 2021-03-05 12:00:00.000+0000, booleans True or False, blobs 0x and
//     hexadecimal digits, and numbers that are not finite NaN, Infinity and -Infinity;
//   - a timeuuid is a UUID of version 1, which has a time (RFC 9562, section 5.1);
//   - floats have 5 digits, and doubles 12, unless FLOATPRECISION and DOUBLEPRECISION say otherwise.
var cassandra = Format{
	Name: "cassandra", Title: "CSV of COPY TO in Apache Cassandra", Cells: true, cql: true, NewScanner: scanCells,
}

// idTime returns the time in a timeuuid. It returns false for other texts.
func idTime(text []byte) (time.Time, bool) {
	const size = 36 // other forms are no timeuuids
	id, err := uuid.ParseBytes(text)
	if err != nil || len(text) != size || id.Version() != 1 {
		return time.Time{}, false
	}
	return time.Unix(id.Time().UnixTime()).UTC(), true
}
