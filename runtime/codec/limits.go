package codec

import "regexp"

// Bigtable's limits for a table, from its page on quotas.
const (
	MaxTableID = 50  // characters of a table id
	MaxSplits  = 100 // initial split points
)

var tableID = regexp.MustCompile(`^[_a-zA-Z0-9][-_.a-zA-Z0-9]*$`)

// ValidTableID reports whether Bigtable takes the characters of a table id,
// whatever its length.
func ValidTableID(id string) bool { return tableID.MatchString(id) }
