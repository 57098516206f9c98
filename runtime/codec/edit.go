package codec

// Ends of errors for stored data that the schema cannot decode, which name the edit of the schema
// that probably made them undecodable.
const (
	editedKey    = ": the row may have been written with other segments or another delimiter"
	editedLabel  = ": the row may have been written with another bucket width or label"
	editedSalt   = ": the row may have been written with another salt or none"
	editedTime   = ": the row may have been written with another time format"
	editedOffset = ": the row may have been written with another precision, bucket width or pattern"
	editedEnum   = ": the enum may have had other values"
	editedType   = ": the field may have had another type"
)
