package codec

// KeyField is a segment of a row key as GoogleSQL for Bigtable reads it by a
// structured row key schema: a STRING in UTF-8, or BYTES as they are.
type KeyField struct {
	Name  string
	Bytes bool
}

// String returns the column as SQL declares it, such as "region STRING".
func (f KeyField) String() string {
	if f.Bytes {
		return f.Name + " BYTES"
	}
	return f.Name + " STRING"
}
