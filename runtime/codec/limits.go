package codec

import "regexp"

// Bigtable's limits for tables; see https://cloud.google.com/bigtable/quotas.
const (
	MaxTableID = 50  // characters of a table ID
	MaxSplits  = 100 // initial split points
)

var tableID = regexp.MustCompile(`^[_a-zA-Z0-9][-_.a-zA-Z0-9]*$`)

// ValidTableID reports whether id consists of characters that Bigtable allows in a
// table ID. It does not check the length.
func ValidTableID(id string) bool { return tableID.MatchString(id) }
