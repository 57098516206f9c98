package codec

// KeyField is one segment of a structured row key schema, as GoogleSQL for Bigtable
// reads it: a STRING in UTF-8, or BYTES.
type KeyField struct {
	Name  string
	Bytes bool
}

// String returns the column's declaration in SQL, such as "region STRING".
func (f KeyField) String() string {
	if f.Bytes {
		return f.Name + " BYTES"
	}
	return f.Name + " STRING"
}
