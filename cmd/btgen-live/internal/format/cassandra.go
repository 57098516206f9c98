package format

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"time"
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
	const size, version = 36, 14 // bytes, and the offset of the version
	id, err := hex.AppendDecode(nil, bytes.ReplaceAll(text, []byte("-"), nil))
	if err != nil || len(id) != 16 || len(text) != size || text[version] != '1' {
		return time.Time{}, false
	}
	n := int64(binary.BigEndian.Uint16(id[6:])&0xfff)<<48 | int64(binary.BigEndian.Uint16(id[4:]))<<32 | int64(binary.BigEndian.Uint32(id))
	const since = 0x01b21dd213814000 // 1970, in 100 ns since October 15, 1582
	return Since1970(n-since, 100*time.Nanosecond)
}
